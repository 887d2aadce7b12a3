package elf

import (
	"debug/elf"
	"slices"
)

// Writable returns the ranges that the program's own code may write while it runs, as linked and
// sorted: the writable segments, except for the part that the dynamic linker makes read-only after
// relocation (RELRO).
func (f *File) Writable() []Range {
	var out, sealed []Range
	for _, p := range f.elf.Progs {
		r := Range{p.Vaddr, p.Vaddr + p.Memsz}
		switch {
		case r.Hi <= r.Lo:
		case p.Type == elf.PT_LOAD && p.Flags&elf.PF_W != 0:
			out = append(out, r)
		case p.Type == elf.PT_GNU_RELRO:
			sealed = append(sealed, r)
		}
	}
	for _, s := range sealed {
		out = without(out, s)
	}
	slices.SortFunc(out, func(a, b Range) int {
		if a.Lo < b.Lo {
			return -1
		}
		return 1
	})
	return out
}

// without returns the ranges without the part that cut covers.
func without(from []Range, cut Range) []Range {
	var out []Range
	for _, r := range from {
		before, after := Range{r.Lo, min(r.Hi, cut.Lo)}, Range{max(r.Lo, cut.Hi), r.Hi}
		if before.Lo < before.Hi {
			out = append(out, before)
		}
		if after.Lo < after.Hi {
			out = append(out, after)
		}
	}
	return out
}
