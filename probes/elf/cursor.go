package elf

import (
	"bytes"
	"encoding/binary"
)

// Pointer encodings, LSB 5.0 section 10.5.1: a format, and the base that the pointer is relative
// to.
const (
	encFormat   = 0x0f
	encRelative = 0x70
	encIndirect = 0x80
	encOmit     = 0xff

	encPCRel   = 0x10
	encDataRel = 0x30
)

// Cursor reads numbers and strings of DWARF: of debug information, and of unwind data at a virtual
// address. The first read beyond the end fails. All later reads return zero, so the caller needs to
// check only once, at the end of a record.
type Cursor struct {
	b      []byte
	addr   uint64 // of b[0]
	data   uint64 // base of data-relative pointers
	order  binary.ByteOrder
	pos    int
	failed bool
}

// NewCursor returns a cursor at the start of b. Pointers in unwind data can be relative to addr,
// where b is loaded, and to data; 0 if the latter is not known.
func NewCursor(b []byte, addr, data uint64) Cursor {
	return Cursor{b: b, addr: addr, data: data, order: binary.LittleEndian}
}

// Failed reports whether a read went beyond the end, or found an invalid encoding.
func (r *Cursor) Failed() bool { return r.failed }

// Fail makes all later reads return zero, as after a read beyond the end.
func (r *Cursor) Fail() { r.failed = true }

// Pos returns the number of bytes read.
func (r *Cursor) Pos() int { return r.pos }

// Left returns the number of bytes that have not been read.
func (r *Cursor) Left() int { return len(r.b) - r.pos }

// Take returns the next n bytes, shared. If fewer are left, it fails and returns at most 8 zeros.
func (r *Cursor) Take(n uint64) []byte {
	if r.failed || n > uint64(len(r.b)-r.pos) {
		r.failed = true
		return make([]byte, min(n, 8))
	}
	p := r.b[r.pos : r.pos+int(n)]
	r.pos += int(n)
	return p
}

// U8 reads a byte.
func (r *Cursor) U8() byte { return r.Take(1)[0] }

// U16 reads two bytes.
func (r *Cursor) U16() uint16 { return r.order.Uint16(r.Take(2)) }

// U32 reads four bytes.
func (r *Cursor) U32() uint32 { return r.order.Uint32(r.Take(4)) }

// U64 reads eight bytes.
func (r *Cursor) U64() uint64 { return r.order.Uint64(r.Take(8)) }

// Uint reads a number of n bytes, at most 8.
func (r *Cursor) Uint(n int) (v uint64) {
	for i, b := range r.Take(uint64(n)) {
		v |= uint64(b) << (8 * i)
	}
	return v
}

// Skip skips n bytes.
func (r *Cursor) Skip(n uint64) {
	if r.failed || n > uint64(len(r.b)-r.pos) {
		r.failed = true
		return
	}
	r.pos += int(n)
}

// SkipString skips a string and the NUL that ends it.
func (r *Cursor) SkipString() {
	n := bytes.IndexByte(r.b[r.pos:], 0)
	if n < 0 {
		r.failed = true
		return
	}
	r.Skip(uint64(n) + 1)
}

// maxLEB is the maximum number of LEB128 bytes that contain bits of a 64-bit number.
const maxLEB = 10

// LEB reads a number in LEB128, modulo 2^64: DWARF 5, section 7.6. A number of more than 10 bytes
// fails, and is not skipped.
func (r *Cursor) LEB(signed bool) uint64 {
	if r.pos < len(r.b) && r.b[r.pos] < 0x40 && !r.failed { // most are small
		r.pos++
		return uint64(r.b[r.pos-1])
	}
	start := r.pos
	var v uint64
	for shift := uint(0); r.pos-start < maxLEB; shift += 7 {
		b := r.U8()
		v |= uint64(b&0x7f) << shift
		if b&0x80 == 0 || r.failed {
			if signed && b&0x40 != 0 && shift+7 < 64 {
				v |= ^uint64(0) << (shift + 7)
			}
			return v
		}
	}
	r.pos, r.failed = start, true
	return 0
}

// CString reads a string that ends in NUL, at most 64 bytes; augmentation strings have a few
// letters.
func (r *Cursor) CString() string {
	start := r.pos
	for r.U8() != 0 {
		if r.failed || r.pos-start > 64 {
			r.failed = true
			return ""
		}
	}
	if r.failed {
		return ""
	}
	return string(r.b[start : r.pos-1])
}

// Value reads the format part of an encoded pointer (DW_EH_PE_*), without its base.
func (r *Cursor) Value(enc byte) uint64 {
	switch enc & encFormat {
	case 0x00, 0x04, 0x0c:
		return r.U64()
	case 0x01:
		return r.LEB(false)
	case 0x02:
		return uint64(r.U16())
	case 0x03:
		return uint64(r.U32())
	case 0x09:
		return r.LEB(true)
	case 0x0a:
		return uint64(int64(int16(r.U16())))
	case 0x0b:
		return uint64(int64(int32(r.U32())))
	}
	r.failed = true
	return 0
}

// Pointer reads an encoded pointer; ok is false if only a running program could resolve it.
func (r *Cursor) Pointer(enc byte) (v uint64, ok bool) {
	here := r.addr + uint64(r.pos)
	v = r.Value(enc)
	switch enc & encRelative {
	case 0:
	case encPCRel:
		v += here
	case encDataRel:
		if r.data == 0 {
			return 0, false
		}
		v += r.data
	default:
		return 0, false
	}
	return v, enc&encIndirect == 0
}
