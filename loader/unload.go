package loader

import (
	"slices"

	"github.com/tracepredict/tracepredict/loader/procfs"
	"github.com/tracepredict/tracepredict/probes/elf"
)

// When a library is unloaded, its variables end, and another library may get its addresses. The dynamic
// loader unmaps it by a function of its own. Where that function is not known, as in a static program,
// the mappings, which are read whenever the loader has changed its list of libraries, show only that a
// library is gone, and not when.

// findUnloaded records which segments of a process are not mapped any more. The caller holds s.mu.
func (p *process) findUnloaded(maps []procfs.Mapping) {
	for _, seg := range p.segments {
		mapped := slices.ContainsFunc(maps, func(m procfs.Mapping) bool {
			return m.Lo < seg.Hi && seg.Lo < m.Hi && p.modules[m.File] == seg.Module
		})
		if !mapped {
			p.unmapped[seg] = true
		}
	}
}

// Unloaded is the memory of a library that a process has unloaded.
type Unloaded struct {
	PID    uint32
	Memory elf.Range
}

// recordsUnloads reports whether the ends of the memory of libraries are recorded: the process has
// probes in its dynamic loader.
func (p *process) recordsUnloads() bool {
	return slices.ContainsFunc(p.segments, func(seg Segment) bool { return seg.Module.Plan.Unloads && p.attached[seg.Module] })
}

// Unloaded returns the memory of the libraries that were unloaded, as far as is known, where that is
// not recorded.
func (s *Session) Unloaded() []Unloaded {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Unloaded
	for _, p := range s.all {
		if p.recordsUnloads() {
			continue
		}
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
