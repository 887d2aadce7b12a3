package steer

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// scheduled returns the order of the gated events of a program in a run: thread i, which the first one creates, has steps[i]
// events besides its beginning. No thread blocks.
func scheduled(s Serial, steps []int) (order []string) {
	t := NewTurns(s, 1)
	const first = 100
	t.Created(first, []int{})
	left := map[int]int{}
	var ready []int
	goes := func(tids []int) {
		for _, tid := range tids {
			order = append(order, fmt.Sprint(tid))
		}
		ready = append(ready, tids...)
	}
	for i, n := range steps {
		tid := i + 1
		left[tid] = n
		t.Created(tid, []int{i})
		stays, on := t.Begins(tid)
		if !stays {
			panic("it begins while the first one runs")
		}
		goes(on)
	}
	goes(t.Tick(func(int) Look { return Look{} }))
	for range asleepLooks { // the first one waits for the others to end
		goes(t.Tick(func(tid int) Look { return Look{Asleep: tid == first} }))
	}
	for len(ready) > 0 {
		tid := ready[0]
		ready = ready[1:]
		if left[tid]--; left[tid] < 0 {
			goes(t.Ended(tid))
			continue
		}
		_, on := t.Came(tid, 0)
		goes(on)
	}
	return order
}

// TestSerialTakesTurns: every thread's events happen, one thread at a time, and equal seeds are equal orders.
func TestSerialTakesTurns(t *testing.T) {
	orders := map[string]bool{}
	for seed := range uint64(50) {
		s := Serial{Seed: seed, Depth: 3, Events: 12}
		order := scheduled(s, []int{3, 3, 3})
		if len(order) != 12 {
			t.Fatalf("seed %d: %v", seed, order)
		}
		if !reflect.DeepEqual(order, scheduled(s, []int{3, 3, 3})) {
			t.Errorf("seed %d has two orders", seed)
		}
		orders[strings.Join(order, "")] = true
	}
	if len(orders) < 20 {
		t.Errorf("50 seeds have %d orders", len(orders))
	}
}

// TestSerialBound: what one order of two threads' events shows is found at least as often as PCT's bound says, at each
// depth; with too small a depth it never is.
func TestSerialBound(t *testing.T) {
	const seeds = 4000
	const n, k = 3, 14 // with the first thread
	for _, c := range []struct {
		depth int
		meets func(order string) bool // 1: the first created thread, 2: the second
		never []int                   // depths with which it is not found
	}{
		{1, func(o string) bool { return strings.HasPrefix(o, "2222222") }, nil},
		{2, func(o string) bool { return strings.HasPrefix(o, "11112222222") }, []int{1}},
		{3, func(o string) bool { return strings.HasPrefix(o, "1111222211") }, []int{1, 2}},
	} {
		met := func(depth int, of uint64) (n int) {
			for seed := range of {
				if c.meets(strings.Join(scheduled(Serial{seed, depth, k}, []int{6, 6}), "")) {
					n++
				}
			}
			return n
		}
		bound := float64(seeds) / n
		for range c.depth - 1 {
			bound /= k
		}
		got := met(c.depth, seeds)
		if float64(got) < bound {
			t.Errorf("depth %d: met by %d of %d seeds, and the bound is %.1f", c.depth, got, seeds, bound)
		}
		for _, d := range c.never {
			if more := met(d, seeds/8); more > 0 {
				t.Errorf("what needs depth %d is met with depth %d, %d times", c.depth, d, more)
			}
		}
		t.Logf("depth %d: met by %d of %d seeds, bound %.1f", c.depth, got, seeds, bound)
	}
}

// TestSerialGivesWay: who sleeps, and who runs for long without an event, does not keep the others.
func TestSerialGivesWay(t *testing.T) {
	asleep := func(int) Look { return Look{Asleep: true, Ran: time.Hour} }
	ran := func(d time.Duration) func(int) Look { return func(int) Look { return Look{Ran: time.Hour + d} } }
	for _, c := range []struct {
		name string
		wait func(*Turns) [][]int // the last one goes on
	}{
		{"sleeps", func(s *Turns) [][]int { return [][]int{s.Tick(asleep), s.Tick(asleep), s.Tick(asleep), s.Tick(asleep)} }},
		{"wakes", func(s *Turns) [][]int {
			return [][]int{s.Tick(asleep), s.Tick(asleep), s.Tick(ran(0)), s.Tick(asleep), s.Tick(asleep), s.Tick(asleep), s.Tick(asleep)}
		}},
		{"runs", func(s *Turns) [][]int {
			return [][]int{s.Tick(ran(0)), s.Tick(ran(turnBound - 1)), s.Tick(ran(turnBound))}
		}},
		{"ends", func(s *Turns) [][]int { return [][]int{s.Ended(7)} }},
	} {
		s := NewTurns(Serial{Seed: 1, Depth: 1, Events: 10}, 1)
		s.Created(7, []int{})
		s.Created(8, []int{0})
		if stays, on := s.Begins(8); !stays || len(on) > 0 || !s.Holds() {
			t.Fatalf("%s: two threads run", c.name)
		}
		all := c.wait(s)
		for i, on := range all {
			if last := i == len(all)-1; last != slices.Equal(on, []int{8}) || !last && len(on) > 0 {
				t.Errorf("%s: %v go on after look %d of %d", c.name, on, i+1, len(all))
			}
		}
		if s.Holds() {
			t.Errorf("%s: it is held", c.name)
		}
	}
}

// TestSerialEnds: after maxTurns events the rest of the run is free.
func TestSerialEnds(t *testing.T) {
	s := NewTurns(Serial{Seed: 1, Depth: 2, Events: 10}, 1)
	s.Created(7, []int{})
	s.Created(8, []int{0})
	s.Begins(8)
	s.events = maxTurns
	again, on := s.Came(7, 0)
	if len(again) > 0 || !slices.Equal(on, []int{7, 8}) || s.Holds() || len(s.Created(9, []int{1})) > 0 {
		t.Errorf("%v are stopped again, %v go on", again, on)
	}
}
