// Package futexcall finds the instructions by which code calls futex(2), and where probes see each call begin and end.
//
// The input is code (code.Image) and which addresses stand for syscall(2), the output a list of Calls, and of what may be
// one and cannot be observed. A call is an instruction that enters the kernel with the number of futex(2), or a call of
// syscall(2) with that number. No probe is at an instruction that enters the kernel, which the kernel would execute as a
// copy: the first probe is at an instruction of the same straight line before it, the second behind it. The first sees
// the registers as they are before its instruction; what its instruction and those up to the call do to the operands is
// part of the Call. The number is followed back through all paths of the function. The package knows no process, and
// not what a call is made for.
package futexcall

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/tracepredict/tracepredict/probes/code"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// Call is a call of futex(2).
type Call struct {
	At     uint64 // the instruction that enters the kernel, or that calls syscall(2)
	Before uint64 // the instruction of the first probe; At, if it calls syscall(2)
	Behind uint64 // the instruction of the second probe
	// NumberReg is the register that holds, at Before, the number of the system call; NoReg if it is certain to be
	// that of futex(2).
	NumberReg insn.Reg
	Word      Address
	Op        Bits
}

// Address is Reg plus Disp, or Disp if Reg is NoReg.
type Address struct {
	Reg  insn.Reg
	Disp int64
}

// Bits are the bits of Mask in Reg, exclusive or Flip.
type Bits struct {
	Reg        insn.Reg
	Mask, Flip uint32
}

// Skipped is an instruction that may call futex(2), and that is not observed.
type Skipped struct {
	At  uint64
	Why string // a clause about it
}

// Found is what Find finds, sorted by address.
type Found struct {
	Calls   []Call
	Skipped []Skipped
	// Passed are the instructions that enter the kernel with a number that their function is called with. Unread are
	// bytes of code between functions that may be such an instruction.
	Passed, Unread []uint64
}

// Options say what Find cannot see in the code.
type Options struct {
	// Stubs are the addresses at which a call is one of syscall(2), and Slots those of the words that hold its address.
	// Both may be empty.
	Stubs, Slots map[uint64]bool
	// IsCode reports whether the bytes at an address are an instruction, at which a probe may be.
	IsCode func(addr uint64) bool
}

// Number returns the number of futex(2); 0 for an unknown architecture.
func Number(a insn.Arch) uint32 { return uint32(conventions[a].futex) }

// convention is how an architecture enters the kernel, and calls functions. See syscall(2).
type convention struct {
	enter  []byte // the instruction that enters the kernel
	align  uint64 // of instructions, in bytes
	futex  int64
	number insn.Reg
	args   []insn.Reg
	result insn.Reg
}

var conventions = map[insn.Arch]convention{
	insn.AMD64: {enter: []byte{0x0f, 0x05}, align: 1, futex: 202, number: insn.RAX, args: []insn.Reg{insn.RDI, insn.RSI}, result: insn.RAX},
	insn.ARM64: {enter: []byte{0x01, 0x00, 0x00, 0xd4}, align: 4, futex: 98, number: 8, args: []insn.Reg{0, 1}, result: 0},
}

// finder searches one file.
type finder struct {
	im    *code.Image
	opts  Options
	arch  insn.Arch
	conv  convention
	found Found
}

// Find finds the calls of futex(2) in the functions of a file.
func Find(im *code.Image, opts Options) Found {
	f := finder{im: im, opts: opts, arch: im.Arch(), conv: conventions[im.Arch()]}
	if f.conv.futex == 0 {
		return Found{}
	}
	for _, e := range im.Extents() {
		switch {
		case !f.mayCall(e.Range):
		case e.Hi-e.Lo > maxFunction:
			f.found.Skipped = append(f.found.Skipped, Skipped{e.Lo, fmt.Sprintf("is in a function of more than %d KiB", maxFunction>>10)})
		default:
			f.search(e.Range)
		}
	}
	slices.SortFunc(f.found.Calls, func(a, b Call) int { return cmp.Compare(a.At, b.At) })
	slices.SortFunc(f.found.Skipped, func(a, b Skipped) int { return cmp.Compare(a.At, b.At) })
	slices.Sort(f.found.Passed)
	f.found.Unread = f.unread()
	return f.found
}

// unread returns where, between the functions, the bytes of an instruction are that enters the kernel.
func (f *finder) unread() (all []uint64) {
	for _, t := range f.im.Text() {
		for at := t.Lo; at < t.Hi; {
			if e := f.im.ExtentAt(at); e != nil {
				at = e.Hi
				continue
			}
			b, err := f.im.Bytes(at, len(f.conv.enter))
			if err != nil || len(b) < len(f.conv.enter) {
				break
			}
			if bytes.Equal(b, f.conv.enter) {
				all = append(all, at)
			}
			at += f.conv.align
		}
	}
	return all
}

// mayCall reports whether a function may have a call, so that it is worth decoding.
func (f *finder) mayCall(r elf.Range) bool {
	b, err := f.im.Bytes(r.Lo, int(r.Hi-r.Lo))
	if err != nil {
		return false
	}
	if bytes.Contains(b, f.conv.enter) {
		return true
	}
	if len(f.opts.Stubs)+len(f.opts.Slots) == 0 {
		return false
	}
	for at := 0; at < len(b); {
		s, ok := insn.Skim(f.arch, b[at:], r.Lo+uint64(at))
		if !ok || s.Len <= 0 {
			return false
		}
		if s.Kind == insn.Call && f.opts.Stubs[s.Target] || s.Kind == insn.IndirectCall && len(f.opts.Slots) > 0 {
			return true
		}
		at += s.Len
	}
	return false
}

