package finding

import (
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
)

// MaxHeld is the number of held locks up to which a step shows all of them. With a thousand steps that each hold
// a thousand locks, a schedule would need more memory than the run.
const MaxHeld = 32

// outermostHeld is the number of locks from the outermost one on that ShortenHeld keeps; the rest are the innermost.
const outermostHeld = 8

// ShortenHeld leaves out held locks of the step if there are more than MaxHeld: all but the outermost and innermost,
// and those that keep names. It copies what is left.
func (s *Step) ShortenHeld(keep []event.ObjectID) {
	n := len(s.Held)
	if n <= MaxHeld {
		return
	}
	ids, at, read := make([]event.ObjectID, 0, MaxHeld), make([]event.StackID, 0, MaxHeld), uint64(0)
	for i, id := range s.Held {
		if i >= outermostHeld && i < n-(MaxHeld-outermostHeld) && !slices.Contains(keep, id) {
			continue
		}
		if i < 64 {
			read |= s.HeldRead >> i & 1 << len(ids)
		}
		ids = append(ids, id)
		if i < len(s.HeldAt) {
			at = append(at, s.HeldAt[i])
		}
	}
	s.Held, s.HeldAt, s.HeldRead, s.MoreHeld = ids, at, read, s.MoreHeld+n-len(ids)
}

// ShortenHeld leaves out held locks of the steps of Evidence and Witness, if there are many, but not those of the
// finding.
func (f *Finding) ShortenHeld() {
	for _, steps := range [][]Step{f.Evidence, f.Witness} {
		for i := range steps {
			steps[i].ShortenHeld(f.Objects)
		}
	}
}

// ShortenHeld leaves out held locks of the steps of Evidence, if there are many, but not those of the cycle.
func (p *Pruned) ShortenHeld() {
	for i := range p.Evidence {
		p.Evidence[i].ShortenHeld(append(slices.Clone(p.Objects), p.Lock))
	}
}
