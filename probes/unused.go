package probes

import (
	"github.com/tracepredict/tracepredict/probes/code"
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/variable"
)

// This file finds instructions that change memory and of whose old value nothing is left: neither
// the registers that they set nor the flags are used afterwards. Such an update decides nothing in
// its thread. An exchange of that kind is a store, and so compilers write those that are sequentially
// consistent.

// maxUnusedSteps bounds the instructions that are visited for one access.
const maxUnusedSteps = 256

// The registers of x86-64 by their role in a call.
const (
	argumentRegs = 1<<insn.RDI | 1<<insn.RSI | 1<<insn.RDX | 1<<insn.RCX | 1<<8 | 1<<9
	clobbered    = argumentRegs | 1<<insn.RAX | 1<<10 | 1<<11
)

// left is what is left of the result of an instruction, and where control is.
type left struct {
	pc    uint64
	regs  insn.RegSet
	flags bool
	inner bool // in a function that the one with the instruction calls
	shown bool // it may be printed
}

// resultUnused reports whether what an update read is certainly not used by the thread, apart from
// the value that it wrote; for a read, whether it is at most printed.
func (b *builder) resultUnused(a variable.Access) bool {
	if b.arch != insn.AMD64 || a.Kind == variable.Write || a.Callee != "" || a.Repeats || a.If != 0 {
		return false
	}
	in, err := b.image.Decode(a.Addr)
	if err != nil || !in.Known || in.WritesIf != 0 {
		return false
	}
	if a.Kind == variable.Read && (in.Writes == 0 && !in.Tests || in.StackWrite) {
		return false // the value is in a vector register, or on the stack
	}
	steps, returned := 0, insn.RegSet(0)
	_, unused := code.Reach([]left{{pc: in.End(), regs: in.Writes, flags: !in.KeepsFlags, shown: a.Kind == variable.Read}}, func(l left) ([]left, bool) {
		if steps++; steps > maxUnusedSteps {
			return nil, false
		}
		next, live, ok := b.after(l)
		returned |= live
		return next, ok
	})
	return unused && (returned == 0 || returned&b.resultRegs(a.Addr) == 0)
}

// resultRegs returns the registers in which a function that contains an address returns its result.
func (b *builder) resultRegs(addr uint64) insn.RegSet {
	size := int64(-1)
	if fn, ok := b.plan.File.FunctionAt(addr); ok {
		size = b.code.ResultSize(fn.Lo)
	}
	switch {
	case size == 0:
		return 0
	case size > 0 && size <= 8:
		return 1 << insn.RAX
	}
	return 1<<insn.RAX | 1<<insn.RDX
}

// after returns what is left after the instruction at l.pc, on each path on which something is, and
// the registers with which the function returns there. It returns false if the instruction uses what
// is left, or may.
func (b *builder) after(l left) (next []left, returned insn.RegSet, ok bool) {
	if l.regs == 0 && !l.flags {
		return nil, 0, true
	}
	in, err := b.image.Decode(l.pc)
	if err != nil || !in.Known && in.Kind != insn.Nop {
		return nil, 0, false
	}
	bytes, err := b.plan.File.Bytes(in.Addr, in.Len)
	if err != nil {
		return nil, 0, false
	}
	op := opcodeOf(bytes)
	if clears(bytes) {
		in.Reads = 0
	}
	if in.Reads&l.regs != 0 || l.flags && (in.Kind == insn.CondJump || op.readsFlags()) {
		return nil, 0, false
	}
	if op.setsRegister() {
		l.regs &^= in.Writes
	}
	l.flags = l.flags && !op.setsFlags()
	switch in.Kind {
	case insn.Call, insn.IndirectCall:
		next, ok = b.afterCall(l, &in)
		return next, 0, ok
	case insn.Return:
		return nil, l.regs, l.regs == 0 || !l.inner
	case insn.IndirectJump:
		return nil, 0, false
	}
	for _, pc := range in.Next() {
		if b.stubs[pc] != "" {
			// A call, with the caller's return address.
			if l.regs&argumentRegs == 0 {
				return nil, 0, true
			}
			return nil, 1 << insn.RAX, l.shown && !l.inner && prints[b.stubs[pc]]
		}
		next = append(next, left{pc, l.regs, l.flags, l.inner, l.shown})
	}
	return next, 0, true
}

