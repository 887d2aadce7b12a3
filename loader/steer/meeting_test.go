package steer

import (
	"testing"
	"time"
)

func access(addr uint64, write bool) []Access { return []Access{{Addr: addr, Size: 4, Write: write}} }

func newPair() Pair {
	return Pair{Sides: [2]Side{{Thread: []int{0}, What: "T2 writes"}, {Thread: []int{1}, What: "T3 reads"}}}
}

// TestMeeting: the thread that comes first is held until the other one is about to access the same memory.
func TestMeeting(t *testing.T) {
	now := time.Unix(100, 0)
	m := NewMeeting(newPair())
	for _, step := range []struct {
		tid, side int
		accesses  []Access
		want      Arrival
	}{
		{7, 1, access(0x100, false), Stays},
		{6, 0, access(0x104, true), Passes},  // beside it
		{6, 0, access(0x100, false), Passes}, // both read
		{6, 0, nil, Passes},                  // not known what
		{6, 0, access(0x102, true), Meets},
		{6, 0, access(0x100, true), Passes}, // it is over
	} {
		if got := m.Came(step.tid, step.side, step.accesses, now); got != step.want {
			t.Fatalf("thread %d before %v: %d, want %d", step.tid, step.accesses, got, step.want)
		}
	}
	if met := m.Met(); met == nil || met.Addr != 0x102 || met.Size != 2 || !m.Over() || m.Holds() {
		t.Errorf("met %+v, over %v, holds %v", met, m.Over(), m.Holds())
	}
	if got := m.Order(6); got != [2]int{6, 7} {
		t.Errorf("order %v: side 0 goes first", got)
	}
	other := newPair()
	other.First = 1
	m = NewMeeting(other)
	if m.Came(6, 0, access(0x100, true), now) != Stays || m.Came(7, 1, access(0x100, false), now) != Meets || m.Order(7) != [2]int{7, 6} {
		t.Errorf("order %v: side 1 goes first", m.Order(7))
	}
}

// TestHeldInVain: a thread is let go when nothing else goes on, or after a time; then more accesses pass each time, and
// in the end nobody is held any more.
func TestHeldInVain(t *testing.T) {
	now := time.Unix(100, 0)
	m := NewMeeting(newPair())
	passed := 0
	for n := range maxHolds {
		for m.Came(6, 0, access(0x100, true), now) == Passes {
			passed++
		}
		switch n {
		case 0: // nothing goes on
			if m.Tick(now, false) != 0 || m.Tick(now.Add(idleBound-1), false) != 0 || m.Tick(now.Add(idleBound), false) != 6 {
				t.Fatal("it was not let go after the time, or before")
			}
		case 1: // something goes on again
			if m.Tick(now, false) != 0 || m.Tick(now.Add(idleBound), true) != 0 || m.Tick(now.Add(idleBound), false) != 0 || m.Tick(now.Add(heldBound), true) != 6 {
				t.Fatal("it was let go while something went on, or held for ever")
			}
		default:
			m.Ended(6)
		}
		if m.Holds() {
			t.Fatal("it is held still")
		}
	}
	if want := 1<<(maxHolds-1) - 1; passed != want || !m.Over() || m.Met() != nil || m.Came(6, 0, access(0x100, true), now) != Passes {
		t.Errorf("%d accesses passed, want %d; over: %v", passed, want, m.Over())
	}
	if got := m.Reason(); got != "T3 reads: the run ended without it" {
		t.Errorf("reason %q", got)
	}
	m.Came(7, 1, access(0x200, false), now)
	if got := m.Reason(); got != "while one thread was held before its access, the other did not come to its own" {
		t.Errorf("reason %q", got)
	}
}

// TestKeptApart: a thread that the other one waits for is let go, and few accesses pass before the next hold; that ends, too.
func TestKeptApart(t *testing.T) {
	now := time.Unix(100, 0)
	m := NewMeeting(newPair())
	if tid, _ := m.Holder(); tid != 0 {
		t.Errorf("%d is held", tid)
	}
	for range maxBrief {
		for passed := 0; m.Came(7, 1, access(0x100, true), now) == Passes; passed++ {
			if passed == briefPass {
				t.Fatal("too many accesses pass")
			}
		}
		if tid, side := m.Holder(); tid != 7 || side != 1 || m.Over() {
			t.Fatalf("%d of side %d is held; over: %v", tid, side, m.Over())
		}
		if m.Blocks() != 7 || m.Holds() {
			t.Fatal("it was not let go")
		}
	}
	if !m.Over() || m.Came(7, 1, access(0x100, true), now) != Passes {
		t.Error("it is not over")
	}
	m.Came(6, 0, access(0x200, true), now)
	if got := m.Reason(); got != "while one thread was held before its access, the other waited for it" {
		t.Errorf("reason %q", got)
	}
}

// TestSkip: accesses pass before the first hold.
func TestSkip(t *testing.T) {
	p := newPair()
	p.Skip = 2
	m := NewMeeting(p)
	for i, want := range []Arrival{Passes, Passes, Stays} {
		if got := m.Came(6+i%2, i%2, access(0x100, true), time.Unix(100, 0)); got != want {
			t.Errorf("access %d: %d, want %d", i, got, want)
		}
	}
	m.Came(7, 1, access(0x200, true), time.Unix(100, 0))
	if got := m.Reason(); got != "the threads stood before accesses of different memory" {
		t.Errorf("reason %q", got)
	}
}

func TestCheckPair(t *testing.T) {
	p := newPair()
	if err := (&Plan{Pair: &p}).Check(); err != nil {
		t.Error(err)
	}
	p.First = 2
	if p.Check() == nil {
		t.Error("there is no side 2")
	}
	p = newPair()
	p.Sides[1].Thread = []int{0}
	if p.Check() == nil {
		t.Error("both sides are one thread")
	}
}
