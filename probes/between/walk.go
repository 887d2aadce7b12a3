package between

import (
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// walker explores the paths from the first event of a query.
type walker struct {
	*explorer
	x       *Examiner
	query   Query
	why     Why
	needed  int // the frames of From that the paths lead through
	outside int // return addresses of From that belong to frames outside the outermost context
	about   question
	now     place
	arrived bool
	inlined bool // the first event is made by an instruction that is not in a call
	// passed is the number of releases between the events that are behind the explored code, and next the
	// places behind another one.
	passed int
	next   []arrival
}

// arrival is a place, with what is known there.
type arrival struct {
	place
	state
}

// behind returns the call stack of an event. That of one that an instruction makes without a call gets the
// address behind that instruction, as if a call returned there.
func (x *Examiner) behind(pcs []uint64) (stack []uint64, inlined bool) {
	if len(pcs) == 0 {
		return pcs, false
	}
	l, ok := x.locate(pcs[0])
	if !ok || x.process.Inlined(l.image.File, l.pc) != InlinedLock {
		return pcs, false
	}
	in, _ := l.image.at(l.pc)
	if in == nil {
		return pcs, false
	}
	return slices.Concat(pcs[:1], []uint64{in.End() + l.bias}, pcs[1:]), true
}

// fail ends the exploration with a reason.
func (w *walker) fail(why Why) bool {
	w.why = why
	return false
}

// maxFrames bounds the depth of contexts.
const maxFrames = maxObjects - 2

// outer is the number of frames outside the one that both events have in common that are examined:
// code may have pointers to them.
const outer = 3

// located is an address of the process in a file.
type located struct {
	image *image
	pc    uint64 // as linked
	bias  uint64
}

func (x *Examiner) locate(addr uint64) (l located, ok bool) {
	f, bias, ok := x.process.Code(addr)
	if !ok || f.Arch() != insn.AMD64 {
		return l, false
	}
	return located{x.image(f), addr - bias, bias}, true
}

// inCall reports whether an address is in a function whose calls are events.
func (x *Examiner) inCall(addr uint64) bool {
	l, ok := x.locate(addr)
	if !ok {
		return false
	}
	if x.process.Inlined(l.image.File, l.pc) == InlinedLock {
		return true
	}
	fn, ok := l.image.FunctionAt(l.pc)
	return ok && x.process.Synchronises(l.image.File, fn.Lo)
}

// begin finds the contexts of the first event, and what is known in them. It returns false if the
// query is answered.
func (w *walker) begin() bool {
	from, to := w.query.From, w.query.To
	innermost := w.query.Access && len(to) == 1 // which calls led to the access is not known
	if (to == nil || innermost) && len(from) > 0 {
		to = from
	}
	if len(from) < 2 || len(to) < 2 {
		return w.fail(Why{Kind: NotUnderstood})
	}
	if !w.query.FromCall && !w.x.inCall(from[0]) {
		return w.fail(Why{Kind: NotUnderstood, At: from[0]})
	}
	if !innermost && !w.query.ToCall && !w.endsAt(to[0]) {
		return w.fail(Why{Kind: NotUnderstood, At: to[0]})
	}
	common := 0
	for common < min(len(from), len(to))-1 && from[len(from)-1-common] == to[len(to)-1-common] {
		common++
	}
	if common == 0 {
		return w.fail(Why{Kind: NoPath})
	}
	frames := from[1:]
	needed := max(len(frames)-common, 1)
	if w.needed = needed; needed > maxFrames/2 {
		return w.fail(Why{Kind: TooMuch})
	}
	w.explorer = newExplorer(0)
	w.explorer.control, w.explorer.refuses, w.explorer.ends = w.control, w.refuses, w.ends
	w.explorer.trouble = func(p place, k Kind) { w.fail(Why{Kind: k, At: p.process(p.pc)}) }
	w.explorer.memory = func(p place) memory { w.now = p; return w }
	for n := min(len(frames), needed+outer, maxFrames/2); ; {
		s, c, failed := w.frames(frames, n)
		if failed < 0 {
			w.outside = len(frames) - n
			if w.inlined {
				return w.startBehind(s, c)
			}
			w.start(s, c, frames[0])
			return true
		}
		if failed < needed {
			return false
		}
		n, w.why = failed, Why{}
	}
}

// frames makes the contexts of the first n frames. If it fails for one, it returns its number,
// otherwise -1.
func (w *walker) frames(frames []uint64, n int) (s *state, c *context, failed int) {
	s = &state{}
	for i := n - 1; i >= 0; i-- {
		if c = w.enter(s, c, frames, i); c == nil {
			return s, c, i
		}
	}
	return s, c, -1
}

// start adds the place where the first event's call returns.
func (w *walker) start(s *state, c *context, ret uint64) {
	l, _ := w.x.locate(ret)
	result := value{}
	if w.succeeds(l.image) {
		result.bytes = 4 // it returned 0
	}
	s.afterCall(result)
	s.regs[insn.RDX] = value{}
	w.left = w.x.left
	w.flow(place{c, l.pc}, s)
}

// startBehind adds the place behind the instruction that makes the first event: an atomic instruction that has
// acquired a lock, whose word was 0.
func (w *walker) startBehind(s *state, c *context) bool {
	l, _ := w.x.locate(w.query.From[0])
	in, code := l.image.at(l.pc)
	p := place{c, l.pc}
	w.now = p
	if in == nil || !in.Known || in.NMem != 1 || in.WritesIf == 0 && !exchanges(in, code) || !s.apply(in, code, w) {
		return w.fail(Why{Kind: NotUnderstood, At: w.query.From[0]})
	}
	size := in.Mem[0].Size
	if in.WritesIf == 0 {
		s.regs[in.Writes.Only()] = value{bytes: uint8(size)} // what it found
	} else {
		s.regs[insn.RAX] = value{bytes: uint8(size)}
		s.flags = flags{known: true, size: size} // what it compared was equal
	}
	w.left = w.x.left
	w.flow(place{c, in.End()}, s)
	return true
}

// exchanges reports whether an instruction exchanges the contents of memory and of a general register.
func exchanges(in *insn.Inst, code []byte) bool {
	for len(code) > 2 && (code[0] == 0x66 || code[0]&0xf0 == 0x40) {
		code = code[1:]
	}
	return in.Locked && in.Writes.Only() != insn.NoReg && len(code) > 1 && code[0]|1 == 0x87
}

// ends implements explorer.ends: an instruction that makes an event without a call ends the path.
func (w *walker) ends(p place, s *state, in *insn.Inst) bool {
	if w.isAccess(p, in) {
		return w.access(p, s, in)
	}
	if w.x.process.Inlined(p.image.File, in.Addr) != InlinedLock {
		return false
	}
	w.now = p
	switch {
	case w.query.Unrecorded, w.passed < w.query.Releases:
		w.fail(Why{Kind: NotUnderstood, At: w.at(in)})
	case w.isSecond(p.context, p.process(in.End())):
		w.arrived = true
		w.checkInlined(p.context, s, in)
	}
	return true
}

// checkInlined is check for an event that an instruction makes without a call.
func (w *walker) checkInlined(c *context, s *state, in *insn.Inst) bool {
	if w.about == decides {
		return true
	}
	if read := s.address(&in.Mem[0]).read; read != 0 {
		return w.fail(Why{Kind: Argument, At: w.at(in), Read: read})
	}
	if w.query.Last {
		return true
	}
	for r := range insn.Reg(numRegs) {
		if read := s.regs[r].read; read != 0 {
			return w.fail(Why{Kind: Kept, At: w.at(in), Read: read})
		}
	}
	return w.keepsNothing(c, s, in)
}

// succeeds reports whether the first event is an operation that returns 0 whenever it is recorded. A
// robust mutex may also be acquired with EOWNERDEAD.
func (w *walker) succeeds(im *image) bool {
	for _, name := range im.got {
		if strings.HasPrefix(name, "pthread_mutexattr_setrobust") {
			return false
		}
	}
	l, ok := w.x.locate(w.query.From[0])
	if !ok {
		return false
	}
	return alwaysSucceeds(l.image.FunctionName(l.pc))
}

// enter makes the context of the frame that frames[i] returns to, and sets s to the state at the
// call there.
func (w *walker) enter(s *state, out *context, frames []uint64, i int) *context {
	l, ok := w.x.locate(frames[i])
	if !ok {
		w.fail(Why{Kind: NotUnderstood, At: frames[i]})
		return nil
	}
	fn, ok := l.image.FunctionAt(l.pc - 1)
	if !ok || !w.isEntry(l.image, fn.Lo, frames, i) {
		w.fail(Why{Kind: NotUnderstood, At: frames[i]})
		return nil
	}
	var of objects
	c := &context{outer: out, image: l.image, bias: l.bias, inner: map[uint64]*context{}}
	if out != nil {
		c.depth, c.ret, c.sp = out.depth+1, frames[i+1], s.regs[insn.RSP]
		for r := range insn.Reg(numRegs) {
			if r != insn.RSP && s.regs[r].may != 0 {
				of |= only(1 + int(r))
			}
		}
	}
	if w.x.left <= 0 {
		w.fail(Why{Kind: TooMuch})
		return nil
	}
	c.sum = w.summary(l.image, fn.Lo, of, i >= w.needed)
	at := c.sum.calls[l.pc]
	if at == nil {
		w.fail(Why{Kind: NotUnderstood, At: frames[i]})
		return nil
	}
	w.compose(s, c, at)
	return c
}

// outerShare is the part of what is left of a query's budget that the summary of one frame may cost that is examined
// only because code may have pointers to it: a quarter.
const outerShare = 4

// summary returns the summary of a function of From; an outer one may cost less.
func (w *walker) summary(im *image, entry uint64, of objects, outer bool) *summary {
	if !outer {
		return w.x.summary(im, entry, of)
	}
	kept := w.x.left - w.x.left/outerShare
	w.x.left -= kept
	defer func() { w.x.left = max(w.x.left, 0) + kept }()
	return w.x.summary(im, entry, of)
}

// isEntry reports whether a function begins at an address, rather than a part of one: there is a
// symbol, the frame outside calls the address, or the address is taken, as that of a part never is.
func (w *walker) isEntry(im *image, addr uint64, frames []uint64, i int) bool {
	if name := im.FunctionName(addr); name != "" {
		return !strings.HasSuffix(name, ".cold")
	}
	if i+1 < len(frames) {
		if l, ok := w.x.locate(frames[i+1]); ok && l.image == im && im.callBefore(l.pc) == addr {
			return true
		}
	}
	_, taken := slices.BinarySearch(im.Landmarks(), addr)
	return taken && !strings.HasPrefix(im.SOName(), "libc.") // what it does with a thread does not matter
}

// callBefore returns the target of the direct call that ends at an address; 0 if there is none.
func (im *image) callBefore(pc uint64) uint64 {
	if in, _ := im.at(pc - 5); in != nil && in.Kind == insn.Call && in.End() == pc {
		return in.Target
	}
	return 0
}

// compose sets s, the state at the call of a context's function, to that at a call in it, which is
// given in terms of the function's summary.
func (w *walker) compose(s *state, c *context, at *state) {
	caller := *s
	if c.outer != nil && c.sum.leaks == ^objects(0) {
		caller.forget(^objects(0))
	}
	within := func(v value) value {
		n, certain := v.object()
		out := value{may: w.objectsOf(&caller, c, v.may), bytes: v.bytes, off: v.off, in: v.in, local: v.local}
		switch {
		case !certain:
		case n == own:
			out.base, out.exact = uint8(c.depth+1), v.exact
		case n == arguments || c.outer == nil:
			out.off = 0
		default:
			a := caller.regs[n-1]
			if !v.exact {
				a = value{base: a.base, may: a.may}
			}
			return a.plus(v.off)
		}
		return out
	}
	shared := c.sum.leaks&only(own) != 0 // others may have written what the frame's words hold
	next := state{frames: slices.Clone(caller.frames)}
	for r := range next.regs {
		next.regs[r] = within(at.regs[r])
		pointsToFrame := at.regs[r].base != 0 && (r == int(insn.RSP) || r == int(insn.RBP))
		if shared && !pointsToFrame {
			next.regs[r] = next.regs[r].vague()
		}
	}
	f := frame{rest: within(at.frames[own].rest)}
	for _, word := range at.frames[own].words {
		v := within(word.Value)
		if shared && !isSaved(word.Value) {
			v = v.vague()
		}
		if !v.plain() {
			f.words = f.words.Put(word.At, v)
		}
	}
	next.frames = append(next.frames, f)
	next.forget(w.objectsOf(&caller, c, at.wrote) &^ only(c.depth))
	*s = next
}

// isSaved reports whether a value in a summary is what a register that calls preserve had at the
// function's entry.
func isSaved(v value) bool {
	n, certain := v.object()
	return certain && v.exact && v.off == 0 && n >= 1 && n <= numRegs && !insn.AMD64.CallerSaved().Has(insn.Reg(n-1))
}

// objectsOf returns the objects of the walk for those of a summary.
func (w *walker) objectsOf(caller *state, c *context, of objects) (out objects) {
	if of&only(own) != 0 {
		out |= only(c.depth)
	}
	if c.outer == nil {
		return out
	}
	for r := range numRegs {
		if of&only(1+r) != 0 {
			out |= caller.regs[r].may
		}
	}
	if of&only(arguments) != 0 {
		out |= only(c.depth - 1)
	}
	return out
}

// process returns the address in the process.
func (c *context) process(pc uint64) uint64 { return pc + c.bias }

// finish explores.
func (w *walker) finish() {
	before := w.left
	done := w.explorer.run()
	for done && w.passed < w.query.Releases {
		if len(w.next) == 0 {
			done = w.fail(Why{Kind: NoPath})
			break
		}
		w.passed++
		w.explorer.restart()
		for _, a := range w.next {
			w.flow(a.place, &a.state)
		}
		w.next = nil
		done = w.explorer.run()
	}
	w.x.left -= before - max(w.left, 0)
	if done && !w.arrived && w.query.To != nil && (w.query.Releases > 0 || !slices.Equal(w.query.From[1:], w.query.To[1:])) {
		w.fail(Why{Kind: NoPath})
	}
}

func (w *walker) frame() int      { return w.now.depth }
func (w *walker) file() *elf.File { return w.now.image.File }

// at returns the address in the process of the instruction that is being visited.
func (w *walker) at(in *insn.Inst) uint64 { return w.now.process(in.Addr) }

// place returns the number of the frame that an address is certainly in, and the offset in it. An
// address above a frame's canonical frame address is in the frame outside.
func (w *walker) place(at value) (n int, off int64, exact, ok bool) {
	n, ok = at.object()
	if !ok {
		return 0, 0, false, false
	}
	off, exact = at.off, at.exact
	c := w.now.context
	for c != nil && c.depth > n {
		c = c.outer
	}
	for ; exact && off >= 0; n-- {
		if c == nil || c.outer == nil {
			return 0, 0, false, false
		}
		if m, ok := c.sp.object(); !ok || m != n-1 {
			return 0, 0, false, false
		}
		off, exact = off+c.sp.off, c.sp.exact
		c = c.outer
	}
	return n, off, exact, true
}

// safe reports whether no other thread can find the address of a frame.
func (w *walker) safe(n int) bool {
	c := w.now.context
	for c.depth > n {
		c = c.outer
	}
	return c.sum.leaks&only(own) == 0
}

func (w *walker) load(s *state, in *insn.Inst, at value, size int) (value, bool) {
	shared := value{read: w.at(in)}
	if w.about == leaves {
		shared.read = 0
	}
	if at.read != 0 && w.about == decides {
		return shared, true
	}
	if at.read != 0 {
		return shared, w.fail(Why{Kind: Address, At: w.at(in), Read: at.read})
	}
	n, off, exact, certain := w.place(at)
	switch {
	case in.NMem > 0 && w.x.process.Inlined(w.file(), in.Addr) != InlinedNone, w.recorded(in):
		return value{}, true
	case at.local:
		return ofThread(in), true
	case certain && (w.safe(n) || in.SPChange > 0 || in.NMem == 0): // pops and leave restore what the caller had
		return s.frames[n].load(off, exact, size), true
	case at.in != nil && at.base == 0 && (at.bytes == 8 || at.region()):
		im := w.x.image(at.in)
		if im.constant(uint64(at.off), size) {
			return value{}, true
		}
	}
	return shared, true
}

// ofThread returns what an instruction loads from thread-local storage: the word at its beginning
// has its address (System V ABI of x86-64, thread-local storage).
func ofThread(in *insn.Inst) value {
	m := &in.Mem[0]
	first := in.NMem == 1 && m.Segment && m.Base == insn.NoReg && m.Index == insn.NoReg && m.Disp == 0 && m.Size == wordSize
	return value{local: first}
}

func (w *walker) store(s *state, in *insn.Inst, at value, size int, v value) bool {
	if at.read != 0 && w.about == decides {
		at = value{may: at.may}
	}
	if at.read != 0 {
		return w.fail(Why{Kind: Address, At: w.at(in), Read: at.read})
	}
	if at.local {
		if v.read != 0 {
			return w.fail(Why{Kind: Kept, At: w.at(in), Read: v.read})
		}
		return true
	}
	n, off, exact, certain := w.place(at)
	if shared := !certain || !w.safe(n) && in.NMem > 0; shared {
		switch {
		case w.about == leaves && !w.recorded(in):
			return w.fail(Why{Kind: Writes, At: w.at(in)})
		case w.about == sees && v.read != 0:
			return w.fail(Why{Kind: Stored, At: w.at(in), Read: v.read})
		}
	}
	if certain {
		s.change(n).store(off, exact, size, v)
		return true
	}
	s.forget(at.may)
	if v.read == 0 {
		return true
	}
	for n := range s.frames {
		if at.may&only(n) != 0 {
			f := s.change(n)
			f.rest.read = firstRead(f.rest.read, v.read)
		}
	}
	return true
}

// control implements explorer.control.
func (w *walker) control(p place, s *state, in *insn.Inst) bool {
	w.now = p
	tail := in.Kind == insn.Jump || in.Kind == insn.IndirectJump
	if in.Kind.Calls() && p.image.stopsBehind(in) {
		return w.throws(p, in)
	}
	if to := p.image.slotTarget(in); to != 0 && in.Kind == insn.IndirectCall {
		direct := *in
		direct.Kind, direct.Target = insn.Call, to
		in = &direct
	}
	if name := p.image.imported(in); name != "" && (tail || in.Kind.Calls()) {
		return w.leave(p, s, in, name, w.x.process.Imports(name))
	}
	switch in.Kind {
	case insn.CondJump:
		return w.branch(p, s, in)
	case insn.Jump, insn.Call:
		if event := w.x.process.Synchronises(p.image.File, in.Target); event || p.image.endsPath(in) {
			return w.leave(p, s, in, p.image.FunctionName(in.Target), event)
		}
		if in.Kind == insn.Call {
			return w.call(p, s, in)
		}
		w.flow(place{p.context, in.Target}, s)
		return true
	case insn.Return:
		return w.back(p, s, in)
	case insn.Stop:
		return true
	case insn.Syscall:
		return w.fail(Why{Kind: Kernel, At: w.at(in)})
	}
	return w.fail(Why{Kind: Indirect, At: w.at(in)})
}

func (w *walker) branch(p place, s *state, in *insn.Inst) bool {
	if in.Cond == 0 { // jrcxz, loop
		if !in.Known || s.regs[insn.RCX].read != 0 {
			return w.fail(Why{Kind: Branch, At: w.at(in), Read: s.regs[insn.RCX].read})
		}
		s.regs[insn.RCX] = s.regs[insn.RCX].vague()
	} else if s.flags.read != 0 {
		return w.fail(Why{Kind: Branch, At: w.at(in), Read: s.flags.read})
	}
	taken, known := false, false
	if in.Cond != 0 {
		taken, known = s.flags.holds(in.Cond - 1)
	}
	if !known || taken {
		w.flow(place{p.context, in.Target}, s)
	}
	if !known || !taken {
		w.flow(place{p.context, in.End()}, s)
	}
	return true
}

// call continues in the function that is called.
func (w *walker) call(p place, s *state, in *insn.Inst) bool {
	if p.depth+1 >= maxFrames {
		return w.fail(Why{Kind: TooMuch, At: w.at(in)})
	}
	c := p.inner[in.End()]
	if c == nil {
		c = &context{outer: p.context, image: p.image, bias: p.bias, ret: p.process(in.End()), depth: p.depth + 1, sp: s.regs[insn.RSP], inner: map[uint64]*context{}}
		c.sum = w.x.summary(p.image, in.Target, 0)
		p.inner[in.End()] = c
	}
	if c.sp != s.regs[insn.RSP] {
		return w.fail(Why{Kind: NotUnderstood, At: w.at(in)})
	}
	next := *s
	next.frames = append(slices.Clone(s.frames[:p.depth+1]), frame{})
	next.regs[insn.RSP] = to(c.depth, -wordSize)
	w.flow(place{c, in.Target}, &next)
	return true
}

// back continues behind the call of the function that returns.
func (w *walker) back(p place, s *state, in *insn.Inst) bool { return w.returns(p, s, in, w.flow) }

// returns passes to flow the place behind the call of the function that returns, and what is known there.
func (w *walker) returns(p place, s *state, in *insn.Inst, flow func(place, *state)) bool {
	if p.outer == nil {
		return w.fail(Why{Kind: Leaves, At: w.at(in)})
	}
	l, ok := w.x.locate(p.ret)
	if !ok || l.image != p.outer.image {
		return w.fail(Why{Kind: NotUnderstood, At: p.ret})
	}
	next := *s
	next.frames = slices.Clone(s.frames[:p.depth])
	gone := func(v value) value {
		if n, ok := v.object(); ok && n == p.depth {
			v = v.vague()
		}
		v.may &^= only(p.depth)
		return v
	}
	for r := range next.regs {
		next.regs[r] = gone(next.regs[r])
	}
	next.vector = gone(next.vector)
	for i := range next.frames {
		f := next.frames[i]
		words := slices.Clone(f.words)
		for j := range words {
			words[j].Value = gone(words[j].Value)
		}
		next.frames[i] = frame{words, gone(f.rest)}
	}
	next.regs[insn.RSP] = p.sp
	flow(place{p.outer, l.pc}, &next)
	return true
}

// leave handles a call of, or a jump to, a function outside the code that is examined, or one whose
// calls are events.
func (w *walker) leave(p place, s *state, in *insn.Inst, name string, event bool) bool {
	chain := p.context
	ret := p.ret
	if in.Kind.Calls() {
		ret = p.process(in.End())
	} else if chain = p.outer; chain == nil {
		return w.fail(Why{Kind: Leaves, At: w.at(in)})
	}
	switch {
	case event && !w.query.Unrecorded && w.passed < w.query.Releases:
		return !releases(name) || w.release(p, s, in, name) // else another event
	case w.about == decides && waitsWithin(name) && w.isWithin(chain, ret):
		w.arrived = true
		return true
	case !event && w.wrapped(name) && w.passed == w.query.Releases && w.isWithin(chain, ret):
		w.arrived = true
		return w.check(chain, s, in, name)
	case (event || w.entersLast() || w.query.ToCall && w.passed == w.query.Releases) && w.isSecond(chain, ret):
		w.arrived = true
		return w.check(chain, s, in, name)
	case (event || w.wrapped(name)) && !w.query.Unrecorded:
		return true // another event
	case throws(name):
		return w.throws(p, in)
	case endsPath(name):
		return true
	case readsNothing(name):
		s.afterCall(value{local: name == "__errno_location" || name == "__tls_get_addr"})
		s.regs[insn.RDX] = value{}
	case !w.observed(s, in, name):
		return false
	}
	if in.Kind.Calls() {
		w.flow(place{p.context, in.End()}, s)
		return true
	}
	return w.back(p, s, in)
}

// release goes on behind the call of a function that releases a lock, once what comes before it has been
// explored.
func (w *walker) release(p place, s *state, in *insn.Inst, name string) bool {
	if !w.checkArguments(s, in, name) {
		return false
	}
	s.afterCall(value{})
	if in.Kind.Calls() {
		w.next = append(w.next, arrival{place{p.context, in.End()}, *s})
		return true
	}
	return w.returns(p, s, in, func(to place, s *state) { w.next = append(w.next, arrival{to, *s}) })
}

// isSecond reports whether a call from a context, which returns to ret, is the second event's.
func (w *walker) isSecond(c *context, ret uint64) bool {
	return w.query.To == nil || w.isCall(c, ret, w.query.To[1:])
}

// wrapped reports whether all that a function of the C++ library does is an event.
func (w *walker) wrapped(name string) bool {
	f := wraps(name)
	return f != "" && w.x.process.Imports(f)
}

// isWithin reports whether the second event is made by the function of a call, which either calls the one
// of the C library or jumps to it.
func (w *walker) isWithin(c *context, ret uint64) bool {
	to := w.query.To
	return to == nil || len(to) > 1 && w.isCall(c, ret, to[1:]) || len(to) > 2 && w.isCall(c, ret, to[2:])
}

// isCall reports whether a call from a context, which returns to ret, is the one that these frames of
// the second event's call stack return to.
func (w *walker) isCall(c *context, ret uint64, to []uint64) bool {
	for ; c != nil; c = c.outer {
		if len(to) == 0 || to[0] != ret {
			return false
		}
		to, ret = to[1:], c.ret
	}
	return slices.Equal(to, w.query.From[len(w.query.From)-w.outside:])
}

// check reports whether the state at the second event depends on nothing that was read.
func (w *walker) check(c *context, s *state, in *insn.Inst, name string) bool {
	if w.about == decides {
		return true
	}
	if !w.checkArguments(s, in, name) {
		return false
	}
	if w.query.Last {
		return true
	}
	for r := range insn.Reg(numRegs) {
		if read := s.regs[r].read; read != 0 && !insn.AMD64.CallerSaved().Has(r) {
			return w.fail(Why{Kind: Kept, At: w.at(in), Read: read})
		}
	}
	return w.keepsNothing(c, s, in)
}

// checkArguments reports whether the arguments of a function that synchronises depend on nothing that was read.
func (w *walker) checkArguments(s *state, in *insn.Inst, name string) bool {
	for _, r := range insn.AMD64.Arguments()[:operands(name)] {
		if read := s.regs[r].read; read != 0 && w.about != decides {
			return w.fail(Why{Kind: Argument, At: w.at(in), Read: read})
		}
	}
	return true
}

// keepsNothing reports whether the frames hold nothing that depends on what was read.
func (w *walker) keepsNothing(c *context, s *state, in *insn.Inst) bool {
	for _, f := range s.frames[:c.depth+1] {
		read := f.rest.read
		for _, word := range f.words {
			read = firstRead(read, word.Value.read)
		}
		if read != 0 {
			return w.fail(Why{Kind: Kept, At: w.at(in), Read: read})
		}
	}
	return true
}

// throws reports whether an exception leaves all frames that are examined.
func (w *walker) throws(p place, in *insn.Inst) bool {
	for c := p.context; c != nil; c = c.outer {
		if c.sum.catches {
			return w.fail(Why{Kind: Throws, At: w.at(in)})
		}
	}
	return true
}

// refuses reports whether an instruction asks the clock or the processor, or may stop the program
// because of what was read.
func (w *walker) refuses(p place, s *state, in *insn.Inst, code []byte) bool {
	op, _, rest := opcode(code)
	switch {
	case op == 0x9c || op == 0x9d || op == 0x9e || op == 0x9f: // flags as a number
		w.fail(Why{Kind: NotUnderstood, At: p.process(in.Addr)})
		return true
	case op == 0x0f31 || op == 0x0fa2 || op == 0x0f01 || op == 0x0fc7 && in.NMem == 0:
		w.fail(Why{Kind: Kernel, At: p.process(in.Addr)})
		return true
	case (op == 0xf6 || op == 0xf7) && len(rest) > 0 && rest[0]>>4&3 == 3: // a division
		read := firstRead(s.regs[insn.RAX].read, s.regs[insn.RDX].read)
		for r := range insn.Reg(numRegs) {
			if in.Reads.Has(r) {
				read = firstRead(read, s.regs[r].read)
			}
		}
		w.now = p
		for i := range in.NMem {
			if v, ok := w.load(s, in, s.address(&in.Mem[i]), in.Mem[i].Size); !ok || v.read != 0 {
				read = firstRead(read, v.read)
			}
		}
		if read != 0 {
			w.fail(Why{Kind: Branch, At: p.process(in.Addr), Read: read})
			return true
		}
	}
	return false
}
