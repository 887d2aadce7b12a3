package elf

import (
	"encoding/binary"
	"fmt"

	"github.com/tracepredict/tracepredict/internal/plural"
)

// This file reads the extents of functions from call frame information, which the compiler writes
// to .eh_frame for unwinding even in stripped programs. Format: Linux Standard Base Core 5.0,
// section 10.6 (Exception Frames), and DWARF 5, section 6.4.1. It reads the addresses and the
// pointers to exception tables, but no instructions.

// cie is the part of a common information entry that its FDEs need.
type cie struct {
	enc        byte // encoding of the FDE's addresses
	lsda       byte // encoding of its pointer to an exception table; encOmit if it has none
	z          bool // the FDE has augmentation data
	incomplete bool // not all of the augmentation data is understood
	ok         bool
}

// frameParser reads one .eh_frame.
type frameParser struct {
	Cursor
	stop  bool // a zero length ends the table, because its size is not known
	cies  map[int]cie
	found frameTable
}

// frameTable is the content of an .eh_frame, in its order.
type frameTable struct {
	extents []Range
	lsdas   []lsda
}

// lsda is the address of the exception table of a function's extent; LSB 5.0 and the Itanium C++
// ABI call it the language-specific data area.
type lsda struct {
	fn Range
	at uint64
	ok bool // false: there is a table, but its address cannot be determined
}

// ehFrame returns the extents of all FDEs in b, which is loaded at addr, in their order. If stop is
// set, a zero length ends the table. Otherwise it is skipped, as readelf does, since linkers leave
// one in the middle. On an error the extents before it are returned too.
func ehFrame(b []byte, addr uint64, order binary.ByteOrder, stop bool) (frameTable, error) {
	p := frameParser{Cursor: Cursor{b: b, addr: addr, order: order}, stop: stop, cies: map[int]cie{}}
	for len(p.b)-p.pos >= 4 {
		start := p.pos
		more, err := p.entry()
		if err != nil {
			return p.found, fmt.Errorf("unwind entry at 0x%x: %w", addr+uint64(start), err)
		}
		if !more {
			break
		}
	}
	return p.found, nil
}

// entry reads one CIE or FDE, and leaves the cursor at its end.
func (p *frameParser) entry() (more bool, err error) {
	n, err := p.length()
	if err != nil {
		return false, err
	}
	if n == 0 {
		return !p.stop, nil
	}
	at := p.pos
	end := at + int(n)
	back := uint64(p.U32()) // the distance from here to the CIE; 0: this is a CIE
	switch {
	case p.failed:
		return false, fmt.Errorf("%w: %s", ErrTruncated, plural.Sprintf("entry of %d {byte|bytes}", n))
	case back == 0:
		err = p.readCIE(at, end)
	case back > uint64(at):
		err = fmt.Errorf("%w: its common entry lies before the table", ErrMalformed)
	default:
		err = p.readFDE(at-int(back), end)
	}
	p.pos = end
	return true, err
}

func (p *frameParser) length() (uint64, error) {
	n := uint64(p.U32())
	if n == 0xffffffff {
		n = p.U64()
	}
	if p.failed || n > uint64(len(p.b)-p.pos) {
		return 0, fmt.Errorf("%w: %s", ErrTruncated, plural.Sprintf("length %d, %d {byte|bytes} left", n, len(p.b)-p.pos))
	}
	if n > 0 && n < 4 {
		return 0, fmt.Errorf("%w: length %d", ErrMalformed, n)
	}
	return n, nil
}

// window returns a cursor that ends at the end of the entry.
func (p *frameParser) window(end int) Cursor {
	r := p.Cursor
	r.b = r.b[:end]
	return r
}

// readCIE reads the common entry whose identifier field is at offset at; FDEs
// refer to the start of its length field, 4 bytes before (12 if extended).
func (p *frameParser) readCIE(at, end int) error {
	r := p.window(end)
	c := cie{ok: true, lsda: encOmit}
	version := r.U8()
	aug := r.CString()
	if version != 1 && version != 3 && version != 4 {
		return fmt.Errorf("%w: version %d", ErrMalformed, version)
	}
	if aug == "eh" {
		r.U64()
	}
	if version == 4 {
		r.U16() // address and segment size
	}
	r.LEB(false)
	r.LEB(true)
	if version == 1 {
		r.U8()
	} else {
		r.LEB(false)
	}
	if len(aug) > 0 && aug[0] == 'z' {
		r.LEB(false)
		c = r.augmentation(aug[1:])
	}
	if r.failed {
		return fmt.Errorf("%w: common entry", ErrTruncated)
	}
	p.cies[at] = c
	return nil
}

