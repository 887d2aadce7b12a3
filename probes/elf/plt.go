package elf

import (
	"bytes"
	"debug/elf"
	"fmt"
	"maps"
	"strings"

	"github.com/tracepredict/tracepredict/probes/insn"
)

// reloc is an Elf64_Rela.
type reloc struct {
	offset uint64
	typ    uint32
	sym    uint32
	addend uint64
}

const relaSize = 24

// GOTSlots returns, by the addresses of slots of the global offset table, the names of the symbols
// whose addresses the dynamic loader writes there. A slot that is filled by an indirect function
// (IRELATIVE) has the name of that function.
func (f *File) GOTSlots() map[uint64]string {
	f.gotOnce.Do(func() { f.got = f.loadGOT() })
	return maps.Clone(f.got)
}

func (f *File) slots() map[uint64]string {
	f.gotOnce.Do(func() { f.got = f.loadGOT() })
	return f.got
}

func (f *File) loadGOT() map[uint64]string {
	out := map[uint64]string{}
	name := f.importNames()
	for _, r := range f.relocations() {
		switch f.slotKind(r.typ) {
		case slotSymbol:
			if s := name(r.sym); s != "" {
				out[r.offset] = s
			}
		case slotIndirect:
			if s := f.functionNamed(r.addend); s != "" {
				out[r.offset] = s
			}
		}
	}
	return out
}

// LocalSlots returns, by the addresses of slots of the global offset table of a file for x86-64, the addresses in the
// file that the dynamic loader writes there: its own functions, of code that calls all functions through the table.
func (f *File) LocalSlots() map[uint64]uint64 {
	out := map[uint64]uint64{}
	got := f.elf.Section(".got")
	if got == nil || f.arch != insn.AMD64 {
		return out
	}
	f.eachRelocation(func(r reloc) {
		if elf.R_X86_64(r.typ) == elf.R_X86_64_RELATIVE && r.offset >= got.Addr && r.offset-got.Addr < got.Size {
			out[r.offset] = r.addend
		}
	})
	return out
}

type slotKind uint8

const (
	slotOther slotKind = iota
	slotSymbol
	slotIndirect
)

func (f *File) slotKind(typ uint32) slotKind {
	if f.arch == insn.ARM64 {
		switch elf.R_AARCH64(typ) {
		case elf.R_AARCH64_GLOB_DAT, elf.R_AARCH64_JUMP_SLOT:
			return slotSymbol
		case elf.R_AARCH64_IRELATIVE:
			return slotIndirect
		}
		return slotOther
	}
	switch elf.R_X86_64(typ) {
	case elf.R_X86_64_GLOB_DAT, elf.R_X86_64_JMP_SLOT:
		return slotSymbol
	case elf.R_X86_64_IRELATIVE:
		return slotIndirect
	}
	return slotOther
}

// importNames returns a function that returns the name of the dynamic symbol with an index, defined
// or not.
func (f *File) importNames() func(i uint32) string {
	left := nameBudget(len(f.dyn.strings))
	return func(i uint32) string {
		if i == 0 || f.dyn.symtab == 0 || left < 0 {
			return ""
		}
		b, err := f.exactly(f.dyn.symtab+uint64(i)*symSize, 4)
		if err != nil {
			return ""
		}
		s, _ := f.dyn.strings.at(uint64(f.order.Uint32(b)))
		if left -= len(s); left < 0 {
			f.AddProblem(f.Fail(ErrMalformed, NoOffset, "relocations share the names of symbols: not all were read"))
			return ""
		}
		return s
	}
}

func (f *File) functionNamed(addr uint64) string {
	symbols := f.Symbols()
	best := ""
	for i := searchSymbol(symbols, addr); i < len(symbols) && symbols[i].Addr == addr; i++ {
		if s := symbols[i]; s.Kind == IFunc && (best == "" || len(s.Name) < len(best)) {
			best = s.Name
		}
	}
	return best
}

// relocations returns the relocations that fill slots of the global offset table.
func (f *File) relocations() []reloc {
	var out []reloc
	f.eachRelocation(func(r reloc) {
		if f.slotKind(r.typ) != slotOther {
			out = append(out, r)
		}
	})
	return out
}

// eachRelocation calls visit for the relocations that the loader applies. They are found through
// PT_DYNAMIC or, in a static program, by section.
func (f *File) eachRelocation(visit func(reloc)) {
	if f.dyn.present {
		f.relocationsAt(f.dyn.rela, f.dyn.relaLen, visit)
		f.relocationsAt(f.dyn.jmprel, f.dyn.jmprelSize, visit)
		return
	}
	var areas []Range // a union: many sections may claim the same bytes
	for _, s := range f.elf.Sections {
		if s.Type == elf.SHT_RELA && s.Flags&elf.SHF_ALLOC != 0 && s.Addr+s.FileSize > s.Addr {
			areas = append(areas, Range{s.Addr, s.Addr + s.FileSize})
		}
	}
	for _, a := range splitUnion(areas) {
		f.relocationsAt(a.Lo, a.Hi-a.Lo, visit)
	}
}

