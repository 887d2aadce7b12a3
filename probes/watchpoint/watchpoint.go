// Package watchpoint computes what hardware watchpoints can watch, and which access one has
// trapped.
//
// A watchpoint covers 1, 2, 4 or 8 aligned bytes; a thread has four. The processor traps after the
// access, with the address of the next instruction. Which instruction made the access, and whether
// it read or wrote, is found by decoding the code forward from the beginning of its function,
// because x86 code cannot be decoded backward. The input is addresses and binaries as linked; the
// package knows no process.
package watchpoint

import (
	"fmt"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// Registers is the number of watchpoints that a thread has on x86-64.
const Registers = 4

// Part is the memory that one watchpoint covers: Size bytes, 1, 2, 4 or 8, at an address that is a
// multiple of Size.
type Part struct {
	Addr uint64
	Size int
}

// Cover returns the smallest number of watchpoints that cover exactly size bytes at addr: one if
// addr is aligned to size. It fails if that takes more than there are.
func Cover(addr uint64, size int) ([]Part, error) {
	if size <= 0 || size > 8*Registers || addr+uint64(size) < addr {
		return nil, fmt.Errorf("%d bytes at 0x%x cannot be covered by %d watchpoints", size, addr, Registers)
	}
	var parts []Part
	for end := addr + uint64(size); addr < end; {
		n := 8
		for addr%uint64(n) != 0 || uint64(n) > end-addr {
			n /= 2
		}
		parts = append(parts, Part{addr, n})
		addr += uint64(n)
	}
	if len(parts) > Registers {
		return nil, fmt.Errorf("%d bytes at 0x%x take %d watchpoints, and a thread has %d", size, parts[0].Addr, len(parts), Registers)
	}
	return parts, nil
}

// Hint says which registers pointed to the variable at the access. It distinguishes the operands of
// a string instruction.
type Hint struct {
	Source bool // rsi points into the variable, or just after it
	Dest   bool // rdi points into the variable, or just after it
}

// Access is an instruction that made an access.
type Access struct {
	Addr    uint64
	Read    bool
	Write   bool
	Atomic  bool // it is an atomic instruction
	Repeats bool // one of several accesses of a copy
	Len     int  // length of the instruction, in bytes
	Width   int  // bytes that are accessed, at least; 0 if that is not known
}

// Before returns the access of the bytes [addr, addr+size) after which the instruction pointer was
// ip; addr is 0 if it is not known. It returns false if there is no function at ip, or if the
// instruction is not modelled.
func Before(f *elf.File, ip, addr uint64, size int, hint Hint) (Access, bool) {
	q := query{addr: addr, size: size, hint: hint}
	if a, ok := q.repeated(f, ip); ok {
		return a, true
	}
	if in, code, ok := previous(f, ip); ok {
		if a, ok := q.accessBy(&in, code); ok {
			return a, true
		}
	}
	// After a call or jump through the variable, the next instruction is the call's or jump's
	// target: the beginning of a function.
	if fn, ok := f.FunctionAt(ip); ok && fn.Lo == ip {
		return Access{Addr: ip, Read: true}, true
	}
	return Access{}, false
}

// InKernel is Before for code of the kernel, of which only some bytes before the instruction
// pointer and some at it are known.
func InKernel(before, at []byte, hint Hint) (Access, bool) {
	q := query{hint: hint}
	if in, err := insn.Decode(insn.AMD64, at, 0); err == nil && isRepeated(at, in) {
		a, ok := q.accessBy(&in, at)
		a.Repeats = true
		return a, ok
	}
	// Wherever decoding starts, it soon finds the true instruction boundaries: the last instruction
	// that most starts lead to is the right one.
	votes := map[int]int{}
	for start := range before {
		if last, ok := lastBefore(before, start); ok {
			votes[last]++
		}
	}
	best := -1
	for last, n := range votes {
		if best < 0 || n > votes[best] || n == votes[best] && last < best {
			best = last
		}
	}
	if best < 0 {
		return Access{}, false
	}
	in, err := insn.Decode(insn.AMD64, before[best:], 0)
	if err != nil {
		return Access{}, false
	}
	a, ok := q.accessBy(&in, before[best:])
	a.Repeats = copies(&in)
	return a, ok
}

// copies reports whether an instruction of the kernel is part of a loop that copies.
func copies(in *insn.Inst) bool {
	for _, m := range in.Mem[:in.NMem] {
		if m.Base == insn.RSI || m.Base == insn.RDI {
			return true
		}
	}
	return false
}

// lastBefore decodes from start. It returns the start of the instruction that ends at the end of
// the code.
func lastBefore(code []byte, start int) (last int, ok bool) {
	for pos := start; pos < len(code); {
		in, err := insn.Decode(insn.AMD64, code[pos:], 0)
		if err != nil || in.Len <= 0 {
			return 0, false
		}
		last = pos
		pos += in.Len
		if pos == len(code) {
			return last, true
		}
	}
	return 0, false
}

// maxFunction bounds the number of bytes of a function that are decoded.
const maxFunction = 1 << 20

// previous returns the instruction that ends at ip, and its code.
func previous(f *elf.File, ip uint64) (insn.Inst, []byte, bool) {
	fn, ok := f.FunctionAt(ip - 1)
	if !ok || ip-fn.Lo > maxFunction {
		return insn.Inst{}, nil, false
	}
	code, err := f.Bytes(fn.Lo, int(ip-fn.Lo))
	if err != nil {
		return insn.Inst{}, nil, false
	}
	for pos := 0; pos < len(code); {
		in, err := insn.Decode(f.Arch(), code[pos:], fn.Lo+uint64(pos))
		if err != nil || in.Len <= 0 {
			return insn.Inst{}, nil, false
		}
		if pos+in.Len == len(code) {
			return in, code[pos:], true
		}
		pos += in.Len
	}
	return insn.Inst{}, nil, false
}

// query describes the variable whose access by an instruction is to be found.
type query struct {
	addr uint64 // of the variable; 0 if unknown
	size int
	hint Hint
}

// repeated returns the access of the repeated string instruction at ip: between its iterations the
// instruction pointer stays at it.
func (q query) repeated(f *elf.File, ip uint64) (Access, bool) {
	if f.Arch() != insn.AMD64 || !q.hint.Source && !q.hint.Dest {
		return Access{}, false
	}
	code, err := f.Bytes(ip, f.Arch().MaxLen())
	if err != nil {
		return Access{}, false
	}
	in, err := insn.Decode(f.Arch(), code, ip)
	if err != nil || !isRepeated(code, in) {
		return Access{}, false
	}
	// The instruction before may have accessed the variable, and the string instruction not begun.
	if before, _, ok := previous(f, ip); ok && q.addr != 0 && before.Known {
		for _, m := range before.Mem[:before.NMem] {
			if m.Fixed && q.overlaps(m) {
				return Access{}, false
			}
		}
	}
	a, ok := q.accessBy(&in, code)
	a.Repeats = true
	return a, ok
}

// isRepeated reports whether an instruction is a string instruction with a repeat prefix.
func isRepeated(code []byte, in insn.Inst) bool {
	repeat := false
	for _, b := range code[:min(in.Len, len(code))] {
		switch {
		case b == 0xf2 || b == 0xf3:
			repeat = true
		case b == 0x66 || b == 0x67 || b&0xf0 == 0x40:
		default:
			return repeat && (b >= 0xa4 && b <= 0xa7 || b >= 0xaa && b <= 0xaf)
		}
	}
	return false
}

func (q query) overlaps(m insn.Mem) bool {
	return m.Addr < q.addr+uint64(q.size) && q.addr < m.Addr+uint64(max(m.Size, 1))
}

// accessBy returns how an instruction accessed the variable; false if it cannot have accessed it,
// or if that is not known.
func (q query) accessBy(in *insn.Inst, code []byte) (Access, bool) {
	a := Access{Addr: in.Addr, Atomic: in.Locked, Len: in.Len}
	if !in.Known {
		a.Read, a.Write = maskedMove(code)
		a.Width = leastMasked
		return a, a.Read || a.Write
	}
	for _, m := range in.Mem[:in.NMem] {
		if q.isOther(m, in.NMem) {
			continue
		}
		a.Read, a.Write, a.Width = a.Read || m.Read, a.Write || m.Write, max(a.Width, m.Size)
	}
	return a, a.Read || a.Write
}

// isOther reports whether the operand, one of n, is certain not to be the variable.
func (q query) isOther(m insn.Mem, n int) bool {
	switch {
	case m.Segment:
		return true
	case m.Fixed && q.addr != 0:
		return !q.overlaps(m)
	case n > 1 && m.Base == insn.RSI:
		return !q.hint.Source && q.hint.Dest
	case n > 1 && m.Base == insn.RDI:
		return !q.hint.Dest && q.hint.Source
	}
	return false
}

// leastMasked is the size of the smallest vector that such a move accesses, in bytes.
const leastMasked = 16

// maskedMove reports whether an instruction is one of the EVEX moves by which C libraries copy, and
// whether it reads or writes memory. How many bytes a move with a mask accesses is not known, and
// not needed here.
func maskedMove(code []byte) (read, write bool) {
	const evex, map0F, register = 0x62, 1, 3
	if len(code) < 6 || code[0] != evex || code[1]&7 != map0F || code[5]>>6 == register {
		return false, false
	}
	switch code[4] {
	case 0x10, 0x28, 0x6f: // movups, movaps, movdqu and the like
		return true, false
	case 0x11, 0x29, 0x7f:
		return false, true
	}
	return false, false
}
