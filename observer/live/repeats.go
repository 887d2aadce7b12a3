package live

import (
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/loader"
	"github.com/tracepredict/tracepredict/observer"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/probes/attempt"
	"github.com/tracepredict/tracepredict/probes/cheapsite"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// This file tells which calls that try to acquire a lock are repeated until they succeed, as by
// "while (pthread_mutex_trylock(&m) != 0) usleep(1);". The code of the caller shows it, or that of one of its callers.

// repeats keeps the answers of Repeated.
type repeats struct {
	answers map[event.StackID]bool
	code    map[*loader.Module]*attempt.Code
}

// maxTried bounds the call stacks of which Repeated knows the answer; others are taken not to be repeated. maxTriers
// bounds the callers whose code may have the loop.
const (
	maxTried  = 1 << 12
	maxTriers = 4

	maxRepeatsText = 2 << 20 // bytes of code of a file
)

// Repeated reports whether the call of a function that tries to acquire a lock, at a call stack, is repeated by code that
// does nothing else until it has succeeded.
func (l *Link) Repeated(id event.StackID) bool {
	again, known := l.repeats.answers[id]
	if known || id == 0 || len(l.repeats.answers) == maxTried {
		return again
	}
	if l.repeats.answers == nil {
		l.repeats = repeats{answers: map[event.StackID]bool{}, code: map[*loader.Module]*attempt.Code{}}
	}
	if st, ok := l.observed.StackOf(id); ok {
		again = l.isRepeated(id, st)
	}
	l.repeats.answers[id] = again
	return again
}

// isRepeated looks at the code of the innermost callers.
func (l *Link) isRepeated(id event.StackID, st observer.Stack) bool {
	site := l.Session.Site(st.Site)
	stack := l.callStack(id, st)
	if site == nil || !isCall(site) || len(stack) < 2 {
		return false
	}
	pid := int(st.TGID)
	callee, ok := l.process.Segment(pid, stack[0])
	if !ok {
		return false
	}
	call := site.BPF.Sync()
	to := attempt.Callee{Zero: bpf.Success(call.Success) == bpf.SuccessZero, Busy: busy(site.Function), Width: 4, Imports: func(name string) bool {
		return slices.ContainsFunc(callee.Module.Bin.Lookup(name), func(s elf.Symbol) bool { return s.Addr == call.Function })
	}}
	if bpf.Success(call.Success) == bpf.SuccessTrue8 {
		to.Width = 1
	}
	for _, ret := range stack[1:min(len(stack), 1+maxTriers)] {
		seg, ok := l.process.Segment(pid, ret)
		if !ok || l.process.Overlaid(pid, ret) || seg.Module.Bin.Arch() != insn.AMD64 || textSize(seg.Module) > maxRepeatsText {
			return false
		}
		in := to
		if seg.Module == callee.Module {
			in.Entry = call.Function
		}
		if attempt.FindCall(l.codeOf(seg.Module), ret-seg.Bias, in) {
			return true
		}
	}
	return false
}

// busy returns what a function of the C library returns if another thread has the lock; 0 if that is not known.
func busy(function string) int64 {
	const thrdBusy = 1 // of glibc and musl
	switch {
	case function == "mtx_trylock":
		return thrdBusy
	case strings.HasPrefix(strings.TrimPrefix(function, "__"), "pthread_"):
		return int64(unix.EBUSY)
	}
	return 0
}

// codeOf returns the code of a module.
func (l *Link) codeOf(m *loader.Module) *attempt.Code {
	c := l.repeats.code[m]
	if c == nil {
		c = attempt.NewCode(m.Bin, cheapsite.NewImage(m.Bin))
		l.repeats.code[m] = c
	}
	return c
}

// textSize returns the size of a module's code, in bytes.
func textSize(m *loader.Module) (size uint64) {
	for _, r := range m.Bin.Text() {
		size += r.Hi - r.Lo
	}
	return size
}
