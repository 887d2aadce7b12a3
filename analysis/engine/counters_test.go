package engine_test

import (
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// A small machine executes programs of two threads that nest two locks and count in a variable. It knows nothing of
// events: a prediction is right if an execution of the program leads there, whatever the run did.

type opcode uint8

const (
	acquires opcode = iota
	releases
	adds      // 1, and looks at nothing
	subtracts // 1, and skips instructions unless that leaves 0
	looks     // skips instructions unless the variable has the value
	stores
)

type instruction struct {
	op   opcode
	arg  uint64 // the lock, 0 or 1; a value
	skip int
}

type counting [2][]instruction

// countingState is a state of the machine.
type countingState struct {
	pc    [2]int
	value uint64
	owner [2]int // of a lock: the thread, from 1; 0: none
}

// may reports whether a thread can execute its next instruction.
func (p *counting) may(s *countingState, t int) bool {
	if s.pc[t] >= len(p[t]) {
		return false
	}
	in := p[t][s.pc[t]]
	return in.op != acquires || s.owner[in.arg] == 0
}

// step executes the next instruction of a thread.
func (p *counting) step(s countingState, t int) countingState {
	in := p[t][s.pc[t]]
	s.pc[t]++
	skips := false
	switch in.op {
	case acquires:
		s.owner[in.arg] = t + 1
	case releases:
		s.owner[in.arg] = 0
	case adds:
		s.value++
	case subtracts:
		s.value--
		skips = s.value != 0
	case looks:
		skips = s.value != in.arg
	case stores:
		s.value = in.arg
	}
	if skips {
		s.pc[t] += in.skip
	}
	return s
}

// deadlocks returns the instructions at which the threads can block each other.
func (p *counting) deadlocks() map[[2]int]bool {
	found, seen := map[[2]int]bool{}, map[countingState]bool{}
	var visit func(countingState)
	visit = func(s countingState) {
		if seen[s] {
			return
		}
		seen[s] = true
		stuck := true
		for t := range p {
			if p.may(&s, t) {
				stuck = false
				visit(p.step(s, t))
			}
		}
		if stuck && s.pc[0] < len(p[0]) && s.pc[1] < len(p[1]) {
			found[s.pc] = true
		}
	}
	visit(countingState{value: countedFrom})
	return found
}

const (
	countedFrom        = 2
	counted     uint32 = 10 // the variable's number; those of the locks follow
)

// draw returns a program.
func draw(c eventtest.Choices) (p counting) {
	nest := func() []instruction {
		a := uint64(c.Between(0, 1, "first"))
		return []instruction{{acquires, a, 0}, {acquires, 1 - a, 0}, {releases, 1 - a, 0}, {releases, a, 0}}
	}
	for t := range p {
		for range c.Between(2, 4, "parts") {
			body := nest()
			if c.Between(0, 3, "stores") == 0 {
				body = []instruction{{stores, uint64(c.Between(0, 2, "value")), 0}}
			}
			switch c.Between(0, 5, "part") {
			case 0:
				p[t] = append(p[t], instruction{op: adds})
			case 1:
				p[t] = append(p[t], append([]instruction{{subtracts, 0, len(body)}}, body...)...)
			case 2:
				p[t] = append(p[t], append([]instruction{{looks, uint64(c.Between(0, 1, "value")), len(body)}}, body...)...)
			default:
				p[t] = append(p[t], nest()...)
			}
		}
	}
	return p
}

// execute returns the events of a run; nil if it blocks, or if the counter falls below 0.
func (p *counting) execute(c eventtest.Choices, tests bool) []event.Event {
	s := countingState{value: countedFrom}
	run := []event.Event{
		{Thread: 1, Op: event.Write, Object: event.ObjectID(counted), Kind: event.KindVariable, Value: countedFrom, Flags: event.Atomic | event.HasValue},
		{Thread: 1, Op: event.Fork, Peer: 2}, {Thread: 1, Op: event.Fork, Peer: 3},
	}
	for s.pc[0] < len(p[0]) || s.pc[1] < len(p[1]) {
		t := c.Between(0, 1, "thread")
		if !p.may(&s, t) {
			if t = 1 - t; !p.may(&s, t) {
				return nil
			}
		}
		in, pc := p[t][s.pc[t]], s.pc[t]
		if s = p.step(s, t); s.value > 1<<30 {
			return nil
		}
		e := event.Event{Thread: event.ThreadID(t + 2), Object: event.ObjectID(counted), Kind: event.KindVariable, Value: s.value, Flags: event.Atomic | event.HasValue, Stack: event.StackID(100*(t+1) + pc)}
		var flags event.Flags
		switch in.op {
		case acquires, releases:
			e.Op, e.Object, e.Kind, e.Flags = event.Acquire, event.ObjectID(counted)+1+event.ObjectID(in.arg), event.KindMutex, 0
			if in.op == releases {
				e.Op = event.Release
			}
		case adds:
			e.Op, flags = event.Update, event.Increments|event.ResultUnused
		case subtracts:
			e.Op, flags = event.Update, event.Decrements|event.OnlyZero
		case looks:
			e.Op, flags = event.Read, event.OnlyZero
			if in.arg == 1 {
				flags = event.OnlyOne
			}
		case stores:
			e.Op = event.Write
		}
		if tests || in.op == adds {
			e.Flags |= flags
		}
		run = append(run, e)
	}
	for i := range run {
		run[i].Seq = uint64(i + 1)
	}
	eventtest.Stamp(run)
	return run
}

// predictedIn returns the instructions at which deadlocks are predicted.
func predictedIn(events []event.Event) map[[2]int]bool {
	found, _, _ := runWith(events, nil)
	out := map[[2]int]bool{}
	for i := range found {
		f := &found[i]
		if f.Kind != finding.Deadlock || f.Confidence != finding.Predicted {
			continue
		}
		var at [2]int
		for _, e := range f.Evidence {
			at[e.Thread-2] = int(e.Stack) % 100
		}
		out[at] = true
	}
	return out
}

// TestCounters checks predictions in programs whose threads only compare what they read of a counter: each deadlock
// that is predicted happens in an execution of the program, and more are predicted than without knowing that.
func TestCounters(t *testing.T) {
	seeds, more, all := uint64(4000), 0, 0
	if testing.Short() {
		seeds = 1000
	}
	for seed := range seeds {
		c := eventtest.Seeded(seed)
		p := draw(c)
		events := p.execute(c, true)
		if events == nil {
			continue
		}
		can := p.deadlocks()
		found := predictedIn(events)
		for at := range found {
			if !can[at] {
				t.Fatalf("seed %d: a deadlock is predicted at %v, but none can happen there: %v\n%+v", seed, at, p, events)
			}
		}
		all += len(found)
		if len(found) > 0 {
			c := eventtest.Seeded(seed)
			p := draw(c)
			more += len(found) - len(predictedIn(p.execute(c, false)))
		}
	}
	t.Logf("%d deadlocks predicted, %d of them because of what the threads use", all, more)
	if more < 5 {
		t.Errorf("%d more deadlocks predicted: the test shows nothing", more)
	}
}
