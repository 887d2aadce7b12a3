package probes

import (
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes/synctab"
)

// destroyedMark is the bit that the C library sets in a condition variable that is destroyed.
// glibc's pthread_cond_destroy sets it, and initialisers of every kind clear it, including those
// that are no calls (PTHREAD_COND_INITIALIZER, std::condition_variable). Its offset differs
// between versions, so it is found in the function's code.
type destroyedMark struct {
	found  bool
	offset int64 // of the word that holds the bit, in bytes from the beginning of the condition variable
}

// markBit is the bit in glibc (nptl/pthread_cond_destroy.c: "Set the wake request flag").
const markBit = 4

// findMark searches the code of the file's destroying functions for the offset of the mark.
func (b *builder) findMark(calls []call) {
	for _, c := range calls {
		if e := c.entry; e.Builtin && e.Op == bpf.OpDestroy && e.Kind == synctab.KindCond && !b.destroyedMark.found {
			b.destroyedMark.offset, b.destroyedMark.found = b.image.Sets(c.addr, b.argument(e.Object), markBit)
		}
	}
}

// recordIn makes the records of a site that signals or waits for a condition variable contain the
// mark.
func (m *destroyedMark) recordIn(s *bpf.SyncSite, e synctab.Entry) {
	if !m.found || !e.Builtin || e.Kind != synctab.KindCond {
		return
	}
	switch e.Op {
	case bpf.OpSignal, bpf.OpBroadcast, bpf.OpWait:
		s.MarkDisp, s.Mark = int32(m.offset), markBit
	}
}
