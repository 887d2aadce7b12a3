package execution

import (
	"slices"
	"unsafe"

	"github.com/tracepredict/tracepredict/analysis/finding"
)

// Most witnesses begin as the run does, up to the first event that they leave out or move, which often comes late. So
// some states of the execution of the run itself are kept, and the execution of a witness goes on from the last one
// before that event. What a witness is checked for does not change.

// The bounds of checkpoints.
const (
	checkpointBytes = 32 << 20 // memory of all, about
	maxCheckpoints  = 64
	minCheckpoint   = 1 << 10 // events between two of them
)

// checkpoints are states after the first events of the run, one for each so many.
type checkpoints struct {
	every  int // events
	states []*state
	ended  bool // the next one would break a rule
}

// begin returns a state after the first events of a witness, and how many they are.
func (r *Run) begin(steps []finding.Step, lenient bool) (*state, int) {
	c := &r.strict
	if lenient {
		c = &r.lenient
	}
	n := r.sameEvents(steps)
	if c.every == 0 {
		c.every = r.checkpointEvery()
	}
	for len(c.states) < n/c.every && !c.ended {
		c.ended = !r.extend(c, lenient)
	}
	i := min(len(c.states), n/c.every)
	return r.after(c, i, lenient), i * c.every
}

// after returns a state of its own after the first events up to the n-th checkpoint; 0: after none.
func (r *Run) after(c *checkpoints, n int, lenient bool) *state {
	if n > 0 {
		return c.states[n-1].clone()
	}
	s := r.start()
	s.lenient = lenient
	return s
}

// sameEvents returns the number of first steps that are the first events of the run.
func (r *Run) sameEvents(steps []finding.Step) int {
	for i := range steps {
		if i == len(r.events) || !isEvent(&steps[i], &r.events[i]) {
			return i
		}
	}
	return len(steps)
}

// checkpointEvery returns how many events should lie between two checkpoints.
func (r *Run) checkpointEvery() int {
	size := 4*len(r.events) + 4*len(r.queues) + r.objects*int(unsafe.Sizeof(object{}))
	return max(minCheckpoint, len(r.events)/max(1, min(maxCheckpoints, checkpointBytes/max(1, size))))
}

// extend adds the next checkpoint. It returns false if an event before it breaks a rule.
func (r *Run) extend(c *checkpoints, lenient bool) bool {
	s := r.after(c, len(c.states), lenient)
	events := r.events[len(c.states)*c.every:][:c.every]
	for i := range events {
		x := finding.StepOf(&events[i])
		if s.step(&x) != nil {
			return false
		}
	}
	c.states = append(c.states, s)
	return true
}

// clone returns a state of its own.
func (s *state) clone() *state {
	own := *s
	own.when, own.heads, own.objects = slices.Clone(s.when), slices.Clone(s.heads), slices.Clone(s.objects)
	own.unexplained = slices.Clone(s.unexplained)
	for o := range own.objects {
		own.objects[o].holders = slices.Clone(own.objects[o].holders)
	}
	return &own
}
