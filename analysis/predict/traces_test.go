package predict

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/execution"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

func record(events []event.Event, o Options) *History {
	h := New(o)
	for i := range events {
		e := events[i]
		h.Event(&e)
	}
	return h
}

// table returns a column of a TSV file, by the first column. The heading of the column begins
// with the given text.
func table(t *testing.T, path, heading string) map[string]string {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	column := slices.IndexFunc(strings.Split(lines[0], "\t"), func(h string) bool { return strings.HasPrefix(h, heading) })
	if column < 0 {
		t.Fatalf("%s has no column %s", path, heading)
	}
	out := map[string]string{}
	for _, l := range lines[1:] {
		f := strings.Split(l, "\t")
		out[f[0]] = f[column]
	}
	return out
}

// request is a nested acquire: the node of an abstract lock graph, with instances.
type request struct {
	thread event.ThreadID
	lock   event.ObjectID
	shared bool
	held   []event.ObjectID
	modes  []event.ObjectID // held shared
	seqs   []uint64
}

func requests(events []event.Event) []*request {
	var out []*request
	held, shared := map[event.ThreadID][]event.ObjectID{}, map[event.ThreadID][]event.ObjectID{}
	without := func(h []event.ObjectID, x event.ObjectID) []event.ObjectID {
		return slices.DeleteFunc(slices.Clone(h), func(o event.ObjectID) bool { return o == x })
	}
	for i := range events {
		e := &events[i]
		h := held[e.Thread]
		if e.Op == event.Release {
			held[e.Thread] = without(h, e.Object)
			shared[e.Thread] = without(shared[e.Thread], e.Object)
		}
		if !e.Op.IsAcquire() {
			continue
		}
		if len(h) > 0 {
			modes := slices.Sorted(slices.Values(shared[e.Thread]))
			key := slices.Sorted(slices.Values(h))
			same := func(r *request) bool {
				return r.thread == e.Thread && r.lock == e.Object && r.shared == (e.Op == event.AcquireRead) && slices.Equal(r.held, key) && slices.Equal(r.modes, modes)
			}
			at := slices.IndexFunc(out, same)
			if at < 0 {
				at = len(out)
				out = append(out, &request{thread: e.Thread, lock: e.Object, shared: e.Op == event.AcquireRead, held: key, modes: modes})
			}
			out[at].seqs = append(out[at].seqs, e.Seq)
		}
		held[e.Thread] = append(slices.Clone(h), e.Object)
		if e.Op == event.AcquireRead {
			shared[e.Thread] = append(slices.Clone(shared[e.Thread]), e.Object)
		}
	}
	return out
}

// patterns enumerates the abstract deadlock patterns: distinct threads and locks,
// held sets pairwise disjoint unless there are shared locks (overlap).
func patterns(events []event.Event, overlap bool) []Pattern {
	all := requests(events)
	var out []Pattern
	var extend func(p []*request, from int)
	extend = func(p []*request, first int) {
		last := p[len(p)-1]
		if len(p) > 1 && slices.Contains(p[0].held, last.lock) {
			var found Pattern
			for _, r := range p {
				found = append(found, r.seqs)
			}
			out = append(out, found)
		}
		for i := first + 1; i < len(all); i++ {
			r := all[i]
			fits := slices.Contains(r.held, last.lock) && !slices.ContainsFunc(p, func(q *request) bool {
				return q.thread == r.thread || (!overlap && (q.lock == r.lock || slices.ContainsFunc(q.held, func(o event.ObjectID) bool { return slices.Contains(r.held, o) })))
			})
			if fits {
				extend(append(slices.Clone(p), r), first)
			}
		}
	}
	for i, r := range all {
		extend([]*request{r}, i)
	}
	return out
}

// settled holds the answers to all questions about a trace.
type settled struct {
	deadlocks int
	ends      []string // of races: the second access
	races     []string // pairs
	order     map[finding.Order]int
}

// settle asks all questions about a trace, and has each witness checked.
func settle(t *testing.T, name string, o Options) settled {
	t.Helper()
	events, _, err := eventtest.ReadSTD(filepath.Join("testdata/traces", name))
	if err != nil {
		t.Fatal(err)
	}
	h := record(events, o)
	out := settled{order: map[finding.Order]int{}}
	for _, p := range patterns(events, false) {
		r := h.Deadlock(p)
		t.Logf("%v: %v %s %v %v %v", p, r.Verdict, r.Reason, r.Order, r.Chosen, r.Assumes)
		if r.Verdict == Predicted {
			out.deadlocks++
			out.order[r.Order]++
			checked(t, events, r.Witness, finding.Deadlock)
		}
	}
	for i := range events {
		races := false
		for j := range events[:i] {
			if !conflict(&events[j], &events[i]) {
				continue
			}
			r := h.Race(events[j].Seq, events[i].Seq)
			if r.Verdict == Predicted {
				races = true
				out.races = append(out.races, fmt.Sprintf("(%d, %d)", events[j].Seq, events[i].Seq))
				checked(t, events, r.Witness, finding.Race)
			}
		}
		if races {
			out.ends = append(out.ends, strconv.FormatUint(events[i].Seq, 10))
		}
	}
	return out
}

// TestDeadlockTraces: the number of sync-preserving deadlocks is that published, and with
// reversals that of all deadlocks that some feasible interleaving reaches.
func TestDeadlockTraces(t *testing.T) {
	const dir = "testdata/traces/expected_deadlocks.tsv"
	all, preserving, total := table(t, dir, "true_predictable"), 0, 0
	for name, want := range table(t, dir, "sync_preserving") {
		t.Run(name, func(t *testing.T) {
			n := settle(t, name, Options{Reversals: -1}).deadlocks
			if preserving += n; strconv.Itoa(n) != want {
				t.Errorf("%d sync-preserving deadlocks, want %s", n, want)
			}
			got := settle(t, name, Options{})
			total += got.deadlocks
			if strconv.Itoa(got.deadlocks) != all[name] || got.order[finding.OrderSyncPreserving] != n {
				t.Errorf("%v deadlocks, want %s", got.order, all[name])
			}
		})
	}
	if len(all) != 22 || preserving != 11 || total != 13 {
		t.Errorf("of %d traces %d deadlocks and with reversals %d", len(all), preserving, total)
	}
}

// TestRaceTraces: the events that end a sync-preserving race, as RAPID has them, and
// with reversals all pairs that race in some feasible interleaving.
func TestRaceTraces(t *testing.T) {
	const dir = "testdata/traces/expected_races.tsv"
	all := table(t, dir, "true predictable")
	for name, want := range table(t, dir, "RAPID SyncPreserving") {
		t.Run(name, func(t *testing.T) {
			got := settle(t, name, Options{Reversals: -1}).ends
			if len(got) == 0 {
				got = []string{"-"}
			}
			if diff := cmp.Diff(want, strings.Join(got, ",")); diff != "" {
				t.Errorf("sync-preserving races end at (-want +got)\n%s", diff)
			}
			pairs := settle(t, name, Options{}).races
			if diff := cmp.Diff(all[name], "["+strings.Join(pairs, ", ")+"]"); diff != "" {
				t.Errorf("races (-want +got)\n%s", diff)
			}
		})
	}
}

// conflict reports whether two accesses, of two threads, could race.
func conflict(a, b *event.Event) bool { return a.Thread != b.Thread && conflicting(a, b) }

func checked(t *testing.T, events []event.Event, w []finding.Step, kind finding.Kind) {
	t.Helper()
	if err := execution.Observe(events).Check(w, kind); err != nil {
		t.Errorf("the witness fails: %v", err)
	}
}
