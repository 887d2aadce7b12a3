package elf

import (
	"debug/elf"
	"errors"
	"fmt"
	"slices"

	"github.com/tracepredict/tracepredict/probes/insn"
)

// To move a probe along straight-line code, every address in the code must be known that control
// may reach other than by falling through. Direct branches are in the code itself. All other ways
// need the address as a number somewhere in the file: in a symbol, in an exception table, in a
// relocation, in a word of data, or as a constant in an instruction. This file collects all such
// numbers, and errs on the side of too many: a number that only looks like an address costs a cheap
// probe site, but one that is missed would make a site incorrect.

// Landmarks returns the addresses in Text that control may reach without a direct branch, sorted,
// each once: the landing pads of exceptions, function symbols (of this file, not of a separate
// debug file), the entry, initialisers, and every address of code in a relocation, in a constant of
// the code and, in a program that is not PIE, in an aligned word of data. Jump tables of offsets
// are not searched for. If a function's exception table cannot be read, every address of the
// function is returned, and Problems reports it. The slice is shared and must not be changed.
func (f *File) Landmarks() []uint64 {
	f.landmarksOnce.Do(func() { f.landmarks = f.loadLandmarks() })
	return f.landmarks
}

// Entries returns those of the Landmarks at which control certainly may arrive, sorted, each once:
// the beginnings of functions by their symbols and unwind entries, and landing pads; without untyped symbols, the
// addresses in relocations, in words and in constants, which may be those of data that lie
// between the code, and without the functions whose exception table cannot be read. It reports no
// problems.
func (f *File) Entries() []uint64 {
	f.entriesOnce.Do(func() {
		l := newLandmarker(f)
		l.certain = true
		f.entries = l.load()
	})
	return f.entries
}

func (f *File) loadLandmarks() []uint64 { return newLandmarker(f).load() }

func (l *landmarker) load() []uint64 {
	f := l.f
	l.add(f.Entry())
	l.add(f.dyn.init)
	l.add(f.dyn.fini)
	for _, s := range f.Symbols() {
		if (s.Kind == Func || s.Kind == IFunc) && !(l.certain && s.Untyped) {
			l.add(s.Addr)
		}
	}
	if l.certain {
		frames, _ := f.frames() // an error has been added to Problems
		for _, r := range frames {
			l.add(r.Lo)
		}
	}
	l.landingPads()
	if !l.certain {
		l.relocations()
		l.packedRelocations()
		if !f.PIE() {
			l.words()
		}
		l.constants()
	}
	slices.Sort(l.found)
	return slices.Compact(l.found)
}

// landmarker collects addresses of code. The budgets bound the amount that is read from a hostile
// file, whose segments, functions and tables may overlap: a well-formed file has no more bytes of
// any kind than it has in total.
type landmarker struct {
	f      *File
	text   []Range
	bounds Range
	found  []uint64
	// compactAt is the length of found at which duplicates are removed.
	compactAt int
	tables    uint64 // bytes of exception tables
	data      uint64 // bytes of segments
	code      uint64 // bytes of code
	uncovered uint64 // bytes of functions whose addresses are all added
	certain   bool   // what File.Entries wants
}

func newLandmarker(f *File) *landmarker {
	l := &landmarker{f: f, text: f.Text(), tables: f.size, data: f.size, code: f.size, uncovered: f.size}
	if n := len(l.text); n > 0 {
		l.bounds = Range{l.text[0].Lo, l.text[n-1].Hi}
	}
	return l
}

// add records addr if it is an address of code.
func (l *landmarker) add(addr uint64) {
	if !l.bounds.Contains(addr) {
		return
	}
	if _, ok := rangeAt(l.text, addr); ok {
		l.note(addr)
	}
}

// note records an address. From time to time it removes duplicates, so that there are at most twice
// as many as bytes of code.
func (l *landmarker) note(addr uint64) {
	if len(l.found) >= max(l.compactAt, 1<<16) {
		slices.Sort(l.found)
		l.found = slices.Compact(l.found)
		l.compactAt = 2 * len(l.found)
	}
	l.found = append(l.found, addr)
}

// Spend subtracts n from a budget, and reports whether the budget was sufficient. If not, it sets
// it to 0.
func Spend(budget *uint64, n uint64) bool {
	if n > *budget {
		*budget = 0
		return false
	}
	*budget -= n
	return true
}

var errOverlap = errors.New("the file's tables overlap: not all of them was looked at")

// all records every address of code in r.
func (l *landmarker) all(r Range) {
	if l.certain {
		return
	}
	for _, t := range l.text {
		lo, hi := max(r.Lo, t.Lo), min(r.Hi, t.Hi)
		if lo >= hi {
			continue
		}
		if !Spend(&l.uncovered, hi-lo) {
			l.problem(fmt.Errorf("landmarks of %s: %w", l.f.name, errOverlap))
			return
		}
		for a := lo; a < hi; a++ {
			l.note(a)
		}
	}
}

