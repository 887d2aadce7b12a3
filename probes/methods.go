package probes

import (
	"fmt"
	"maps"
	"slices"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/probes/cheapsite"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/function"
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/libname"
)

// methods plans the probes of the functions that the patterns of Options.On match.
func (b *builder) methods(p *Planner) error {
	b.unwinders()
	found, err := function.Find(b.plan.File, b.opts.On)
	if err != nil {
		return err
	}
	for _, text := range found.Notes {
		b.plan.Notes = append(b.plan.Notes, plural.Plain(text))
	}
	for i, ok := range found.Matched {
		p.matched[i] = p.matched[i] || ok
		if found.Misfits != nil && found.Misfits[i] != "" {
			p.misfits[i] = found.Misfits[i]
		}
	}
	operations := map[uint64]bool{}
	for i := range b.plan.Sites {
		operations[b.plan.Sites[i].At] = true
	}
	m := &methods{builder: b, stop: func(addr uint64) bool { return operations[addr] }, planned: map[uint64]bool{}, followed: map[uint64]bool{}, unobservedReturns: map[string]int{}, copyEnds: map[uint64]int64{}}
	for i := range found.Functions {
		if fn := &found.Functions[i]; slices.ContainsFunc(fn.Patterns, func(i int) bool { return m.opts.On[i].Return }) {
			m.returns = append(m.returns, fn)
		}
	}
	for i := range found.Functions {
		if err := m.function(&found.Functions[i]); err != nil {
			return fmt.Errorf("%s at 0x%x: %w", found.Functions[i].Name, found.Functions[i].Addr, err)
		}
	}
	b.plan.Methods = len(found.Functions)
	if err := m.lines(p); err != nil {
		return err
	}
	p.functions = append(p.functions, found.Functions...)
	for _, name := range slices.Sorted(maps.Keys(m.unobservedReturns)) {
		b.note("%s is inlined at %d {place|places} of %s where its end cannot be told: its return there is not seen", name, m.unobservedReturns[name], b.plan.File.Name())
	}
	return m.tailJumps()
}

// methods is the state while the probes of matched functions are planned, one function after the
// other.
type methods struct {
	*builder
	stop              func(uint64) bool
	planned           map[uint64]bool      // addresses of return instructions and jumps that have a probe
	followed          map[uint64]bool      // entries of the functions whose returns are observed
	jumps             []cheapsite.TailJump // jumps from the ends of the followed functions to other functions
	unobservedReturns map[string]int       // number of inlined copies whose return is not observed, by function name
	returns           []*function.Function // functions and inlined copies whose returns are to be observed
	copyEnds          map[uint64]int64     // addresses after inlined copies that have a probe → CopyExit.SPDelta
}

func (m *methods) function(fn *function.Function) error {
	calls, returns := fn.Constructor || fn.Destructor, false
	for _, i := range fn.Patterns {
		if m.opts.On[i].Return {
			returns = true
		} else {
			calls = true
		}
	}
	if fn.Inlined && m.image.LeadsBack(fn.Addr, fn.Ranges) {
		m.note("%s is inlined at 0x%x and begins with a loop: its calls there are not seen", fn.Name, fn.Addr)
		return nil
	}
	if fn.Inlined && m.image.EntersElsewhere(fn.Addr, fn.Ranges) {
		m.note("%s is inlined at 0x%x, and control may come into the middle of it: calls that begin there are not seen", fn.Name, fn.Addr)
	}
	var exits []cheapsite.CopyExit
	if fn.Inlined && returns {
		if exits = m.exits(fn); exits == nil {
			m.unobservedReturns[fn.Name]++
			returns = false
			if !calls {
				return nil
			}
		}
	}
	action := bpf.ActionEmit
	switch {
	case calls && returns:
		action = bpf.ActionBoth
	case returns:
		action = bpf.ActionSave
	}
	ok, err := m.entry(fn, action)
	if err != nil || !ok || !returns {
		return err
	}
	if fn.Inlined {
		return m.copyReturns(fn, exits)
	}
	return m.returnSites(fn)
}

