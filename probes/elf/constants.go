package elf

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/tracepredict/tracepredict/probes/insn"
)

// This file finds the addresses of code that instructions make as constants. On x86-64,
// position-independent code has one instruction for that, lea x(%rip). Its bytes are searched for
// at every offset, so none is missed even if the code cannot be decoded, and accidental matches are
// rare. A program that is not position-independent also uses immediate operands, which are always
// the last bytes of an instruction. On arm64, code makes an address by adr, or by adrp and an add
// that may follow some instructions later.

// constants adds the addresses that instructions make as constants.
func (l *landmarker) constants() {
	for _, t := range l.text {
		if !Spend(&l.code, t.Hi-t.Lo) {
			l.f.AddProblem(fmt.Errorf("landmarks of %s: %w", l.f.name, errOverlap))
			return
		}
		b, err := l.f.image(t.Lo, t.Hi-t.Lo)
		if err != nil {
			continue // a section that is not loaded
		}
		switch l.f.arch {
		case insn.ARM64:
			l.armConstants(b, t.Lo)
		default:
			l.leas(b, t.Lo)
			if !l.f.PIE() {
				l.immediates(b, t.Lo)
			}
		}
	}
}

// leas adds the targets of opcode 8d /r with a ModRM byte of mod 0, rm 5: Intel SDM volume 2,
// tables 2-2 and 2-7.
func (l *landmarker) leas(b []byte, addr uint64) {
	const opcode, length = 0x8d, 6
	for at := 0; at+length <= len(b); at++ {
		i := bytes.IndexByte(b[at:], opcode)
		if i < 0 {
			return
		}
		at += i
		if at+length <= len(b) && b[at+1]&0xc7 == 0x05 {
			l.add(addr + uint64(at+length) + signed(b[at+2:]))
		}
	}
}

// immediates adds the last bytes of every instruction in functions, and all possible immediates
// outside of functions and where code cannot be decoded.
func (l *landmarker) immediates(b []byte, addr uint64) {
	area := []Range{{addr, addr + uint64(len(b))}}
	functions := within(l.f.Functions(), area)
	for _, fn := range functions {
		l.immediatesIn(b[fn.Lo-addr:fn.Hi-addr], fn.Lo)
	}
	for _, gap := range subtract(area, functions) {
		l.anyImmediate(b[gap.Lo-addr : gap.Hi-addr])
	}
}

func (l *landmarker) immediatesIn(code []byte, addr uint64) {
	for len(code) > 0 {
		in, err := insn.Decode(l.f.arch, code, addr)
		if err != nil || in.Len <= 0 || in.Len > len(code) {
			l.anyImmediate(code)
			return
		}
		if !relative(&in, code[:in.Len]) {
			l.lastBytes(code[:in.Len])
		}
		code, addr = code[in.Len:], addr+uint64(in.Len)
	}
}

// relative reports whether the last 4 bytes of an instruction are a displacement from it to the
// address that it jumps to, reads or writes. They are not an address, but may look like one where
// the distance from the code to data is as large as an address of code.
func relative(in *insn.Inst, b []byte) bool {
	switch in.Kind {
	case insn.Nop, insn.Jump, insn.CondJump, insn.Call:
		return true
	}
	if len(b) < 4 {
		return false
	}
	to := in.Addr + uint64(len(b)) + signed(b[len(b)-4:])
	if in.Sum.Const() && uint64(in.Sum.Imm) == to {
		return true // a lea, which leas finds
	}
	for _, m := range in.Mem[:in.NMem] {
		if m.Fixed && !m.Segment && m.Addr == to {
			return true
		}
	}
	return false
}

// signed returns 4 bytes as a sign-extended number; both architectures are little-endian.
func signed(b []byte) uint64 { return uint64(int64(int32(binary.LittleEndian.Uint32(b)))) }

// lastBytes adds the last 4 bytes of an instruction, sign-extended, and the last 8 bytes of a
// movabs.
func (l *landmarker) lastBytes(b []byte) {
	const movabs = 10
	if len(b) > 4 {
		l.add(signed(b[len(b)-4:]))
	}
	if len(b) >= movabs {
		l.add(l.f.order.Uint64(b[len(b)-8:]))
	}
}

func (l *landmarker) anyImmediate(b []byte) {
	for ; len(b) >= 4; b = b[1:] {
		l.add(signed(b))
		if len(b) >= 8 {
			l.add(l.f.order.Uint64(b))
		}
	}
}

// armConstants adds the constants that registers hold. Branches are ignored: a register keeps its
// constant until an instruction writes the register, since a compiler may put a branch between adrp
// and its add.
func (l *landmarker) armConstants(b []byte, addr uint64) {
	const none = ^uint64(0)
	var held [32]uint64
	for i := range held {
		held[i] = none
	}
	for ; len(b) >= 4; b, addr = b[4:], addr+4 {
		in, err := insn.Decode(l.f.arch, b, addr)
		if err != nil {
			continue
		}
		dst, v := in.Sum.Dst, none
		switch s := in.Sum; {
		case s.Const():
			v = uint64(s.Imm)
		case s.Offset() && s.Src < 32 && held[s.Src] != none:
			v = held[s.Src] + uint64(s.Imm)
		}
		for r := range held {
			if in.Known && in.Writes.Has(insn.Reg(r)) {
				held[r] = none
			}
		}
		if dst < 32 {
			held[dst] = v
			l.add(v)
		}
	}
}
