package resolve

import (
	"path"
	"strings"

	"github.com/tracepredict/tracepredict/loader"
	"github.com/tracepredict/tracepredict/observer"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/probes/watchpoint"
)

// Touch says what an access was that a hardware watchpoint saw, from the code of
// the program or of the kernel.
func Touch(s *loader.Session, r observer.Trap) observer.Touch {
	hint := watchpoint.Hint{Source: r.Source, Dest: r.Dest}
	if r.Kernel {
		before, at, ok := s.KernelCode(r.IP)
		if !ok {
			return observer.Touch{}
		}
		a, ok := watchpoint.InKernel(before, at, hint)
		return touchOf(r, a, ok)
	}
	seg, ok := s.Segment(int(r.TGID), r.IP-1)
	if !ok {
		return observer.Touch{}
	}
	if dynamicLoader(seg.Module.Path) {
		return observer.Touch{Foreign: true}
	}
	width := 0
	if site := s.Site(r.Site); site != nil {
		width = int(site.BPF.Width)
	}
	a, ok := watchpoint.Before(seg.Module.Bin, r.IP-seg.Bias, r.Object-seg.Bias, width, hint)
	return touchOf(r, a, ok)
}

func touchOf(r observer.Trap, a watchpoint.Access, ok bool) observer.Touch {
	t := observer.Touch{Atomic: a.Atomic, Repeats: a.Repeats}
	if a.Repeats {
		t.Last = r.IP + uint64(a.Len)
	}
	switch {
	case !ok:
	case a.Read && a.Write:
		t.Op = event.Update
	case a.Write:
		t.Op = event.Write
	default:
		t.Op = event.Read
	}
	return t
}

// dynamicLoader tells the loader, which puts addresses into variables before the
// program runs. That of musl is the C library itself, whose functions are the
// program's.
func dynamicLoader(p string) bool {
	return strings.HasPrefix(path.Base(p), "ld-linux")
}

// beforeTrap gives the instruction after which the instruction pointer was pc; of
// an access by the kernel, the system call's.
func (r *Resolver) beforeTrap(pid int, pc uint64) uint64 {
	seg, ok := r.process.Segment(pid, pc-1)
	if !ok {
		return pc
	}
	a, ok := watchpoint.Before(seg.Module.Bin, pc-seg.Bias, 0, 0, watchpoint.Hint{})
	if !ok {
		return pc - 1
	}
	return a.Addr + seg.Bias
}
