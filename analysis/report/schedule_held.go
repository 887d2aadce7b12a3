package report

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// heldLocks is what a thread holds in some step of a schedule. Threads that nest n locks make n schedules of n steps
// with n locks each; the steps share what they hold.
type heldLocks struct {
	ids   []event.ObjectID
	at    []event.StackID
	read  uint64
	locks []Held
}

// schedule is steps for a schedule. Equal locks of two steps are one slice.
func (b *builder) schedule(in []finding.Step) []Step {
	out := make([]Step, 0, len(in))
	for i := range in {
		s := b.step(&in[i])
		s.Held = b.sharedLocks(&in[i])
		out = append(out, s)
	}
	return out
}

// StepsShown returns those steps of a schedule of the finding that are shown: all but those on the dynamic loader's own locks, which
// it takes in every program, unless the finding is about these.
func (f *Finding) StepsShown(steps []Step) []Step {
	ofLoader := func(o *Object) bool { return o != nil && o.OfLoader() }
	if slices.ContainsFunc(f.Objects, func(o Object) bool { return o.OfLoader() }) || !slices.ContainsFunc(steps, func(s Step) bool { return ofLoader(s.Object) }) {
		return steps
	}
	shown := make([]Step, 0, len(steps))
	for i := range steps {
		if !ofLoader(steps[i].Object) {
			shown = append(shown, steps[i])
		}
	}
	return shown
}

func (b *builder) sharedLocks(s *finding.Step) []Held {
	if len(s.Held) == 0 {
		return nil
	}
	key := hashLocks(s)
	for _, h := range b.held[key] {
		if h.read == s.HeldRead && slices.Equal(h.ids, s.Held) && slices.Equal(h.at, s.HeldAt) {
			return h.locks
		}
	}
	locks := b.locksHeld(s)
	b.held[key] = append(b.held[key], heldLocks{s.Held, s.HeldAt, s.HeldRead, locks})
	return locks
}

// hashLocks is FNV-1a, over whole numbers instead of bytes.
func hashLocks(s *finding.Step) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	hash := offset ^ s.HeldRead
	for _, id := range s.Held {
		hash = (hash ^ uint64(id)) * prime
	}
	for _, at := range s.HeldAt {
		hash = (hash ^ uint64(at)) * prime
	}
	return hash
}