func (r *Cursor) augmentation(letters string) cie {
	c := cie{ok: true, z: true, lsda: encOmit}
	for _, l := range letters {
		switch l {
		case 'R':
			c.enc = r.U8()
		case 'L':
			c.lsda = r.U8()
		case 'P':
			r.Value(r.U8())
		case 'S', 'B', 'G': // no data: signal frame, arm64 pointer keys
		default:
			c.incomplete = true
			return c // what follows an unknown letter cannot be read; in practice 'R' comes first
		}
	}
	return c
}

// readFDE reads the addresses of a frame entry. start is the offset of its common entry, which
// precedes it (section 10.6.1.1: the offset is subtracted).
func (p *frameParser) readFDE(start, end int) error {
	c, known := p.cies[start+4]
	if !known {
		c, known = p.cies[start+12]
	}
	if !known {
		return fmt.Errorf("%w: no common entry at 0x%x", ErrMalformed, p.addr+uint64(start))
	}
	if !c.ok || c.enc == encOmit {
		return nil
	}
	r := p.window(end)
	lo, ok := r.Pointer(c.enc)
	n := r.Value(c.enc)
	if r.failed {
		return fmt.Errorf("%w: frame entry", ErrTruncated)
	}
	if c.enc&encFormat >= 0x09 { // the length is unsigned even if the format is signed
		n &= sizeMask(c.enc)
	}
	if ok && n > 0 && lo+n > lo {
		fn := Range{lo, lo + n}
		p.found.extents = append(p.found.extents, fn)
		if at, present, ok := r.exceptionTable(c); present {
			p.found.lsdas = append(p.found.lsdas, lsda{fn, at, ok})
		}
	}
	return nil
}

// exceptionTable reads the augmentation data of a frame entry. A pointer whose value is zero before
// a base is added means that there is no table.
func (r *Cursor) exceptionTable(c cie) (at uint64, present, ok bool) {
	if !c.z || r.LEB(false) == 0 && !r.failed {
		return 0, false, false
	}
	if c.incomplete || r.failed {
		return 0, true, false
	}
	if c.lsda == encOmit {
		return 0, false, false
	}
	start := r.pos
	if r.Value(c.lsda) == 0 && !r.failed {
		return 0, false, false
	}
	r.pos = start
	at, ok = r.Pointer(c.lsda)
	return at, true, ok && !r.failed
}

func sizeMask(enc byte) uint64 {
	switch enc & encFormat {
	case 0x0a:
		return 0xffff
	case 0x0b:
		return 0xffffffff
	}
	return ^uint64(0)
}

// frames returns the extents of the file's unwind table.
func (f *File) frames() ([]Range, error) {
	t, err := f.frameTable()
	return t.extents, err
}

// frameTable returns the file's unwind table. On an error, which is also added to Problems, it
// returns the part before it.
func (f *File) frameTable() (frameTable, error) {
	f.framesOnce.Do(func() {
		if f.frame, f.frameErr = f.loadFrames(); f.frameErr != nil {
			f.AddProblem(fmt.Errorf("function extents of %s: %w", f.name, f.frameErr))
		}
	})
	return f.frame, f.frameErr
}

func (f *File) loadFrames() (frameTable, error) {
	c, err := f.ehFrame()
	if err != nil || len(c.Bytes) == 0 {
		return frameTable{}, err
	}
	return ehFrame(c.Bytes, c.Addr, f.order, c.ZeroTerminated)
}

// ehFrameAddr reads the address of .eh_frame from its header, which is loaded at addr.
func ehFrameAddr(b []byte, addr uint64, order binary.ByteOrder) (uint64, error) {
	r := Cursor{b: b, addr: addr, data: addr, order: order}
	version, enc := r.U8(), r.U8()
	r.U16() // encodings of the search table
	if version != 1 || enc == encOmit {
		return 0, fmt.Errorf("%w: .eh_frame_hdr version %d, encoding 0x%x", ErrMalformed, version, enc)
	}
	at, ok := r.Pointer(enc)
	if r.failed || !ok {
		return 0, fmt.Errorf("%w: .eh_frame_hdr", ErrTruncated)
	}
	return at, nil
}
