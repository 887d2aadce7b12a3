package live

import (
	"slices"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
	"github.com/tracepredict/tracepredict/observer/stuck"
	"github.com/tracepredict/tracepredict/probes/futex"
)

// threadState is the state of a thread at a look.
type threadState struct {
	waiting                   // if it neither sleeps in futex(2) nor spins, only line is valid
	futex   bool              // it does one of these
	needs   []stuck.Thread    // the threads that must proceed before it can
	kernel  map[uint32]uint32 // parties.kernel of its process
}

// reportStates calls OnStates with the state of each thread. It returns false if there
// are no more records.
func (h *Hangs) reportStates() bool {
	at, all := monotonic(), h.states
	blocks := make([]observer.BlockedThread, 0, len(all))
	steady := h.steady(all)
	for _, d := range all {
		blocks = append(blocks, h.blockedThread(d, steady))
	}
	onStates := h.OnStates
	h.OnStates, h.states = nil, nil
	return h.Threads.Between(func() {
		found := h.Observer.Identify(at, blocks)
		ids := map[uint32]event.ThreadID{}
		for i, b := range blocks {
			ids[b.TID] = found[i].Thread
		}
		seen := make([]run.ThreadState, 0, len(all))
		for i, d := range all {
			if found[i].Thread != 0 {
				seen = append(seen, d.runState(&blocks[i], found[i], ids))
			}
		}
		onStates(seen)
	})
}

// steady returns the threads that run and are in the same function, at the same depth, at a second look: as long as they
// are, their call stack is that of the first.
func (h *Hangs) steady(all []threadState) map[uint32]bool {
	first := map[uint32]*bpf.Sleeper{}
	for i := range all {
		if l := &all[i].line; l.State == stateRuns {
			first[l.Tid] = l
		}
	}
	out := map[uint32]bool{}
	if len(first) == 0 {
		return out
	}
	again, err := h.Threads.Sleepers()
	if err != nil {
		return out
	}
	for i := range again {
		l := &again[i]
		if was := first[l.Tid]; was != nil && l.State == stateRuns && stackPointer(l) == stackPointer(was) {
			now, before := h.function(l.Tgid, registers(l).PC), h.function(was.Tgid, registers(was).PC)
			out[l.Tid] = now != 0 && now == before
		}
	}
	return out
}

// blockedThread returns the BlockedThread of a thread: its stack if it sleeps in any
// system call, or runs and is steady, and its wait if that is futex(2).
func (h *Hangs) blockedThread(d threadState, steady map[uint32]bool) observer.BlockedThread {
	switch l := d.line; {
	case d.futex:
		return h.block(d.waiting, d.kernel)
	case l.State&stateAsleep != 0 || steady[l.Tid]:
		stack := h.stack(l)
		return observer.BlockedThread{TID: l.Tid, TGID: l.Tgid, Stack: stack, Start: h.start(l, stack)}
	default:
		return observer.BlockedThread{TID: l.Tid, TGID: l.Tgid} // it runs, so its registers are out of date
	}
}

func (d *threadState) runState(b *observer.BlockedThread, at observer.BlockedIDs, ids map[uint32]event.ThreadID) run.ThreadState {
	s := run.ThreadState{Thread: at.Thread, Name: nameOf(b.TGID, b.TID), Stopped: d.line.State&stateStopped != 0, Stack: at.Stack}
	if d.line.State&stateAsleep != 0 && d.line.Call >= 0 {
		s.Call = callName(uint32(d.line.Call))
	}
	if !d.futex {
		return s
	}
	s.Op, s.Object, s.Peer, s.Timed, s.Readers = b.Op, at.Object, at.Peer, d.call.Timed, b.Readers
	if d.wait.Kind != futex.Mutex && d.wait.Kind != futex.RWLock && d.wait.Kind != futex.Spin {
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
