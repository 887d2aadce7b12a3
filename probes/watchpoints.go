package probes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/variable"
	"github.com/tracepredict/tracepredict/probes/watchpoint"
)

// Probes observe the accesses that name a variable; where its address escapes there may be others.
// A hardware watchpoint observes all of them, at the cost of an exception or two each, but there
// are only four. So, unless the user decides, a variable is watched by probes if they provably
// observe every access, and otherwise by a watchpoint. If four do not suffice, the user is asked to
// choose.

// Hardware says how many variables of Options.Watch may be watched by hardware. The zero value
// allows none.
type Hardware struct {
	// Registers is the number of free watchpoints, at most watchpoint.Registers.
	Registers int
	// Why is the reason why there are no more; "" if all are free.
	Why string
}

// Watchpoint is a variable that is watched by hardware.
type Watchpoint struct {
	Variable variable.Variable
	Parts    []watchpoint.Part // the address ranges that the watchpoints cover, as linked
	Site     Site              // At and Addr are the variable's address; Why is the reason for the watchpoint
}

// LimitHardware sets the number of watchpoints that Options.Choose may use, and the reason for the
// limit.
func (p *Planner) LimitHardware(registers int, why string) {
	p.opts.Choose = Hardware{Registers: registers, Why: why}
}

// names returns the names in Options.Watch and Options.Hardware, each once.
func (p *Planner) names() []string {
	all := slices.Clone(p.opts.Watch)
	for _, name := range p.opts.Hardware {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// watchpoints plans the watchpoints of the variables of this file that the user named for them.
func (p *Planner) watchpoints(b *builder) error {
	for _, name := range p.opts.Hardware {
		v, ok := p.found[name]
		if !ok || v.File != b.plan.File {
			continue
		}
		parts, err := watchpoint.Cover(v.Addr, v.Size)
		if err != nil {
			return fmt.Errorf("watch %s by hardware: %w", v.Name, err)
		}
		p.registers += len(parts)
		b.watchpoint(v, parts, "asked for")
	}
	if p.registers > watchpoint.Registers {
		return &TooManyError{Named: p.opts.Hardware, Registers: p.registers}
	}
	return nil
}

// watch plans the probes of one variable, or a watchpoint if that observes more.
func (p *Planner) watch(b *builder, v variable.Variable) error {
	if p.chosenForHardware[v.Name] {
		return nil
	}
	sites, notes := len(b.plan.Sites), len(b.plan.Notes)
	if err := b.accesses(v); err != nil {
		return fmt.Errorf("find the accesses of %s in %s: %w", v.Name, b.plan.File.Name(), err)
	}
	cover := b.plan.Coverage[len(b.plan.Coverage)-1]
	choose := p.opts.Choose
	if cover.Complete() || v.File != b.plan.File || choose == (Hardware{}) {
		return nil
	}
	if b.arch != insn.AMD64 {
		choose = Hardware{Why: "processors other than x86-64 trap before an access, so that no watchpoint sees what it did"}
	}
	why := "its address escapes: " + cover.examples()
	parts, err := watchpoint.Cover(v.Addr, v.Size)
	if err != nil {
		b.note("%s is watched by probes: %v", v.Name, err)
		return nil
	}
	p.escaping = append(p.escaping, v.Name)
	p.registers += len(parts)
	switch {
	case p.registers <= choose.Registers:
		b.plan.Sites, b.plan.Notes, b.plan.Coverage = b.plan.Sites[:sites], b.plan.Notes[:notes], b.plan.Coverage[:len(b.plan.Coverage)-1]
		p.chosenForHardware[v.Name] = true
		b.watchpoint(v, parts, why)
		b.note("%s is watched by a hardware watchpoint, since probes do not see all its accesses (%s); each access costs some microseconds; --no-watch-hw watches it by probes", v.Name, why)
	case choose.Why != "":
		p.registers -= len(parts)
		b.note("%s is watched by probes, though they do not see all its accesses: %s", v.Name, choose.Why)
	default:
		return &TooManyError{Named: p.opts.Hardware, Escaping: p.escaping, Registers: p.registers}
	}
	return nil
}

// TooManyError reports that more variables are to be watched by hardware than it can watch.
type TooManyError struct {
	Named     []string // variables that the user named for hardware
	Escaping  []string // variables some of whose accesses probes do not observe
	Registers int      // number of watchpoints needed so far
}

// Error implements error.
func (e *TooManyError) Error() string {
	if len(e.Escaping) == 0 {
		return fmt.Sprintf("%s take %d hardware watchpoints, and a thread has %d: name fewer of them with --watch-hw, the others with --watch",
			strings.Join(e.Named, ", "), e.Registers, watchpoint.Registers)
	}
	beside := ""
	if len(e.Named) > 0 {
		beside = fmt.Sprintf(" beside %s", strings.Join(e.Named, ", "))
	}
	return fmt.Sprintf("the addresses of %s escape into pointers, so that only hardware watchpoints see all their accesses%s, and a thread has %d: drop some of them; "+
		"or take the four that matter most with --watch-hw, and --no-watch-hw for what probes see of the others",
		strings.Join(e.Escaping, ", "), beside, watchpoint.Registers)
}

func (b *builder) watchpoint(v variable.Variable, parts []watchpoint.Part, why string) {
	b.plan.Watchpoints = append(b.plan.Watchpoints, Watchpoint{Variable: v, Parts: parts, Site: Site{
		At: v.Addr, Addr: v.Addr, Variable: v.Name, Atomic: v.Atomic, Program: ProgramWatch, Why: why,
		BPF: bpf.Site{Op: uint8(bpf.OpTouch), Action: uint8(bpf.ActionEmit), Access: bpf.AccessSite{Width: uint8(v.Size)}},
	}})
	if !slices.ContainsFunc(b.plan.Variables, func(w variable.Variable) bool { return w.Name == v.Name }) {
		b.plan.Variables = append(b.plan.Variables, v)
	}
}
