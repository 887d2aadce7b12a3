package lines

import (
	"fmt"
	"slices"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// returnsTwice are the functions that return again where they returned before: control arrives behind each call of them.
var returnsTwice = map[string]bool{"setjmp": true, "_setjmp": true, "sigsetjmp": true, "__sigsetjmp": true, "getcontext": true, "swapcontext": true}

// follow finds all edges: those between instructions of the function, those by which control leaves it, and those by
// which it arrives from elsewhere.
func (x *finder) follow() error {
	x.next, x.stubs = make([][]int, len(x.insts)), x.File.PLTTargets()
	again := x.calledAgain()
	x.arrive(x.parts[x.entryPart()].Lo)
	for i := range x.insts {
		if err := x.leave(i); err != nil {
			return err
		}
		if again(&x.insts[i]) {
			x.arrive(x.insts[i].End())
		}
	}
	landings := x.Image.Landings()
	for _, r := range x.parts {
		for _, at := range landings.Marks(r) {
			x.arrive(at)
		}
	}
	for _, c := range landings.Crossings() {
		if _, own := x.at[c.From]; !own {
			x.arrive(c.To)
		}
	}
	for i, to := range x.next {
		for _, n := range to {
			if x.inside[i] != x.inside[n] {
				x.edge(n)
			}
		}
	}
	for _, n := range x.starts {
		if n != x.starts[0] || x.inside[n] { // a call does not come out of the lines of its frame
			x.edge(n)
		}
	}
	return x.framesKnown()
}

// entryPart returns the index of the part with which the function begins: that of which a symbol's or a call's address is
// the beginning.
func (x *finder) entryPart() int {
	for i, r := range x.parts {
		if x.Image.Landings().Called(r.Lo) {
			return i
		}
	}
	for i, r := range x.parts {
		if slices.ContainsFunc(x.File.Lookup(x.name), func(s elf.Symbol) bool { return s.Addr == r.Lo }) {
			return i
		}
	}
	return 0
}

// arrive notes that control may come to an address from elsewhere.
func (x *finder) arrive(addr uint64) {
	if i, ok := x.at[addr]; ok {
		x.starts = append(x.starts, i)
	}
}

// edge adds the edge before an instruction.
func (x *finder) edge(i int) { x.edges[Edge{At: x.insts[i].Addr, Enter: x.inside[i]}] = true }

// leave notes where control may go on after an instruction, and whether it leaves the function there.
func (x *finder) leave(i int) error {
	in := &x.insts[i]
	to := in.Next()
	if in.Kind == insn.IndirectJump {
		to = x.Image.Table(in.Addr)
		if len(to) == 0 {
			x.out(i, 0)
		}
	}
	if in.Kind == insn.Return {
		x.out(i, 0)
	}
	for _, addr := range to {
		if n, ok := x.at[addr]; ok {
			x.next[i] = append(x.next[i], n)
			continue
		}
		if in.Kind == insn.IndirectJump || in.Kind.Branches() && addr == in.Target {
			if err := x.jumpsOut(i, addr); err != nil {
				return err
			}
		} // else the call before it does not return
	}
	return nil
}

// out notes that an instruction leaves the function.
func (x *finder) out(i int, when uint8) {
	if x.inside[i] {
		x.edges[Edge{At: x.insts[i].Addr, Out: true, When: when}] = true
	}
}

// jumpsOut handles a jump to another function; into the middle of one it is to a part of this one, whose frame goes on.
func (x *finder) jumpsOut(i int, to uint64) error {
	in := &x.insts[i]
	e := x.Image.ExtentAt(to)
	switch {
	case in.Kind == insn.IndirectJump || e != nil && e.Lo != to && x.stubs[to] == "":
		return x.refuse(fmt.Sprintf("%s goes on in another part of the code, at 0x%x", x.name, to), "compile with -fno-reorder-blocks-and-partition or -Og, or name the function")
	case in.Kind == insn.CondJump && in.Cond == 0 && x.inside[i]:
		return x.refuse(fmt.Sprintf("whether the jump at 0x%x to another function is made cannot be told", in.Addr), "compile with -fno-optimize-sibling-calls, or name the function")
	}
	x.out(i, in.Cond)
	return nil
}

// calledAgain returns a function that reports whether an instruction calls one that may return twice.
func (x *finder) calledAgain() func(*insn.Inst) bool {
	slots := x.File.GOTSlots()
	own := map[uint64]bool{}
	for name := range returnsTwice {
		for _, s := range x.File.Lookup(name) {
			own[s.Addr] = true
		}
	}
	return func(in *insn.Inst) bool {
		switch {
		case in.Kind == insn.Call:
			return own[in.Target] || returnsTwice[x.stubs[in.Target]]
		case in.Kind == insn.IndirectCall && in.NMem > 0 && in.Mem[0].Fixed:
			return returnsTwice[slots[in.Mem[0].Addr]]
		}
		return false
	}
}

// framesKnown returns an error if the frame cannot be told at some edge.
func (x *finder) framesKnown() error {
	for e := range x.edges {
		if _, _, ok := x.FrameAt(e.At); !ok {
			return x.refuse(fmt.Sprintf("the call frame information does not say where the frame of %s is, at 0x%x", x.name, e.At),
				"compile with -fasynchronous-unwind-tables and without -mstackrealign, or name the function")
		}
	}
	return nil
}

// interleaved reports whether control goes out of the lines and comes back without a jump back, as a loop makes.
func (x *finder) interleaved() bool {
	order, back := x.depthFirst()
	left := make([]bool, len(x.insts)) // control may have been inside, and is outside
	for k := len(order) - 1; k >= 0; k-- {
		i := order[k]
		for _, n := range x.next[i] {
			switch {
			case back[[2]int{i, n}]:
			case x.inside[n] && left[i] && !x.inside[i]:
				return true
			case !x.inside[n] && (x.inside[i] || left[i]):
				left[n] = true
			}
		}
	}
	return false
}

// depthFirst returns the instructions that control may reach, each after those to which it leads, and the jumps back: those
// to an instruction that leads to them.
func (x *finder) depthFirst() (order []int, back map[[2]int]bool) {
	const (
		fresh = iota
		open
		done
	)
	state, tried := make([]uint8, len(x.insts)), make([]int, len(x.insts))
	back = map[[2]int]bool{}
	for _, start := range x.starts {
		stack := []int{}
		if state[start] == fresh {
			state[start] = open
			stack = append(stack, start)
		}
		for len(stack) > 0 {
			i := stack[len(stack)-1]
			if tried[i] == len(x.next[i]) {
				state[i] = done
				order = append(order, i)
				stack = stack[:len(stack)-1]
				continue
			}
			n := x.next[i][tried[i]]
			tried[i]++
			switch state[n] {
			case open:
				back[[2]int{i, n}] = true
			case fresh:
				state[n] = open
				stack = append(stack, n)
			}
		}
	}
	return order, back
}

// resets are the functions that give back the stack of other functions, which do not return.
var resets = []string{"_Unwind_RaiseException", "_Unwind_Resume", "_Unwind_Resume_or_Rethrow", "_Unwind_ForcedUnwind",
	"longjmp", "_longjmp", "siglongjmp", "__longjmp", "__longjmp_chk", "__libc_longjmp", "__libc_siglongjmp", "__libunwind_Registers_x86_64_jumpto"}

// Reset is an instruction at which all of the stack below an address is given back: the stack pointer plus Above.
type Reset struct {
	At       uint64
	Above    int64
	Function string
}

// maxStraight bounds the instructions between the change of the stack pointer and the jump.
const maxStraight = 8

// Resets returns the instructions of the unwinder and of longjmp at which frames are removed without a return, as far as
// the file has them.
func (c *Code) Resets() (out []Reset) {
	seen := map[uint64]bool{}
	for _, name := range resets {
		for _, s := range c.File.Lookup(name) {
			if s.Kind != elf.Func || seen[s.Addr] {
				continue
			}
			seen[s.Addr] = true
			called := c.resetsIn(s.Addr, name, seen, &out)
			for _, addr := range called {
				if !seen[addr] {
					seen[addr] = true
					c.resetsIn(addr, name, seen, &out)
				}
			}
		}
	}
	return out
}

// resetsIn adds those of one function, and returns which functions it calls.
func (c *Code) resetsIn(addr uint64, name string, seen map[uint64]bool, out *[]Reset) (called []uint64) {
	e := c.Image.ExtentAt(addr)
	if e == nil {
		return nil
	}
	sp, fp := c.Image.Arch().SP(), framePointer(c.Image.Arch())
	left := 0 // instructions that may still come before the jump
	c.Image.Sweep(e.Range, func(in *insn.Inst) bool {
		switch {
		case in.Kind == insn.Call:
			called = append(called, in.Target)
			left = 0
		case in.SPLost && !in.Reads.Has(sp) && !in.Reads.Has(fp):
			left = maxStraight
		case left > 0 && (in.Kind == insn.IndirectJump || in.Kind == insn.Return) && !seen[in.Addr]:
			seen[in.Addr] = true
			r := Reset{At: in.Addr, Function: name}
			if in.Kind == insn.Return && c.Image.Arch() == insn.AMD64 {
				r.Above = 8
			}
			*out = append(*out, r)
			left = 0
		case !in.Kind.Straight():
			left = 0
		default:
			left--
		}
		return true
	})
	return called
}

func framePointer(a insn.Arch) insn.Reg {
	if a == insn.ARM64 {
		return 29
	}
	return insn.RBP
}
