package waiting

import (
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/libname"
)

// effect is what a function does that matters to a loop that calls it.
type effect struct {
	busy    bool
	unknown bool // it may store anywhere
	idles   bool
	sleeps  bool
	stores  []span // relative to the registers at its entry
	loads   []load // on which the result depends
	result  value
	held    int8 // locks at its return
}

const (
	maxDepth  = 6
	maxCallee = 2048 // bytes
	// touched is the number of bytes that a function of another file is taken to write at an address
	// that it gets.
	touched = 32
)

// effect returns the effect of the function that begins at an address.
func (x *finder) effect(entry uint64, depth int) *effect {
	if e := x.effects[entry]; e != nil {
		if e.busy {
			return &effect{unknown: true} // a recursion
		}
		return e
	}
	fn, ok := x.file.FunctionAt(entry)
	if !ok || fn.Lo != entry || fn.Hi-fn.Lo > maxCallee || depth >= maxDepth {
		return &effect{unknown: true}
	}
	e := &effect{busy: true}
	x.effects[entry] = e
	*e = x.effectOf(fn, depth)
	return e
}

func (x *finder) effectOf(fn elf.Range, depth int) effect {
	r, err := x.routine(fn)
	if err != nil || r == nil {
		return effect{unknown: true}
	}
	defer x.done(r)
	if r.Open {
		return effect{unknown: true}
	}
	g := &region{x: x, r: r, depth: depth + 1, blocks: make([]int, len(r.Blocks))}
	for i := range g.blocks {
		g.blocks[i] = i
	}
	g.solve(x.entry())
	if g.failed {
		return effect{unknown: true}
	}
	e := effect{unknown: g.unknown, idles: g.idles, sleeps: g.sleeps, stores: g.stores, loads: g.loads, result: g.result, held: g.held}
	if !g.othersDecide(e.result.loads) {
		e.result = value{}
	}
	return e
}

// call changes a state to that after a call has returned.
func (g *region) call(s *state, in *insn.Inst) {
	name := g.x.imported(in)
	result := value{}
	switch {
	case name != "":
		result = g.callImport(s, in, name)
	case in.Kind == insn.IndirectCall || in.Kind == insn.IndirectJump:
		g.unknown = true
		g.passes(s, true)
	case g.rough:
		result = value{class: loaded, loads: returned}
	default:
		result = g.callFunction(s, g.x.effect(in.Target, g.depth))
	}
	if !g.rough {
		s.held = hold(s.held, g.x.holds(in))
	}
	for reg := range insn.Reg(len(s.regs)) {
		if insn.AMD64.CallerSaved().Has(reg) {
			s.regs[reg] = value{}
		}
	}
	s.regs[insn.RAX], s.flags = result, value{}
}

// Idles reports whether a function of the C library sleeps, or lets other threads run.
func Idles(name string) bool { return libname.Is(name, libname.Idles) }

// restsBy reports whether a function sleeps, lets other threads run, or waits with a time limit. A system call by its
// number, as futex in much code that ends a program, is a doubt of its own.
func restsBy(name string) bool {
	return Idles(name) && name != "syscall" || libname.Is(name, libname.LimitedWait)
}

// asks reports whether what a function of another file returns, or writes where its arguments point,
// may depend on what another thread did, unobserved: whether a file is there, what the kernel has
// counted, how far a library is.
func asks(name string) bool {
	plain := strings.TrimSuffix(strings.TrimPrefix(name, "__"), "_chk")
	return name == "sem_getvalue" || !Idles(name) && !libname.Is(name, libname.Harmless) && !libname.OfThreads(name) &&
		!computes(name) && !libname.Is(name, libname.Observed) && !libname.Is(plain, libname.Observed)
}

// computes reports whether a function of another file is one of which no other thread changes the result.
func computes(name string) bool {
	plain := strings.TrimSuffix(strings.TrimPrefix(name, "__"), "_chk")
	return libname.Is(name, libname.Unshared) || libname.Is(plain, libname.Unshared) || throws(name) || libname.BeginsAs(name, libname.Unshared)
}

// throws reports whether a function is one by which libstdc++ throws an exception of its own.
func throws(name string) bool {
	rest, ok := strings.CutPrefix(name, "_ZSt")
	return ok && strings.HasPrefix(strings.TrimLeft(rest, "0123456789"), "__throw_")
}

// callImport records what a function of another file may write, and returns its result.
func (g *region) callImport(s *state, in *insn.Inst, name string) value {
	if Idles(name) {
		g.idles, g.sleeps = true, g.sleeps || strings.HasSuffix(name, "sleep")
		return value{}
	}
	if libname.Is(name, libname.Harmless) || libname.OnObject(name) && !asks(name) {
		return value{}
	}
	if !asks(name) {
		result := g.ofAnswers(s)
		if !libname.Is(name, libname.ReadsOnly) {
			g.passes(s, false)
		}
		return result
	}
	for _, reg := range insn.AMD64.Arguments()[:maxAnswers] {
		v := s.regs[reg]
		if v.root == 0 || v.class == varies {
			continue
		}
		to := g.ofStack(span{v.root, v.off, maxObject})
		if !g.ofFrame(to.root) {
			g.stored(span{v.root, v.off, touched})
			continue
		}
		s.frame = s.frame.Overwrite(g.x.key(v.root, v.off), touched)
		g.answered(answer{to, in.Addr})
	}
	return g.askedAt(in.Addr)
}

