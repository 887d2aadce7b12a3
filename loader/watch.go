package loader

import (
	"fmt"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/loader/attach"
	"github.com/tracepredict/tracepredict/loader/procfs"
)

// watchVariables sets the hardware watchpoints of a module for a process that maps it.
func (s *Session) watchVariables(p *process, mod *Module) error {
	if len(mod.Plan.Watchpoints) == 0 {
		return nil
	}
	bias, ok := p.bias(mod)
	if !ok {
		return fmt.Errorf("watch variables of %s: process %d does not map its code", mod.Path, p.pid)
	}
	return s.watchAt(p, mod, bias)
}

// watchAt does the same for a module with a load bias.
func (s *Session) watchAt(p *process, mod *Module, bias uint64) error {
	p.watched[mod] = bias
	for i, w := range mod.Plan.Watchpoints {
		for n, part := range w.Parts {
			err := s.tracer.Watch(p.pid, part.Addr+bias, part.Size, bpf.Watch{
				Object: w.Variable.Addr + bias, Site: mod.watchSite(i), Width: uint8(w.Variable.Size), Part: uint8(n),
			})
			if err != nil {
				return fmt.Errorf("watch %s by hardware: %w", w.Variable.Name, err)
			}
		}
	}
	return nil
}

// rewatch removes the watchpoints of libraries that the process has unloaded, because their
// memory may be reused, and sets those of libraries that it has loaded again.
func (s *Session) rewatch(p *process, maps []procfs.Mapping) error {
	for mod := range p.attached {
		if len(mod.Plan.Watchpoints) == 0 {
			continue
		}
		old, watched := p.watched[mod]
		bias, mapped := mod.biasIn(maps)
		if watched == mapped && old == bias {
			continue
		}
		if watched {
			delete(p.watched, mod)
			if err := s.unwatch(p, mod, old); err != nil {
				return err
			}
		}
		if mapped {
			if err := s.watchAt(p, mod, bias); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Session) unwatch(p *process, mod *Module, bias uint64) error {
	addrs := map[uint64]bool{}
	for _, w := range mod.Plan.Watchpoints {
		for _, part := range w.Parts {
			addrs[part.Addr+bias] = true
		}
	}
	return s.tracer.Unwatch(p.pid, addrs)
}

// biasIn returns the load bias of a module in mappings; false if they do not contain its code.
func (m *Module) biasIn(maps []procfs.Mapping) (uint64, bool) {
	for _, mp := range maps {
		if mp.Exec && mp.File == m.ID {
			if bias, ok := m.bias(mp); ok {
				return bias, true
			}
		}
	}
	return 0, false
}

// bias returns the load bias of a module in the process; false if the process does not map it.
func (p *process) bias(mod *Module) (uint64, bool) {
	for seg := range p.backward() {
		if seg.Module == mod {
			return seg.Bias, true
		}
	}
	return 0, false
}

// KernelCode returns the code of the kernel around an instruction pointer of an OpTouch record
// with RecKernel: some bytes before it, and some from it on.
func (s *Session) KernelCode(ip uint64) (before, at []byte, ok bool) {
	return s.tracer.KernelCode(ip)
}

// limitWatchpoints sets, for the planner of a program, how many hardware watchpoints it may use.
func (s *Session) limitWatchpoints(p *process) {
	if p.limited || len(s.opts.Plan.Watch) == 0 || s.opts.Plan.Choose.Registers == 0 {
		return
	}
	p.limited = true
	if s.unguarded != "" {
		p.planner.LimitHardware(0, s.unguarded)
	} else if free, why := attach.FreeWatchpoints(p.pid); why != nil {
		p.planner.LimitHardware(free, why.Error())
	}
}
