package misuse

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// Events as text, one a line: thread, operation, object or other thread, mutex of a wait, flags.
// The call stack is the number of the line. Mutexes are m and n, conditions c and d, barriers b.

var flags = map[string]event.Flags{
	"inferred": event.Inferred, "in-wait": event.InCondWait, "timed": event.Timed, "timed-out": event.TimedOut, "try": event.Try, "freed": event.Freed, "joinable": event.Joinable,
}

var kindOf = map[string]event.Kind{"m": event.KindMutex, "n": event.KindMutex, "c": event.KindCond, "d": event.KindCond, "b": event.KindBarrier}

// findings passes the events to an analysis and returns its findings: the rule, the lines of the
// evidence, the count.
func findings(t testing.TB, text string) []string {
	t.Helper()
	a := New(Options{})
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		e := parse(t, strings.Fields(line))
		e.Seq, e.Stack = uint64(i+1), event.StackID(i+1)
		a.Event(&e)
		a.Remember(event.NewNames())
	}
	var out []string
	for _, f := range a.Finish() {
		if f.Kind != finding.Misuse || (f.Confidence == finding.Likely) != f.Reason.Given() || len(f.Threads) != len(f.Evidence) {
			t.Errorf("%+v", f)
		}
		s := string(f.Rule)
		if f.Confidence == finding.Likely {
			s += "?"
		}
		for _, e := range f.Evidence {
			s += fmt.Sprintf(" %d", e.Seq)
		}
		if f.Count > 1 {
			s += fmt.Sprintf(" x%d", f.Count)
		}
		out = append(out, s)
	}
	return out
}

func parse(t testing.TB, words []string) event.Event {
	t.Helper()
	var e event.Event
	if _, err := fmt.Sscan(words[0], &e.Thread); err != nil {
		t.Fatal(err)
	}
	for op := event.None + 1; op < event.NumOps; op++ {
		if op.String() == words[1] {
			e.Op = op
		}
	}
	for _, w := range words[2:] {
		switch value, isValue := strings.CutPrefix(w, "="); {
		case isValue:
			if _, err := fmt.Sscan(value, &e.Value); err != nil {
				t.Fatal(err)
			}
			e.Flags |= event.HasValue
		case flags[w] != 0:
			e.Flags |= flags[w]
		case w == "process":
			e.Flags |= event.WithProcess
		case kindOf[w] != event.KindUnknown && e.Object == 0:
			e.Object, e.Kind = event.ObjectID(w[0]), kindOf[w]
		case kindOf[w] != event.KindUnknown:
			e.Object2 = event.ObjectID(w[0])
		default:
			if _, err := fmt.Sscan(w, &e.Peer); err != nil {
				t.Fatalf("%q: %v", w, err)
			}
		}
	}
	if e.Op == event.None {
		t.Fatalf("no operation %q", words[1])
	}
	return e
}

