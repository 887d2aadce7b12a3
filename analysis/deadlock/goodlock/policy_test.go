package goodlock

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/observer/event"
)

func acquireWrite(t event.ThreadID, l event.ObjectID) event.Event {
	return event.Event{Thread: t, Op: event.Acquire, Object: l, Kind: event.KindRWLock}
}

// TestReadersBehindAWriter checks that two readers of one lock wait for each other only if a
// writer may request it in between.
func TestReadersBehindAWriter(t *testing.T) {
	three := slices.Concat(fork(1, 2), fork(1, 3))
	readers := slices.Concat(closed(acquireRead(1, a), acquire(1, b)), closed(acquire(2, b), acquireRead(2, a)))
	for name, tc := range map[string]struct {
		events         []event.Event
		reader, writer int // numbers of findings
	}{
		"no writer":           {slices.Concat(three, readers), 0, 0},
		"a writer":            {slices.Concat(three, readers, closed(acquireWrite(3, a))), 0, 1},
		"a writer by trylock": {slices.Concat(three, readers, closed(event.Event{Thread: 3, Op: event.Acquire, Object: a, Kind: event.KindRWLock, Flags: event.Try})), 0, 0},
		"a reader writes":     {slices.Concat(three, readers, closed(acquireWrite(1, a))), 0, 0},
		"a writer that holds what a reader holds": {slices.Concat(three, readers, closed(acquire(3, b), acquireWrite(3, a))), 1, 1},
		"a writer after all":                      {slices.Concat(fork(1, 2), readers, join(1, 2), fork(1, 3), closed(acquireWrite(3, a))), 0, 0},
		"a writer instead of a reader":            {slices.Concat(three, closed(acquireWrite(1, a), acquire(1, b)), closed(acquire(2, b), acquireRead(2, a)), closed(acquireWrite(3, a))), 1, 1},
	} {
		for policy, want := range map[Policy]int{ReaderPreferring: tc.reader, WriterPreferring: tc.writer} {
			got := run(Options{Policy: policy}, trace(tc.events)).Finish()
			if len(got) != want {
				t.Errorf("%s, policy %d: %d findings, want %d: %+v", name, policy, len(got), want, got)
			}
			if want > tc.reader && (got[0].Reason.What != reason.ReaderByPolicy || len(got[0].Evidence) != 3) {
				t.Errorf("%s: %+v", name, got[0])
			}
		}
	}
}

// The definition, as code: threads that each acquire a chain of locks and release them, in all
// interleavings, with locks that follow the policy.

type chainStep struct {
	lock   event.ObjectID
	shared bool
}

type chains struct {
	policy  Policy
	made    map[event.ObjectID]uint64 // with ByLockKind: the kinds of the locks
	threads [][]chainStep
	seen    map[string]bool
}

// state records for each thread how many locks of its chain it has acquired, whether it waits for
// the next one, and whether it has ended.
type state struct {
	acquired []int
	waits    []bool
	through  []bool
}

func (c *chains) deadlock() bool {
	n := len(c.threads)
	c.seen = map[string]bool{}
	return c.visit(state{make([]int, n), make([]bool, n), make([]bool, n)})
}

func (c *chains) visit(s state) bool {
	if key := fmt.Sprint(s); c.seen[key] {
		return false
	} else {
		c.seen[key] = true
	}
	if c.hasCycle(s) {
		return true
	}
	for t := range c.threads {
		if next, ok := c.step(s, t); ok && c.visit(next) {
			return true
		}
	}
	return false
}

// step lets a thread request its next lock, which it acquires or waits for; after its last one the
// thread ends.
func (c *chains) step(s state, t int) (state, bool) {
	if s.through[t] {
		return s, false
	}
	next := state{slices.Clone(s.acquired), slices.Clone(s.waits), slices.Clone(s.through)}
	switch {
	case s.acquired[t] == len(c.threads[t]):
		next.through[t] = true
	case len(c.inTheWay(s, t)) == 0:
		next.acquired[t]++
		next.waits[t] = false
	case s.waits[t]:
		return s, false
	default:
		next.waits[t] = true
	}
	return next, true
}

