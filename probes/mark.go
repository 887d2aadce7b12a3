package probes

import (
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes/synctab"
)

// marks says where the C library's objects hold marks of what was done to them. glibc sets a mark
// in what it destroys, and initialisers of every kind clear it, including those that are no calls
// (PTHREAD_COND_INITIALIZER, std::condition_variable). Offsets differ between versions, so they are
// found in the functions' code.
type marks struct {
	cond, mutex mark
	// counts reports that the other bits of a condition variable's word, from bpf.WaitersShift on,
	// are the number of threads that wait: pthread_cond_signal does nothing if they are 0.
	counts bool
}

// mark is the word of an object that holds the mark.
type mark struct {
	found  bool
	offset int64 // of the word, in bytes from the beginning of the object
}

// findMarks searches the code of the file's destroying and signalling functions for the marks.
func (b *builder) findMarks(calls []call) {
	for _, c := range calls {
		e := c.entry
		switch {
		case !e.Builtin || e.Op != bpf.OpDestroy:
		case e.Kind == synctab.KindCond && !b.marks.cond.found:
			// nptl/pthread_cond_destroy.c: "Set the wake request flag".
			b.marks.cond.offset, b.marks.cond.found = b.image.Sets(c.addr, b.argument(e.Object), bpf.CondDestroyed)
		case e.Kind == synctab.KindMutex && !b.marks.mutex.found:
			b.marks.mutex.offset, b.marks.mutex.found = b.image.Stores(c.addr, b.argument(e.Object), bpf.MutexDestroyed)
		}
	}
	for _, c := range calls {
		if e := c.entry; e.Builtin && e.Op == bpf.OpSignal && e.Kind == synctab.KindCond && b.marks.cond.found && !b.marks.counts {
			b.marks.counts = b.image.TestsShifted(c.addr, b.argument(e.Object), b.marks.cond.offset, bpf.WaitersShift)
		}
	}
}

// recordIn makes the records of a site contain the mark: of uses and destroys of a condition
// variable, and of destroys of a mutex.
func (m *marks) recordIn(site *Site, s *bpf.SyncSite, e synctab.Entry) {
	if !e.Builtin {
		return
	}
	switch e.Op {
	case bpf.OpSignal, bpf.OpBroadcast, bpf.OpWait, bpf.OpDestroy:
	default:
		return
	}
	switch {
	case e.Kind == synctab.KindCond && m.cond.found:
		site.Marks, site.CountsWaiters = true, m.counts
		s.MarkDisp, s.Mark = int32(m.cond.offset), bpf.CondDestroyed
		if m.counts {
			s.Mark |= -1<<bpf.WaitersShift | bpf.CondShared // BPF extends it to 32 bits
		}
	case e.Kind == synctab.KindMutex && m.mutex.found && e.Op == bpf.OpDestroy:
		site.Marks = true
		s.MarkDisp, s.Mark = int32(m.mutex.offset), -1 // BPF extends it to MutexDestroyed
	}
}
