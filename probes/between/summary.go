package between

import (
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// A summary says what a function does with addresses: those of its own frame, and those that it is
// called with. Its objects are
//
//	0       the function's frame, by the distance from the canonical frame address
//	1+r     what register r points to at the entry, and all that can be reached from there
//	17      the arguments on the stack, and all that can be reached from there
//
// A summary is made for a set of registers that may hold addresses of frames; the others are not
// followed.
const (
	own       = 0
	arguments = 1 + numRegs
	known     = 2 + numRegs
)

type summary struct {
	// leaks has the objects whose address may come to where other threads can find it.
	leaks objects
	// flows has, for each object, those whose address may be stored in it.
	flows [known]objects
	// writes has the objects that the function may write to.
	writes objects
	// extents has, for each object, the part that the function may write to by an address whose
	// distance from the argument is known.
	extents [known]extent
	result  value
	// calls has the state at each call, by the address behind the call.
	calls map[uint64]*state
	// catches means that the function may catch an exception.
	catches bool
	busy    bool // it is being computed
}

// extent is the part of an object from lo to hi. In a summary that the function may write to other
// parts too, any is set.
type extent struct {
	lo, hi    int64
	some, any bool
}

// add adds n bytes at an offset; n is 0 if the number is not known.
func (e *extent) add(at int64, exact bool, n int) {
	if !exact || n <= 0 {
		e.any = true
		return
	}
	if !e.some {
		e.lo, e.hi, e.some = at, at+int64(n), true
		return
	}
	e.lo, e.hi = min(e.lo, at), max(e.hi, at+int64(n))
}

// maxSummary bounds the instructions visited for one summary.
const maxSummary = 20000

// tooLarge is the number of instructions from which on a summary that the budget of a query ends is not made again: the
// next query would end there too.
const tooLarge = maxQuery / outerShare

// unknownSummary is that of a function of which nothing is known.
func unknownSummary() *summary {
	s := &summary{leaks: ^objects(0), writes: ^objects(0), catches: true}
	for i := range s.flows {
		s.flows[i], s.extents[i].any = ^objects(0), true
	}
	return s
}

// summaryKey identifies a summary: the function's entry, and the objects that are followed.
type summaryKey struct {
	entry uint64
	of    objects
}

// summary returns the summary of the function that begins at an address, for the objects of.
func (x *Examiner) summary(im *image, entry uint64, of objects) *summary {
	key := summaryKey{entry, of}
	if s := im.sums[key]; s != nil {
		if s.busy {
			return unknownSummary() // a recursion
		}
		return s
	}
	s := &summary{busy: true}
	im.sums[key] = s
	ok, before := false, x.left
	for range 4 {
		flows := s.flows
		*s = summary{flows: flows, busy: true}
		z := summarizer{x: x, sum: s, image: im, key: key, parts: im.parts(entry)}
		if ok = z.run(); !ok || s.flows == flows {
			break
		}
		ok = false
	}
	if s.busy = false; !ok {
		s.fail()
	}
	if x.left <= 0 && before-x.left < tooLarge {
		delete(im.sums, key) // others have spent the budget that ended it
	}
	return s
}

// fail makes the summary one of a function of which nothing is known.
func (s *summary) fail() {
	calls := s.calls
	*s = *unknownSummary()
	s.calls = calls
}

// parts returns the extents of a function: the one that begins at entry, and that which the compiler
// split off, if symbols name it.
func (im *image) parts(entry uint64) []elf.Range {
	fn, ok := im.FunctionAt(entry)
	if !ok {
		return nil
	}
	out := []elf.Range{fn}
	if name := im.FunctionName(entry); name != "" {
		for _, s := range im.Lookup(name + ".cold") {
			if cold, ok := im.FunctionAt(s.Addr); ok && cold.Lo == s.Addr {
				out = append(out, cold)
			}
		}
	}
	return out
}

// summarizer computes a summary.
type summarizer struct {
	*explorer
	x        *Examiner
	sum      *summary
	image    *image
	key      summaryKey
	parts    []elf.Range
	top      *context
	stored   objects // all that was ever stored in the own frame
	jumps    bool    // there is an indirect jump that is not understood
	returned bool
}

func (z *summarizer) run() bool {
	if len(z.parts) == 0 || z.image.Arch() != insn.AMD64 {
		return false
	}
	z.explorer = newExplorer(min(maxSummary, z.x.left))
	budget := z.left
	z.explorer.control, z.explorer.trouble = z.control, func(place, Kind) {}
	z.explorer.memory = func(place) memory { return z }
	z.explorer.ends = func(_ place, s *state, in *insn.Inst) bool {
		if z.x.process.Inlined(z.image.File, in.Addr) == InlinedLock {
			z.note(s, in)
		}
		return false
	}
	z.top = &context{image: z.image}
	z.sum.calls = map[uint64]*state{}
	start := state{frames: make([]frame, 1)}
	for r := range insn.Reg(numRegs) {
		if z.key.of&only(1+int(r)) != 0 {
			start.regs[r] = to(1+int(r), 0)
		}
	}
	start.regs[insn.RSP] = to(own, -wordSize)
	z.flow(place{z.top, z.key.entry}, &start)
	ok := z.explorer.run() && z.rest()
	z.x.left -= budget - max(z.left, 0)
	if z.sum.leaks&only(own) != 0 {
		z.sum.leaks |= z.stored
		for _, f := range z.sum.flows {
			z.sum.leaks |= f
		}
	}
	return ok
}

// rest visits the instructions of the function that no path from its entry reaches: they are reached
// by an exception, or by an indirect jump.
func (z *summarizer) rest() bool {
	start := z.atLandingPad()
	for _, part := range z.parts {
		for pc := part.Lo; pc < part.Hi; {
			in, _ := z.image.at(pc)
			if in == nil {
				return false
			}
			if !z.seen[pc] && in.Kind != insn.Nop {
				z.flow(place{z.top, pc}, &start)
				if !z.explorer.run() {
					return false
				}
			}
			pc = in.End()
		}
	}
	return true
}

// atLandingPad returns the state where an exception may continue: the unwinder restores the
// registers that a call preserves. In a function with an indirect jump that is not understood,
// anything may be in a register.
func (z *summarizer) atLandingPad() state {
	s := state{frames: make([]frame, 1)}
	first := true
	for _, at := range z.sum.calls {
		if first {
			s, first = *at, false
		} else {
			s.join(at)
		}
	}
	s.afterCall(value{})
	if first || z.jumps {
		for r := range s.regs {
			s.regs[r] = value{may: ^objects(0)}
		}
		s.vector.may = ^objects(0)
		s.regs[insn.RSP] = to(own, 0).somewhere()
		if z.hasFramePointer() {
			s.regs[insn.RBP] = to(own, 0).somewhere()
		}
		s.forget(only(own))
	}
	s.frames = []frame{{words: s.frames[own].words, rest: value{may: s.frames[own].rest.may | z.stored}}}
	return s
}

// hasFramePointer reports whether the only instructions of the function that set rbp copy the stack
// pointer to it, or restore it.
func (z *summarizer) hasFramePointer() bool {
	sets := false
	for _, part := range z.parts {
		for pc := part.Lo; pc < part.Hi; {
			in, _ := z.image.at(pc)
			if in == nil {
				return false
			}
			pc = in.End()
			if !in.Writes.Has(insn.RBP) && in.Known {
				continue
			}
			switch {
			case in.Sum.Dst == insn.RBP && in.Sum.Src == insn.RSP && in.Sum.Add == insn.NoReg:
				sets = true
			case in.SPChange == wordSize || in.SPLost: // pop, leave
			default:
				return false
			}
		}
	}
	return sets
}

func (z *summarizer) frame() int      { return own }
func (z *summarizer) file() *elf.File { return z.image.File }

// reachable adds to a set of objects what may be stored in them.
func (z *summarizer) reachable(from objects) objects {
	out := from
	for n := range z.sum.flows {
		if from&only(n) != 0 {
			out |= z.sum.flows[n]
		}
	}
	return out
}

func (z *summarizer) load(s *state, in *insn.Inst, at value, size int) (value, bool) {
	n, certain := at.object()
	switch {
	case at.local:
		return ofThread(in), true
	case !certain:
		v := value{may: z.reachable(at.may &^ only(own))}
		if at.may&only(own) != 0 {
			v.may |= s.frames[own].all(0, false, 0).may
		}
		return v, true
	case n != own:
		return value{may: z.reachable(only(n))}, true
	case at.exact && at.off >= 0:
		return value{may: z.reachable(only(arguments))}, true
	}
	v := s.frames[own].load(at.off, at.exact, size)
	if !at.exact {
		v.may |= z.reachable(only(arguments))
	}
	return v, true
}

func (z *summarizer) store(s *state, _ *insn.Inst, at value, size int, v value) bool {
	n, certain := at.object()
	switch {
	case !certain:
		z.sum.leaks |= v.may
		z.writesAnywhere(s, at.may)
		s.forget(at.may)
	case n != own:
		z.sum.extents[n].add(at.off, at.exact, size)
		z.writes(s, only(n))
		z.sum.flows[n] |= v.may &^ (only(n) | only(own))
		z.sum.leaks |= v.may & only(own) // the object may be anywhere
	case at.exact && at.off >= 0:
		z.sum.flows[arguments] |= v.may &^ only(own)
		z.writes(s, only(arguments))
	default:
		z.stored |= v.may
		s.change(own).store(at.off, at.exact, size, v)
	}
	return true
}

// writesAnywhere is writes for an address that is not known.
func (z *summarizer) writesAnywhere(s *state, to objects) {
	z.writes(s, to)
	for n := range z.sum.extents {
		z.sum.extents[n].any = z.sum.extents[n].any || to&only(n) != 0
	}
}

// writes records that objects other than the own frame may be written to.
func (z *summarizer) writes(s *state, to objects) {
	z.sum.writes |= to &^ only(own)
	s.wrote |= to &^ only(own)
}

// control implements explorer.control.
func (z *summarizer) control(p place, s *state, in *insn.Inst) bool {
	if in.Kind != insn.CondJump && in.Kind.Branches() || in.Kind == insn.IndirectJump || in.Kind.Calls() {
		if name := z.image.imported(in); name != "" {
			z.note(s, in)
			z.callImport(s, name)
			return z.after(p, s, in, !endsPath(name))
		}
	}
	switch in.Kind {
	case insn.Jump, insn.CondJump:
		if z.known(in) {
			z.callImport(s, z.image.FunctionName(in.Target))
			return true
		}
		for _, to := range in.Next() {
			z.flow(place{p.context, to}, s)
		}
	case insn.Call:
		z.note(s, in)
		if z.known(in) {
			name := z.image.FunctionName(in.Target)
			z.callImport(s, name)
			return z.after(p, s, in, !endsPath(name))
		}
		if z.image.FunctionName(in.Target) == "__cxa_begin_catch" {
			z.sum.catches = true
		}
		if of := z.followed(s); of != 0 {
			z.call(s, z.x.summary(z.image, in.Target, of))
		} else {
			s.afterCall(value{})
		}
		return z.after(p, s, in, true)
	case insn.IndirectCall:
		z.note(s, in)
		z.callUnknown(s)
		return z.after(p, s, in, true)
	case insn.Syscall, insn.IndirectJump:
		z.jumps = z.jumps || in.Kind == insn.IndirectJump
		z.callUnknown(s)
		return z.after(p, s, in, in.Kind == insn.Syscall)
	case insn.Return:
		if r := s.regs[insn.RAX]; z.returned {
			z.sum.result = join(z.sum.result, r)
		} else {
			z.sum.result, z.returned = r, true
		}
		z.sum.result.may |= s.regs[insn.RDX].may | s.vector.may
	}
	return true
}

// followed returns the objects of a callee's summary that may lead to frames.
func (z *summarizer) followed(s *state) (of objects) {
	for _, r := range passing {
		if s.regs[r].may != 0 {
			of |= only(1 + int(r))
		}
	}
	if outgoing(s) != 0 {
		of |= only(arguments)
	}
	return of
}

// passing are the registers that a function may find arguments in.
var passing = append([]insn.Reg{insn.RAX, insn.R10}, insn.AMD64.Arguments()...)

// known reports whether an instruction calls or jumps to a function of the file whose effect is known
// by its name: one of a statically linked library.
func (z *summarizer) known(in *insn.Inst) bool {
	return in.Kind != insn.CondJump && (z.image.endsPath(in) || z.x.process.Synchronises(z.image.File, in.Target))
}

// note records the state at a call.
func (z *summarizer) note(s *state, in *insn.Inst) {
	if old := z.sum.calls[in.End()]; old != nil {
		old.join(s)
		return
	}
	c := *s
	z.sum.calls[in.End()] = &c
}

// after continues behind a call.
func (z *summarizer) after(p place, s *state, in *insn.Inst, returns bool) bool {
	if returns && in.Kind.FallsThrough() && z.image.sameFunction(in.Addr, in.End()) {
		z.flow(place{p.context, in.End()}, s)
	}
	return true
}

// passed returns what a call passes as an object of the callee's summary.
func passed(s *state, object int) value {
	if object == arguments {
		v := to(own, 0).somewhere()
		v.may |= s.frames[own].all(0, false, 0).may
		return v
	}
	return s.regs[object-1]
}

// passes returns what a call passes as objects of the callee's summary.
func passes(s *state, which objects) (may objects) {
	for n := 1; n < known; n++ {
		if which&only(n) != 0 {
			may |= passed(s, n).may
		}
	}
	return may
}

// call applies the effect of a call of a function.
func (z *summarizer) call(s *state, callee *summary) {
	z.sum.leaks |= passes(s, callee.leaks)
	result := translate(s, callee.result)
	for n := 1; n < known; n++ {
		v := value{may: passes(s, callee.flows[n])}
		if a, e := passed(s, n), callee.extents[n]; a.exact && !e.any {
			z.mayStore(s, a, e, v)
		} else if v.may != 0 {
			z.store(s, nil, a.somewhere(), 0, v)
		}
		if callee.writes&only(n) != 0 {
			z.written(s, passed(s, n), callee.extents[n])
		}
	}
	s.afterCall(result)
}

// mayStore records that a callee may store v in a part of what it was passed.
func (z *summarizer) mayStore(s *state, at value, e extent, v value) {
	n, _ := at.object()
	size := int(e.hi - e.lo)
	if !e.some {
		return
	}
	if at = at.plus(e.lo); n == own && at.off < 0 && size <= maxStore {
		z.stored |= v.may
		s.change(own).mayStore(at.off, size, v)
		return
	}
	z.store(s, nil, at, size, v)
}

// written records that a callee wrote to what it was passed, or what can be reached from there.
func (z *summarizer) written(s *state, at value, e extent) {
	if !at.exact || e.any {
		z.writesAnywhere(s, at.may)
		s.forget(at.may & only(own))
	}
}

// translate returns a value of a callee's summary as one of its caller.
func translate(s *state, v value) value {
	n, certain := v.object()
	out := value{may: passes(s, v.may)}
	if certain && n != own && n != arguments {
		if a := passed(s, n); v.exact {
			a = a.plus(v.off)
			a.may |= out.may
			return a
		} else if a.base != 0 {
			out.base = a.base
		}
		return out
	}
	out.bytes, out.off, out.in = v.bytes, v.off, v.in
	if certain {
		out.bytes, out.in = 0, nil
	}
	return out
}

// afterCall sets the registers that a call may change.
func (s *state) afterCall(result value) {
	changes := insn.AMD64.CallerSaved()
	for r := range insn.Reg(numRegs) {
		if changes.Has(r) {
			s.regs[r] = value{}
		}
	}
	s.regs[insn.RAX], s.regs[insn.RDX] = result, result.vague()
	s.flags, s.vector = flags{}, value{}
}

// callUnknown applies the effect of a call of which nothing is known.
func (z *summarizer) callUnknown(s *state) {
	for _, r := range passing {
		z.sum.leaks |= s.regs[r].may
		z.writesAnywhere(s, s.regs[r].may)
	}
	z.sum.leaks |= outgoing(s)
	z.sum.leaks |= s.vector.may
	s.forget(only(own))
	s.afterCall(value{})
}

// outgoing returns what the words above the stack pointer, which a call may take as arguments, may
// lead to.
func outgoing(s *state) objects {
	sp := s.regs[insn.RSP]
	if n, ok := sp.object(); ok && n == own && sp.exact {
		var may objects
		for _, w := range s.frames[own].words {
			if w.At >= sp.off && w.At < sp.off+8*wordSize {
				may |= w.Value.may
			}
		}
		return may | s.frames[own].rest.may
	}
	return s.frames[own].all(0, false, 0).may
}

// callImport applies the effect of a call of a function of another file.
func (z *summarizer) callImport(s *state, name string) {
	if name == "__cxa_begin_catch" {
		z.sum.catches = true
	}
	args := insn.AMD64.Arguments()
	n, ok := keepsNothing(name)
	if !ok {
		z.callUnknown(s)
		return
	}
	result := value{}
	if locks(name) {
		n = 0 // it only writes the object of synchronisation, which holds no addresses
	}
	for i, r := range args {
		if i < n || n < 0 {
			s.forget(s.regs[r].may & only(own))
			z.writesAnywhere(s, s.regs[r].may)
			result.may |= s.regs[r].may
		}
	}
	if copies(name) {
		from := s.regs[insn.RSI]
		v, _ := z.load(s, nil, from.somewhere(), 0)
		v.may |= from.may
		z.store(s, nil, s.regs[insn.RDI].somewhere(), 0, v.vague())
	}
	if name == "pthread_create" || name == "thrd_create" {
		z.sum.leaks |= s.regs[insn.RCX].may | s.regs[insn.RDX].may
	}
	s.afterCall(result)
}

// copies reports whether a function of the C library copies from its second argument to its first.
func copies(name string) bool {
	return slices.ContainsFunc([]string{"memcpy", "memmove", "mempcpy"}, func(n string) bool { return strings.Contains(name, n) })
}
