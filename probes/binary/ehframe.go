package binary

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
)

// This file reads the extents of functions out of call frame information, as
// the compiler leaves it in .eh_frame for unwinding even in stripped programs.
// Format: Linux Standard Base Core 5.0, section 10.6 (Exception Frames), and
// DWARF 5, section 6.4.1. Addresses and the pointers to exception tables are
// read, no instructions.

// Pointer encodings, LSB 5.0 section 10.5.1: a format and what it is relative
// to.
const (
	encFormat   = 0x0f
	encRelative = 0x70
	encIndirect = 0x80
	encOmit     = 0xff

	encPCRel   = 0x10
	encDataRel = 0x30
)

// frameReader is a cursor over unwind data at a virtual address. The first
// read beyond the end sets failed; all later ones give zero, and the caller
// looks once at the end of a record.
type frameReader struct {
	b      []byte
	addr   uint64 // of b[0]
	data   uint64 // base of data-relative pointers
	order  binary.ByteOrder
	pos    int
	failed bool
}

func (r *frameReader) take(n uint64) []byte {
	if r.failed || n > uint64(len(r.b)-r.pos) {
		r.failed = true
		return make([]byte, min(n, 8))
	}
	p := r.b[r.pos : r.pos+int(n)]
	r.pos += int(n)
	return p
}

func (r *frameReader) u8() byte    { return r.take(1)[0] }
func (r *frameReader) u16() uint16 { return r.order.Uint16(r.take(2)) }
func (r *frameReader) u32() uint32 { return r.order.Uint32(r.take(4)) }
func (r *frameReader) u64() uint64 { return r.order.Uint64(r.take(8)) }

func (r *frameReader) leb(signed bool) uint64 {
	var v uint64
	for shift := uint(0); ; shift += 7 {
		b := r.u8()
		if shift < 64 {
			v |= uint64(b&0x7f) << shift
		}
		if b&0x80 == 0 || r.failed {
			if signed && b&0x40 != 0 && shift+7 < 64 {
				v |= ^uint64(0) << (shift + 7)
			}
			return v
		}
	}
}

