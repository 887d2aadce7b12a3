package elf

import (
	"debug/elf"
	"errors"
	"fmt"
	"slices"

	"github.com/tracepredict/tracepredict/probes/insn"
)

// Who moves a probe along a straight line must know every place in the code
// that control may reach otherwise than by falling into it. Direct branches
// are in the code itself. All other ways need the address of that place as a
// number, somewhere in the file: in a symbol, in the tables that exceptions
// are steered by, in a relocation, in a word of data, or as a constant in an
// instruction. This file gathers all such numbers, and errs on the side of too
// many: a number that is no address but looks like one costs a cheap probe
// site, one that is missed costs a correct one.

// Landmarks returns addresses in Text that control may reach without a direct
// branch, sorted, each once: the landing pads of exceptions, function symbols
// (of this file, not of a separate debug file), the entry, initialisers, and
// every address of code that relocations, constants in code, and in a program
// that is not PIE also aligned words of data, hold. Jump tables of offsets are
// not looked for. Where a function's exception table cannot be read, every
// address of the function is given, and Problems says so. The slice is shared:
// do not change it.
func (f *File) Landmarks() []uint64 {
	f.landmarksOnce.Do(func() { f.landmarks = f.loadLandmarks() })
	return f.landmarks
}

func (f *File) loadLandmarks() []uint64 {
	l := newLandmarker(f)
	l.add(f.Entry())
	l.add(f.dyn.init)
	l.add(f.dyn.fini)
	for _, s := range f.Symbols() {
		if s.Kind == Func || s.Kind == IFunc {
			l.add(s.Addr)
		}
	}
	l.landingPads()
	l.relocations()
	l.packedRelocations()
	if !f.PIE() {
		l.words()
	}
	l.constants()
	slices.Sort(l.found)
	return slices.Compact(l.found)
}

// landmarker gathers addresses of code. The budgets bound what a hostile file,
// whose segments, functions and tables may overlap as they like, can make it
// read: no honest file has more of either kind than it has bytes.
type landmarker struct {
	f      *File
	text   []Range
	bounds Range
	found  []uint64
	// crowded is how many addresses found are sorted out at.
	crowded int
	tables  uint64 // bytes of exception tables
	data    uint64 // bytes of segments
	code    uint64 // bytes of code
	opaque  uint64 // bytes of functions that are given as a whole
}

func newLandmarker(f *File) *landmarker {
	l := &landmarker{f: f, text: f.Text(), tables: f.size, data: f.size, code: f.size, opaque: f.size}
	if n := len(l.text); n > 0 {
		l.bounds = Range{l.text[0].Lo, l.text[n-1].Hi}
	}
	return l
}

// add notes addr if it is one of code.
func (l *landmarker) add(addr uint64) {
	if !l.bounds.Contains(addr) {
		return
	}
	if _, ok := rangeAt(l.text, addr); ok {
		l.note(addr)
	}
}

// note keeps an address; now and then what was found twice goes, so that there
// are no more than twice the bytes of code.
func (l *landmarker) note(addr uint64) {
	if len(l.found) >= max(l.crowded, 1<<16) {
		slices.Sort(l.found)
		l.found = slices.Compact(l.found)
		l.crowded = 2 * len(l.found)
	}
	l.found = append(l.found, addr)
}

// Spend takes n from a budget, if it has as much.
func Spend(budget *uint64, n uint64) bool {
	if n > *budget {
		*budget = 0
		return false
	}
	*budget -= n
	return true
}

var errOverlap = errors.New("the file's tables overlap: not all of them was looked at")

// all notes every address of r.
func (l *landmarker) all(r Range) {
	for _, t := range l.text {
		lo, hi := max(r.Lo, t.Lo), min(r.Hi, t.Hi)
		if lo >= hi {
			continue
		}
		if !Spend(&l.opaque, hi-lo) {
			l.f.AddProblem(fmt.Errorf("landmarks of %s: %w", l.f.name, errOverlap))
			return
		}
		for a := lo; a < hi; a++ {
			l.note(a)
		}
	}
}

// landingPads adds those of all functions. Code that a damaged unwind table
// does not reach is opaque.
func (l *landmarker) landingPads() {
	table, err := l.f.frameTable()
	for _, d := range table.lsdas {
		if err := l.lsda(d); err != nil {
			l.f.AddProblem(fmt.Errorf("exception table of the function at 0x%x: %w", d.fn.Lo, err))
			l.all(d.fn)
		}
	}
	if err != nil {
		for _, r := range subtract(l.text, splitUnion(table.extents)) {
			l.all(r)
		}
	}
}

// relocations adds what relocations put into data.
func (l *landmarker) relocations() {
	l.f.eachRelocation(func(r reloc) {
		switch {
		case l.f.isRelative(r.typ):
			l.add(r.addend)
		case l.f.isSymbolic(r.typ) && r.addend != 0: // else the symbol says it
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

// packedRelocations adds what DT_RELR names.
func (l *landmarker) packedRelocations() {
	l.packed(func(_, to uint64) { l.add(to) })
}

// packed visits what DT_RELR names: words that hold an address before the load
// bias is added. Generic ABI, "Relative Relocation Table": an even entry is the
// address of a word, an odd one a bitmap of the 63 after it.
func (l *landmarker) packed(visit func(at, to uint64)) {
	d := &l.f.dyn
	if d.relr == 0 || d.relrLen == 0 {
		return
	}
	b, err := l.f.image(d.relr, d.relrLen)
	if err != nil {
		l.f.AddProblem(fmt.Errorf("read packed relocations: %w", err))
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

// page is a piece of the image, for words that are read one by one.
type page struct {
	at uint64
	b  []byte
}

const pageSize = 4096

// word returns the word at addr, 0 if the file has none there.
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

// words adds the aligned words of all that is loaded: the code too, where
// constants may lie between functions.
func (l *landmarker) words() {
	for _, s := range l.f.segments {
		if !Spend(&l.data, s.filesz) {
			l.f.AddProblem(fmt.Errorf("landmarks of %s: %w", l.f.name, errOverlap))
			return
		}
		if err := l.wordsOf(&s); err != nil {
			l.f.AddProblem(fmt.Errorf("read data: %w", err))
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
