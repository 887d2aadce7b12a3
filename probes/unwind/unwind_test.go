package unwind

import (
	"bytes"
	stdelf "debug/elf"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/elftest"
	"github.com/tracepredict/tracepredict/probes/insn"
)

const (
	codeAt  = 0x1000
	codeLen = 0x100
	frameAt = 0x4000
	noRow   = "none"
)

// uleb encodes a small number in one byte, or a larger one in several.
func uleb(v uint64) []byte {
	var b []byte
	for ; v >= 0x80; v >>= 7 {
		b = append(b, byte(v)|0x80)
	}
	return append(b, byte(v))
}

// entry puts a length before an entry, padded to 8 bytes with no-operations.
func entry(body ...any) []byte {
	b := elftest.LE(body...)
	for len(b)%8 != 4 {
		b = append(b, cfaNop)
	}
	return elftest.LE(uint32(len(b)), b)
}

// common returns the common entry that compilers emit for x86-64: CFA = rsp+8, the return address
// below it.
func common(letters string, data []byte, program ...byte) []byte {
	return entry(uint32(0), uint8(1), letters, uint8(0), uleb(1), uint8(0x78), uint8(rip), uleb(uint64(len(data))), data, program)
}

var usual = []byte{cfaDefCFA, RSP, 8, 0x80 | rip, 1}

// frames returns an .eh_frame section of one function.
func frames(program ...byte) []byte {
	b := common("zR", []byte{0x03}, usual...) // addresses of 4 bytes, absolute
	return append(b, entry(uint32(len(b)+4), uint32(codeAt), uint32(codeLen), uint8(0), program)...)
}