// TestRules checks each rule, with correct runs that resemble the wrong ones.
func TestRules(t *testing.T) {
	for _, c := range []struct {
		name, events string
		want         []string
	}{
		{"unlock, not held", `
			1 acquire m
			1 release m
			1 release-unheld m`, []string{"unlock-not-held 3 1"}},
		{"unlock, never held", `
			1 release-unheld m`, []string{"unlock-not-held 1"}},
		{"unlock by another, again and again", `
			1 acquire m
			2 release-unheld m
			1 release m inferred
			1 acquire m
			1 release m`, []string{"unlock-by-other 2 1"}},
		{"unlocked, and waited with, though not consistent", `
			1 acquire m
			1 release-inconsistent m
			1 release m
			1 acquire m
			1 release-inconsistent m in-wait
			1 release m in-wait
			1 wait c m`, []string{"unlock-inconsistent 2 1", "unlock-inconsistent 5 4"}},
		{"ended in a wait that acquired the mutex again", `
			2 wait c m
			2 wake c m inferred timed-out
			2 acquire m inferred in-wait =1
			2 release m inferred
			2 end`, []string{"exit-holding 5 3"}},
		{"ended after a wait that may have acquired the mutex again", `
			2 wait c m
			2 wake c m inferred timed-out
			2 acquire m inferred in-wait
			2 release m inferred
			2 end`, nil},
		{"relock", `
			1 acquire m
			1 acquire-failed m =35
			1 release m`, []string{"relock 2 1"}},
		{"a try of a lock that the thread holds", `
			1 acquire m
			1 acquire-failed m try =35
			1 acquire-failed m
			1 release m`, nil},
		{"refused, and another holds it", `
			1 acquire m
			2 acquire-failed m =35`, nil},
		{"destroyed while held", `
			1 acquire m
			1 release m inferred
			2 destroy m`, []string{"destroy-held 3 1"}},
		{"memory used again", `
			1 acquire m
			1 release m inferred
			2 destroy m inferred`, nil},
		{"freed while held", `
			1 acquire m
			1 release m inferred
			2 destroy m inferred freed`, []string{"free-held? 3 1"}},
		{"freed while held, then unlocked", `
			1 acquire m
			1 release m inferred
			1 destroy m inferred freed
			1 use-destroyed m`, []string{"free-held 3 1"}},
		{"unlocked, then freed", `
			1 acquire m
			1 release m
			2 destroy m inferred freed`, nil},
		{"unlocked by another, then freed", `
			1 acquire m
			2 release-unheld m
			1 release m inferred
			2 destroy m inferred freed`, []string{"unlock-by-other 2 1"}},
		{"a release that was not seen, and later freed", `
			1 acquire m
			1 release m inferred
			2 acquire m
			2 release m
			2 destroy m inferred freed`, nil},
		{"released, then destroyed", `
			1 acquire m
			1 release m
			1 destroy m`, nil},
		{"a release that was not seen, and later destroyed", `
			1 acquire m
			1 release m inferred
			2 acquire m
			2 release m
			2 destroy m`, nil},
		{"unlocked by another, then destroyed", `
			1 acquire m
			2 release-unheld m
			1 release m inferred
			2 destroy m`, []string{"unlock-by-other 2 1"}},
		{"condition destroyed while waited for", `
			2 wait c m
			1 destroy c`, []string{"destroy-waited 2 1"}},
		{"destroyed after a broadcast, before the thread is awake", `
			2 wait c m
			1 broadcast c
			1 destroy c
			2 wake c m`, nil},
		{"of two one was woken", `
			2 wait c m
			3 wait c m
			1 signal c
			1 destroy c`, []string{"destroy-waited 4 2"}},
		{"both were woken", `
			2 wait c m
			3 wait c m
			1 signal c
			1 signal c
			1 destroy c`, nil},
		{"one was woken and is awake, the other waits", `
			2 wait c m
			3 wait c m
			1 signal c
			2 wake c m
			1 destroy c`, []string{"destroy-waited 5 2"}},
		{"one that gave up left the signal to the other", `
			2 wait c m timed
			3 wait c m
			1 signal c
			2 wake c m timed-out
			1 destroy c`, nil},
		{"a wait with a time limit may be over", `
			2 wait c m timed
			1 destroy c`, nil},
		{"the waiting thread has ended", `
			2 wait c m
			2 end
			1 destroy c`, nil},
		{"another condition", `
			2 wait c m
			1 destroy d`, nil},
		{"a barrier destroyed while one waits", `
			1 init b =2
			2 barrier-arrive b
			1 destroy b`, []string{"destroy-waited 3 2"}},
		{"a barrier destroyed by the first to leave", `
			1 init b =2
			2 barrier-arrive b
			1 barrier-arrive b
			1 barrier-depart b
			1 destroy b
			2 barrier-depart b`, nil},
		{"a barrier at which another process arrives", `
			1 init b =3
			1 barrier-arrive b
			2 barrier-arrive b
			1 barrier-depart b
			1 destroy b`, nil},
		{"a barrier of unknown size", `
			2 barrier-arrive b
			1 destroy b`, nil},
		{"destroyed twice", `
			1 destroy m
			2 destroy-again m`, []string{"destroy-twice 2 1"}},
		{"perhaps destroyed twice", `
			1 destroy m
			2 destroy-again m inferred`, []string{"destroy-twice? 2 1"}},
		{"initialised again while held", `
			2 acquire m
			2 release m inferred
			1 destroy m inferred
			1 init n m =0`, []string{"reinit-held 4 1"}},
		{"initialised again while held, and the holder ends after an unlock that makes no event", `
			2 acquire m
			2 acquire n
			2 release m inferred
			1 destroy m inferred
			1 init n m =0
			2 release n inferred
			2 end`, []string{"reinit-held 5 1", "exit-holding 7 2"}},
		{"destroyed while held, and the holder ends after an unlock that makes no event", `
			2 acquire m
			2 release m inferred
			1 destroy m
			2 end`, []string{"destroy-held 3 1"}},
		{"initialised again while held by its own thread", `
			1 acquire m
			1 release m inferred
			1 destroy m inferred
			1 init n m =0`, []string{"reinit-held 4 1"}},
		{"initialised again while two threads read it", `
			2 acquire-read m
			3 acquire-read m
			2 release m inferred
			3 release m inferred
			1 destroy m inferred
			1 init n m =0`, []string{"reinit-held 6 1"}},
		{"initialised again while unlocked", `
			2 acquire m
			2 release m
			1 destroy m inferred
			1 init n m =0`, nil},
		{"initialised again after another thread unlocked it", `
			2 acquire m
			1 release-unheld m
			2 release m inferred
			1 destroy m inferred
			1 init n m =0`, []string{"unlock-by-other 2 1"}},
		{"initialised in the memory of a held one", `
			2 acquire m
			2 release m inferred
			1 destroy m inferred
			1 init n =0`, nil},
		{"the copy that the child of a fork has, made usable", `
			2 acquire m inferred
			2 release m inferred
			2 destroy m inferred
			2 init n m =0`, nil},
		{"condition initialised again while waited for", `
			2 wait c m
			1 destroy c inferred
			1 init d c =0`, []string{"reinit-waited 3 1"}},
		{"condition initialised again while waited for with a time limit", `
			2 wait c m timed
			1 destroy c inferred
			1 init d c =0`, []string{"reinit-waited? 3 1"}},
		{"condition initialised again, and the wait is over", `
			2 wait c m timed
			2 wake c m timed-out
			1 destroy c inferred
			1 init d c =0`, nil},
		{"condition initialised again after its only waiter was woken", `
			2 wait c m
			1 signal c
			1 destroy c inferred
			1 init d c =0`, nil},
		{"condition in the memory of one that was waited for", `
			2 wait c m
			1 destroy c inferred
			1 init d =0`, nil},
		{"another condition initialised again", `
			2 wait c m
			1 destroy c inferred
			1 init n m =0`, nil},
		{"a barrier initialised again while one waits", `
			1 init b =2
			2 barrier-arrive b
			1 destroy b inferred
			1 init d b =3`, []string{"reinit-waited 4 2"}},
		{"a barrier initialised again by the first to leave", `
			1 init b =2
			2 barrier-arrive b
			1 barrier-arrive b
			1 barrier-depart b
			1 destroy b inferred
			1 init d b =3
			2 barrier-depart b`, []string{"reinit-waited? 6 2"}},
		{"a barrier initialised again once all have left", `
			1 init b =2
			2 barrier-arrive b
			1 barrier-arrive b
			1 barrier-depart b
			2 barrier-depart b
			1 destroy b inferred
			1 init d b =3`, nil},
		{"a barrier initialised again at which another process arrives", `
			1 init b =3
			1 barrier-arrive b
			2 barrier-arrive b
			1 barrier-depart b
			1 destroy b inferred
			1 init d b =3`, nil},
		{"signalled, and its memory knows of no waiter", `
			2 wait c m
			1 acquire m
			1 signal c =0
			1 release m`, []string{"overwritten-waited 3 1"}},
		{"signalled after the unlock, and its memory knows of one of two waiters", `
			2 wait c m
			3 wait c m
			1 acquire m
			1 release m
			1 broadcast c =1
			1 signal c =1
			2 end
			3 end`, []string{"overwritten-waited 5 1", "overwritten-waited 5 2"}},
		{"signalled before the waiter has certainly begun", `
			1 acquire m
			2 wait c m
			1 signal c =0
			1 release m`, nil},
		{"signalled, and the waiter, with a time limit, may be gone", `
			2 wait c m timed
			1 acquire m
			1 signal c =0
			1 release m`, nil},
		{"signalled, and one of two waiters was woken before", `
			2 wait c m
			3 wait c m
			1 acquire m
			1 signal c
			1 signal c =1
			1 release m`, nil},
		{"signalled, and the waiter is awake again", `
			2 wait c m
			1 acquire m
			1 signal c =0
			1 release m
			2 wake c m
			2 acquire m in-wait`, nil},
		{"used after it was destroyed", `
			1 destroy m
			2 use-destroyed m`, []string{"use-destroyed 2 1"}},
		{"perhaps used after it was destroyed", `
			1 destroy m
			2 use-destroyed m inferred`, []string{"use-destroyed? 2 1"}},
		{"used after it was destroyed, as is seen later, at another call stack", `
			1 destroy m
			2 use-destroyed m inferred
			2 use-destroyed m`, []string{"use-destroyed? 2 1", "use-destroyed 3 1"}},
		{"wait without the mutex", `
			1 release-unheld m c in-wait
			1 wait c m`, []string{"wait-not-held 1"}},
		{"wait with another's mutex", `
			2 acquire m
			1 release-unheld m c in-wait
			1 wait c m`, []string{"wait-not-held 2 1"}},
		{"wait with the mutex", `
			1 acquire m
			1 release m in-wait
			1 wait c m
			1 wake c m
			1 acquire m in-wait
			1 release m`, nil},
		{"two mutexes", `
			1 wait c m
			2 wait c n`, []string{"wait-two-mutexes 2 1"}},
		{"two mutexes, the second with a time limit", `
			1 wait c m
			2 wait c n timed`, []string{"wait-two-mutexes 2 1"}},
		{"two mutexes, and of the first's waiters one has a time limit", `
			1 wait c m timed
			3 wait c m
			2 wait c n`, []string{"wait-two-mutexes 3 2"}},
		{"two mutexes, and of the first's waiters, one with a time limit, one was woken", `
			1 wait c m timed
			3 wait c m
			2 signal c
			2 wait c n`, []string{"wait-two-mutexes? 4 2"}},
		{"two mutexes, after the time limit", `
			1 wait c m timed
			1 wake c m timed-out
			2 wait c n`, nil},
		{"two mutexes, one after the other", `
			1 wait c m
			2 broadcast c
			2 wait c n`, nil},
		{"two mutexes, two conditions", `
			1 wait c m
			2 wait d n`, nil},
		{"two mutexes, of which the first may have given up", `
			1 wait c m timed
			2 wait c n`, []string{"wait-two-mutexes? 2 1"}},
		{"ends the process holding", `
			1 acquire m
			1 quit-holding m 2
			1 release m inferred
			1 end process =0`, []string{"exit-holding? 2 1"}},
		{"ends the process holding what may be robust", `
			1 init m =1
			1 acquire m
			1 quit-holding m 2
			1 release m inferred
			1 end process =0`, nil},
		{"ends holding", `
			2 acquire m
			2 release m inferred
			2 end`, []string{"exit-holding 3 1"}},
		{"ends holding, as a join shows", `
			2 acquire m
			2 release m inferred
			2 end inferred
			1 join 2`, []string{"exit-holding 3 1"}},
		{"ends as another program is executed", `
			2 acquire m
			2 release m inferred
			2 end inferred
			1 end`, nil},
		{"ends with the process", `
			2 acquire m
			2 release m inferred
			2 end process =0`, nil},
		{"ends holding what may be robust", `
			1 init m =1
			2 acquire m
			2 release m inferred
			2 end`, nil},
		{"ends after another thread released its lock", `
			2 acquire m
			1 release-unheld m
			2 release m inferred
			2 end`, []string{"unlock-by-other 2 1"}},
		{"ends long after its lock was removed from it", `
			2 acquire m
			2 release m inferred
			1 acquire m
			2 signal c
			1 release m
			2 end`, nil},
		{"join of a detached thread", `
			1 fork 2
			1 detach 2
			1 join-failed 2 =22`, []string{"join-detached 3 2"}},
		{"join of a thread that was created detached", `
			1 fork 2
			1 join-failed 2 =22`, []string{"join-detached 2 1"}},
		{"detached twice", `
			1 fork 2
			1 detach 2
			1 detach-again 2`, []string{"detach-twice 3 2"}},
		{"detached when it was joined", `
			1 fork 2
			2 end
			1 join 2
			1 detach-again 2`, []string{"detach-twice 4 3"}},
		{"two join at once", `
			1 fork 2
			3 join-failed 2 =22
			2 end
			1 join 2`, []string{"join-twice 2 4"}},
		{"joined twice", `
			1 fork 2
			2 end
			1 join 2
			1 join-failed 2 =3`, []string{"join-twice 4 3"}},
		{"joins itself", `
			2 join-failed 2 =35`, []string{"join-self 1"}},
		{"joins an unknown thread", `
			1 join-failed =3`, nil},
		{"two that join each other: a deadlock, which other analyses report", `
			2 join-failed 3 =35`, nil},
		{"never joined", `
			1 fork 2 joinable
			2 end
			1 end process =0`, []string{"never-joined 1 2"}},
		{"joined, detached, detached as nobody can join it", `
			1 fork 2 joinable
			1 fork 3 joinable
			1 fork 4 joinable
			2 end
			3 detach 3
			3 end
			4 end
			1 join 2
			1 detach 4 inferred
			1 end process =0`, nil},
		{"perhaps created detached", `
			1 fork 2
			2 end
			1 end process =0`, nil},
		{"still running", `
			1 fork 2 joinable
			1 end process =0
			2 end process =0`, nil},
		{"the process was killed before it could join", `
			1 fork 2 joinable
			2 end
			1 end process =9`, nil},
		{"observation ended before the process", `
			1 fork 2 joinable
			2 end
			1 end inferred`, nil},
		{"created by a thread of its process", `
			1 fork 2 joinable
			2 fork 3 joinable
			3 end
			2 end
			1 join 2
			1 end process =256`, []string{"never-joined 2 3"}},
		{"another process ends", `
			1 fork 2 joinable
			2 end
			1 fork 3
			3 end process =0`, nil},
		{"nothing is certain after a hole", `
			2 acquire m
			1 fork 3 joinable
			3 end
			1 release-unheld n
			2 hole =1
			1 release-unheld m
			1 end process =0`, []string{"unlock-not-held 4"}},
		{"the release of the other side was lost, which is recorded later", `
			2 acquire m
			2 release m inferred
			1 destroy m
			2 hole =1`, nil},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			if diff := cmp.Diff(c.want, findings(t, c.events)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestOnce checks that the same misuse of one object at one call stack is one finding.
func TestOnce(t *testing.T) {
	a := New(Options{})
	for seq := range uint64(3 * maxFound) {
		a.Event(&event.Event{Seq: seq + 1, Thread: 1, Op: event.ReleaseUnheld, Kind: event.KindMutex, Object: event.ObjectID(seq/2 + 1), Stack: 7})
	}
	found := a.Finish()
	total := 0
	for _, f := range found {
		total += f.Count
	}
	if len(found) != maxFound+1 && len(found) != 3*maxFound/2 || total != 3*maxFound || found[0].Count != 2 {
		t.Errorf("%d findings of %d instances", len(found), total)
	}
}

// TestRunsThatKeepTheRules checks that random runs of correct programs have no findings.
func TestRunsThatKeepTheRules(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 7))
		for _, events := range [][]event.Event{eventtest.RandomRun(r, 200), eventtest.RandomSections(r, 200)} {
			a := New(Options{})
			for i := range events {
				a.Event(&events[i])
			}
			if found := a.Finish(); len(found) > 0 {
				t.Fatalf("seed %d: %+v", seed, found)
			}
		}
	}
}