// exits returns the addresses to which control goes when it leaves an inlined copy; nil if they are
// not known, or if control may reach them from other code too.
func (m *methods) exits(fn *function.Function) []cheapsite.CopyExit {
	for _, other := range m.returns {
		if other != fn && other.Inlined && slices.ContainsFunc(other.Ranges, func(r elf.Range) bool {
			return slices.ContainsFunc(fn.Ranges, func(own elf.Range) bool { return own.Lo < r.Hi && r.Lo < own.Hi })
		}) {
			return nil // one copy contains the other
		}
	}
	exits, why := m.image.CopyExits(fn.Addr, fn.Ranges)
	if why != "" {
		return nil
	}
	for _, x := range exits {
		if sp, ok := m.copyEnds[x.At]; ok && sp != x.SPDelta {
			return nil
		}
		if slices.ContainsFunc(m.returns, func(other *function.Function) bool {
			return other.Inlined && slices.ContainsFunc(other.Ranges, func(r elf.Range) bool { return r.Contains(x.At) && other != fn })
		}) {
			return nil // the next inlined copy begins there
		}
	}
	return exits
}

// copyReturns plans the probes at the addresses after an inlined copy.
func (m *methods) copyReturns(fn *function.Function, exits []cheapsite.CopyExit) error {
	for _, x := range exits {
		if _, done := m.copyEnds[x.At]; done {
			continue
		}
		m.copyEnds[x.At] = x.SPDelta
		want := cheapsite.Want{At: x.At, Sense: cheapsite.Before, Stop: func(addr uint64) bool { return m.stop(addr) || m.beginsCopy(addr) }}
		want.Reads = insn.RegSet(0).With(m.arch.SP())
		where, err := m.place(want)
		if err != nil {
			return err
		}
		if where.Class == cheapsite.Refused {
			m.note("the end of %s inlined at 0x%x cannot be probed (%s): its return there is not seen", fn.Name, fn.Addr, where.Why)
			continue
		}
		where.SPDelta += x.SPDelta
		m.add(x.At, where, fn.Name, bpf.Site{Action: uint8(bpf.ActionReturn), Flags: bpf.SiteInlined})
	}
	return nil
}

// beginsCopy reports whether an inlined copy whose return is observed begins at an address.
func (m *methods) beginsCopy(addr uint64) bool {
	return slices.ContainsFunc(m.returns, func(fn *function.Function) bool { return fn.Inlined && fn.Addr == addr })
}

// entry plans the probe of a function's entry; ok is false if the kernel accepts no probe there.
func (m *methods) entry(fn *function.Function, action bpf.Action) (ok bool, err error) {
	want := cheapsite.Want{At: fn.Addr, Sense: cheapsite.Entry, Stop: m.stop}
	if fn.Inlined && action != bpf.ActionEmit { // the probe must not leave the copy
		want.Stop = func(addr uint64) bool {
			return m.stop(addr) || !slices.ContainsFunc(fn.Ranges, func(r elf.Range) bool { return r.Contains(addr) })
		}
	}
	want.Reads = m.entryReads()
	sig := bpf.Signature{Count: uint8(len(fn.Params)), Result: int8(fn.Result)}
	for i, p := range fn.Params {
		sig.From[i], sig.Reg[i], sig.Disp[i], sig.Width[i] = uint8(operandFrom[p.Kind]), uint8(p.Reg), p.Disp, int8(p.Width)
		sig.Stored[i], sig.Element[i] = int8(p.Stored), uint8(p.Element)
		want.Reads = reading(want.Reads, p.Operand)
	}
	want.Reads = reading(want.Reads, fn.Object)
	where, err := m.place(want)
	if err != nil {
		return false, err
	}
	if where.Class == cheapsite.Refused {
		m.note("%s at 0x%x cannot be probed (%s): its calls are not seen", fn.Name, fn.Addr, where.Why)
		return false, nil
	}
	s := newSite(fn.Addr, where, fn.Name)
	s.Program, s.Method, s.Signature = ProgramCall, fn, sig
	s.BPF = bpf.Site{Op: uint8(bpf.OpCall), Action: uint8(action), SpDelta: int32(where.SPDelta),
		ObjectFrom: uint8(operandFrom[fn.Object.Kind]), ObjectReg: uint8(fn.Object.Reg), ObjectDisp: fn.Object.Disp}
	if !fn.Inlined {
		s.BPF.AtEntry = 1
		if slices.ContainsFunc(fn.Patterns, func(i int) bool { return m.opts.On[i].Left }) {
			s.BPF.Function().Left = 1
		}
	}
	m.plan.Sites = append(m.plan.Sites, s)
	return true, nil
}

var operandFrom = [...]bpf.Operand{function.Nowhere: bpf.FromNowhere, function.Reg: bpf.FromReg, function.Stack: bpf.FromStack, function.Const: bpf.FromImm, function.Memory: bpf.FromMemory}

