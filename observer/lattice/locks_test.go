package lattice_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/observer/lattice"
)

// lockedEvents makes a run with sections of two locks, the second of which has readers;
// clocks have no edges of locks.
func lockedEvents(r *rand.Rand, slots, n int) []lattice.Event {
	clocks := make([][]uint32, slots)
	for i := range clocks {
		clocks[i] = make([]uint32, slots)
	}
	of := make([][]uint32, 2)
	var out []lattice.Event
	for len(out) < n {
		s := r.IntN(slots)
		e := lattice.Event{Slot: uint32(s), Variable: -1, Seq: uint64(len(out) + 1)}
		if r.IntN(2) == 0 {
			e.Variable, e.Value = r.IntN(2), uint64(r.IntN(3))
		} else if !lockStep(r, out, &e) {
			continue
		}
		clocks[s][s]++
		if v := e.Variable; v >= 0 {
			join(clocks[s], of[v])
			of[v] = slices.Clone(clocks[s])
		}
		e.Clock = slices.Clone(clocks[s])
		out = append(out, e)
	}
	return out
}

// lockStep makes e a taking or releasing that may come next, if there is one.
func lockStep(r *rand.Rand, run []lattice.Event, e *lattice.Event) bool {
	e.Lock = uint32(r.IntN(2))
	if holds(run, nil, e.Slot, e.Lock) != lattice.NoLock {
		e.Locking = lattice.Releases
		return true
	}
	e.Locking = lattice.Takes
	if e.Lock == 1 && r.IntN(2) == 0 {
		e.Locking = lattice.TakesShared
	}
	return free(run, nil, e)
}

// holds tells how a slot holds a lock after the events that are done (nil: all).
func holds(run []lattice.Event, done []bool, slot, lock uint32) lattice.Locking {
	how := lattice.NoLock
	for i := range run {
		if e := &run[i]; (done == nil || done[i]) && e.Slot == slot && e.Lock == lock && e.Locking != lattice.NoLock {
			how = e.Locking
			if how == lattice.Releases {
				how = lattice.NoLock
			}
		}
	}
	return how
}

// free tells whether an event's lock can be had.
func free(run []lattice.Event, done []bool, e *lattice.Event) bool {
	if e.Locking != lattice.Takes && e.Locking != lattice.TakesShared {
		return true
	}
	for s := range uint32(4) {
		if how := holds(run, done, s, e.Lock); s != e.Slot && how != lattice.NoLock && (how == lattice.Takes || e.Locking == lattice.Takes) {
			return false
		}
	}
	return true
}

// walkLocked visits every run that the order and the locks allow: the cuts that they pass,
// and whether one is bad.
func walkLocked(events []lattice.Event, done []bool, r *plainRun, cuts map[int]bool) (bad bool) {
	set := 0
	for i, d := range done {
		if d {
			set |= 1 << i
		}
	}
	cuts[set] = true
	bad = r.bad()
	for i := range events {
		if !enabled(events, done, i) || !free(events, done, &events[i]) {
			continue
		}
		done[i] = true
		next := r.clone()
		next.take(&events[i])
		bad = walkLocked(events, done, next, cuts) || bad
		done[i] = false
	}
	return bad
}

func TestSectionsChangePlacesWhole(t *testing.T) {
	predicted := 0
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 29))
		events := lockedEvents(r, 2+r.IntN(2), 3+r.IntN(7))
		p := randomProperty(r, 2)
		got := judge(t, events, []lattice.Property{p}, 2, lattice.Options{})
		cuts := map[int]bool{}
		want := walkLocked(events, make([]bool, len(events)), begin(&p, 2), cuts)
		if got.found[0] != want || got.stats.Cuts != uint64(len(cuts)) {
			t.Fatalf("seed %d: violated %v and %d cuts, want %v and %d", seed, got.found[0], got.stats.Cuts, want, len(cuts))
		}
		if want && !got.observed[0] {
			predicted++
		}
	}
	if predicted < 10 {
		t.Errorf("%d predicted: the test says little", predicted)
	}
}
