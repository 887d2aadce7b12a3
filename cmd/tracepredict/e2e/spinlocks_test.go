package e2e

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestSpinLocks checks that variables which the program itself uses as locks are known as locks: held in opposite orders
// they may deadlock, with each other and with a mutex; not if the order is the same, a third one is held around, one is
// only tried, or the threads are joined. A flag that hands work over, a claim, a sequence and what another thread opens
// stay what they are, and order threads. The report of the trace is the same.
func TestSpinLocks(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, level := range []string{"-O0", "-O2"} {
		program := corpus(t, "gcc", "spinlocks.c", []string{level})
		for _, c := range []struct{ mode, want, locks string }{
			{"flag", "predicted deadlock of fa, fb", "fa, fb"},
			{"word", "predicted deadlock of wa, wb", "wa, wb"},
			{"mutex", "predicted deadlock of mutex, wa", "wa"},
			{"heap", "likely deadlock of , ", ", "},
			{"contended", "potential deadlock of wa, wb", "gate, wa, wb"},
			{"looked", "potential deadlock of wa, wb", "wa, wb"},
			{"tried", "", "wa, wb"},
			{"same", "", "wa, wb"},
			{"gate", "", "gate, wa, wb"},
			{"joined", "", "wa, wb"},
			{"once", "", "wa"},
			{"sequence", "", ""},
			{"handed", "", "wa, wb"},
			{"opened", "", ""},
		} {
			if level == "-O0" && !slices.Contains([]string{"flag", "word", "handed"}, c.mode) {
				continue // the modes differ in what threads do, the levels in the code that does it
			}
			t.Run(level+" "+c.mode, func(t *testing.T) {
				dir := t.TempDir()
				file, live, again := filepath.Join(dir, "trace"), filepath.Join(dir, "live.json"), filepath.Join(dir, "again.json")
				status, level := 66, "likely"
				if c.want == "" {
					status = 0
				} else if strings.HasPrefix(c.want, "potential") {
					level = "potential"
				}
				startTool(t, childOptions{}, "exec", "--confidence", level, "--fail-on", level, "--record", file, "--format", "json", "--output", live, "--", program, c.mode).want(status)
				rep := readReport(t, live)
				got := withoutMembers(rep.summary())
				if c.mode == "contended" { // on a busy machine one thread may find the gate free each time
					got = strings.Replace(got, "predicted", "potential", 1)
				}
				if got != c.want {
					t.Errorf("findings: %q, want %q", got, c.want)
				}
				i := slices.IndexFunc(rep.Run.Notes, func(note string) bool { return strings.Contains(note, "used as") })
				switch {
				case i < 0 && c.locks != "":
					t.Errorf("no variable is known as a lock, want %s", c.locks)
				case i >= 0 && (c.locks == "" || !strings.HasSuffix(withoutMembers(rep.Run.Notes[i]), ": "+c.locks)):
					t.Errorf("note %q, want %q", rep.Run.Notes[i], c.locks)
				}
				startTool(t, childOptions{}, "analyze", "--confidence", level, "--fail-on", level, "--format", "json", "--output", again, file).want(status)
				wantSameFile(t, live, again)
			})
		}
	}
}

// withoutMembers returns a text in which locks are named by their variables alone: whether a member follows depends on
// the code that accesses the lock. Locks on the heap have no names.
func withoutMembers(text string) string {
	return unnamedLocks.ReplaceAllString(strings.NewReplacer(".word", "", ".taken", "").Replace(text), "")
}

// unnamedLocks matches the addresses of locks, and where they were first seen.
var unnamedLocks = regexp.MustCompile(`0x[0-9a-f]+| \(spinlock (?:first seen|initialised) [^)]*\)`)
