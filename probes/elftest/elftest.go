// Package elftest builds ELF files for tests: small files that are valid, except where a test asks
// for headers that lie. Its input is the intended contents of each header, its output the bytes. It
// knows no reader of them.
package elftest

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"io"
	"sync"
)

// Segment is a program header and the contents that it loads. A field that is zero gets the value
// that fits Data.
type Segment struct {
	Type   elf.ProgType // PT_LOAD if zero
	Flags  elf.ProgFlag
	Addr   uint64
	Data   []byte
	Off    uint64 // offset in the file, if the header lies
	Filesz uint64 // in bytes, if the header lies
}

// Section is a section header and its contents. A field that is zero gets the value that fits Data.
type Section struct {
	Name  string
	Type  elf.SectionType // SHT_PROGBITS if zero
	Flags elf.SectionFlag
	Addr  uint64
	Link  uint32
	Data  []byte
	Off   uint64 // offset in the file, if the header lies
	Size  uint64 // in bytes, if the header lies
}

// File is a 64-bit little-endian ELF file for x86-64.
type File struct {
	Type     elf.Type // ET_DYN if zero
	Entry    uint64
	Segments []Segment
	// Sections are numbered from 1; the table of section names comes last.
	Sections []Section
	// Names are the flags of the table of section names.
	Names elf.SectionFlag
}

const (
	ehdrSize = 64
	phdrSize = 56
	shdrSize = 64
)

// Bytes returns the file: headers, segments, sections, section names, section headers.
func (f *File) Bytes() []byte {
	if f.Type == 0 {
		f.Type = elf.ET_DYN
	}
	sections, names := f.named()
	b := make([]byte, ehdrSize+phdrSize*len(f.Segments))
	for i, s := range f.Segments {
		f.segment(b[ehdrSize+i*phdrSize:][:phdrSize], s, uint64(len(b)))
		b = append(b, s.Data...)
	}
	var table []byte
	for i, s := range sections {
		table = append(table, section(s, names[i], uint64(len(b)))...)
		b = append(b, s.Data...)
	}
	for len(b)%8 != 0 {
		b = append(b, 0)
	}
	f.header(b, uint64(len(b)), len(sections))
	return append(b, table...)
}

// named returns the sections with the null section first and the table of names last, and the
// offsets of their names.
func (f *File) named() (sections []Section, names []uint32) {
	text := []byte{0}
	sections = append([]Section{{}}, f.Sections...)
	sections = append(sections, Section{Name: ".shstrtab", Type: elf.SHT_STRTAB, Flags: f.Names})
	for i, s := range sections {
		at := uint32(0)
		if s.Name != "" {
			at = uint32(len(text))
			text = append(append(text, s.Name...), 0)
		}
		names = append(names, at)
		if i > 0 && s.Type == 0 {
			sections[i].Type = elf.SHT_PROGBITS
		}
	}
	sections[len(sections)-1].Data = text
	return sections, names
}

func (f *File) header(b []byte, shoff uint64, sections int) {
	order := binary.LittleEndian
	copy(b, "\x7fELF\x02\x01\x01")
	order.PutUint16(b[16:], uint16(f.Type))
	order.PutUint16(b[18:], uint16(elf.EM_X86_64))
	order.PutUint32(b[20:], 1)
	order.PutUint64(b[24:], f.Entry)
	order.PutUint64(b[32:], ehdrSize)
	order.PutUint64(b[40:], shoff)
	order.PutUint16(b[52:], ehdrSize)
	order.PutUint16(b[54:], phdrSize)
	order.PutUint16(b[56:], uint16(len(f.Segments)))
	order.PutUint16(b[58:], shdrSize)
	order.PutUint16(b[60:], uint16(sections))
	order.PutUint16(b[62:], uint16(sections-1))
}