func reading(set insn.RegSet, o function.Operand) insn.RegSet {
	if o.Kind == function.Reg || o.Kind == function.Memory {
		return set.With(o.Reg)
	}
	return set
}

// returnSites plans the probes of a function's returns, and of its indirect jumps out of the
// function to code whose returns are not known.
func (m *methods) returnSites(fn *function.Function) error {
	exits, err := m.image.Returns(fn.Addr)
	if err != nil {
		return err
	}
	m.followed[fn.Addr] = true
	m.jumps = append(m.jumps, exits.Jumps...)
	reads := insn.RegSet(0).With(m.arch.SP())
	if fn.Result != 0 {
		reads = reads.With(m.resultRegister())
	}
	for _, at := range exits.Returns {
		where, err := m.placeReturn(at, reads)
		if err := m.returnSite(fn, at, where, 1, err); err != nil {
			return err
		}
	}
	if !exits.Complete {
		m.note("not every return of %s could be found (%s): some of its calls may seem not to return", fn.Name, exits.Reason)
		return nil
	}
	for _, at := range exits.TailJumps {
		where, err := m.place(cheapsite.Want{At: at, Sense: cheapsite.Before, Reads: reads, Stop: func(addr uint64) bool { return addr != at }})
		if err := m.returnSite(fn, at, where, 0, err); err != nil {
			return err
		}
		if fn.Result != 0 {
			m.note("%s ends at 0x%x with a jump to a function elsewhere: it is seen to return there, and what it returns is not had", fn.Name, at)
		}
	}
	return nil
}

// tailJumps plans the probes of jumps from the end of a followed function to another followed one,
// which then returns for both.
func (m *methods) tailJumps() error {
	for _, j := range m.jumps {
		if !m.followed[j.Target] || m.planned[j.At] {
			continue
		}
		m.planned[j.At] = true
		where, err := m.place(cheapsite.Want{At: j.At, Sense: cheapsite.Before, Reads: insn.RegSet(0).With(m.arch.SP()), Stop: func(addr uint64) bool { return addr != j.At }})
		if err != nil {
			return err
		}
		if where.Class == cheapsite.Refused {
			m.note("the jump at 0x%x cannot be probed (%s): functions that end there may seem not to return", j.At, where.Why)
			continue
		}
		m.add(j.At, where, "", bpf.Site{Action: uint8(bpf.ActionTail), When: uint8(j.When)})
	}
	return nil
}

// returnSite plans the probe of one return of a function, or of one indirect jump out of it, for
// which cheapsite found a site or failed with err. result is 1 if the result register holds the
// function's result there, else 0.
func (m *methods) returnSite(fn *function.Function, at uint64, where cheapsite.Site, result uint8, err error) error {
	if err != nil || m.planned[at] {
		return err
	}
	m.planned[at] = true
	if where.Class == cheapsite.Refused {
		m.note("a return of %s at 0x%x cannot be probed (%s)", fn.Name, at, where.Why)
		return nil
	}
	d := bpf.Site{Action: uint8(bpf.ActionReturn)}
	d.Function().Result = result
	m.add(at, where, fn.Name, d)
	return nil
}

// add appends a site where a function returns, or jumps to a function that returns for it.
func (m *methods) add(at uint64, where cheapsite.Site, function string, d bpf.Site) {
	s := newSite(at, where, function)
	d.Op, d.SpDelta = uint8(bpf.OpReturn), int32(where.SPDelta)
	s.Program, s.BPF = ProgramCall, d
	m.plan.Sites = append(m.plan.Sites, s)
}

// Unmatched returns the indexes of the patterns of Options.On that have matched nothing in any file
// so far. Of a group of patterns none of which has, it returns the first.
func (p *Planner) Unmatched() []int {
	done := map[string]bool{}
	for i, ok := range p.matched {
		if g := p.opts.On[i].Group; ok && g != "" {
			done[g] = true
		}
	}
	var out []int
	for i, ok := range p.matched {
		g := p.opts.On[i].Group
		if ok || done[g] {
			continue
		}
		done[g] = g != ""
		out = append(out, i)
	}
	return out
}

// mayLoad reports whether a file other than the C and C++ libraries imports dlopen or dlmopen, so
// that a file loaded later may contain what has not been found.
func (p *Planner) mayLoad() bool {
	for _, f := range p.files {
		if libname.Language(f.Name()) {
			continue
		}
		if slices.Contains(f.Undefined(), "dlopen") || slices.Contains(f.Undefined(), "dlmopen") {
			return true
		}
	}
	return false
}
