package elf

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/tracepredict/tracepredict/probes/insn"
)

const (
	ehdrSize = 64
	phdrSize = 56
	shdrSize = 64
)

// header reads and checks the ELF header itself, because there are many causes of a wrong header
// that a user can act on.
func (f *File) header() (*elf.Header64, error) {
	head, err := f.read(0, min(f.size, 256))
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(head, []byte(elf.ELFMAG)) {
		return nil, f.notELF(head)
	}
	if len(head) < ehdrSize {
		return nil, f.Fail(ErrTruncated, int64(len(head)), "ELF header ends early")
	}
	var order binary.ByteOrder = binary.LittleEndian
	if elf.Data(head[elf.EI_DATA]) == elf.ELFDATA2MSB {
		order = binary.BigEndian
	}
	machine := elf.Machine(order.Uint16(head[18:]))
	if f.arch, err = f.archOf(head, machine); err != nil {
		return nil, err
	}
	var h elf.Header64
	if err := binary.Read(bytes.NewReader(head), order, &h); err != nil {
		return nil, f.Fail(ErrMalformed, 0, "ELF header: %v", err)
	}
	if f.opts.DebugOnly {
		return &h, nil // a .dwo file is an object file
	}
	return &h, f.checkType(elf.Type(h.Type))
}

func (f *File) notELF(head []byte) error {
	e := f.Fail(ErrNotELF, NoOffset, "is not an ELF file")
	e.Remedy = "name a native Linux program"
	if !bytes.HasPrefix(head, []byte("#!")) {
		return e
	}
	line, _, _ := strings.Cut(string(head[2:]), "\n")
	words := strings.Fields(strings.ToValidUTF8(line, "?"))
	e.Reason = "is a script without an interpreter"
	if len(words) > 0 {
		e.Interpreter = words[0]
		e.Reason = fmt.Sprintf("is a script, run by %q", strings.Join(words, " "))
		e.Remedy = fmt.Sprintf("observe the program that the script starts, or its interpreter: %s %s", words[0], f.name)
	}
	return e
}

func (f *File) archOf(head []byte, machine elf.Machine) (insn.Arch, error) {
	class := elf.Class(head[elf.EI_CLASS])
	little := elf.Data(head[elf.EI_DATA]) == elf.ELFDATA2LSB
	if class == elf.ELFCLASS64 && little {
		switch machine {
		case elf.EM_X86_64:
			return insn.AMD64, nil
		case elf.EM_AARCH64:
			return insn.ARM64, nil
		}
	}
	what := strings.TrimPrefix(machine.String(), "EM_")
	switch {
	case class == elf.ELFCLASS32:
		what = "32-bit " + what
	case class != elf.ELFCLASS64:
		return 0, f.Fail(ErrMalformed, elf.EI_CLASS, "unknown ELF class %d", head[elf.EI_CLASS])
	case !little:
		what = "big-endian " + what
	}
	e := f.Fail(ErrArch, NoOffset, "is a program for %s", what)
	e.Remedy = "build it for 64-bit x86-64 or arm64"
	return 0, e
}

func (f *File) checkType(t elf.Type) error {
	switch t {
	case elf.ET_EXEC, elf.ET_DYN:
		return nil
	case elf.ET_REL:
		return f.Fail(ErrType, NoOffset, "is an object file, not linked yet")
	case elf.ET_CORE:
		e := f.Fail(ErrType, NoOffset, "is a core dump")
		e.Remedy = "name the program that dumped it"
		return e
	}
	return f.Fail(ErrType, NoOffset, "has unknown ELF type %d", t)
}

// checkTables checks that both header tables lie in the file, before anything of their size is
// allocated.
func (f *File) checkTables(h *elf.Header64) error {
	if h.Phnum > 0 && h.Phentsize != phdrSize {
		return f.Fail(ErrMalformed, 54, "program headers of %d {byte|bytes}, want %d", h.Phentsize, phdrSize)
	}
	if h.Phnum > maxSegments {
		return f.Fail(ErrMalformed, 56, "%d program headers, Linux takes %d", h.Phnum, maxSegments)
	}
	if err := f.checkTable("program headers", h.Phoff, uint64(h.Phnum), phdrSize); err != nil {
		return err
	}
	if h.Shoff == 0 {
		return nil
	}
	n := uint64(h.Shnum)
	if n == 0 { // too many for the field: the first section header contains the number
		if err := f.checkTable("section headers", h.Shoff, 1, shdrSize); err != nil {
			return err
		}
		first, err := f.read(h.Shoff+32, 8)
		if err != nil {
			return err
		}
		n = binary.LittleEndian.Uint64(first)
	}
	if h.Shentsize != shdrSize {
		return f.Fail(ErrMalformed, 58, "section headers of %d {byte|bytes}, want %d", h.Shentsize, shdrSize)
	}
	if n > maxSections {
		return f.Fail(ErrMalformed, int64(min(h.Shoff, f.size)), "%d section headers, at most %d are read", n, maxSections)
	}
	if err := f.checkTable("section headers", h.Shoff, n, shdrSize); err != nil {
		return err
	}
	return f.checkSectionNames(h)
}

// checkSectionNames checks that the table of section names is uncompressed and within bounds: the
// standard library would uncompress it to any size. If it is not, the section headers are ignored.
func (f *File) checkSectionNames(h *elf.Header64) error {
	at, index := h.Shoff, uint64(h.Shstrndx)
	if index == uint64(elf.SHN_XINDEX) { // the index is in the link field of the first header
		b, err := f.read(at+40, 4)
		if err != nil {
			return err
		}
		index = uint64(binary.LittleEndian.Uint32(b))
	}
	if index == 0 || index >= maxSections {
		return nil // parse reports the error
	}
	if at += index * shdrSize; at > f.size || f.size-at < shdrSize {
		return nil
	}
	b, err := f.read(at, shdrSize)
	if err != nil {
		return err
	}
	flags, size := binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[32:])
	switch {
	case elf.SectionFlag(flags)&elf.SHF_COMPRESSED != 0:
		f.sectionless = f.Fail(ErrMalformed, int64(at), "the section names are compressed")
	case size > maxSectionNames || size > f.size:
		f.sectionless = f.Fail(ErrMalformed, int64(at), "%d bytes of section names, at most %d are read", size, min(maxSectionNames, f.size))
	}
	return nil
}

func (f *File) checkTable(what string, off, n, size uint64) error {
	if off > f.size || n > (f.size-off)/size {
		return f.Fail(ErrTruncated, int64(f.size), "%s (%d at 0x%x) end beyond the file's %d bytes", what, n, off, f.size)
	}
	return nil
}