func (f *File) relocationsAt(addr, n uint64, visit func(reloc)) {
	if addr == 0 || n == 0 {
		return
	}
	b, err := f.image(addr, n)
	if err != nil {
		f.AddProblem(fmt.Errorf("read relocations: %w", err))
		return
	}
	for ; len(b) >= relaSize; b = b[relaSize:] {
		info := f.order.Uint64(b[8:])
		visit(reloc{offset: f.order.Uint64(b), typ: uint32(info), sym: uint32(info >> 32), addend: f.order.Uint64(b[16:])})
	}
}

// PLTTargets returns, by the addresses of stubs of the procedure linkage table, the names of the
// symbols that they jump to.
func (f *File) PLTTargets() map[uint64]string {
	f.pltOnce.Do(func() { f.plt = f.loadPLT() })
	return maps.Clone(f.plt)
}

func (f *File) loadPLT() map[uint64]string {
	out := map[uint64]string{}
	slots := f.slots()
	if len(slots) == 0 {
		return out
	}
	for _, area := range f.pltAreas() {
		b, err := f.image(area.Lo, area.Hi-area.Lo)
		if err != nil {
			f.AddProblem(fmt.Errorf("read linkage table: %w", err))
			continue
		}
		if f.arch == insn.ARM64 {
			armStubs(b, area.Lo, slots, f.order.Uint32, out)
		} else {
			x86Stubs(b, area.Lo, slots, f.order.Uint32, out)
		}
	}
	return out
}

// pltAreas returns the .plt sections, disjoint; all code if there are no section headers.
func (f *File) pltAreas() []Range {
	var out []Range
	for _, s := range f.elf.Sections {
		if (s.Name == ".plt" || s.Name == ".iplt" || strings.HasPrefix(s.Name, ".plt.")) && s.Type == elf.SHT_PROGBITS && s.Addr+s.Size > s.Addr {
			out = append(out, Range{s.Addr, s.Addr + s.Size})
		}
	}
	if len(f.elf.Sections) == 0 {
		return f.Text()
	}
	return splitUnion(out)
}

// x86Stubs finds `[endbr64] [bnd] jmp *slot(%rip)` at multiples of 8.
func x86Stubs(b []byte, addr uint64, slots map[uint64]string, u32 func([]byte) uint32, out map[uint64]string) {
	endbr := []byte{0xf3, 0x0f, 0x1e, 0xfa}
	for at := int((8 - addr%8) % 8); at < len(b); at += 8 {
		code := b[at:]
		if bytes.HasPrefix(code, endbr) {
			code = code[4:]
		}
		if len(code) > 0 && code[0] == 0xf2 {
			code = code[1:]
		}
		if len(code) < 6 || code[0] != 0xff || code[1] != 0x25 {
			continue
		}
		end := addr + uint64(len(b)-len(code)) + 6
		if name, ok := slots[end+uint64(int64(int32(u32(code[2:]))))]; ok {
			out[addr+uint64(at)] = name
		}
	}
}

// armStubs finds `[bti c]; adrp x16, page; ldr x17, [x16, off]; ...; br x17`.
// Arm ARM C6.2: ADRP, LDR (immediate, unsigned offset).
func armStubs(b []byte, addr uint64, slots map[uint64]string, u32 func([]byte) uint32, out map[uint64]string) {
	const btiC = 0xd503245f
	for at := 0; at+8 <= len(b); at += 4 {
		adrp, ldr := u32(b[at:]), u32(b[at+4:])
		if adrp&0x9f00001f != 0x90000010 || ldr&0xffc003ff != 0xf9400211 {
			continue
		}
		pages := int64(adrp>>5&0x7ffff)<<2 | int64(adrp>>29&3)
		pages = pages << 43 >> 43 // 21 bits, signed
		slot := (addr+uint64(at))&^0xfff + uint64(pages<<12) + uint64(ldr>>10&0xfff)*8
		name, ok := slots[slot]
		if !ok {
			continue
		}
		start := at
		if at >= 4 && u32(b[at-4:]) == btiC {
			start = at - 4
		}
		out[addr+uint64(start)] = name
	}
}

// CodeSlots returns the words of the global offset table that hold the addresses of functions of the file itself,
// with these addresses as linked.
func (f *File) CodeSlots() map[uint64]uint64 {
	slots, table := map[uint64]uint64{}, f.tableAreas()
	f.eachRelocation(func(r reloc) {
		if _, ok := rangeAt(table, r.offset); !ok || !f.isRelative(r.typ) || len(slots) >= maxPointers {
			return
		}
		if _, code := f.FunctionAt(r.addend); code {
			slots[r.offset] = r.addend
		}
	})
	return slots
}
