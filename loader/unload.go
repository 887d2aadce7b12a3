package loader

import (
	"slices"

	"github.com/tracepredict/tracepredict/loader/procfs"
	"github.com/tracepredict/tracepredict/probes/elf"
)

// When a library is unloaded, its variables end, and other memory may get its addresses. Where the function
// of the dynamic loader that unmaps it has a probe, that is recorded. The mappings, which are read
// whenever the loader has changed its list of libraries, show only that a library is gone, and not when.

// findUnloaded records which segments of a process are not mapped any more.
func (a *Spaces) findUnloaded(p *process, maps []procfs.Mapping) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, seg := range p.segments {
		mapped := slices.ContainsFunc(maps, func(m procfs.Mapping) bool {
			return m.Lo < seg.Hi && seg.Lo < m.Hi && p.modules[m.File] == seg.Module
		})
		if !mapped {
			p.unmapped[seg] = true
		}
	}
}

// mapped adds a segment to a process. Where it overlaps one of another file, that one was unloaded: mapped returns such
// a file, or nil.
func (a *Spaces) mapped(p *process, seg Segment) (before *Module) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, old := range p.segments {
		if lo, hi := max(old.Lo, seg.Lo), min(old.Hi, seg.Hi); lo < hi && (old.Module != seg.Module || old.Bias != seg.Bias) {
			p.overlaid, before = append(p.overlaid, elf.Range{Lo: lo, Hi: hi}), old.Module
		}
	}
	p.segments = append(p.segments, seg)
	return before
}

// Overlaid reports whether the present program of a process has had code of several files at an address,
// one after the other.
func (a *Spaces) Overlaid(pid int, addr uint64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.ContainsFunc(a.of(pid).overlaid, func(r elf.Range) bool { return r.Contains(addr) })
}

// Unloaded is the memory of a library that a process has unloaded.
type Unloaded struct {
	PID    uint32
	Memory elf.Range
}

// Unloaded returns the memory of the libraries that were unloaded, as far as is known.
func (a *Spaces) Unloaded() []Unloaded {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []Unloaded
	for _, p := range a.all {
		for _, seg := range p.segments {
			if !p.unmapped[seg] {
				continue
			}
			r := seg.Module.Bin.Memory()
			all = append(all, Unloaded{uint32(p.pid), elf.Range{Lo: seg.Bias + r.Lo, Hi: seg.Bias + r.Hi}})
		}
	}
	return all
}
