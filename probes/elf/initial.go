package elf

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
