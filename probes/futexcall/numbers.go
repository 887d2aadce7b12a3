package futexcall

import (
	"slices"

	"github.com/tracepredict/tracepredict/probes/code"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// function is the control flow of one function.
type function struct {
	f      *finder
	graph  *code.Graph
	before [][]int // predecessors of each block
	entry  []bool  // by block: control may enter it from outside
	block  []int   // of each instruction
	begins []bool  // by instruction: control may come to it otherwise than from the one before
}

func (f *finder) newFunction(r elf.Range, insts []insn.Inst) *function {
	arrivals, open := f.im.Arrivals(r)
	g := code.NewGraph(insts, arrivals, open)
	fn := &function{f: f, graph: g, before: make([][]int, len(g.Blocks)), entry: make([]bool, len(g.Blocks)), block: make([]int, len(insts)), begins: make([]bool, len(insts))}
	fn.entry[0] = true
	for _, b := range g.ExternalEntries {
		fn.entry[b] = true
	}
	for i, b := range g.Blocks {
		for k := b.Lo; k < b.Hi; k++ {
			fn.block[k] = i
		}
		for _, next := range b.Next {
			if n := len(fn.before[next]); n == 0 || fn.before[next][n-1] != i {
				fn.before[next] = append(fn.before[next], i)
			}
		}
	}
	for i, b := range g.Blocks {
		alone := len(fn.before[i]) == 1 && fn.before[i][0] == i-1 && !fn.entry[i]
		fn.begins[b.Lo] = !alone
	}
	return fn
}

// constantSet is what a register may hold: the number of futex(2), other constants, anything, and of that a parameter of the
// function.
type constantSet struct{ futex, other, unknown, parameter bool }

// maxPaths bounds the blocks that are followed back for one number.
const maxPaths = 256

// constants returns what a register may hold before the i-th instruction: the constant futex, or what else.
func (fn *function) constants(i int, r insn.Reg, futex int64) (set constantSet) {
	type end struct { // of the part of a block that is followed back
		block, hi int
		reg       insn.Reg
	}
	todo, seen := []end{{fn.block[i], i, r}}, map[end]bool{}
	for len(todo) > 0 {
		e := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		reg, found := fn.constant(fn.graph.Blocks[e.block].Lo, e.hi, e.reg, futex, &set)
		if found {
			continue
		}
		set.unknown = set.unknown || fn.entry[e.block] || len(seen) > maxPaths
		set.parameter = set.parameter || e.block == 0 && slices.Contains(fn.f.arch.Arguments(), reg)
		for _, b := range fn.before[e.block] {
			if next := (end{b, fn.graph.Blocks[b].Hi, reg}); !seen[next] && len(seen) <= maxPaths {
				seen[next] = true
				todo = append(todo, next)
			}
		}
	}
	return set
}

// constant follows a register back through the instructions from lo to hi, and adds to set what the last of them that
// sets it does. If there is none, found is false, and the register before them is returned.
func (fn *function) constant(lo, hi int, reg insn.Reg, futex int64, set *constantSet) (before insn.Reg, found bool) {
	for k := hi - 1; k >= lo; k-- {
		in := &fn.graph.Insts[k]
		if !fn.f.im.Spend() {
			set.unknown = true
			return reg, true
		}
		if !in.Overwrites(fn.f.arch).Has(reg) {
			continue
		}
		if in.Sum.Dst == reg && in.Sum.Const() {
			set.futex = set.futex || in.Sum.Imm == futex
			set.other = set.other || in.Sum.Imm != futex
			return reg, true
		}
		from, ok := fn.f.copies(in, reg)
		if !ok {
			set.unknown = true
			return reg, true
		}
		reg = from
	}
	return reg, false
}