// TestAnyEvents checks that no sequence of events causes a panic, and that equal sequences have
// equal findings.
func TestAnyEvents(t *testing.T) {
	for seed := range uint64(200) {
		var runs [2][]finding.Finding
		for i := range runs {
			r, a := rand.New(rand.NewPCG(seed, 11)), New(Options{})
			for seq := range uint64(400) {
				e := event.Event{
					Seq: seq + 1, Thread: event.ThreadID(r.IntN(5) + 1), Op: event.Op(r.IntN(int(event.NumOps))), Object: event.ObjectID(r.IntN(6)), Object2: event.ObjectID(r.IntN(6)),
					Peer: event.ThreadID(r.IntN(6)), Kind: event.Kind(r.IntN(12)), Flags: event.Flags(r.IntN(1 << 13)), Value: uint64(r.IntN(40)), Stack: event.StackID(r.IntN(9)),
				}
				if e.Op != event.Hole {
					a.Event(&e)
				}
			}
			a.Remember(event.NewNames())
			runs[i] = a.Finish()
		}
		if diff := cmp.Diff(runs[0], runs[1]); diff != "" {
			t.Fatalf("seed %d:\n%s", seed, diff)
		}
	}
}

// TestNothingAllocatedForLocks checks that acquires and releases, which are most of a run,
// allocate no memory.
func TestNothingAllocatedForLocks(t *testing.T) {
	a := New(Options{})
	var seq uint64
	events := []event.Event{{Thread: 1, Op: event.Acquire, Object: 1}, {Thread: 1, Op: event.Acquire, Object: 2}, {Thread: 1, Op: event.Release, Object: 2}, {Thread: 1, Op: event.Release, Object: 1}}
	if n := testing.AllocsPerRun(1000, func() {
		for i := range events {
			e := &events[i]
			seq++
			e.Seq = seq
			a.Event(e)
		}
	}); n > 0 {
		t.Errorf("%v allocations for a critical section", n)
	}
}