// problem reports a problem, unless that has been done for the Landmarks.
func (l *landmarker) problem(err error) {
	if !l.certain {
		l.f.AddProblem(err)
	}
}

// landingPads adds the landing pads of all functions. All addresses of code that a damaged unwind
// table does not cover are added.
func (l *landmarker) landingPads() {
	table, err := l.f.frameTable()
	for _, d := range table.lsdas {
		if err := l.lsda(d); err != nil {
			l.problem(fmt.Errorf("exception table of the function at 0x%x: %w", d.fn.Lo, err))
			l.all(d.fn)
		}
	}
	if err != nil {
		for _, r := range subtract(l.text, splitUnion(table.extents)) {
			l.all(r)
		}
	}
}

// relocations adds the addresses that relocations write into data.
func (l *landmarker) relocations() {
	l.f.eachRelocation(func(r reloc) {
		switch {
		case l.f.isRelative(r.typ):
			l.add(r.addend)
		case l.f.isSymbolic(r.typ) && r.addend != 0: // without an addend, the symbol itself is added
			if b, err := l.f.exactly(l.f.dyn.symtab+uint64(r.sym)*symSize, symSize); err == nil {
				l.add(l.f.rawSym(b).value + r.addend)
			}
		}
	})
}

func (f *File) isRelative(typ uint32) bool {
	if f.arch == insn.ARM64 {
		return elf.R_AARCH64(typ) == elf.R_AARCH64_RELATIVE || elf.R_AARCH64(typ) == elf.R_AARCH64_IRELATIVE
	}
	return elf.R_X86_64(typ) == elf.R_X86_64_RELATIVE || elf.R_X86_64(typ) == elf.R_X86_64_IRELATIVE
}

func (f *File) isSymbolic(typ uint32) bool {
	if f.arch == insn.ARM64 {
		return elf.R_AARCH64(typ) == elf.R_AARCH64_ABS64 || elf.R_AARCH64(typ) == elf.R_AARCH64_GLOB_DAT
	}
	return elf.R_X86_64(typ) == elf.R_X86_64_64 || elf.R_X86_64(typ) == elf.R_X86_64_GLOB_DAT
}

// packedRelocations adds the addresses in the words that DT_RELR lists.
func (l *landmarker) packedRelocations() {
	l.packed(func(_, to uint64) { l.add(to) })
}

// packed calls visit for the words that DT_RELR lists, each of which holds an address before the
// load bias is added. Generic ABI, "Relative Relocation Table": an even entry is the address of a
// word, an odd one is a bitmap of the 63 words after it.
func (l *landmarker) packed(visit func(at, to uint64)) {
	d := &l.f.dyn
	if d.relr == 0 || d.relrLen == 0 {
		return
	}
	b, err := l.f.image(d.relr, d.relrLen)
	if err != nil {
		l.problem(fmt.Errorf("read packed relocations: %w", err))
		return
	}
	var page page
	next := uint64(0)
	for ; len(b) >= 8; b = b[8:] {
		e := l.f.order.Uint64(b)
		if e&1 == 0 {
			visit(e, page.word(l.f, e))
			next = e + 8
			continue
		}
		for at, bits := next, e>>1; bits != 0; at, bits = at+8, bits>>1 {
			if bits&1 != 0 {
				visit(at, page.word(l.f, at))
			}
		}
		next += 63 * 8
	}
}

// page is a piece of the image, from which single words are read.
type page struct {
	at uint64
	b  []byte
}

const pageSize = 4096

// word returns the word at addr; 0 if the file has none there.
func (p *page) word(f *File, addr uint64) uint64 {
	if n := uint64(len(p.b)); n < 8 || addr < p.at || addr-p.at > n-8 {
		b, err := f.image(addr, pageSize)
		if err != nil {
			return 0
		}
		p.at, p.b = addr, b
	}
	if len(p.b) < 8 {
		return 0
	}
	return f.order.Uint64(p.b[addr-p.at:])
}

// words adds the aligned words of all loaded segments, including code, where constants may lie
// between functions.
func (l *landmarker) words() {
	for _, s := range l.f.segments {
		if !Spend(&l.data, s.filesz) {
			l.problem(fmt.Errorf("landmarks of %s: %w", l.f.name, errOverlap))
			return
		}
		if err := l.wordsOf(&s); err != nil {
			l.problem(fmt.Errorf("read data: %w", err))
		}
	}
}

func (l *landmarker) wordsOf(s *segment) error {
	for at := -s.addr & 7; at+8 <= s.filesz; at += piece {
		b, err := l.f.read(s.off+at, min(piece, s.filesz-at))
		if err != nil {
			return err
		}
		for ; len(b) >= 8; b = b[8:] {
			l.add(l.f.order.Uint64(b))
		}
	}
	return nil
}
