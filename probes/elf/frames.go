package elf

import (
	"debug/elf"
	"fmt"
)

// CallFrames is a section of call frame information.
type CallFrames struct {
	Bytes []byte
	Addr  uint64 // of the section as linked
	Data  uint64 // the base of data-relative pointers; 0: not known
	// Debug reports that the section is .debug_frame, whose entries have DWARF's own format (DWARF
	// 5, section 6.4.1); else it is .eh_frame (LSB 5.0, section 10.6).
	Debug bool
	// ZeroTerminated reports that an entry of length zero ends the section. If it is false, the
	// size of the section is known, and linkers leave such entries in the middle.
	ZeroTerminated bool
	// Index is the content of .eh_frame_hdr, which is loaded at IndexAddr; nil: there is none.
	Index     []byte
	IndexAddr uint64
}

// EhFrame returns the call frame information that is loaded with the program; Bytes is empty if
// there is none.
func (f *File) EhFrame() (CallFrames, error) {
	c, err := f.ehFrame()
	if err != nil || len(c.Bytes) == 0 {
		return c, err
	}
	c.Data = f.globalOffsetTable()
	c.Index, c.IndexAddr = f.frameIndex()
	return c, nil
}

func (f *File) ehFrame() (c CallFrames, err error) {
	for _, s := range f.elf.Sections {
		if s.Name == ".eh_frame" && s.Type != elf.SHT_NOBITS && s.FileSize > 0 {
			b, err := f.read(s.Offset, s.FileSize)
			if err != nil {
				return c, fmt.Errorf("read .eh_frame: %w", err)
			}
			return CallFrames{Bytes: b, Addr: s.Addr}, nil
		}
	}
	if f.opts.DebugOnly {
		return c, nil
	}
	return f.ehFrameBySegment()
}

// ehFrameBySegment finds the table through PT_GNU_EH_FRAME (LSB 5.0, section 10.6.2), which remains
// in files without section headers.
func (f *File) ehFrameBySegment() (c CallFrames, err error) {
	for _, p := range f.elf.Progs {
		if p.Type != elf.PT_GNU_EH_FRAME {
			continue
		}
		b, err := f.image(p.Vaddr, min(p.Filesz, 32))
		if err != nil {
			return c, fmt.Errorf("read .eh_frame_hdr: %w", err)
		}
		at, err := ehFrameAddr(b, p.Vaddr, f.order)
		if err != nil {
			return c, err
		}
		table, err := f.rest(at)
		if err != nil {
			return c, fmt.Errorf("read unwind table: %w", err)
		}
		return CallFrames{Bytes: table, Addr: at, ZeroTerminated: true}, nil
	}
	return c, nil
}

// maxFrameIndex bounds .eh_frame_hdr, in bytes: 8 for each function.
const maxFrameIndex = 256 << 20

// frameIndex returns .eh_frame_hdr; nil where it cannot be read.
func (f *File) frameIndex() ([]byte, uint64) {
	for _, p := range f.elf.Progs {
		if p.Type == elf.PT_GNU_EH_FRAME && !f.opts.DebugOnly {
			if b, err := f.readUpTo(p.Off, p.Filesz, maxFrameIndex); err == nil {
				return b, p.Vaddr
			}
		}
	}
	return nil, 0
}

// globalOffsetTable returns the base of data-relative pointers in .eh_frame; 0 if it is not known.
func (f *File) globalOffsetTable() uint64 {
	for _, name := range []string{".got.plt", ".got"} {
		if s := f.elf.Section(name); s != nil {
			return s.Addr
		}
	}
	return 0
}

// DebugFrame returns .debug_frame, uncompressed, of the file itself or of its separate debug file;
// Bytes is empty if there is none.
func (f *File) DebugFrame() (CallFrames, error) {
	from, all := f, f.DebugSections("frame")
	if len(all) == 0 {
		d, err := f.DebugFile()
		if err != nil || d == nil {
			return CallFrames{}, err
		}
		if from, all = d, d.DebugSections("frame"); len(all) == 0 {
			return CallFrames{}, nil
		}
	}
	s := all[0]
	if s.Size > maxRead {
		return CallFrames{}, from.Fail(ErrTooLarge, int64(s.Offset), "%d bytes of .debug_frame, at most %d are read", s.Size, maxRead)
	}
	b, err := from.SectionData(s)
	if err != nil {
		return CallFrames{}, fmt.Errorf("read .debug_frame: %w", err)
	}
	return CallFrames{Bytes: b, Addr: s.Addr, Debug: true}, nil
}