// inTheWay returns the threads that keep t from acquiring its next lock.
func (c *chains) inTheWay(s state, t int) (out []int) {
	want := c.threads[t][s.acquired[t]]
	for u := range c.threads {
		if u == t || s.through[u] {
			continue
		}
		holds := slices.ContainsFunc(c.threads[u][:s.acquired[u]], func(h chainStep) bool {
			return h.lock == want.lock && !(h.shared && want.shared)
		})
		queued := false
		if s.waits[u] { // a waiting writer goes before any reader
			next := c.threads[u][s.acquired[u]]
			queued = c.prefersWriters(want.lock) && want.shared && next.lock == want.lock && !next.shared
		}
		if holds || queued {
			out = append(out, u)
		}
	}
	return out
}

func (c *chains) prefersWriters(l event.ObjectID) bool {
	return c.policy == WriterPreferring || c.policy == ByLockKind && c.made[l] == event.PreferWriterNonrecursive
}

// cycle reports whether threads wait for each other in a cycle.
func (c *chains) hasCycle(s state) bool {
	for t := range c.threads {
		reached, queue := map[int]bool{}, []int{t}
		for len(queue) > 0 {
			u := queue[0]
			queue = queue[1:]
			if !s.waits[u] {
				continue
			}
			for _, v := range c.inTheWay(s, u) {
				if v == t {
					return true
				}
				if !reached[v] {
					reached[v] = true
					queue = append(queue, v)
				}
			}
		}
	}
	return false
}

// serial returns the run in which the threads run one after the other, with no order between them.
func (c *chains) serial() []event.Event {
	var parts [][]event.Event
	for i := range c.threads[1:] {
		parts = append(parts, fork(1, event.ThreadID(i+2)))
	}
	for i, chain := range c.threads {
		var acquires []event.Event
		for k, x := range chain {
			op := event.Acquire
			if x.shared {
				op = event.AcquireRead
			}
			if slices.ContainsFunc(chain[:k], func(o chainStep) bool { return o.lock == x.lock }) {
				op = event.AcquireAgain
			}
			e := event.Event{Thread: event.ThreadID(i + 1), Op: op, Object: x.lock, Kind: event.KindRWLock}
			if made, known := c.made[x.lock]; known && op != event.AcquireAgain {
				e.Value, e.Flags = made, event.HasValue
			}
			acquires = append(acquires, e)
		}
		parts = append(parts, closed(acquires...))
	}
	return trace(parts...)
}

func (c *chains) String() string {
	var out []string
	for _, chain := range c.threads {
		out = append(out, fmt.Sprint(chain))
	}
	return strings.Join(out, " | ")
}

func drawChains(rt *rapid.T) *chains {
	c := &chains{policy: Policy(rapid.IntRange(0, 2).Draw(rt, "policy")), made: map[event.ObjectID]uint64{}}
	for l := range event.ObjectID(3) {
		if made := rapid.Uint64Range(0, 3).Draw(rt, "made"); made < 3 {
			c.made[11+l] = made
		}
	}
	for range rapid.IntRange(2, 4).Draw(rt, "threads") {
		var chain []chainStep
		for _, l := range rapid.SliceOfNDistinct(rapid.IntRange(1, 3), 1, 3, rapid.ID).Draw(rt, "chain") {
			chain = append(chain, chainStep{event.ObjectID(10 + l), rapid.Bool().Draw(rt, "shared")})
		}
		if again := rapid.SampledFrom(chain).Draw(rt, "again"); again.shared && rapid.Bool().Draw(rt, "read again") {
			chain = append(chain, again)
		}
		c.threads = append(c.threads, chain)
	}
	return c
}

// TestPoliciesAgainstAllInterleavings checks, for threads with one chain of locks each and under
// each policy, that findings are reported if and only if the threads can block each other in some
// interleaving.
func TestPoliciesAgainstAllInterleavings(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := drawChains(rt)
		findings := run(Options{History: 100, Policy: c.policy}, c.serial()).Finish()
		if want := c.deadlock(); want != (len(findings) > 0) {
			rt.Fatalf("policy %d, %v: deadlock %t, findings %+v", c.policy, c, want, findings)
		}
	})
}
