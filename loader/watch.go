package loader

import (
	"fmt"
	"sync/atomic"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/loader/attach"
	"github.com/tracepredict/tracepredict/loader/procfs"
	"github.com/tracepredict/tracepredict/probes"
)

// watchpoints are the hardware watchpoints of the processes. Session.mu guards them, but for unexplained.
type watchpoints struct {
	tracer *attach.Tracer
	// guard traces an attached process while it may have hardware watchpoints; nil: none is needed,
	// or unguarded says why it is impossible.
	guard     *guard
	unguarded string

	unexplained atomic.Uint64 // accesses of which only a debug exception without a cause was seen
}

// set sets the hardware watchpoints of a module for a process that maps it.
func (w *watchpoints) set(p *process, mod *Module) error {
	if len(mod.Plan.Watchpoints) == 0 {
		return nil
	}
	bias, ok := p.bias(mod)
	if !ok {
		return fmt.Errorf("watch variables of %s: process %d does not map its code", mod.Path, p.pid)
	}
	return w.setAt(p, mod, bias)
}

// setAt does the same for a module with a load bias.
func (w *watchpoints) setAt(p *process, mod *Module, bias uint64) error {
	p.watched[mod] = bias
	for i, planned := range mod.Plan.Watchpoints {
		v := &planned.Variable
		for n, part := range planned.Parts {
			err := w.tracer.Watch(p.pid, part.Addr+bias, part.Size, bpf.Watch{
				Object: v.Addr + bias, Site: mod.watchSite(i), Width: uint8(v.Size), Part: uint8(n),
			})
			if err != nil {
				return fmt.Errorf("watch %s by hardware: %w", v.Name, err)
			}
		}
	}
	return nil
}

// update removes the watchpoints of libraries that the process has unloaded, because their
// memory may be reused, and sets those of libraries that it has loaded again.
func (w *watchpoints) update(p *process, maps []procfs.Mapping) error {
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
			if err := w.remove(p, mod, old); err != nil {
				return err
			}
		}
		if mapped {
			if err := w.setAt(p, mod, bias); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *watchpoints) remove(p *process, mod *Module, bias uint64) error {
	addrs := map[uint64]bool{}
	for _, planned := range mod.Plan.Watchpoints {
		for _, part := range planned.Parts {
			addrs[part.Addr+bias] = true
		}
	}
	return w.tracer.Unwatch(p.pid, addrs)
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

// limit sets, for the planner of a program, how many hardware watchpoints it may use.
func (w *watchpoints) limit(p *process, plan *probes.Options) {
	if p.limited || len(plan.Watch) == 0 || plan.Choose.Registers == 0 {
		return
	}
	p.limited = true
	if w.unguarded != "" {
		p.planner.LimitHardware(0, w.unguarded)
	} else if free, why := attach.FreeWatchpoints(p.pid); why != nil {
		p.planner.LimitHardware(free, why.Error())
	}
}