func (f *File) segment(b []byte, s Segment, off uint64) {
	order := binary.LittleEndian
	if s.Type == 0 {
		s.Type = elf.PT_LOAD
	}
	size := uint64(len(s.Data))
	if s.Filesz != 0 {
		size = s.Filesz
	}
	if s.Off != 0 {
		off = s.Off
	}
	order.PutUint32(b, uint32(s.Type))
	order.PutUint32(b[4:], uint32(s.Flags))
	for i, v := range []uint64{off, s.Addr, s.Addr, size, size, 1} {
		order.PutUint64(b[8+8*i:], v)
	}
}

func section(s Section, name uint32, off uint64) []byte {
	order := binary.LittleEndian
	size := uint64(len(s.Data))
	if s.Size != 0 {
		size = s.Size
	}
	if s.Off != 0 {
		off = s.Off
	}
	b := make([]byte, 0, shdrSize)
	b = order.AppendUint32(b, name)
	b = order.AppendUint32(b, uint32(s.Type))
	for _, v := range []uint64{uint64(s.Flags), s.Addr, off, size} {
		b = order.AppendUint64(b, v)
	}
	b = order.AppendUint32(b, s.Link)
	b = append(b, make([]byte, 4+8+8)...)
	return b
}

// LE concatenates little-endian numbers and texts: uint8, uint16, uint32, uint64, string and
// []byte. It panics on anything else.
func LE(parts ...any) []byte {
	var b bytes.Buffer
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			b.WriteString(p)
		case []byte:
			b.Write(p)
		default:
			if err := binary.Write(&b, binary.LittleEndian, p); err != nil {
				panic(err)
			}
		}
	}
	return b.Bytes()
}

// Debug returns a program of the given code with sections .debug_NAME: name, contents, name,
// contents.
func Debug(code []byte, addr uint64, sections ...any) *File {
	f := &File{Entry: addr, Segments: []Segment{{Flags: elf.PF_R | elf.PF_X, Addr: addr, Data: code}}}
	f.Sections = []Section{{Name: ".text", Flags: elf.SHF_ALLOC | elf.SHF_EXECINSTR, Addr: addr, Data: code}}
	for i := 0; i+1 < len(sections); i += 2 {
		f.Sections = append(f.Sections, Section{Name: ".debug_" + sections[i].(string), Data: sections[i+1].([]byte)})
	}
	return f
}

// UnitHeader4 is the size of the header that Unit4 puts before its body.
const UnitHeader4 = 11

// Unit4 returns a unit of DWARF 4 whose abbreviations are at the offset given.
func Unit4(abbrev uint32, body ...byte) []byte {
	rest := LE(uint16(4), abbrev, uint8(8), body)
	return LE(uint32(len(rest)), rest)
}

// Abbrev returns an abbreviation with a code below 128; pairs are attributes and forms.
func Abbrev(code, tag byte, children bool, pairs ...byte) []byte {
	b := []byte{code, tag, 0}
	if children {
		b[2] = 1
	}
	return append(append(b, pairs...), 0, 0)
}

// Sparse is a file of Length bytes that begins with Head; the rest is zero and takes no memory,
// like a hole of a file.
type Sparse struct {
	Head   []byte
	Length int64
}

// ReadAt implements io.ReaderAt.
func (s Sparse) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off >= s.Length {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), s.Length-off))
	clear(p[:n])
	if off < int64(len(s.Head)) {
		copy(p[:n], s.Head[off:])
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Shrinking is a file that is truncated while it is read: after Reads reads it has only Left bytes.
type Shrinking struct {
	Content []byte
	Reads   int
	Left    int

	mu sync.Mutex // guards Reads once it is read
}

// ReadAt implements io.ReaderAt.
func (s *Shrinking) ReadAt(p []byte, off int64) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.Content
	if s.Reads--; s.Reads < 0 {
		b = b[:min(s.Left, len(b))]
	}
	if off >= int64(len(b)) {
		return 0, io.EOF
	}
	n := copy(p, b[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
