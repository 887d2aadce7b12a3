package between

import (
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/probes/elf"
)

// everything is a Query.Recorded that has recorded all accesses.
func everything(*elf.File, uint64, int) bool { return true }

// TestRecorded checks what is said of code if nothing of what it accesses was recorded, and if all was, but for what
// functions of the C library access of which that is never known.
func TestRecorded(t *testing.T) {
	for _, flags := range []string{"-O0 -fno-builtin", "-O2 -fno-builtin"} {
		f, _ := build(t, "gcc", "sections.c", strings.Fields(flags)...)
		for _, c := range []struct {
			name                  string
			reads, sees, seesNone Kind // ReadsNothing; SeesRecorded with everything, and with nothing
			leaves, leavesNone    Kind // likewise
		}{
			{"yes_nothing", NoReason, NoReason, NoReason, NoReason, NoReason},
			{"no_branch_before", Branch, NoReason, Branch, NoReason, Writes},
			{"no_branch_after", Branch, NoReason, Branch, NoReason, Writes},
			{"yes_writes_after", NoReason, NoReason, NoReason, NoReason, Writes},
			{"yes_copies", NoReason, NoReason, Stored, NoReason, Writes},
			{"no_length", Calls, NoReason, Branch, NoReason, Writes},
			{"no_compares", Calls, Branch, Branch, NoReason, Writes},
			{"no_moves", Calls, NoReason, Calls, NoReason, Calls},
			{"no_parses", Calls, Calls, Calls, Calls, Calls},
			{"yes_single", NoReason, NoReason, NoReason, NoReason, Writes},
			{"no_frees", Calls, NoReason, NoReason, NoReason, NoReason},
			{"no_time", Calls, Kept, Branch, NoReason, Writes},
			{"no_time_unused", Calls, Kept, Kept, NoReason, NoReason},
			{"no_kept", Kept, NoReason, Kept, NoReason, NoReason},
		} {
			from, to := f.stacks(t, c.name)
			q := Query{From: from, To: to, Releases: 1}
			recorded := q
			recorded.Recorded = everything
			x := New(f)
			for _, asked := range []struct {
				what string
				ask  func(Query) (bool, Why)
				Query
				want Kind
			}{
				{"reads", x.ReadsNothing, q, c.reads},
				{"sees", x.SeesRecorded, recorded, c.sees}, {"sees none", x.SeesRecorded, q, c.seesNone},
				{"leaves", x.LeavesRecorded, recorded, c.leaves}, {"leaves none", x.LeavesRecorded, q, c.leavesNone},
			} {
				if ok, why := asked.ask(asked.Query); why.Kind != asked.want || ok != (asked.want == NoReason) {
					t.Errorf("%s %s %s: %v, %d %s, want %d", flags, c.name, asked.what, ok, why.Kind, why.Text(f.where), asked.want)
				}
			}
		}
	}
}

// TestLockedAgain: where calls may make no events, a mutex may be locked again between two that do.
func TestLockedAgain(t *testing.T) {
	f, _ := build(t, "gcc", "again.c", "-O1")
	for name, want := range map[string]Kind{"yes_again": NoReason, "no_again_and_reads": Branch} {
		from, _ := f.stacks(t, name)
		entry, _ := f.program.FunctionAt(f.program.Lookup(name)[0].Addr)
		calls := f.lockCalls(entry.Lo, from[2:], 0)
		q := Query{From: from, To: calls[2], Unrecorded: true, Recorded: func(*elf.File, uint64, int) bool { return false }}
		if ok, why := New(f).SeesRecorded(q); why.Kind != want {
			t.Errorf("%s: %v, %s", name, ok, why.Text(f.where))
		}
		q.Unrecorded = false
		if ok, why := New(f).SeesRecorded(q); why.Kind != NoPath {
			t.Errorf("%s, with an event: %v, %s", name, ok, why.Text(f.where))
		}
	}
}

// TestReleases checks that code is followed through as many releases as lie between the events, and no more.
func TestReleases(t *testing.T) {
	f, _ := build(t, "gcc", "sections.c", "-O2")
	from, to := f.stacks(t, "yes_writes_after")
	for n, want := range []Kind{NoPath, NoReason, NoPath} {
		if ok, why := New(f).ReadsNothing(Query{From: from, To: to, Releases: n}); why.Kind != want {
			t.Errorf("%d releases: %v, %s", n, ok, why.Text(f.where))
		}
	}
	if ok, why := New(f).ReadsNothing(Query{From: from, To: to, Releases: 1, Unrecorded: true}); ok || why.Kind != Calls {
		t.Errorf("with calls that are no events: %v, %s", ok, why.Text(f.where))
	}
}
