package elf

import (
	"debug/elf"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/probes/insn"
)

// Initial returns the initial value, little-endian, that the file contains for size bytes of data,
// at most 8. ok is false if the dynamic linker changes them before the program begins, or the
// address is not one of data.
func (f *File) Initial(addr uint64, size int) (value uint64, ok bool) {
	if size < 1 || size > 8 || !f.IsData(addr) || f.relocated(addr, uint64(size)) {
		return 0, false
	}
	content := f.available(addr)
	if content == 0 {
		return 0, true // zeroed
	}
	b, err := f.exactly(addr, min(uint64(size), content))
	if err != nil {
		return 0, false
	}
	for i := len(b) - 1; i >= 0; i-- {
		value = value<<8 | uint64(b[i])
	}
	return value, size < 8 || f.dyn.relr == 0 || value == 0
}

// Zeroed reports whether size bytes of data are zero-initialised, without content in the file. It
// returns false for bytes that have content in the file, whatever their value.
func (f *File) Zeroed(addr, size uint64) bool {
	return size > 0 && addr+size > addr && f.IsData(addr) && f.IsData(addr+size-1) && f.available(addr) == 0 && f.available(addr+size-1) == 0 && !f.relocated(addr, size)
}

// relocated reports whether a relocation with an entry of its own (not a packed one) changes any of
// the bytes.
func (f *File) relocated(addr, size uint64) bool {
	found := false
	f.eachRelocation(func(r reloc) { found = found || r.offset < addr+size && addr < r.offset+8 })
	return found
}

// Content returns the value, little-endian, of size bytes at an address, at most 8, as the file contains them; ok is
// false if the file does not, or the dynamic linker may change them.
func (f *File) Content(addr uint64, size int) (value uint64, ok bool) {
	if size < 1 || size > 8 || f.relocated(addr, uint64(size)) {
		return 0, false
	}
	b, err := f.exactly(addr, uint64(size))
	if err != nil {
		return 0, false
	}
	for i := len(b) - 1; i >= 0; i-- {
		value = value<<8 | uint64(b[i])
	}
	return value, size < 8 || f.dyn.relr == 0 || value == 0
}

// RelativePointers returns the words into which the dynamic linker writes an address of the file itself, with these
// addresses as linked. Packed relocations are left out.
func (f *File) RelativePointers() map[uint64]uint64 {
	out := map[uint64]uint64{}
	f.eachRelocation(func(r reloc) {
		if f.arch == insn.AMD64 && elf.R_X86_64(r.typ) == elf.R_X86_64_RELATIVE && len(out) < maxPointers {
			out[r.offset] = r.addend
		}
	})
	return out
}

// IsVirtualTable reports whether a symbol says that a table of virtual functions is at an address.
func (f *File) IsVirtualTable(addr uint64) bool {
	return slices.ContainsFunc(f.Symbols(), func(s Symbol) bool { return s.Addr == addr && strings.HasPrefix(s.Name, "_ZTV") })
}