func tableOf(t testing.TB, name string, content []byte, more ...elftest.Section) *Table {
	t.Helper()
	code := bytes.Repeat([]byte{0x90}, codeLen)
	f := elftest.Debug(code, codeAt)
	s := elftest.Section{Name: name, Data: content}
	if name == ".eh_frame" {
		s.Flags, s.Addr = stdelf.SHF_ALLOC, frameAt
	}
	f.Sections = append(append(f.Sections, s), more...)
	b := f.Bytes()
	file, err := elf.NewWith(bytes.NewReader(b), int64(len(b)), "made", elf.Options{DebugDirs: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	return New(file)
}

// text returns a row as text for people.
func text(r *row) string {
	if r == nil {
		return noRow
	}
	s := "cfa=" + cell(r.cfa)
	if r.cfa.kind == atOffset {
		s = "cfa=" + string(rune('a'+r.base)) + cell(r.cfa)[1:]
	}
	for _, c := range r.rules {
		s += " " + string(rune('a'+c.column)) + "=" + cell(c.rule)
	}
	if r.signal {
		s += " signal"
	}
	if r.signed {
		s += " signed"
	}
	return s
}

// TestInstructions executes each kind of instruction. Columns are letters: a is
// 0, g rbp, h rsp, q the return address.
func TestInstructions(t *testing.T) {
	advance := byte(0x40 | 4)
	for _, c := range []struct {
		name    string
		program []byte
		at      uint64 // offset in the function
		want    string
	}{
		{"common entry alone", nil, 0, "cfa=h+8 q=c-8"},
		{"last byte", nil, codeLen - 1, "cfa=h+8 q=c-8"},
		{"beyond", nil, codeLen, noRow},
		{"advance, before", []byte{advance, cfaDefCFAOffset, 16}, 3, "cfa=h+8 q=c-8"},
		{"advance, behind", []byte{advance, cfaDefCFAOffset, 16}, 4, "cfa=h+16 q=c-8"},
		{"advance 1", []byte{cfaAdvance1, 16, cfaDefCFARegister, RBP}, 16, "cfa=g+8 q=c-8"},
		{"advance 2", []byte{cfaAdvance2, 16, 0, cfaDefCFARegister, RBP}, 15, "cfa=h+8 q=c-8"},
		{"advance 4", []byte{cfaAdvance4, 16, 0, 0, 0, cfaDefCFARegister, RBP}, 16, "cfa=g+8 q=c-8"},
		{"advance 8", []byte{cfaAdvance8, 16, 0, 0, 0, 0, 0, 0, 0, cfaDefCFARegister, RBP}, 16, "cfa=g+8 q=c-8"},
		{"set location", []byte{cfaSetLoc, 0x10, 0x10, 0, 0, cfaDefCFAOffset, 32}, 16, "cfa=h+32 q=c-8"},
		{"offset", []byte{0x80 | RBP, 2}, 0, "cfa=h+8 g=c-16 q=c-8"},
		{"offset extended", []byte{cfaOffsetExtended, RBP, 2}, 0, "cfa=h+8 g=c-16 q=c-8"},
		{"offset extended, signed", []byte{cfaOffsetExtendedSF, RBP, 0x7e}, 0, "cfa=h+8 g=c+16 q=c-8"},
		{"negative offset", []byte{cfaNegOffsetExtended, RBP, 2}, 0, "cfa=h+8 g=c+16 q=c-8"},
		{"restore", []byte{0x80 | rip, 3, 0xc0 | rip}, 0, "cfa=h+8 q=c-8"},
		{"restore extended", []byte{cfaUndefined, RBX, cfaRestoreExtended, RBX}, 0, "cfa=h+8 q=c-8"},
		{"undefined", []byte{cfaUndefined, rip}, 0, "cfa=h+8 q=u"},
		{"same", []byte{cfaSameValue, RBX}, 0, "cfa=h+8 d=s q=c-8"},
		{"register", []byte{cfaRegister, rip, RDI}, 0, "cfa=h+8 q=r5"},
		{"define CFA", []byte{cfaDefCFA, RBP, 16}, 0, "cfa=g+16 q=c-8"},
		{"define CFA, signed", []byte{cfaDefCFASF, RBP, 0x7e}, 0, "cfa=g+16 q=c-8"},
		{"CFA offset, signed", []byte{cfaDefCFAOffsetSF, 0x7e}, 0, "cfa=h+16 q=c-8"},
		{"CFA by expression", []byte{cfaDefCFAExpression, 2, opBreg0 + RBP, 0}, 0, "cfa=vexp q=c-8"},
		{"a register again", []byte{cfaDefCFAExpression, 2, opBreg0 + RBP, 0, cfaDefCFA, RSP, 8}, 0, "cfa=h+8 q=c-8"},
		{"expression", []byte{cfaExpression, RBX, 2, opBreg0 + RBP, 0}, 0, "cfa=h+8 d=exp q=c-8"},
		{"value expression", []byte{cfaValExpression, RBX, 2, opBreg0 + RBP, 0}, 0, "cfa=h+8 d=vexp q=c-8"},
		{"value offset", []byte{cfaValOffset, RBX, 2}, 0, "cfa=h+8 d=v-16 q=c-8"},
		{"value offset, signed", []byte{cfaValOffsetSF, RBX, 0x7e}, 0, "cfa=h+8 d=v+16 q=c-8"},
		{"remembered", []byte{cfaRememberState, cfaDefCFAOffset, 64, 0x80 | RBX, 2, cfaRestoreState}, 0, "cfa=h+8 q=c-8"},
		{"two remembered", []byte{cfaRememberState, cfaDefCFAOffset, 64, cfaRememberState, cfaDefCFAOffset, 72, cfaRestoreState}, 0, "cfa=h+64 q=c-8"},
		{"size of arguments", []byte{cfaArgsSize, 0x90, 1, 0x80 | RBX, 2}, 0, "cfa=h+8 d=c-16 q=c-8"},
		{"signed return address", []byte{cfaNegateRAState}, 0, "cfa=h+8 q=c-8 signed"},
		{"signed twice", []byte{cfaNegateRAState, cfaNegateRAStatePC}, 0, "cfa=h+8 q=c-8"},
		{"a vector register", []byte{cfaOffsetExtended, 40, 2}, 0, "cfa=h+8 q=c-8"},
		{"nothing remembered", []byte{cfaRestoreState}, 0, noRow},
		{"an offset of no register", []byte{cfaDefCFAExpression, 1, opLit0, cfaDefCFAOffset, 8}, 0, noRow},
		{"unknown", []byte{0x3f}, 0, noRow},
		{"cut short", []byte{cfaDefCFAExpression, 200}, 0, noRow},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := text(tableOf(t, ".eh_frame", frames(c.program...)).row(codeAt + c.at)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// TestForms reads the same function from each form of section and entry.
func TestForms(t *testing.T) {
	frame := func(cie []byte, lo, n any, rest ...any) []byte {
		return append(bytes.Clone(cie), entry(append([]any{uint32(len(cie) + 4), lo, n}, rest...)...)...)
	}
	pcrel := common("zR", []byte{0x1b}, usual...)
	datarel := common("zR", []byte{0x3b}, usual...)
	debug := entry(^uint32(0), uint8(4), uint8(0), uint8(8), uint8(0), uleb(1), uint8(0x78), uleb(rip), usual)
	debug3 := entry(^uint32(0), uint8(3), uint8(0), uleb(1), uint8(0x78), uleb(rip), usual)
	wide := elftest.LE(uint64(codeAt), uint64(codeLen))
	ext := elftest.LE(^uint32(0), ^uint64(0), uint8(3), uint8(0), uleb(1), uint8(0x78), uleb(rip), usual)
	debug64 := elftest.LE(^uint32(0), uint64(len(ext)-4), ext[4:])
	fde64 := elftest.LE(uint64(0), uint64(codeAt), uint64(codeLen))
	got := elftest.Section{Name: ".got", Flags: stdelf.SHF_ALLOC, Addr: 0x8000, Data: make([]byte, 8)}
	for _, c := range []struct {
		name, section string
		content       []byte
		want          string
	}{
		{"absolute", ".eh_frame", frames(), "cfa=h+8 q=c-8"},
		{"relative to itself", ".eh_frame", frame(pcrel, uint32(0x1_0000_0000+codeAt-(frameAt+len(pcrel)+8)), uint32(codeLen), uint8(0)), "cfa=h+8 q=c-8"},
		{"relative to data", ".eh_frame", frame(datarel, uint32(0x1_0000_0000+codeAt-0x8000), uint32(codeLen), uint8(0)), "cfa=h+8 q=c-8"},
		{"indirect", ".eh_frame", frame(common("zR", []byte{0x83}, usual...), uint32(codeAt), uint32(codeLen), uint8(0)), noRow},
		{"signal", ".eh_frame", frame(common("zRS", []byte{0x03}, usual...), uint32(codeAt), uint32(codeLen), uint8(0)), "cfa=h+8 q=c-8 signal"},
		{"all letters", ".eh_frame", frame(common("zPLRB", []byte{0x9b, 1, 2, 3, 4, 0x1b, 0x03}, usual...), uint32(codeAt), uint32(codeLen), uint8(4), uint32(7)), "cfa=h+8 q=c-8"},
		{"unknown letter", ".eh_frame", frame(common("zQR", []byte{0x03}, usual...), uint32(codeAt), uint32(codeLen), uint8(0)), noRow},
		{"without augmentation", ".eh_frame", frame(entry(uint32(0), uint8(1), uint8(0), uleb(1), uint8(0x78), uint8(rip), usual), uint64(codeAt), uint64(codeLen)), "cfa=h+8 q=c-8"},
		{"after an empty entry", ".eh_frame", append(make([]byte, 4), frames()...), "cfa=h+8 q=c-8"},
		{"DWARF's own, version 4", ".debug_frame", append(bytes.Clone(debug), entry(uint32(0), wide)...), "cfa=h+8 q=c-8"},
		{"DWARF's own, version 3", ".debug_frame", append(bytes.Clone(debug3), entry(uint32(0), wide)...), "cfa=h+8 q=c-8"},
		{"DWARF's own, 64 bits", ".debug_frame", append(bytes.Clone(debug64), elftest.LE(^uint32(0), uint64(len(fde64)), fde64)...), "cfa=h+8 q=c-8"},
		{"cut", ".eh_frame", frames()[:40], noRow},
		{"no common entry", ".eh_frame", frames()[24:], noRow},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := text(tableOf(t, c.section, c.content, got).row(codeAt + 8)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// TestExpressions evaluates with rbp = 0x1000, rip = 0x2003, and 0x77 in memory at
// 0x1008.
func TestExpressions(t *testing.T) {
	regs := Regs{PC: 0x2003}
	regs.Set(RBP, 0x1000)
	m := &Machine{Arch: insn.AMD64, Memory: func(addr uint64, size int) (uint64, bool) { return 0x77, addr == 0x1008 }}
	lit := func(n byte) byte { return opLit0 + n }
	const bad, lost = "damaged call frame information", "memory or a register is not known"
	for _, c := range []struct {
		name string
		expr []byte
		want uint64
		end  string
	}{
		{"register", []byte{opBreg0 + RBP, 0x78}, 0xff8, ""},
		{"register by number", []byte{opBregx, rip, 1}, 0x2004, ""},
		{"unknown register", []byte{opBreg0 + RBX, 0}, 0, lost},
		{"memory", []byte{opBreg0 + RBP, 8, opDeref}, 0x77, ""},
		{"part of memory", []byte{opBreg0 + RBP, 8, opDerefSize, 4}, 0x77, ""},
		{"no memory", []byte{opBreg0 + RBP, 0, opDeref}, 0, lost},
		{"linkage table", []byte{opBreg0 + rip, 0, lit(15), opAnd, lit(11), opGe, lit(3), opShl}, 0, ""},
		{"constants", []byte{opConst1s, 0xff, opConst2u, 1, 1, opPlus, opConst4s, 0xff, 0xff, 0xff, 0xff, opPlus, opConsts, 0x7f, opPlus, opConstu, 5, opPlus}, 0x103, ""},
		{"address", []byte{opAddr, 1, 2, 0, 0, 0, 0, 0, 0}, 0x201, ""},
		{"arithmetic", []byte{lit(7), lit(3), opMul, lit(2), opDiv, lit(4), opMod, opNeg, opAbs, lit(1), opMinus}, 1, ""},
		{"bits", []byte{lit(6), lit(3), opXor, lit(8), opOr, opNot, lit(31), opAnd, lit(1), opShr, lit(2), opShl, lit(1), opShra}, 18 >> 1 << 1, ""},
		{"stack", []byte{lit(1), lit(2), lit(3), opRot, opSwap, opOver, opPick, 3, opDup, opDrop, opMinus}, ^uint64(0), ""},
		{"branch taken", []byte{lit(9), lit(1), opBra, 1, 0, opNeg}, 9, ""},
		{"branch not taken", []byte{lit(9), lit(0), opBra, 1, 0, opNeg}, ^uint64(8), ""},
		{"skip", []byte{lit(9), opSkip, 1, 0, opNeg, opPlusUconst, 4}, 13, ""},
		{"endless", []byte{opSkip, 0xfd, 0xff}, 0, bad},
		{"out of itself", []byte{opSkip, 9, 0}, 0, bad},
		{"empty", nil, 0, bad},
		{"division by zero", []byte{lit(1), lit(0), opDiv}, 0, bad},
		{"cut", []byte{opConst8u, 1}, 0, bad},
		{"unknown", []byte{0xff}, 0, bad},
		{"nothing to take", []byte{opDup}, 0, bad},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, end := evaluate(m, &regs, c.expr)
			said := ""
			if end != endNone {
				said, got = end.String(), 0
			}
			if got != c.want || said != c.end {
				t.Errorf("got 0x%x %q, want 0x%x %q", got, said, c.want, c.end)
			}
		})
	}
	if _, end := evaluate(m, &regs, bytes.Repeat([]byte{lit(1)}, maxDepth+1)); end != EndDamaged {
		t.Errorf("a deep stack: %s", end)
	}
}

// stack returns a memory function with words from an address on.
func stack(base uint64, words ...uint64) func(uint64, int) (uint64, bool) {
	return func(addr uint64, size int) (uint64, bool) {
		if i := (addr - base) / 8; addr%8 == 0 && i < uint64(len(words)) && size == 8 {
			return words[i], true
		}
		return 0, false
	}
}

// TestEnds walks over stacks that the test makes, and checks the reason why each walk ends.
func TestEnds(t *testing.T) {
	const sp, bias = 0x7000, 0x100000
	at := func(n uint64) uint64 { return bias + codeAt + n }
	for _, c := range []struct {
		name    string
		program []byte
		words   []uint64
		max     int
		chain   []uint64
		end     End
	}{
		{"outermost", []byte{0x44, cfaUndefined, rip}, []uint64{at(8)}, 9, []uint64{at(8)}, EndOutermost},
		{"zero", nil, []uint64{at(8), 0}, 9, []uint64{at(8)}, EndOutermost},
		{"bound", nil, []uint64{at(8), at(9), at(10)}, 2, []uint64{at(8), at(9)}, EndBound},
		{"copy ends", nil, []uint64{at(8), at(9)}, 9, []uint64{at(8), at(9)}, EndMemory},
		{"unknown module", nil, []uint64{at(8), 0x99}, 9, []uint64{at(8), 0x99}, EndNoFrames},
		{"does not rise", []byte{0x44, cfaDefCFAOffset, 0}, []uint64{at(8), at(8)}, 9, []uint64{at(8)}, EndLoop},
		{"falls", []byte{0x44, cfaDefCFAOffsetSF, 1}, []uint64{at(8), at(8)}, 9, []uint64{at(8)}, EndLoop},
		{"damaged", []byte{0x44, 0x3f}, []uint64{at(8)}, 9, []uint64{at(8)}, EndNoFrames},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := tableOf(t, ".eh_frame", frames(c.program...))
			m := &Machine{Arch: insn.AMD64, Memory: stack(sp-8, append([]uint64{at(8)}, c.words...)...), Find: func(pc uint64) (*Table, uint64, bool) {
				return table, bias, pc >= at(0) && pc < at(codeLen)
			}}
			regs := Regs{PC: at(0)}
			regs.Set(RSP, sp)
			chain, end := m.Walk(regs, c.max, nil)
			if end != c.end || !cmp.Equal(chain, c.chain) {
				t.Errorf("got %x, %s; want %x, %s", chain, end, c.chain, c.end)
			}
		})
	}
}

// TestARM64 walks an arm64 leaf, whose return address is in a register, then a
// frame that keeps a signed one.
func TestARM64(t *testing.T) {
	common := func(letters string, data []byte) []byte {
		return entry(uint32(0), uint8(1), letters, uint8(0), uleb(4), uint8(0x78), uint8(LR), uleb(uint64(len(data))), data, uint8(cfaDefCFA), uint8(SP), uint8(0))
	}
	cie := common("zRB", []byte{0x03})
	function := func(at int, lo uint32, program ...byte) []byte {
		return entry(uint32(at+4), lo, uint32(0x40), uint8(0), program)
	}
	b := append(bytes.Clone(cie), function(len(cie), codeAt)...)
	b = append(b, function(len(b), codeAt+0x40, 0x41, cfaNegateRAState, 0x41, cfaDefCFAOffset, 32, 0x80|FP, 4, 0x80|LR, 3)...)
	b = append(b, function(len(b), codeAt+0x80, cfaUndefined, LR)...)
	table := tableOf(t, ".eh_frame", b)
	const code = 0xabcd << 48
	m := &Machine{Arch: insn.ARM64, Memory: stack(0x7000, 0x7777, code|(codeAt+0x88), 5, 6), Find: func(pc uint64) (*Table, uint64, bool) { return table, 0, true }}
	regs := Regs{PC: codeAt + 8}
	regs.Set(SP, 0x7000)
	regs.Set(LR, codeAt+0x50)
	chain, end := m.Walk(regs, 9, nil)
	if want := []uint64{codeAt + 0x50, codeAt + 0x88}; end != EndOutermost || !cmp.Equal(chain, want) {
		t.Errorf("got %x, %s; want %x", chain, end, want)
	}
}

// TestNoCFI checks that without call frame information a walk follows frame pointers, if the return
// address is after a call.
func TestNoCFI(t *testing.T) {
	code := bytes.Repeat([]byte{0x90}, codeLen)
	copy(code[0x10:], []byte{0xe8, 0, 0, 0, 0}) // call
	copy(code[0x20:], []byte{0xff, 0x14, 0x25}) // call *disp32
	b := elftest.Debug(code, codeAt).Bytes()
	file, err := elf.New(bytes.NewReader(b), int64(len(b)), "made")
	if err != nil {
		t.Fatal(err)
	}
	table := New(file)
	direct, indirect, none := uint64(codeAt+0x15), uint64(codeAt+0x27), uint64(codeAt+0x30)
	for _, c := range []struct {
		name  string
		words []uint64
		want  []uint64
	}{
		{"called right now", []uint64{direct, 0, 0x7000, direct}, []uint64{direct}},
		{"frame pointers", []uint64{1, 2, 0x7020, direct, 0, indirect, 0, 0}, []uint64{direct, indirect}},
		{"no return address", []uint64{1, 2, 0x7020, none}, nil},
		{"misaligned", []uint64{1, 2, 0x7021, direct, 0, indirect}, []uint64{direct}},
		{"going down", []uint64{1, 2, 0x7000, direct, 0, indirect}, []uint64{direct}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &Machine{Arch: insn.AMD64, Memory: stack(0x7000, c.words...), Find: func(pc uint64) (*Table, uint64, bool) {
				return table, 0, pc >= codeAt && pc < codeAt+codeLen
			}}
			regs := Regs{PC: none}
			regs.Set(RSP, 0x7000)
			regs.Set(RBP, 0x7010)
			chain, end := m.Walk(regs, 9, nil)
			if end != EndNoFrames || len(chain) < len(c.want) || !cmp.Equal(chain[:len(c.want)], c.want) {
				t.Errorf("got %x, %s; want %x", chain, end, c.want)
			}
		})
	}
}
