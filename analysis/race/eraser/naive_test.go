package eraser

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	_ "github.com/tracepredict/tracepredict/internal/fixedseed"

	"github.com/tracepredict/tracepredict/observer/event"
)

// The definition, as code: all accesses of the trace are kept, and each result is computed from
// all of them.

type naiveAccess struct {
	event.Event
	all       []event.ObjectID // held, in either mode
	exclusive []event.ObjectID // held exclusively
}

// accessesOf returns each access of the run with the locks held at it.
func accessesOf(events []event.Event) []naiveAccess {
	type hold struct {
		lock   event.ObjectID
		shared bool
	}
	held := map[event.ThreadID][]hold{}
	var out []naiveAccess
	for _, e := range events {
		switch {
		case e.Op.IsAcquire():
			held[e.Thread] = append(held[e.Thread], hold{e.Object, e.Op == event.AcquireRead})
		case e.Op == event.Release:
			held[e.Thread] = slices.DeleteFunc(held[e.Thread], func(h hold) bool { return h.lock == e.Object })
		case e.Op.IsAccess():
			x := naiveAccess{Event: e}
			for _, h := range held[e.Thread] {
				x.all = append(x.all, h.lock)
				if !h.shared {
					x.exclusive = append(x.exclusive, h.lock)
				}
			}
			out = append(out, x)
		}
	}
	return out
}

func (x naiveAccess) protecting() []event.ObjectID {
	if x.Op.IsWrite() {
		return x.exclusive
	}
	return x.all
}

func intersection(sets ...[]event.ObjectID) []event.ObjectID {
	var out []event.ObjectID
	for _, l := range sets[0] {
		if !slices.ContainsFunc(sets, func(s []event.ObjectID) bool { return !slices.Contains(s, l) }) {
			out = append(out, l)
		}
	}
	slices.Sort(out)
	return out
}

// naiveVerdict computes the verdict of Havelund, section 2.2, from all accesses of one variable so
// far.
func naiveVerdict(history []naiveAccess, opts Options) verdict {
	last := history[len(history)-1]
	v := verdict{seq: last.Seq, variable: last.Object}
	if opts.leave == leaveOnWrite {
		i := slices.IndexFunc(history, func(x naiveAccess) bool { return x.Op.IsWrite() })
		if i < 0 {
			return v
		}
		history = history[i:]
	}
	v.state = exclusive
	var sets [][]event.ObjectID
	if opts.seed == seedFirst {
		sets = append(sets, history[0].protecting())
	}
	second := slices.IndexFunc(history, func(x naiveAccess) bool { return x.Thread != history[0].Thread })
	if second >= 0 {
		v.state = shared
		for _, x := range history[second:] {
			sets = append(sets, x.protecting())
			if x.Op.IsWrite() {
				v.state = sharedModified
			}
		}
	}
	if v.seeded = len(sets) > 0; v.seeded {
		v.candidates = intersection(sets...)
	}
	v.warning = v.state == sharedModified && len(v.candidates) == 0
	return v
}

func naiveVerdicts(accesses []naiveAccess, opts Options) []verdict {
	var out []verdict
	for i, x := range accesses {
		history := slices.DeleteFunc(slices.Clone(accesses[:i+1]), func(y naiveAccess) bool { return y.Object != x.Object })
		out = append(out, naiveVerdict(history, opts))
	}
	return out
}

type naivePair struct {
	variable event.ObjectID
	key      pairKey
}

// naivePairs returns the pairs of call stacks at which the variables may race.
func naivePairs(accesses []naiveAccess) map[naivePair]bool {
	out := map[naivePair]bool{}
	for j, y := range accesses {
		for _, x := range accesses[:j] {
			if naiveRace(x, y) {
				out[naivePair{x.Object, keyOf(&access{stack: x.Stack, op: x.Op}, &y.Event)}] = true
			}
		}
	}
	return out
}

func naiveRace(x, y naiveAccess) bool {
	return x.Object == y.Object && x.Thread != y.Thread &&
		(x.Op.IsWrite() || y.Op.IsWrite()) &&
		!atomicPair(x.Flags, y.Flags) &&
		len(intersection(x.exclusive, y.all)) == 0 && len(intersection(x.all, y.exclusive)) == 0 &&
		!y.Before(x.Slot, x.Epoch)
}

// atomicPair reports whether both accesses are atomic, or one is and the other may be.
func atomicPair(x, y event.Flags) bool {
	kinds := func(f event.Flags) (certainly, perhaps bool) {
		return f&event.Atomic != 0, f&(event.Atomic|event.PerhapsAtomic) != 0
	}
	x1, x2 := kinds(x)
	y1, y2 := kinds(y)
	return x1 && y2 || x2 && y1
}

func TestVerdictsAgainstPlainModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		events := randomRun(rt)
		opts := Options{
			Plain: rapid.Bool().Draw(rt, "plain"),
			leave: leave(rapid.IntRange(0, 1).Draw(rt, "leave")),
			seed:  seed(rapid.IntRange(0, 1).Draw(rt, "seed")),
		}
		var got []verdict
		watched := opts
		watched.onAccess = func(v *verdict) {
			c := *v
			c.candidates = append([]event.ObjectID(nil), v.candidates...)
			got = append(got, c)
		}
		analyse(watched, events)
		if d := cmp.Diff(naiveVerdicts(accessesOf(events), opts), got, cmp.AllowUnexported(verdict{})); d != "" {
			rt.Fatalf("-want +got:\n%s", d)
		}
	})
}

func TestPairsAgainstPlainModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		events := randomRun(rt)
		accesses := accessesOf(events)
		want := naivePairs(accesses)
		every := rapid.Bool().Draw(rt, "every pair")
		if !every {
			warned := map[event.ObjectID]bool{}
			for _, v := range naiveVerdicts(accesses, Options{}) {
				warned[v.variable] = warned[v.variable] || v.warning
			}
			for p := range want {
				if !warned[p.variable] {
					delete(want, p)
				}
			}
		}
		got := map[naivePair]bool{}
		a := New(Options{EveryPair: every, History: 1000})
		compactAt := rapid.IntRange(0, 60).Draw(rt, "compact at")
		for i := range events {
			if i == compactAt {
				a.compact()
			}
			a.Event(&events[i])
		}
		for _, f := range a.Finish() {
			x, y := evidence(rt, accesses, f.Evidence[0].Seq), evidence(rt, accesses, f.Evidence[1].Seq)
			if !naiveRace(x, y) || x.Seq >= y.Seq {
				rt.Fatalf("evidence %+v is no race", f.Evidence)
			}
			if !slices.Equal(slices.Sorted(slices.Values(f.Evidence[0].Held)), slices.Sorted(slices.Values(x.all))) {
				rt.Fatalf("held %v, want %v", f.Evidence[0].Held, x.all)
			}
			got[naivePair{f.Objects[0], keyOf(&access{stack: x.Stack, op: x.Op}, &y.Event)}] = true
		}
		if d := cmp.Diff(want, got, cmp.AllowUnexported(naivePair{}, pairKey{})); d != "" {
			rt.Fatalf("-want +got:\n%s", d)
		}
	})
}

func evidence(rt *rapid.T, accesses []naiveAccess, seq uint64) naiveAccess {
	i := slices.IndexFunc(accesses, func(x naiveAccess) bool { return x.Seq == seq })
	if i < 0 {
		rt.Fatalf("no access has number %d", seq)
	}
	return accesses[i]
}