// cstring reads up to a NUL; augmentations have a few letters.
func (r *frameReader) cstring() string {
	start := r.pos
	for r.u8() != 0 {
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

// value reads the format part of an encoded pointer.
func (r *frameReader) value(enc byte) uint64 {
	switch enc & encFormat {
	case 0x00, 0x04, 0x0c:
		return r.u64()
	case 0x01:
		return r.leb(false)
	case 0x02:
		return uint64(r.u16())
	case 0x03:
		return uint64(r.u32())
	case 0x09:
		return r.leb(true)
	case 0x0a:
		return uint64(int64(int16(r.u16())))
	case 0x0b:
		return uint64(int64(int32(r.u32())))
	}
	r.failed = true
	return 0
}

// pointer reads an encoded pointer; ok is false for one that only a running
// program could resolve.
func (r *frameReader) pointer(enc byte) (v uint64, ok bool) {
	here := r.addr + uint64(r.pos)
	v = r.value(enc)
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

// cie is what an FDE needs of its common information entry.
type cie struct {
	enc  byte // of the FDE's addresses
	lsda byte // of its pointer to an exception table; encOmit if it has none
	z    bool // the FDE has augmentation data,
	odd  bool // of which not all is understood
	ok   bool
}

// frameParser reads one .eh_frame.
type frameParser struct {
	frameReader
	stop  bool // at a terminator: the end is not known otherwise
	cies  map[int]cie
	found frameTable
}

// frameTable is what an .eh_frame says of functions, in its order.
type frameTable struct {
	extents []Range
	lsdas   []lsda
}

// lsda is where the exception table of a function's extent is: in LSB 5.0 and
// the Itanium C++ ABI its language-specific data area.
type lsda struct {
	fn Range
	at uint64
	ok bool // false: it has one, but where cannot be told
}

// ehFrame gives the extents of all FDEs in b, which is loaded at addr, in their
// order. With stop, a zero length ends the table; without, it is skipped as
// readelf does, since linkers leave one in the middle. On an error the extents
// before it are given too.
func ehFrame(b []byte, addr uint64, order binary.ByteOrder, stop bool) (frameTable, error) {
	p := frameParser{frameReader: frameReader{b: b, addr: addr, order: order}, stop: stop, cies: map[int]cie{}}
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

// entry reads one CIE or FDE; the cursor is then behind it.
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
	back := uint64(p.u32()) // from here to the CIE; 0: this is one
	switch {
	case p.failed:
		return false, fmt.Errorf("%w: entry of %d bytes", ErrTruncated, n)
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
	n := uint64(p.u32())
	if n == 0xffffffff {
		n = p.u64()
	}
	if p.failed || n > uint64(len(p.b)-p.pos) {
		return 0, fmt.Errorf("%w: length %d, %d bytes left", ErrTruncated, n, len(p.b)-p.pos)
	}
	if n > 0 && n < 4 {
		return 0, fmt.Errorf("%w: length %d", ErrMalformed, n)
	}
	return n, nil
}

// window is a cursor that ends with the entry.
func (p *frameParser) window(end int) frameReader {
	r := p.frameReader
	r.b = r.b[:end]
	return r
}

// readCIE reads the common entry whose identifier field is at offset at; FDEs
// refer to the start of its length field, 4 bytes before (12 if extended).
func (p *frameParser) readCIE(at, end int) error {
	r := p.window(end)
	c := cie{ok: true, lsda: encOmit}
	version := r.u8()
	aug := r.cstring()
	if version != 1 && version != 3 && version != 4 {
		return fmt.Errorf("%w: version %d", ErrMalformed, version)
	}
	if aug == "eh" {
		r.u64()
	}
	if version == 4 {
		r.u16() // address and segment size
	}
	r.leb(false)
	r.leb(true)
	if version == 1 {
		r.u8()
	} else {
		r.leb(false)
	}
	if len(aug) > 0 && aug[0] == 'z' {
		r.leb(false)
		c = r.augmentation(aug[1:])
	}
	if r.failed {
		return fmt.Errorf("%w: common entry", ErrTruncated)
	}
	p.cies[at] = c
	return nil
}

func (r *frameReader) augmentation(letters string) cie {
	c := cie{ok: true, z: true, lsda: encOmit}
	for _, l := range letters {
		switch l {
		case 'R':
			c.enc = r.u8()
		case 'L':
			c.lsda = r.u8()
		case 'P':
			r.value(r.u8())
		case 'S', 'B', 'G': // no data: signal frame, arm64 pointer keys
		default:
			c.odd = true
			return c // unknown; what follows cannot be read, 'R' comes first in practice
		}
	}
	return c
}

// readFDE reads the addresses of a frame entry. The common entry lies at offset
// start, before it (section 10.6.1.1: the offset is subtracted).
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
	lo, ok := r.pointer(c.enc)
	n := r.value(c.enc)
	if r.failed {
		return fmt.Errorf("%w: frame entry", ErrTruncated)
	}
	if c.enc&encFormat >= 0x09 { // the length is unsigned whatever the format says
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

// exceptionTable reads the augmentation data of a frame entry. A pointer of
// zero, before it is made relative to anything, is none.
func (r *frameReader) exceptionTable(c cie) (at uint64, present, ok bool) {
	if !c.z || r.leb(false) == 0 && !r.failed {
		return 0, false, false
	}
	if c.odd || r.failed {
		return 0, true, false
	}
	if c.lsda == encOmit {
		return 0, false, false
	}
	start := r.pos
	if r.value(c.lsda) == 0 && !r.failed {
		return 0, false, false
	}
	r.pos = start
	at, ok = r.pointer(c.lsda)
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

// frames gives the extents of the file's unwind table.
func (f *File) frames() ([]Range, error) {
	t, err := f.frameTable()
	return t.extents, err
}

// frameTable gives the file's unwind table; on an error, which is noted as a
// problem too, what comes before it.
func (f *File) frameTable() (frameTable, error) {
	f.framesOnce.Do(func() {
		if f.frame, f.frameErr = f.loadFrames(); f.frameErr != nil {
			f.problem(fmt.Errorf("function extents of %s: %w", f.name, f.frameErr))
		}
	})
	return f.frame, f.frameErr
}

func (f *File) loadFrames() (frameTable, error) {
	for _, s := range f.elf.Sections {
		if s.Name == ".eh_frame" && s.Type != elf.SHT_NOBITS && s.FileSize > 0 {
			b, err := f.read(s.Offset, s.FileSize)
			if err != nil {
				return frameTable{}, fmt.Errorf("read .eh_frame: %w", err)
			}
			return ehFrame(b, s.Addr, f.order, false)
		}
	}
	if f.debug {
		return frameTable{}, nil
	}
	return f.framesBySegment()
}

// framesBySegment finds the table through PT_GNU_EH_FRAME (LSB 5.0, section
// 10.6.2), which stripped section headers leave in place.
func (f *File) framesBySegment() (frameTable, error) {
	for _, p := range f.elf.Progs {
		if p.Type != elf.PT_GNU_EH_FRAME {
			continue
		}
		b, err := f.image(p.Vaddr, min(p.Filesz, 32))
		if err != nil {
			return frameTable{}, fmt.Errorf("read .eh_frame_hdr: %w", err)
		}
		at, err := ehFrameAddr(b, p.Vaddr, f.order)
		if err != nil {
			return frameTable{}, err
		}
		table, err := f.rest(at)
		if err != nil {
			return frameTable{}, fmt.Errorf("read unwind table: %w", err)
		}
		return ehFrame(table, at, f.order, true)
	}
	return frameTable{}, nil
}

// ehFrameAddr reads where .eh_frame is from its header, which is loaded at addr.
func ehFrameAddr(b []byte, addr uint64, order binary.ByteOrder) (uint64, error) {
	r := frameReader{b: b, addr: addr, data: addr, order: order}
	version, enc := r.u8(), r.u8()
	r.u16() // encodings of the search table
	if version != 1 || enc == encOmit {
		return 0, fmt.Errorf("%w: .eh_frame_hdr version %d, encoding 0x%x", ErrMalformed, version, enc)
	}
	at, ok := r.pointer(enc)
	if r.failed || !ok {
		return 0, fmt.Errorf("%w: .eh_frame_hdr", ErrTruncated)
	}
	return at, nil
}
