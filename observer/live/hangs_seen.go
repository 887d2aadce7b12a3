package live

import (
	"slices"

	"github.com/tracepredict/tracepredict/observer"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
	"github.com/tracepredict/tracepredict/observer/stuck"
	"github.com/tracepredict/tracepredict/probes/futex"
)

// doing is what a thread was found at.
type doing struct {
	waiting                   // line alone, where it does not sleep in futex(2)
	futex   bool              // it does
	needs   []stuck.Thread    // who must go on before it does
	kernel  map[uint32]uint32 // ids of its process's threads, see parties
}

// sightings calls Looked. It returns false if there are no more records.
func (h *Hangs) sightings() bool {
	at, all := monotonic(), h.doing
	blocks := make([]observer.Block, 0, len(all))
	for _, d := range all {
		blocks = append(blocks, h.sighted(d))
	}
	looked := h.Looked
	h.Looked, h.doing = nil, nil
	return h.Threads.Between(func() {
		found := h.Observer.Seen(at, blocks)
		ids := map[uint32]event.ThreadID{}
		for i, b := range blocks {
			ids[b.TID] = found[i].Thread
		}
		seen := make([]run.Seen, 0, len(all))
		for i, d := range all {
			if found[i].Thread != 0 {
				seen = append(seen, d.seen(&blocks[i], found[i], ids))
			}
		}
		looked(seen)
	})
}

// sighted returns the stack of a thread, wherever it sleeps, and what it waits for.
func (h *Hangs) sighted(d doing) observer.Block {
	switch l := d.line; {
	case d.futex:
		return h.block(d.waiting, d.kernel)
	case l.State&stateAsleep != 0:
		stack := h.stack(l)
		return observer.Block{TID: l.Tid, TGID: l.Tgid, Stack: stack, Start: h.start(l, stack)}
	default:
		return observer.Block{TID: l.Tid, TGID: l.Tgid} // its registers are of no moment
	}
}

func (d *doing) seen(b *observer.Block, at observer.Sighting, ids map[uint32]event.ThreadID) run.Seen {
	s := run.Seen{Thread: at.Thread, Stopped: d.line.State&stateStopped != 0, Place: at.Place}
	if d.line.State&stateAsleep != 0 && d.line.Call >= 0 {
		s.Call = callName(uint32(d.line.Call))
	}
	if !d.futex {
		return s
	}
	s.Op, s.Object, s.Peer, s.Timed, s.Readers = b.Op, at.Object, at.Peer, d.call.Timed, b.Readers
	if d.wait.Kind != futex.Mutex && d.wait.Kind != futex.RWLock {
		return s
	}
	for _, t := range d.needs {
		if id := ids[uint32(t)]; id != 0 && !slices.Contains(s.By, id) {
			s.By = append(s.By, id)
		}
		s.Ended = s.Ended || t == 0
	}
	return s
}
