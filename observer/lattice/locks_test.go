package lattice_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/observer/lattice"
)

// lockedEvents returns a run with critical sections of two locks, the second of which has
// readers. The clocks have no edges of locks.
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

// lockStep makes e an acquire or release of a random lock, and reports whether it may come next.
func lockStep(r *rand.Rand, run []lattice.Event, e *lattice.Event) bool {
	e.Lock = uint32(r.IntN(2))
	if holds(run, nil, e.Slot, e.Lock) != lattice.NoLock {
		e.Locking = lattice.Releases
		return true
	}
	e.Locking = lattice.Acquires
	if e.Lock == 1 && r.IntN(2) == 0 {
		e.Locking = lattice.AcquiresShared
	}
	return free(run, nil, e)
}

// holds returns how a slot holds a lock after the events that are done (nil: all).
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

// free reports whether no other slot's section excludes an event that acquires a lock.
func free(run []lattice.Event, done []bool, e *lattice.Event) bool {
	if e.Locking != lattice.Acquires && e.Locking != lattice.AcquiresShared {
		return true
	}
	for s := range uint32(4) {
		if how := holds(run, done, s, e.Lock); s != e.Slot && how != lattice.NoLock && (how == lattice.Acquires || e.Locking == lattice.Acquires) {
			return false
		}
	}
	return true
}

// walkLocked visits every run that the order and the locks allow. It records the cuts that the
// runs pass, and returns whether one run is bad.
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

// cutsOf returns the cuts of the lattice, level by level from the definition: from a cut with
// releases that may come next and that no property reads, only the first of these and the step
// of the observed run are taken. Read reports whether a property reads an event.
func cutsOf(events []lattice.Event, read func(*lattice.Event) bool) map[int]bool {
	cuts := map[int]bool{0: true}
	for level, last := 0, []int{0}; len(last) > 0; level++ {
		var next []int
		for _, set := range last {
			done := make([]bool, len(events))
			for i := range done {
				done[i] = set>>i&1 != 0
			}
			var steps []int
			for i := range events {
				if !enabled(events, done, i) || !free(events, done, &events[i]) {
					continue
				}
				if steps = append(steps, i); events[i].Locking == lattice.Releases && !read(&events[i]) {
					steps = steps[len(steps)-1:]
					break
				}
			}
			if set == 1<<level-1 && level < len(events) { // of the observed run
				steps = append(steps, level)
			}
			for _, i := range steps {
				if to := set | 1<<i; !cuts[to] {
					cuts[to] = true
					next = append(next, to)
				}
			}
		}
		last = next
	}
	return cuts
}

func TestSectionsChangePlacesWhole(t *testing.T) {
	predicted, saved, windows := 0, 0, 0
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 29))
		events := lockedEvents(r, 2+r.IntN(2), 3+r.IntN(7))
		p := randomProperty(r, 2)
		for i := range events { // a release may be a declared event too
			if events[i].Locking == lattice.Releases && r.IntN(4) == 0 {
				events[i].Events = 1 << r.IntN(2)
			}
		}
		got := judge(t, events, []lattice.Property{p}, 2, lattice.Options{})
		window := judge(t, events, []lattice.Property{p}, 2, lattice.Options{Width: 1 + r.IntN(4), Queue: r.IntN(4)})
		all := map[int]bool{}
		want := walkLocked(events, make([]bool, len(events)), begin(&p, 2), all)
		cuts := cutsOf(events, func(e *lattice.Event) bool { return reads(&p, e) })
		if got.found[0] != want || got.stats.Cuts != uint64(len(cuts)) || !got.stats.Complete() {
			t.Fatalf("seed %d: violated %v and %d cuts, want %v and %d", seed, got.found[0], got.stats.Cuts, want, len(cuts))
		}
		if window.observed[0] != got.observed[0] || window.found[0] && !want || window.stats.Complete() && window.found[0] != want {
			t.Fatalf("seed %d: violated in the window %v (observed %v), want %v (observed %v)", seed, window.found[0], window.observed[0], want, got.observed[0])
		}
		saved += len(all) - len(cuts)
		if want && !got.observed[0] {
			predicted++
			if window.found[0] {
				windows++
			}
		}
	}
	if predicted < 10 || windows < 5 || saved < 100 {
		t.Errorf("%d predicted, %d in windows, %d cuts saved: the test says little", predicted, windows, saved)
	}
}

// TestNoWordIsLost: every word of a run is also a word of a run in which releases come as soon as
// they can.
func TestNoWordIsLost(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 31))
		events := lockedEvents(r, 2+r.IntN(2), 3+r.IntN(6))
		all, soon := map[string]bool{}, map[string]bool{}
		words(events, make([]bool, len(events)), "", false, all)
		words(events, make([]bool, len(events)), "", true, soon)
		if !maps.Equal(all, soon) {
			t.Fatalf("seed %d: %d words, %d with releases at once", seed, len(all), len(soon))
		}
	}
}

// words collects the words of the runs: the values that they write, in order.
func words(events []lattice.Event, done []bool, word string, atOnce bool, into map[string]bool) {
	into[word] = true
	var steps []int
	for i := range events {
		if enabled(events, done, i) && free(events, done, &events[i]) {
			if steps = append(steps, i); atOnce && events[i].Locking == lattice.Releases {
				steps = []int{i}
				break
			}
		}
	}
	for _, i := range steps {
		next := word
		if e := &events[i]; e.Variable >= 0 {
			next += fmt.Sprintf("%d=%d ", e.Variable, e.Value)
		}
		done[i] = true
		words(events, done, next, atOnce, into)
		done[i] = false
	}
}