// afterCall is after for a call. A function of this file may have been compiled together with its
// caller, which then knows which registers it leaves alone: its code shows what it uses.
func (b *builder) afterCall(l left, in *insn.Inst) (next []left, ok bool) {
	l.flags = false
	if in.Kind == insn.Call && b.stubs[in.Target] == "" && l.regs != 0 {
		return []left{{pc: in.Target, regs: l.regs, inner: true, shown: l.shown}}, true
	}
	used := l.regs&argumentRegs != 0
	if used && !(l.shown && in.Kind == insn.Call && prints[b.stubs[in.Target]]) {
		return nil, false
	}
	l.regs &^= clobbered
	if used {
		l.regs |= 1 << insn.RAX // how much was printed
	}
	l.pc = in.End()
	return []left{l}, true
}

// prints are the functions that print their arguments, and do nothing else with them.
var prints = map[string]bool{
	"printf": true, "fprintf": true, "dprintf": true, "__printf_chk": true, "__fprintf_chk": true, "__dprintf_chk": true,
	"putchar": true, "_ZNSolsEi": true, "_ZNSolsEj": true, "_ZNSolsEl": true, "_ZNSolsEm": true, "_ZNSo9_M_insertIlEERSoT_": true,
	"_ZNSo9_M_insertImEERSoT_": true, "_ZNSo9_M_insertIbEERSoT_": true,
}

// opcode is the operation of an instruction of x86-64: its last opcode byte, what comes before it,
// and the byte behind it.
type opcode struct {
	op, modrm byte
	wide      bool // of the opcodes that begin with 0f
	word      bool // with an operand of 16 bits
}

func opcodeOf(code []byte) (o opcode) {
	for len(code) > 0 && (code[0] == 0xf0 || code[0] == 0x66 || code[0] == 0xf2 || code[0] == 0xf3 || code[0] == 0x2e || code[0] == 0x3e || code[0] == 0x64) {
		o.word = o.word || code[0] == 0x66
		code = code[1:]
	}
	if len(code) > 0 && code[0]&0xf0 == 0x40 {
		code = code[1:]
	}
	if len(code) > 1 && code[0] == 0x0f {
		o.wide, code = true, code[1:]
	}
	if len(code) > 0 {
		o.op = code[0]
	}
	if len(code) > 1 {
		o.modrm = code[1]
	}
	return o
}

// clears reports whether an instruction clears a register by an exclusive or with itself.
func clears(code []byte) bool {
	_, _, cleared := copy32(code)
	return cleared
}

// readsFlags reports whether an instruction other than a jump may use the flags.
func (o opcode) readsFlags() bool {
	group := o.modrm >> 3 & 7
	switch {
	case o.wide:
		return o.op >= 0x40 && o.op < 0x50 || o.op >= 0x90 && o.op < 0xa0
	case o.op < 0x40 && o.op&7 < 6:
		return o.op>>3 == 2 || o.op>>3 == 3 // adc, sbb
	case o.op >= 0x80 && o.op <= 0x83:
		return group == 2 || group == 3
	case o.op == 0xc0 || o.op == 0xc1 || o.op >= 0xd0 && o.op <= 0xd3:
		return group == 2 || group == 3 // rcl, rcr
	}
	return o.op == 0x9c || o.op == 0x9f || o.op == 0xf5 // pushf, lahf, cmc
}

// setsFlags reports whether an instruction that does not use the flags certainly sets all of them.
func (o opcode) setsFlags() bool {
	switch {
	case o.wide:
		return false
	case o.op < 0x40 && o.op&7 < 6, o.op >= 0x80 && o.op <= 0x85, o.op == 0xa8, o.op == 0xa9:
		return true // arithmetic, cmp, test
	}
	return (o.op == 0xf6 || o.op == 0xf7) && (o.modrm>>3&7 < 2 || o.modrm>>3&7 == 3) // test, neg
}

// setsRegister reports whether an instruction that writes a register certainly sets all of it.
func (o opcode) setsRegister() bool {
	switch {
	case o.word:
		return false
	case o.wide:
		return o.op == 0xb6 || o.op == 0xb7 || o.op == 0xbe || o.op == 0xbf // movzx, movsx
	}
	return o.op == 0x89 || o.op == 0x8b || o.op == 0x8d || o.op == 0x63 || o.op == 0x31 || o.op == 0x33 || o.op == 0xc7 ||
		o.op >= 0xb8 && o.op <= 0xbf || o.op >= 0x58 && o.op <= 0x5f
}
