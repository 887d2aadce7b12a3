package elf

import (
	"encoding/binary"
	"fmt"
)

// An exception table (LSDA) states, for each call in a function, where the unwinder continues if an
// exception passes through it: at a landing pad, inside the function or in a part that was split
// off. The format is gcc's, as its runtime reads it (libgcc unwind-c.c, libstdc++
// eh_personality.cc) and as LLVM's document "Exception Handling in LLVM" and LSB 5.0 section 10.5
// describe it.

// lsdaHead is the number of bytes of an exception table that are read to find its call sites. The
// head has three encodings, a pointer and two lengths of up to 10 bytes each.
const lsdaHead = 3 + 3*10

// lsda adds the landing pads of one function.
func (l *landmarker) lsda(d lsda) error {
	if !d.ok {
		return fmt.Errorf("%w: where it is cannot be told", ErrMalformed)
	}
	b, err := l.f.image(d.at, lsdaHead)
	if err != nil {
		return err
	}
	h, err := readLSDAHead(b, d, l.f.order)
	if err != nil {
		return err
	}
	if !Spend(&l.tables, h.length) {
		return errOverlap
	}
	if b, err = l.f.image(d.at, h.start+h.length); err != nil {
		return err
	}
	return h.callSites(b, d.at, l.f.order, l.add)
}

// callSiteTable is the position and encoding of the call sites in an exception table.
type callSiteTable struct {
	base          uint64 // base of the landing pads' offsets
	enc           byte   // encoding of each field of a call site
	start, length uint64 // in the exception table, in bytes
}

func readLSDAHead(b []byte, d lsda, order binary.ByteOrder) (callSiteTable, error) {
	r := Cursor{b: b, addr: d.at, order: order}
	h := callSiteTable{base: d.fn.Lo}
	resolved := true
	if enc := r.U8(); enc != encOmit {
		h.base, resolved = r.Pointer(enc)
	}
	if enc := r.U8(); enc != encOmit {
		r.LEB(false) // offset of the type table
	}
	h.enc = r.U8()
	h.length = r.LEB(false)
	h.start = uint64(r.pos)
	if r.failed || !resolved || h.length > 1<<40 {
		return h, fmt.Errorf("%w: head of the table at 0x%x", ErrMalformed, d.at)
	}
	return h, nil
}

// callSites calls add with each landing pad of the exception table b, which is at addr.
func (h callSiteTable) callSites(b []byte, addr uint64, order binary.ByteOrder, add func(uint64)) error {
	end := h.start + h.length
	if end > uint64(len(b)) {
		return fmt.Errorf("%w: table at 0x%x", ErrTruncated, addr)
	}
	r := Cursor{b: b[:end], addr: addr, order: order, pos: int(h.start)}
	for uint64(r.pos) < end {
		r.Value(h.enc) // where the call begins
		r.Value(h.enc) // length of the call
		pad := r.Value(h.enc)
		r.LEB(false) // which exceptions are caught
		if r.failed {
			return fmt.Errorf("%w: call site of the table at 0x%x", ErrMalformed, addr)
		}
		if pad != 0 {
			add(h.base + pad)
		}
	}
	return nil
}
