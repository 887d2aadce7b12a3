package confirm

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

const (
	a event.ObjectID = iota + 1
	b
	c
)

func step(t event.ThreadID, op event.Op, o event.ObjectID) finding.Step {
	return finding.Step{Thread: t, Op: op, Object: o}
}

// names returns the holds as text: thread, lock, and what they wait for.
func names(holds []Hold) (out []string) {
	for _, h := range holds {
		text := string(rune('0'+h.Step.Thread)) + string(rune('a'+h.Step.Object-1))
		for _, i := range h.After {
			text += string(rune('0' + i))
		}
		out = append(out, text)
	}
	return out
}

// TestSchedule: threads wait before their last requests for each other, and before what they hold then for the sections
// of the same lock that come earlier in the witness.
func TestSchedule(t *testing.T) {
	acquire, release := event.Acquire, event.Release
	for _, tt := range []struct {
		name    string
		witness []finding.Step
		last    []finding.Step
		want    []string
	}{
		{"crossing",
			[]finding.Step{step(2, acquire, a), step(3, acquire, b)},
			[]finding.Step{step(2, acquire, b), step(3, acquire, a)},
			[]string{"2a", "3b", "2b3", "3a2"}},
		{"errand: T3's section of c comes before T2's",
			[]finding.Step{step(3, acquire, c), step(3, release, c), step(3, acquire, b), step(2, acquire, c), step(2, acquire, a)},
			[]finding.Step{step(2, acquire, b), step(3, acquire, a)},
			[]string{"3b", "2c0", "2a", "2b4", "3a3"}},
		{"T3 comes to its request first, since its section of c is the last that it does before",
			[]finding.Step{step(3, acquire, b), step(3, acquire, c), step(3, release, c), step(2, acquire, c), step(2, acquire, a)},
			[]finding.Step{step(2, acquire, b), step(3, acquire, a)},
			[]string{"3b", "2c4", "2a", "2b4", "3a3"}},
		{"another thread's sections matter not, nor those that have ended",
			[]finding.Step{step(4, acquire, a), step(4, release, a), step(2, acquire, c), step(2, release, c), step(2, acquire, a), step(3, acquire, b)},
			[]finding.Step{step(2, acquire, b), step(3, acquire, a)},
			[]string{"2a", "3b", "2b3", "3a2"}},
	} {
		witness := slices.Clone(tt.witness)
		for _, s := range tt.last {
			s.Blocked = true
			witness = append(witness, s)
		}
		got, err := Schedule(&finding.Finding{Kind: finding.Deadlock, Evidence: tt.last, Witness: witness})
		if err != nil || !slices.Equal(names(got), tt.want) {
			t.Errorf("%s: %v, %v, want %v", tt.name, names(got), err, tt.want)
		}
	}
}

func TestNothingToFollow(t *testing.T) {
	crossing := []finding.Step{step(2, event.Acquire, b), step(3, event.Acquire, a)}
	tries := slices.Clone(crossing)
	tries[1].Flags = event.Repeated
	for _, tt := range []struct {
		f    finding.Finding
		want error
	}{
		{finding.Finding{Kind: finding.Race, Evidence: crossing, Witness: crossing}, ErrKind},
		{finding.Finding{Kind: finding.Deadlock, Evidence: crossing}, ErrNoWitness},
		{finding.Finding{Kind: finding.Deadlock, Evidence: tries, Witness: tries}, ErrTries},
		{finding.Finding{Kind: finding.Deadlock, Evidence: crossing[:1], Witness: crossing}, ErrKind},
		{finding.Finding{Kind: finding.Deadlock, Evidence: []finding.Step{crossing[0], step(3, event.Join, 0)}, Witness: crossing}, ErrKind},
	} {
		if _, err := Schedule(&tt.f); !errors.Is(err, tt.want) {
			t.Errorf("%s of %d: %v, want %v", tt.f.Kind, len(tt.f.Evidence), err, tt.want)
		}
	}
}