// TestRecentSteps checks that last returns the latest of the steps kept.
func TestRecentSteps(t *testing.T) {
	var r recentSteps
	for i := range uint64(maxRecentSteps + maxRecentSteps/2) {
		r.add(step{seq: i, object: event.ObjectID(i % 7)})
		want := i - (i-3)%7
		if i < 3 {
			continue
		}
		if s, ok := r.last(func(s *step) bool { return s.object == 3 }); !ok || s.seq != want {
			t.Fatalf("after %d: %v %v, want %d", i, s.seq, ok, want)
		}
	}
	if _, ok := r.last(func(s *step) bool { return s.seq < maxRecentSteps/2 }); ok || len(r.steps) != maxRecentSteps {
		t.Error("an old step is kept")
	}
	if !slices.ContainsFunc(r.steps, func(s step) bool { return s.seq == maxRecentSteps/2 }) {
		t.Error("a step that is not so old is not kept")
	}
}

// TestOptions checks the options that turn off single rules, or all of them.
func TestOptions(t *testing.T) {
	for _, c := range []struct {
		opts Options
		want []finding.Rule
	}{
		{Options{}, []finding.Rule{finding.UnlockNotHeld, finding.ExitHolding}},
		{Options{Except: []finding.Rule{finding.ExitHolding, finding.JoinSelf}}, []finding.Rule{finding.UnlockNotHeld}},
		{Options{Off: true}, nil},
	} {
		a := New(c.opts)
		for i, line := range []string{"1 release-unheld m", "2 acquire m", "2 release m inferred", "2 end"} {
			e := parse(t, strings.Fields(line))
			e.Seq = uint64(i + 1)
			a.Event(&e)
		}
		var got []finding.Rule
		for _, f := range a.Finish() {
			got = append(got, f.Rule)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.opts, diff)
		}
	}
}

// TestAllRulesExplained checks that the documentation has a row for each rule, in order.
func TestAllRulesExplained(t *testing.T) {
	text, err := os.ReadFile("../../docs/misuse.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []finding.Rule
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "| `"); ok {
			name, _, _ := strings.Cut(rest, "`")
			rows = append(rows, finding.Rule(name))
		}
	}
	if diff := cmp.Diff(finding.Rules(), rows); diff != "" {
		t.Errorf("docs/misuse.md (-rules +rows):\n%s", diff)
	}
}
