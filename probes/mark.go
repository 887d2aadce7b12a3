package probes

import (
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes/synctab"
)

// mark is where the C library's conditions keep that they were destroyed. glibc's
// pthread_cond_destroy sets a bit that initialisers of every kind clear, also those that no
// call tells of (PTHREAD_COND_INITIALIZER, std::condition_variable). Where the word lies
// differs between versions, so that it is read from the function's code.
type mark struct {
	found  bool
	offset int64
}

// markBit is glibc's (nptl/pthread_cond_destroy.c: "Set the wake request flag").
const markBit = 4

// findMark looks for the mark among the functions of the file.
func (b *builder) findMark(calls []call) {
	for _, c := range calls {
		if e := c.entry; e.Builtin && e.Op == bpf.OpDestroy && e.Kind == synctab.KindCond && !b.mark.found {
			b.mark.offset, b.mark.found = b.image.Sets(c.addr, b.argument(e.Object), markBit)
		}
	}
}

// ask has the records of a use of a condition tell of the mark.
func (m *mark) ask(s *bpf.SyncSite, e synctab.Entry) {
	if !m.found || !e.Builtin || e.Kind != synctab.KindCond {
		return
	}
	switch e.Op {
	case bpf.OpSignal, bpf.OpBroadcast, bpf.OpWait:
		s.MarkDisp, s.Mark = int32(m.offset), markBit
	}
}
