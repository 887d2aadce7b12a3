package elf

import (
	"cmp"
	"debug/elf"
	"slices"
	"sort"
)

// Pointer is a word of data that holds an address when the program begins.
type Pointer struct {
	At uint64 // the address of the word
	To uint64 // the address that it holds, as linked; 0 if only Symbol is known
	// Symbol is the name by which the dynamic loader looks the address up, and adds Addend; "" if
	// it only adds the load bias.
	Symbol string
	Addend uint64
	// Table reports that the word belongs to the global offset table, which only code uses to find
	// addresses.
	Table bool
}

// maxPointers bounds the number of pointers that are kept: browsers have a million, of 64 bytes
// each.
const maxPointers = 1 << 22

// Pointers returns the words of data that hold addresses of data in [lo, hi), or into which the
// dynamic loader writes the address of the symbol (if that is not ""), sorted by At. In a program
// that is not position-independent, every aligned word of data that looks like such an address is
// included, except in the tables of symbols and relocations.
func (f *File) Pointers(lo, hi uint64, symbol string) []Pointer {
	f.pointersOnce.Do(f.loadPointers)
	i := sort.Search(len(f.pointers), func(i int) bool { return f.pointers[i].To >= lo })
	var out []Pointer
	for ; i < len(f.pointers) && f.pointers[i].To < hi; i++ {
		out = append(out, f.pointers[i])
	}
	if symbol != "" {
		for _, p := range f.named[symbol] {
			if p.To-lo >= hi-lo { // not already found by its address
				out = append(out, p)
			}
		}
	}
	slices.SortFunc(out, func(a, b Pointer) int { return cmp.Compare(a.At, b.At) })
	return out
}

func (f *File) loadPointers() {
	c := pointerCollector{f: f, landmarker: newLandmarker(f), table: f.tableAreas()}
	f.named = map[string][]Pointer{}
	name := f.importNames()
	f.eachRelocation(func(r reloc) {
		switch {
		case f.isRelative(r.typ):
			c.add(Pointer{At: r.offset, To: r.addend})
		case f.isSymbolic(r.typ):
			p := Pointer{At: r.offset, Symbol: name(r.sym), Addend: r.addend}
			if b, err := f.exactly(f.dyn.symtab+uint64(r.sym)*symSize, symSize); err == nil {
				if s := f.rawSym(b); elf.SectionIndex(s.shndx) != elf.SHN_UNDEF {
					p.To = s.value + r.addend
				}
			}
			c.add(p)
		}
	})
	c.packed(func(at, to uint64) { c.add(Pointer{At: at, To: to}) })
	if !f.PIE() {
		c.words()
	}
	slices.SortStableFunc(f.pointers, func(a, b Pointer) int {
		return cmp.Or(cmp.Compare(a.To, b.To), cmp.Compare(a.At, b.At))
	})
	f.pointers = slices.CompactFunc(f.pointers, func(a, b Pointer) bool { return a.At == b.At && a.To == b.To })
}

// pointerCollector collects pointers to data.
type pointerCollector struct {
	*landmarker
	f     *File
	table []Range
	full  bool
}

func (c *pointerCollector) add(p Pointer) {
	if len(c.f.pointers) >= maxPointers {
		if c.full {
			return
		}
		c.full = true
		c.f.AddProblem(c.f.Fail(ErrTooLarge, NoOffset, "more than %d pointers in data: not all were looked at", maxPointers))
		return
	}
	_, p.Table = rangeAt(c.table, p.At)
	if p.Symbol != "" {
		c.f.named[p.Symbol] = append(c.f.named[p.Symbol], p)
	}
	if p.To != 0 && c.f.IsData(p.To) {
		c.f.pointers = append(c.f.pointers, p)
	}
}

// words adds the aligned words of data that look like addresses of data.
func (c *pointerCollector) words() {
	skip := c.f.dynamicAreas()
	for _, s := range c.f.segments {
		if s.exec {
			continue
		}
		if !Spend(&c.data, s.filesz) {
			c.f.AddProblem(c.f.Fail(ErrMalformed, NoOffset, "segments overlap: not all pointers were looked at"))
			return
		}
		c.wordsIn(&s, skip)
	}
}

func (c *pointerCollector) wordsIn(s *segment, skip []Range) {
	for at := -s.addr & 7; at+8 <= s.filesz; at += piece {
		b, err := c.f.read(s.off+at, min(piece, s.filesz-at))
		if err != nil {
			c.f.AddProblem(err)
			return
		}
		for i := uint64(0); i+8 <= uint64(len(b)); i += 8 {
			to, where := c.f.order.Uint64(b[i:]), s.addr+at+i
			if to == 0 || !c.f.IsData(to) {
				continue
			}
			if _, ok := rangeAt(skip, where); !ok {
				c.add(Pointer{At: where, To: to})
			}
		}
	}
}

// tableAreas returns the sections of the global offset table.
func (f *File) tableAreas() []Range {
	var out []Range
	for _, s := range f.elf.Sections {
		if (s.Name == ".got" || s.Name == ".got.plt") && s.Flags&elf.SHF_ALLOC != 0 && s.Addr+s.Size > s.Addr {
			out = append(out, Range{s.Addr, s.Addr + s.Size})
		}
	}
	return splitUnion(out)
}

// dynamicAreas returns the ranges of the dynamic loader's own tables: they contain addresses that
// no code follows.
func (f *File) dynamicAreas() []Range {
	d := &f.dyn
	out := []Range{{d.rela, d.rela + d.relaLen}, {d.jmprel, d.jmprel + d.jmprelSize}, {d.relr, d.relr + d.relrLen}}
	if d.symtab != 0 {
		out = append(out, Range{d.symtab, d.symtab + f.dynsymCount()*symSize})
	}
	for _, s := range f.elf.Sections {
		if s.Flags&elf.SHF_ALLOC != 0 && (s.Type == elf.SHT_RELA || s.Type == elf.SHT_DYNSYM || s.Type == elf.SHT_DYNAMIC) && s.Addr+s.Size > s.Addr {
			out = append(out, Range{s.Addr, s.Addr + s.Size})
		}
	}
	return splitUnion(out)
}
