package elf

import (
	"cmp"
	"debug/elf"
	"fmt"
	"slices"
	"sort"
	"strings"
)

const symSize = 24

// rawSym is an Elf64_Sym.
type rawSym struct {
	name        uint32
	info        byte
	shndx       uint16
	value, size uint64
}

func (f *File) rawSym(b []byte) rawSym {
	return rawSym{
		name: f.order.Uint32(b), info: b[4], shndx: f.order.Uint16(b[6:]),
		value: f.order.Uint64(b[8:]), size: f.order.Uint64(b[16:]),
	}
}

// Symbols returns the defined symbols of .symtab and .dynsym, sorted by address, with all versions.
// A symbol that is in both tables is returned once, as dynamic. The slice is shared and must not be
// changed.
func (f *File) Symbols() []Symbol {
	f.symbolsOnce.Do(f.loadSymbols)
	return f.symbols
}

// Undefined returns the names of imported symbols, sorted, without versions. The slice is shared
// and must not be changed.
func (f *File) Undefined() []string {
	f.dynsymOnce.Do(f.loadDynamicSymbols)
	return f.undefined
}

// Lookup returns all symbols of that name: all versions, and all local symbols. The result is empty
// if there is none.
func (f *File) Lookup(name string) []Symbol {
	f.symbolsOnce.Do(f.loadSymbols)
	var out []Symbol
	for _, i := range f.byName[name] {
		out = append(out, f.symbols[i])
	}
	return out
}

// loadDynamicSymbols reads the dynamic symbols, which takes a small part of the time of loadSymbols.
func (f *File) loadDynamicSymbols() {
	defined, undefined := f.dynamicSymbols()
	slices.Sort(undefined)
	f.dynamic, f.undefined = defined, slices.Compact(undefined)
}

func (f *File) loadSymbols() {
	f.dynsymOnce.Do(f.loadDynamicSymbols)
	static, err := f.staticSymbols()
	f.AddProblem(err)
	f.symbols = mergeSymbols(f.dynamic, static)
	f.byName = make(map[string][]int32, len(f.symbols))
	for i, s := range f.symbols {
		f.byName[s.Name] = append(f.byName[s.Name], int32(i))
	}
}

// mergeSymbols returns the symbols of all tables, sorted by address and name. A symbol is dropped
// if an earlier table has one with the same name, version and address.
func mergeSymbols(tables ...[]Symbol) []Symbol {
	unsorted := slices.Concat(tables...)
	// The indices are sorted instead of the symbols, which are large to move. Equal symbols are
	// ordered by index, as in a stable sort.
	order := make([]int32, len(unsorted))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(i, j int32) int {
		a, b := &unsorted[i], &unsorted[j]
		switch {
		case symbolLess(a, b):
			return -1
		case symbolLess(b, a):
			return 1
		}
		return cmp.Compare(i, j)
	})
	all := make([]Symbol, len(order))
	for i, n := range order {
		all[i] = unsorted[n]
	}
	return slices.CompactFunc(all, func(a, b Symbol) bool {
		return a.Addr == b.Addr && a.Name == b.Name && a.Version == b.Version && (a.Kind == TLS) == (b.Kind == TLS)
	})
}

func symbolLess(a, b *Symbol) bool {
	switch {
	case a.Addr != b.Addr:
		return a.Addr < b.Addr
	case a.Name != b.Name:
		return a.Name < b.Name
	case a.Version != b.Version:
		return a.Version < b.Version
	}
	return (a.Kind == TLS) != (b.Kind == TLS) && b.Kind == TLS
}

// dynamicSymbols reads .dynsym, which it finds through PT_DYNAMIC.
func (f *File) dynamicSymbols() (defined []Symbol, undefined []string) {
	if f.dyn.symtab == 0 {
		return nil, nil
	}
	n := f.dynsymCount()
	b, err := f.image(f.dyn.symtab, n*symSize)
	if err != nil {
		if n > 0 {
			f.AddProblem(fmt.Errorf("read dynamic symbols: %w", err))
		}
		return nil, nil
	}
	versions := f.symbolVersions(n)
	left := nameBudget(len(f.dyn.strings))
	unnamed := 0
	defer func() { f.addUnnamed(unnamed, "dynamic {symbol|symbols}") }()
	for i := 0; len(b) >= symSize; i, b = i+1, b[symSize:] {
		raw := f.rawSym(b)
		name, ok := f.dyn.strings.at(uint64(raw.name))
		if !ok && raw.name != 0 {
			unnamed++
		}
		if !ok || name == "" {
			continue
		}
		if left -= len(name); left < 0 {
			f.AddProblem(f.Fail(ErrMalformed, NoOffset, "dynamic symbols share their names: only the first %d were read", i))
			break
		}
		if elf.SectionIndex(raw.shndx) == elf.SHN_UNDEF {
			undefined = append(undefined, name)
			continue
		}
		if s, ok := f.symbol(raw, name); ok {
			s.Dynamic, s.Version = true, versions(i)
			defined = append(defined, s)
		}
	}
	return defined, undefined
}

