package cheapsite

import "github.com/tracepredict/tracepredict/probes/insn"

// ExecutionSite finds a site whose probe fires if the instruction at addr is executed, before or
// after it: at addr, or at the next instruction that accepts a probe (on x86-64 the kernel accepts
// none at a lock prefix), as long as control goes straight on. Where a branch leads to the site,
// the probe may fire although addr was not executed. occupied reports whether the probe may neither
// move to an address nor pass it. ExecutionSite returns false if there is no such site. On arm64
// the probe does not move: between an exclusive load and its store it would make the store fail
// every time.
func (im *Image) ExecutionSite(addr uint64, occupied func(uint64) bool) (Site, bool) {
	ext, at := im.ExtentAt(addr), addr
	if ext == nil {
		return Site{}, false
	}
	for range maxSlide {
		if !ext.Contains(at) || at != addr && occupied(at) {
			return Site{}, false
		}
		in, err := im.Decode(at)
		if err != nil || in.Len <= 0 || in.Kind == insn.Syscall {
			return Site{}, false
		}
		if class := classOf(&in); class != Refused {
			s := slide{im: im, w: &Want{At: addr}}
			return Site{Addr: at, Class: class, Moved: at != addr, Why: s.name(at)}, true
		}
		if im.Arch() != insn.AMD64 || in.Kind != insn.Plain && in.Kind != insn.Nop {
			return Site{}, false
		}
		at += uint64(in.Len)
	}
	return Site{}, false
}