// ofAnswers returns the value that a function computes if one of its arguments points to what another
// function has answered, as strcmp does.
func (g *region) ofAnswers(s *state) value {
	for _, reg := range insn.AMD64.Arguments()[:2] {
		v := s.regs[reg]
		if v.root == 0 || v.class == varies {
			continue
		}
		if at, ok := g.answerIn(span{v.root, v.off, 1}); ok {
			return g.askedAt(at)
		}
	}
	return value{}
}

// maxAnswers is the number of arguments through which a function is taken to answer at most.
const maxAnswers = 4

// answer is a part of the frame where the function that is called at an address may write what it has
// been asked for.
type answer struct {
	span
	at uint64
}

func (g *region) answered(a answer) {
	if !slices.Contains(g.answers, a) {
		g.failed = g.failed || len(g.answers) == maxSpans
		g.answers, g.grown = append(g.answers, a), true
	}
}

// answerIn returns the address of the call that has answered in a span of the frame, which nothing else
// writes and of whose contents no more is known.
func (g *region) answerIn(from span) (at uint64, ok bool) {
	to := g.ofStack(from)
	i := slices.IndexFunc(g.answers, func(a answer) bool { return a.overlaps(to) })
	if i < 0 || slices.ContainsFunc(g.written, func(w span) bool { return g.ofStack(w).overlaps(to) }) {
		return 0, false
	}
	return g.answers[i].at, true
}

// askedAt returns the value that the function called at an address answers.
func (g *region) askedAt(at uint64) value {
	n := slices.IndexFunc(g.loads, func(l load) bool { return l.at == at && l.asked })
	if n < 0 {
		if n = len(g.loads); n == maxLoads {
			return value{}
		}
		g.loads = append(g.loads, load{at: at, asked: true})
	}
	return value{class: answered, loads: 1 << n}
}

// passes records that a call may write to where its arguments point.
func (g *region) passes(s *state, all bool) {
	args := insn.AMD64.Arguments()
	if !all {
		args = args[:3]
	}
	for _, reg := range args {
		v := s.regs[reg]
		switch {
		case v.root == 0 || v.class == varies:
		case g.ofFrame(v.root):
			g.overwrite(s, span{v.root, v.off, touched})
		default:
			g.stored(span{v.root, v.off, touched})
		}
	}
}

// overwrite records that a called function writes a part of the frame.
func (g *region) overwrite(s *state, to span) {
	g.writes(to)
	s.frame = s.frame.Overwrite(g.x.key(to.root, to.off), to.size)
}

// callFunction records what a function of the file does, and returns its result.
func (g *region) callFunction(s *state, e *effect) value {
	g.idles, g.sleeps = g.idles || e.idles, g.sleeps || e.sleeps
	if e.unknown {
		g.unknown = true
		g.passes(s, true)
	}
	for _, w := range e.stores {
		to := g.x.translate(s, w)
		switch {
		case to.root != 0 && g.ofFrame(to.root):
			g.overwrite(s, to)
		default:
			g.stored(to)
		}
	}
	if e.result.class < loaded {
		if e.result.class == fixed && e.result.root != 0 && g.x.roots[e.result.root].kind == absolute {
			return e.result
		}
		return value{}
	}
	out := value{class: fixed}
	for n := range e.loads {
		if e.result.loads>>n&1 == 0 {
			continue
		}
		if e.loads[n].asked {
			out = combine(out, g.askedAt(e.loads[n].at))
			continue
		}
		from := g.x.translate(s, e.loads[n].span)
		if from.root == 0 {
			return value{}
		}
		out = combine(out, g.passedLoad(s, e.loads[n].at, from))
	}
	return out
}

// passedLoad returns the value that a called function loads from a span of its caller's.
func (g *region) passedLoad(s *state, at uint64, from span) value {
	return g.loadFrom(s, at, from, 0)
}

// translate returns a span of a called function in terms of the caller; without a root if it is not
// known.
func (x *finder) translate(s *state, from span) span {
	id, off := x.translateRoot(s, from.root)
	return span{id, from.off + off, from.size}
}

func (x *finder) translateRoot(s *state, id rootID) (rootID, int64) {
	r := x.roots[id]
	switch r.kind {
	case absolute, fromInstruction:
		return id, 0
	case fromRegister:
		if v := s.regs[r.reg&15]; v.class != varies {
			return v.root, v.off
		}
	case fromMemory:
		if parent, off := x.translateRoot(s, r.parent); parent != 0 {
			return x.memory(parent, r.off+off), 0
		}
	}
	return 0, 0
}
