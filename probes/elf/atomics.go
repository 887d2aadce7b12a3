package elf

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/tracepredict/tracepredict/probes/insn"
)

// Bounds of the code that is decoded to find atomic instructions, in bytes. All of a file's code is
// decoded if it has at most maxSwept. In a larger file only the functions whose bytes may contain
// such an instruction are decoded, at most maxDecoded in total, so that the time stays bounded for a
// program with 25 MB of code.
const (
	maxSwept   = 2 << 20
	maxDecoded = 4 << 20
)

// AtomicCode is UnseenSync for atomic instructions only, at a bounded cost for large files. In a
// file with more than 2 MiB of code, it decodes only the functions that contain the bytes of a lock
// prefix followed by possible operands, or of an xchg of the file's own data, and at most 4 MiB of
// them. whole reports that all code was decoded. The result does not cover fences, code that could
// not be decoded, and functions without such an instruction.
func (f *File) AtomicCode() (u Unseen, whole bool, err error) {
	stubs := f.pltAreas()
	if len(f.elf.Sections) == 0 {
		stubs = nil
	}
	left, code := uint64(maxDecoded), codeReader{file: f}
	whole = f.TextSize() <= maxSwept
	for _, fn := range subtract(f.Functions(), stubs) {
		if !whole {
			if f.arch == insn.AMD64 && !f.mayLock(fn, &code) {
				continue
			}
			size := fn.Hi - fn.Lo
			if size > left {
				continue
			}
			left -= size
		}
		if !f.mayChangeIndivisibly(fn, &code) {
			continue
		}
		if err := f.unseenIn(fn, &code, nil, &u); err != nil {
			return u, whole, fmt.Errorf("look for indivisible instructions: %w", err)
		}
	}
	u.sort()
	return u, whole, nil
}

// mayChangeIndivisibly reports whether a function may contain an instruction that changes memory
// atomically, or cannot be read.
func (f *File) mayChangeIndivisibly(fn Range, from *codeReader) bool {
	code, err := from.code(fn)
	if err != nil {
		return true
	}
	for len(code) > 0 {
		s, ok := insn.Skim(f.arch, code, 0)
		if !ok || s.MayLock {
			return s.MayLock
		}
		code = code[s.Len:]
	}
	return false
}

// mayLock reports whether the bytes of a function may contain an atomic instruction of x86-64;
// false if the code cannot be read.
func (f *File) mayLock(fn Range, from *codeReader) bool {
	code, err := from.code(fn)
	if err != nil {
		return false
	}
	for at := 0; ; at++ {
		i := bytes.IndexByte(code[at:], 0xf0)
		if i < 0 {
			break
		}
		if at += i; lockable(code[at+1:]) {
			return true
		}
	}
	for at := 0; at+6 <= len(code); at++ {
		if code[at]|1 != 0x87 || code[at+1]&0xc7 != 0x05 {
			continue
		}
		distance := int64(int32(binary.LittleEndian.Uint32(code[at+2:])))
		if f.IsData(uint64(int64(fn.Lo) + int64(at) + 6 + distance)) {
			return true
		}
	}
	return false
}

// lockable reports whether the bytes after a lock prefix may be one of the instructions that accept
// it (Intel, Software Developer's Manual, volume 2, LOCK), with an operand in memory.
func lockable(code []byte) bool {
	prefixes := []byte{0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3}
	for len(code) > 0 && (code[0]&0xf0 == 0x40 || bytes.IndexByte(prefixes, code[0]) >= 0) {
		code = code[1:]
	}
	wide := len(code) > 0 && code[0] == 0x0f
	if wide {
		code = code[1:]
	}
	if len(code) < 2 || code[1] >= 0xc0 {
		return false
	}
	op := code[0]
	if wide {
		switch op {
		case 0xab, 0xb3, 0xba, 0xbb, 0xb0, 0xb1, 0xc0, 0xc1, 0xc7:
			return true
		}
		return false
	}
	switch {
	case op < 0x38:
		return op&7 < 2 // add, or, adc, sbb, and, sub, xor to memory
	case op >= 0x80 && op <= 0x83, op == 0x86, op == 0x87, op == 0xf6, op == 0xf7, op == 0xfe, op == 0xff:
		return true
	}
	return false
}