func TestCounter(t *testing.T) {
	counter := NewCounter()
	for i, e := range []event.Event{
		{Thread: 1, Op: event.Fork, Peer: 2}, {Thread: 1, Op: event.Fork, Peer: 3}, {Thread: 3, Op: event.Fork, Peer: 4},
		{Thread: 9, Op: event.Fork, Peer: 5}, // by one that is not known
		{Thread: 2, Op: event.Acquire, Stack: 7}, {Thread: 2, Op: event.AcquireFailed, Stack: 8}, {Thread: 2, Op: event.Release, Stack: 9},
		{Thread: 3, Op: event.Acquire, Stack: 7}, {Thread: 2, Op: event.AcquireRead, Stack: 7},
	} {
		e.Seq = uint64(i + 1)
		counter.Event(&e)
	}
	for thread, want := range map[event.ThreadID][]int{1: {}, 2: {0}, 3: {1}, 4: {1, 0}} {
		if got, ok := counter.Path(thread); !ok || !slices.Equal(got, want) {
			t.Errorf("T%d: %v, %v, want %v", thread, got, ok, want)
		}
	}
	if got, ok := counter.Path(5); ok {
		t.Errorf("T5 is %v", got)
	}
	if got := counter.Stacks(); !slices.Equal(got, []event.StackID{7, 8}) {
		t.Errorf("call stacks of acquires: %v", got)
	}
	seven := func(s event.StackID) bool { return s == 7 }
	any := func(event.StackID) bool { return true }
	for _, tt := range []struct {
		seq    uint64
		same   func(event.StackID) bool
		number func(uint64) uint64
		want   uint32
	}{{9, seven, nil, 2}, {9, any, nil, 3}, {5, seven, nil, 1}, {109, seven, func(n uint64) uint64 { return n + 100 }, 2}, {7, seven, nil, 0}} {
		counter.Renumbered = tt.number
		if got, ok := counter.Number(2, tt.seq, tt.same); got != tt.want || ok != (tt.want > 0) {
			t.Errorf("event %d: %d, %v, want %d", tt.seq, got, ok, tt.want)
		}
	}
}

// TestRoute: a thread waits where the witness goes on with another one, and what it leaves out comes after it.
func TestRoute(t *testing.T) {
	counter := NewCounter()
	var run []finding.Step
	for i, s := range []finding.Step{
		{Thread: 2, Op: event.Write, Object: a}, {Thread: 2, Op: event.Write, Object: b}, {Thread: 3, Op: event.Read, Object: a},
		{Thread: 2, Op: event.Write, Object: a}, {Thread: 2, Op: event.Write, Object: c}, {Thread: 3, Op: event.Acquire, Object: b},
		{Thread: 4, Op: event.Call}, {Thread: 3, Op: event.Wait, Object: b}, {Thread: 3, Op: event.Write, Object: c},
	} {
		s.Seq, s.Stack = uint64(i+1), event.StackID(s.Object)
		counter.Event(&event.Event{Seq: s.Seq, Thread: s.Thread, Op: s.Op, Object: s.Object, Stack: s.Stack})
		run = append(run, s)
	}
	for _, tt := range []struct {
		name     string
		witness  []int // of run
		observed []int
		stops    func(*finding.Step) bool
		want     []string // thread, event, the stop before, and what the stop is behind
	}{
		{"T2 in a row", []int{0, 1, 3, 2}, nil, nil, []string{"T2 1 0 []", "T2 4 1 []", "T3 3 0 [1]", "T2 5 4 [2] after", "T4 7 0 [2] after"}},
		{"of T2 nothing", []int{2, 5, 8}, []int{0}, nil, []string{"T3 3 0 []", "T3 9 3 []", "T2 1 0 [1] after", "T4 7 0 [1] after"}},
		{"T3 alone can be stopped", []int{0, 2}, nil, func(s *finding.Step) bool { return s.Thread == 3 }, []string{"T3 3 0 []"}},
	} {
		f := finding.Finding{Kind: finding.Property}
		for _, i := range tt.witness {
			f.Witness = append(f.Witness, run[i])
		}
		for _, i := range tt.observed {
			f.Observed = append(f.Observed, run[i])
		}
		stops := tt.stops
		if stops == nil {
			stops = func(*finding.Step) bool { return true }
		}
		route, err := counter.Route(&f, stops)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		var got []string
		for _, s := range route {
			text := fmt.Sprintf("T%d %d %d %v", s.Step.Thread, s.Step.Seq, s.Since, s.Behind)
			if s.After {
				text += " after"
			}
			got = append(got, text)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if _, err := counter.Route(&finding.Finding{Kind: finding.Property}, nil); !errors.Is(err, ErrNoWitness) {
		t.Errorf("without a witness: %v", err)
	}
	same := func(_ event.Op, s event.StackID) bool { return s == event.StackID(a) }
	if n, ok := counter.Since(2, 1, 4, same); n != 1 || !ok {
		t.Errorf("the second write of a is number %d behind the first, %v", n, ok)
	}
}