// search finds the calls in one function.
func (f *finder) search(r elf.Range) {
	var insts []insn.Inst
	f.im.Sweep(r, func(in *insn.Inst) bool {
		insts = append(insts, *in)
		return true
	})
	var fn *function // computed at the first call
	for i := range insts {
		number, args := f.conv.number, f.conv.args
		switch {
		case insts[i].Kind == insn.Syscall:
		case f.callsWrapper(&insts[i]):
			all := f.arch.Arguments()
			number, args = all[0], all[1:]
		default:
			continue
		}
		if fn == nil {
			fn = f.newFunction(r, insts)
		}
		f.call(fn, i, number, args)
	}
}

// callsWrapper reports whether an instruction calls syscall(2).
func (f *finder) callsWrapper(in *insn.Inst) bool {
	switch in.Kind {
	case insn.Call:
		return f.opts.Stubs[in.Target]
	case insn.IndirectCall:
		return in.NMem > 0 && in.Mem[0].Fixed && f.opts.Slots[in.Mem[0].Addr]
	}
	return false
}

// call adds the i-th instruction of a function, which makes a system call, to what was found.
func (f *finder) call(fn *function, i int, number insn.Reg, args []insn.Reg) {
	at := fn.graph.Insts[i].Addr
	set := fn.constants(i, number, f.conv.futex)
	switch {
	case !set.futex && !set.unknown:
		return
	case !set.futex && set.parameter && fn.graph.Insts[i].Kind == insn.Syscall:
		f.found.Passed = append(f.found.Passed, at)
		return
	case !set.futex:
		return // a number from memory is rarely that of futex(2)
	}
	c := Call{At: at, NumberReg: number, Word: Address{Reg: args[0]}, Op: Bits{Reg: args[1], Mask: ^uint32(0)}}
	if !set.unknown && !set.other {
		c.NumberReg = insn.NoReg
	}
	why := f.before(fn, i, &c)
	if why == "" {
		why = f.behind(fn, i, &c)
	}
	if why != "" {
		f.found.Skipped = append(f.found.Skipped, Skipped{at, why})
		return
	}
	f.found.Calls = append(f.found.Calls, c)
}

// maxFunction bounds the size of a function that is searched, in bytes.
const maxFunction = 512 << 10

// maxSteps bounds the instructions between a probe and its call.
const maxSteps = 8

// before finds the place of the first probe of a call, or why there is none.
func (f *finder) before(fn *function, i int, c *Call) (why string) {
	insts := fn.graph.Insts
	if insts[i].Kind != insn.Syscall {
		c.Before = c.At
		if !f.probeable(&insts[i]) {
			return "the kernel accepts no probe there"
		}
		return ""
	}
	for k := i - 1; k >= 0 && i-k <= maxSteps; k-- {
		in := &insts[k]
		if fn.begins[k+1] {
			return "control comes to it from elsewhere in its function"
		}
		if !in.Kind.Straight() || in.SPChange != 0 || in.SPLost || !f.undo(in, c) {
			return "its operands are not known at the instruction before it"
		}
		if f.probeable(in) {
			c.Before = in.Addr
			return ""
		}
	}
	return "the kernel accepts no probe before it"
}

// behind finds the place of the second probe of a call, or why there is none.
func (f *finder) behind(fn *function, i int, c *Call) (why string) {
	insts := fn.graph.Insts
	for k := i + 1; k < len(insts) && k-i <= maxSteps; k++ {
		in := &insts[k]
		if insts[k-1].End() != in.Addr || in.Kind == insn.Syscall {
			break
		}
		if f.probeable(in) {
			c.Behind = in.Addr
			return ""
		}
		if !in.Kind.Straight() || in.SPChange != 0 || in.SPLost || in.Overwrites(f.arch).Has(f.conv.result) {
			break
		}
	}
	return "the kernel accepts no probe behind it"
}

// probeable reports whether a probe may be at an instruction.
func (f *finder) probeable(in *insn.Inst) bool {
	return !in.Refused && !in.RedZone && f.opts.IsCode(in.Addr)
}

// undo changes the operands of a call, which are those behind an instruction, to what they are before it. It returns
// false if they cannot be told there.
func (f *finder) undo(in *insn.Inst, c *Call) bool {
	changed := in.Overwrites(f.arch)
	if c.Word.Reg != insn.NoReg && changed.Has(c.Word.Reg) {
		switch s := in.Sum; {
		case s.Dst != c.Word.Reg || !s.Const() && !s.Offset():
			return false
		default:
			c.Word = Address{s.Src, c.Word.Disp + s.Imm}
		}
	}
	if c.Op.Mask != 0 && changed.Has(c.Op.Reg) && !f.undoBits(in, &c.Op) {
		return false
	}
	if c.NumberReg == insn.NoReg || !changed.Has(c.NumberReg) {
		return true
	}
	if in.Sum.Dst == c.NumberReg && in.Sum.Const() {
		c.NumberReg = insn.NoReg
		return in.Sum.Imm == f.conv.futex
	}
	from, ok := f.copies(in, c.NumberReg)
	c.NumberReg = from
	return ok
}

// undoBits does the same for the operation.
func (f *finder) undoBits(in *insn.Inst, b *Bits) bool {
	if in.Sum.Dst == b.Reg && in.Sum.Const() {
		b.Flip ^= uint32(in.Sum.Imm) & b.Mask
		b.Mask = 0
		return true
	}
	if from, ok := f.copies(in, b.Reg); ok {
		b.Reg = from
		return true
	}
	keep, flip, ok := f.changesBits(in, b.Reg)
	b.Mask, b.Flip = b.Mask&keep, b.Flip^flip&b.Mask
	return ok
}
