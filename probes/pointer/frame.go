package pointer

import (
	"math"

	"github.com/tracepredict/tracepredict/probes/code"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// The addresses of a function's stack frame are followed through its registers. An address that goes
// anywhere else (memory, a call, a computation that is not followed) exposes what lies above it: other
// code may hold it, and so may other threads. What lies below is reached by this function alone.

const numRegs = 16

// value is what a register holds of the frame's addresses.
type value struct {
	class class
	// at is a distance from the stack pointer at the function's entry, in bytes. An exact value is
	// that address; of the others none is below it.
	at int64
}

type class uint8

const (
	other  class = iota // no address of the frame
	exact               // the address at
	within              // some address of the frame, from at on
	maybe               // an address of the frame from at on, or none
)

// values are the values of all registers.
type values [numRegs]value

// join returns what two values have in common. The bound of an inexact address can sink only once,
// to the bottom, so that loops end.
func (v value) join(o value) value {
	switch {
	case v == o:
		return v
	case v.class == other:
		return value{maybe, o.at}
	case o.class == other:
		return value{maybe, v.at}
	}
	j := value{within, min(v.at, o.at)}
	if v.class == maybe || o.class == maybe {
		j.class = maybe
	}
	if v.class != exact && o.at < v.at {
		j.at = math.MinInt64
	}
	return j
}

// plus returns the value with a constant added.
func (v value) plus(n int64) value {
	if v.class != other && v.at != math.MinInt64 {
		v.at += n
	}
	return v
}

// somewhere returns what an unknown distance leaves of the value.
func (v value) somewhere() value {
	if v.class == exact {
		v.class = within
	}
	return v
}

// address returns where in the frame an operand may begin at the lowest. ok is false if it may lie
// elsewhere.
func (v *values) address(m *insn.Mem) (at int64, ok bool) {
	if m.Base >= numRegs {
		return 0, false
	}
	b := v[m.Base]
	if b.class != exact && b.class != within {
		return 0, false
	}
	if m.Index != insn.NoReg {
		b = b.somewhere()
	}
	if b = b.plus(m.Disp); b.class == within {
		return math.MinInt64, true
	}
	return b.at, true
}

// frame is what is known of the frame of one function.
type frame struct {
	graph  *code.Graph
	solver code.Solver[values]
	// exposed is the lowest offset whose address may be known elsewhere.
	exposed int64
	// external joins the values with which control may enter external blocks, by an indirect jump or
	// by an exception in a call; nil: none so far.
	external *values
	work     int
}

// solve follows the addresses of the frame through a function. If that takes too long, all of the
// frame is exposed.
func (f *frame) solve(g *code.Graph) {
	f.graph, f.exposed, f.external, f.work = g, math.MaxInt64, nil, leastWork+workEach*len(g.Insts)
	f.solver.Join = func(into, from *values) bool { return into.join(from) }
	if !f.solver.Solve(g, f.start, f.pass) {
		f.exposed = math.MinInt64
	}
}

// join reduces the values to what they have in common with others.
func (v *values) join(from *values) (changed bool) {
	for r := range v {
		if j := v[r].join(from[r]); j != v[r] {
			v[r], changed = j, true
		}
	}
	return changed
}

// start returns the values where control enters: at the function's beginning only the stack pointer
// is an address of the frame. Blocks that nothing is seen to reach have any.
func (f *frame) start(block int) (values, bool) {
	var v values
	if block == 0 {
		v[insn.RSP] = value{exact, 0}
		return v, true
	}
	v[insn.RSP], v[insn.RBP] = value{within, math.MinInt64}, value{maybe, math.MinInt64}
	return v, true
}

// pass is step, and also enters the external blocks where control may go there.
func (f *frame) pass(v *values, in *insn.Inst) bool {
	ok := f.step(v, in)
	if in.Kind != insn.IndirectJump && !in.Kind.Calls() {
		return ok
	}
	if f.external == nil {
		first := *v
		f.external = &first
	} else if !f.external.join(v) {
		return ok
	}
	for _, b := range f.graph.ExternalEntries {
		f.solver.Flow(b, f.external)
	}
	return ok
}

// each calls look with the values before each instruction.
func (f *frame) each(look func(*values, *insn.Inst)) { f.eachOf(nil, look) }

// eachOf is each for some blocks; nil: for all.
func (f *frame) eachOf(some map[int]bool, look func(*values, *insn.Inst)) {
	f.solver.EachOf(f.graph, some, func(v *values, in *insn.Inst) {
		look(v, in)
		f.step(v, in)
	})
}

// private reports whether the bytes from an offset on are reached by this function alone.
func (f *frame) private(at int64, size int) bool {
	if f.exposed == math.MaxInt64 {
		return true
	}
	return at != math.MinInt64 && at <= f.exposed-int64(max(size, 1)) && f.exposed != math.MinInt64
}

// step applies an instruction to the values, and exposes those that escape there. It returns
// false when the work is spent.
func (f *frame) step(v *values, in *insn.Inst) bool {
	f.work--
	f.escape(v, in)
	dst, result := v.result(in)
	sp, bp := v[insn.RSP], v[insn.RBP]
	if lost := in.Overwrites(insn.AMD64); lost != 0 {
		for r := range insn.Reg(numRegs) {
			if lost.Has(r) {
				v[r] = value{}
			}
		}
	}
	if dst < numRegs {
		v[dst] = result
	}
	switch {
	case !in.Writes.Has(insn.RSP) || dst == insn.RSP:
	case leaves(in):
		v[insn.RSP] = bp.plus(8)
	case in.SPLost:
		v[insn.RSP] = value{within, math.MinInt64} // it is aligned, or moved by a number
	default:
		v[insn.RSP] = sp.plus(in.SPChange)
	}
	return f.work > 0
}

// leaves reports whether an instruction is leave, which ends a frame with a frame pointer.
func leaves(in *insn.Inst) bool {
	return in.SPLost && in.Reads == 1<<insn.RBP && in.Writes == 1<<insn.RSP|1<<insn.RBP
}

// result returns the register to which an instruction assigns an address of the frame, and its value;
// NoReg if there is none.
func (v *values) result(in *insn.Inst) (insn.Reg, value) {
	switch {
	case !in.Known:
	case in.Sum.Dst < numRegs:
		var out value
		for _, r := range []insn.Reg{in.Sum.Src, in.Sum.Add} {
			if r < numRegs && v[r].class != other {
				out = v[r].plus(in.Sum.Imm)
				if in.Sum.Add != insn.NoReg {
					out = out.somewhere()
				}
			}
		}
		return in.Sum.Dst, out
	case in.Derived.Dst < numRegs:
		var out value
		for r := range insn.Reg(numRegs) {
			if in.Derived.From.Has(r) && v[r].class != other {
				out = v[r].plus(in.Derived.Imm).somewhere()
			}
		}
		return in.Derived.Dst, out
	}
	return insn.NoReg, value{}
}

// escape exposes the addresses of the frame that escape at an instruction.
func (f *frame) escape(v *values, in *insn.Inst) {
	for r := range insn.Reg(numRegs) {
		if r != insn.RSP && v[r].class != other && escapes(in, r) {
			f.exposed = min(f.exposed, v[r].at)
		}
	}
}

// escapes reports whether an instruction may put the value of a register where it is not followed.
func escapes(in *insn.Inst, r insn.Reg) bool {
	switch {
	case in.Kind.Calls(), in.Kind == insn.Syscall:
		return argument(r)
	case in.Kind == insn.Jump || in.Kind == insn.IndirectJump:
		return false
	case in.Kind == insn.Return:
		return r == insn.RAX || r == insn.RDX
	case !in.Known:
		return r != insn.RBP && in.Kind == insn.Plain
	case in.Tests || in.Kind == insn.Nop || in.Kind == insn.CondJump || leaves(in):
		return false
	}
	through := false
	for _, m := range in.Mem[:in.NMem] {
		if m.Write && in.ValueReg == r {
			return true
		}
		through = through || m.Base == r || m.Index == r
	}
	followed := in.Sum.Dst != insn.NoReg && (in.Sum.Src == r || in.Sum.Add == r) ||
		in.Derived.Dst != insn.NoReg && (in.Derived.From|in.Derived.Minus).Has(r)
	return in.Reads.Has(r) && !through && !followed
}

func argument(r insn.Reg) bool {
	for _, a := range insn.AMD64.Arguments() {
		if a == r {
			return true
		}
	}
	return false
}