// symbolVersions returns the version name of the i-th dynamic symbol.
func (f *File) symbolVersions(n uint64) func(i int) string {
	none := func(int) string { return "" }
	if f.dyn.versym == 0 {
		return none
	}
	b, err := f.image(f.dyn.versym, 2*n)
	if err != nil {
		f.AddProblem(fmt.Errorf("read symbol versions: %w", err))
		return none
	}
	names := f.versionNames()
	return func(i int) string {
		if 2*i+2 > len(b) {
			return ""
		}
		return names[f.order.Uint16(b[2*i:])&0x7fff]
	}
}

// staticSymbols reads .symtab.
func (f *File) staticSymbols() ([]Symbol, error) {
	s := f.elf.SectionByType(elf.SHT_SYMTAB)
	if s == nil {
		return nil, nil
	}
	if s.Link == 0 || int(s.Link) >= len(f.elf.Sections) {
		return nil, f.Fail(ErrMalformed, int64(s.Offset), "symbol table names section %d as its strings", s.Link)
	}
	b, err := f.read(s.Offset, s.FileSize)
	if err != nil {
		return nil, fmt.Errorf("read symbol table: %w", err)
	}
	strs := f.elf.Sections[s.Link]
	if strs.Type != elf.SHT_STRTAB {
		return nil, f.Fail(ErrMalformed, int64(strs.Offset), "section %q is no string table", strs.Name)
	}
	text, err := f.read(strs.Offset, strs.FileSize)
	if err != nil {
		return nil, fmt.Errorf("read strings of symbol table: %w", err)
	}
	return f.parseSymtab(b, stringTable(text)), nil
}

func (f *File) parseSymtab(b []byte, names stringTable) []Symbol {
	var out []Symbol
	left := nameBudget(len(names))
	unnamed := 0
	defer func() { f.addUnnamed(unnamed, "{symbol|symbols}") }()
	for ; len(b) >= symSize; b = b[symSize:] {
		raw := f.rawSym(b)
		name, ok := names.at(uint64(raw.name))
		if !ok && raw.name != 0 {
			unnamed++
		}
		if !ok || name == "" || elf.SectionIndex(raw.shndx) == elf.SHN_UNDEF {
			continue
		}
		if left -= len(name); left < 0 {
			f.AddProblem(f.Fail(ErrMalformed, NoOffset, "symbols share their names: only the first %d were read", len(out)))
			break
		}
		if s, ok := f.symbol(raw, name); ok {
			s.Name, s.Version = splitVersion(name)
			out = append(out, s)
		}
	}
	return out
}

// splitVersion splits "name@@VERSION" and "name@VERSION", the form in which the linker writes
// versions into .symtab.
func splitVersion(s string) (name, version string) {
	i := strings.IndexByte(s, '@')
	if i <= 0 {
		return s, ""
	}
	return s[:i], strings.TrimPrefix(s[i+1:], "@")
}

// symbol returns the Symbol of one entry; false for absolute symbols, sections and files, which
// denote nothing in the image.
func (f *File) symbol(raw rawSym, name string) (Symbol, bool) {
	index := elf.SectionIndex(raw.shndx)
	if index >= elf.SHN_LORESERVE && index != elf.SHN_XINDEX {
		return Symbol{}, false
	}
	s := Symbol{Name: name, Addr: raw.value, Size: raw.size, Local: elf.ST_BIND(raw.info) == elf.STB_LOCAL}
	if index != elf.SHN_XINDEX {
		s.Section = f.sectionName(int(index))
	}
	switch elf.ST_TYPE(raw.info) {
	case elf.STT_FUNC:
		s.Kind = Func
	case elf.STT_OBJECT, elf.STT_COMMON:
		s.Kind = Object
	case elf.STT_TLS:
		s.Kind = TLS
	case elf.STT_GNU_IFUNC:
		s.Kind = IFunc
	case elf.STT_NOTYPE: // hand-written assembly; "$x" and similar names mark arm64 code and data
		s.Kind, s.Untyped = Func, true
		return s, !strings.HasPrefix(name, "$") && f.executable(raw.value)
	default:
		return Symbol{}, false
	}
	return s, true
}

func (f *File) executable(addr uint64) bool {
	for _, s := range f.segments {
		if s.exec && s.addr <= addr && addr-s.addr < s.memsz {
			return true
		}
	}
	return false
}

// searchSymbol returns the index of the first symbol at addr or above.
func searchSymbol(symbols []Symbol, addr uint64) int {
	return sort.Search(len(symbols), func(i int) bool { return symbols[i].Addr >= addr })
}
