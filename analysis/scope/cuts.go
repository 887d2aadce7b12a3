package scope

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/causality"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Cuts compares candidates for synchronising actions on one run: whether the actions of each are totally ordered, and how
// they cut the counted events into regions. Make it with NewCuts. It is not safe for concurrent use.
//
// An event costs a comparison for each candidate, an action one for each thread. Memory is 4 bytes a counted event, and
// 16 bytes for each candidate and each thread that was unordered with others at once.
type Cuts struct {
	stamps     stamps
	candidates []*candidate
	counted    [][]uint32 // by slot: the numbers of the counted events, ascending
}

// Cut is how the actions of one candidate cut a run.
type Cut struct {
	Actions    uint64
	Events     uint64   // counted events that are no actions of the candidate
	Regions    []uint64 // of each region with counted events, their number; Actions+1 regions there are in all
	Concurrent uint64   // counted events that are concurrent with an action next to their region
	// Unordered are the first two actions that are concurrent; nil: the actions are totally ordered. The other fields then
	// describe the run up to there.
	Unordered *[2]finding.Step
}

// candidate is the state of a candidate.
type candidate struct {
	Cut
	last   finding.Step
	lastAt position
	from   []int    // by slot: how many of its counted events lie before the present region; shorter: 0
	early  []uint64 // by slot: the counted events of the region that do not come after the action before it
}

// NewCuts returns the comparison of no candidates on a run that has not begun.
func NewCuts() *Cuts { return &Cuts{stamps: stamps{causality.New()}} }

// Add adds a candidate, which had no action so far, and returns its number. The counted events so far are in its region 0.
func (c *Cuts) Add() int {
	c.candidates = append(c.candidates, &candidate{})
	return len(c.candidates) - 1
}

// Event processes the next event of the run. Counted says that a region has it, and actions are the candidates of which it
// is an action: it is in none of their regions. All events must be passed that order threads.
func (c *Cuts) Event(e *event.Event, counted bool, actions []int) {
	at, clock := c.stamps.of(e, counted || len(actions) > 0)
	for _, i := range actions {
		c.candidates[i].action(c, e, at, clock)
	}
	if !counted {
		return
	}
	for len(c.counted) <= int(at.slot) {
		c.counted = append(c.counted, nil)
	}
	c.counted[at.slot] = append(c.counted[at.slot], at.number)
	for i, x := range c.candidates {
		switch {
		case slices.Contains(actions, i):
			x.from = extended(x.from, at.slot)
			x.from[at.slot] = len(c.counted[at.slot])
		case x.Actions > 0 && !x.lastAt.before(clock):
			x.early = extended(x.early, at.slot)
			x.early[at.slot]++
		}
	}
}

// extended returns a list with an entry for a slot.
func extended[T int | uint64](list []T, slot uint32) []T {
	for len(list) <= int(slot) {
		list = append(list, 0)
	}
	return list
}

// action ends the region of a candidate.
func (x *candidate) action(c *Cuts, e *event.Event, at position, clock causality.Clock) {
	if x.Unordered != nil {
		return
	}
	step := finding.StepOf(e)
	if x.Actions > 0 && !x.lastAt.before(clock) {
		x.Unordered = &[2]finding.Step{x.last, step}
		return
	}
	x.close(c, clock)
	x.Actions++
	x.last, x.lastAt = step, at
}

// close ends a region at an action with a clock, or at the end of the run, where the clock is nil.
func (x *candidate) close(c *Cuts, clock causality.Clock) {
	all := uint64(0)
	for slot, numbers := range c.counted {
		x.from, x.early = extended(x.from, uint32(slot)), extended(x.early, uint32(slot))
		of := numbers[x.from[slot]:]
		// The events of a slot are totally ordered: what does not come after an action are its first ones, what does not
		// come before one are its last ones.
		late := 0
		if clock != nil {
			known, _ := slices.BinarySearch(of, clock.At(uint32(slot))+1)
			late = len(of) - known
		}
		x.Concurrent += min(uint64(len(of)), x.early[slot]+uint64(late))
		all += uint64(len(of))
		x.from[slot], x.early[slot] = len(numbers), 0
	}
	if x.Events += all; all > 0 {
		x.Regions = append(x.Regions, all)
	}
}

// Finish ends the run and returns how each candidate cuts it, by number.
func (c *Cuts) Finish() []Cut {
	out := make([]Cut, 0, len(c.candidates))
	for _, x := range c.candidates {
		if x.Unordered == nil {
			x.close(c, nil)
		}
		out = append(out, x.Cut)
	}
	return out
}

// Effective returns the number of regions of one size that separate events as much as these do: the inverse of the chance
// that two events, drawn with replacement, are in one region (Simpson's index). It is at most len(Regions), and 0 without
// events.
func (c *Cut) Effective() float64 {
	squares := 0.0
	for _, n := range c.Regions {
		squares += float64(n) * float64(n)
	}
	if squares == 0 {
		return 0
	}
	return float64(c.Events) * float64(c.Events) / squares
}

// Evenness returns how evenly the regions with events share them: Effective by their number, from 0 to 1.
func (c *Cut) Evenness() float64 {
	if len(c.Regions) == 0 {
		return 0
	}
	return c.Effective() / float64(len(c.Regions))
}

// Score returns what candidates are ranked by: Effective, less the share of events that are concurrent with an action, since
// these are in another region in another run. It is 0 for a candidate that separates nothing: one whose actions are not
// ordered, or that has all events in one region.
func (c *Cut) Score() float64 {
	if c.Unordered != nil || len(c.Regions) < 2 {
		return 0
	}
	return c.Effective() * (1 - float64(c.Concurrent)/float64(c.Events))
}
