// Package elf opens ELF files for probes: symbols in every version, function extents from unwind
// tables, code by address, file offsets for the kernel, and the sections of debug information, of
// the file itself or of a separate one, which package dwarf reads. Input is hostile: every error
// names file and offset, no call panics, and allocation is bounded by the file's true size.
package elf

// SymbolKind is the kind of object that a symbol denotes.
type SymbolKind uint8

// The kinds of symbol.
const (
	Func SymbolKind = iota
	Object
	TLS
	IFunc
)

// Symbol is an entry of the symbol tables. Several symbols may have the same address.
type Symbol struct {
	Name    string // without version
	Version string // "GLIBC_2.34", or ""
	Addr    uint64 // virtual address as linked, before the load bias is added
	Size    uint64
	Kind    SymbolKind
	Local   bool
	Untyped bool   // the symbol has no type in the file, as labels of assembly have none: Kind is Func, but it may be data
	Dynamic bool   // it is from .dynsym; else from .symtab
	Section string // ".bss", or ""
}

// Range is a range of addresses, [Lo, Hi).
type Range struct{ Lo, Hi uint64 }

// Contains reports whether addr is in the range.
func (r Range) Contains(addr uint64) bool { return r.Lo <= addr && addr < r.Hi }
