package probes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes/variable"
	"github.com/tracepredict/tracepredict/probes/watchpoint"
)

// Watchpoint is a variable that is watched by hardware.
type Watchpoint struct {
	Variable variable.Variable
	Parts    []watchpoint.Part // addresses as linked
	Site     Site              // At and Addr are the variable's
}

// names are all that is to be found.
func (p *Planner) names() []string {
	all := slices.Clone(p.opts.Watch)
	for _, name := range p.opts.Hardware {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// watchpoints plans those of the variables that this file has.
func (p *Planner) watchpoints(b *builder) error {
	for _, name := range p.opts.Hardware {
		v, ok := p.found[name]
		if !ok || v.File != b.plan.File {
			continue
		}
		if err := b.watchpoint(v); err != nil {
			return err
		}
		p.registers += len(b.plan.Watchpoints[len(b.plan.Watchpoints)-1].Parts)
	}
	if p.registers > watchpoint.Registers {
		return &TooManyError{Names: p.opts.Hardware, Registers: p.registers}
	}
	return nil
}

// TooManyError says that more variables are to be watched by hardware than it can.
type TooManyError struct {
	Names     []string
	Registers int // that they take
}

// Error implements error.
func (e *TooManyError) Error() string {
	return fmt.Sprintf("%s take %d hardware watchpoints, and the processor has %d: name fewer of them for --watch-hw, the others for --watch",
		strings.Join(e.Names, ", "), e.Registers, watchpoint.Registers)
}

func (b *builder) watchpoint(v variable.Variable) error {
	parts, err := watchpoint.Cover(v.Addr, v.Size)
	if err != nil {
		return fmt.Errorf("watch %s by hardware: %w", v.Name, err)
	}
	b.plan.Watchpoints = append(b.plan.Watchpoints, Watchpoint{Variable: v, Parts: parts, Site: Site{
		At: v.Addr, Addr: v.Addr, Variable: v.Name, Atomic: v.Atomic, Watchpoint: true,
		BPF: bpf.Site{Op: uint8(bpf.OpTouch), Action: uint8(bpf.ActionEmit), Width: uint8(v.Size)},
	}})
	if !slices.ContainsFunc(b.plan.Variables, func(w variable.Variable) bool { return w.Name == v.Name }) {
		b.plan.Variables = append(b.plan.Variables, v)
	}
	return nil
}
