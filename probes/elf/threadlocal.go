package elf

import (
	"cmp"
	"debug/elf"
	"slices"
)

// ThreadLocal is a thread-local variable of an executable file: Size bytes at an offset from the thread pointer, which
// is negative on x86-64.
type ThreadLocal struct {
	Offset, Size int64
}

// Contains reports whether an offset from the thread pointer is in the variable.
func (o ThreadLocal) Contains(offset int64) bool {
	return o.Offset <= offset && offset-o.Offset < o.Size
}

// ThreadLocals returns the thread-local variables that the file's symbols describe, sorted by offset. In a file of
// x86-64 that is no library, they end at the thread pointer.
func (f *File) ThreadLocals() []ThreadLocal {
	i := slices.IndexFunc(f.elf.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_TLS })
	if i < 0 {
		return nil
	}
	p := f.elf.Progs[i]
	align := max(p.Align, 1)
	if p.Memsz > 1<<32 || align > 1<<32 {
		return nil
	}
	block := int64((p.Memsz + align - 1) / align * align)
	var all []ThreadLocal
	for _, s := range f.Symbols() {
		if s.Kind == TLS && s.Size > 0 && s.Addr < p.Memsz && s.Size <= p.Memsz-s.Addr && s.Section != "" {
			all = append(all, ThreadLocal{int64(s.Addr) - block, int64(s.Size)})
		}
	}
	slices.SortFunc(all, func(a, b ThreadLocal) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Size, b.Size))
	})
	return slices.Compact(all)
}
