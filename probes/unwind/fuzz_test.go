package unwind

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/elftest"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// FuzzFrames reads arbitrary call frame information, by both indexes, and walks with it over memory
// with arbitrary contents.
func FuzzFrames(f *testing.F) {
	f.Add(frames(), []byte{}, false, uint64(codeAt))
	f.Add(frames(cfaDefCFAExpression, 3, opBreg0+RSP, 8, opDeref), []byte{}, false, uint64(codeAt+7))
	f.Add(frames(cfaRememberState, 0x44, cfaRestoreState), elftest.LE(uint8(1), uint8(0x1b), uint8(3), uint8(0x3b), uint32(0), uint32(1), uint32(0), uint32(24)), false, uint64(codeAt))
	f.Add(entry(^uint32(0), uint8(3), uint8(0), uleb(1), uint8(0x78), uleb(rip), usual), []byte{}, true, uint64(codeAt))
	f.Fuzz(func(t *testing.T, b, index []byte, debug bool, pc uint64) {
		s := newSection(elf.CallFrames{Bytes: b, Debug: debug, Index: index})
		if e, ok := s.find(pc); ok && (e.lo >= e.hi || pc < e.lo || pc >= e.hi) {
			t.Fatalf("[0x%x, 0x%x) found for 0x%x", e.lo, e.hi, pc)
		}
		if s.scan(); len(s.index) > len(b) {
			t.Fatalf("%d entries in %d bytes", len(s.index), len(b))
		}
		for _, arch := range []insn.Arch{insn.AMD64, insn.ARM64} {
			table := &Table{loaded: true, eh: s, debug: newSection(elf.CallFrames{}), rows: map[uint64]*row{}, f: empty(t)}
			m := &Machine{Arch: arch, Find: func(pc uint64) (*Table, uint64, bool) { return table, 0, true },
				Memory: func(addr uint64, size int) (uint64, bool) { return addr*0x9e3779b97f4a7c15>>40 ^ pc, addr%3 > 0 }}
			regs := Regs{PC: pc}
			for i := range columns {
				regs.Set(i, pc+uint64(i))
			}
			if chain, end := m.Walk(regs, 64, nil); len(chain) > 64 || end == endNone {
				t.Fatalf("%d frames, %s", len(chain), end)
			}
		}
	})
}

func empty(t testing.TB) *elf.File {
	b := elftest.Debug([]byte{0x90, 0xc3}, codeAt).Bytes()
	file, err := elf.NewWith(bytes.NewReader(b), int64(len(b)), "empty", elf.Options{DebugDirs: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// FuzzExpression checks that the evaluation of any bytes ends, with a value or without.
func FuzzExpression(f *testing.F) {
	f.Add([]byte{opBreg0 + rip, 0, opLit0 + 15, opAnd, opLit0 + 11, opGe, opLit0 + 3, opShl})
	f.Add([]byte{opSkip, 0xfd, 0xff})
	f.Add([]byte{opLit0, opBra, 2, 0, opPick, 1, opRot})
	f.Fuzz(func(t *testing.T, expr []byte) {
		m := &Machine{Arch: insn.AMD64, Memory: func(addr uint64, size int) (uint64, bool) { return addr ^ uint64(size), addr%5 > 0 }}
		regs := Regs{PC: 3}
		regs.Set(RSP, 0x7000)
		evaluate(m, &regs, expr, 1, 2)
	})
}

// TestHostileFrames checks that the memory allocated for a section is bounded by its size.
func TestHostileFrames(t *testing.T) {
	many := common("zR", []byte{0x03}, usual...)
	one := entry(uint32(0), uint32(codeAt), uint32(codeLen), uint8(0))
	for len(many) < 4<<20 { // the same function a million times
		copy(one[4:], elftest.LE(uint32(len(many)+4)))
		many = append(many, one...)
	}
	nested := frames(bytes.Repeat([]byte{cfaRememberState}, maxRemembered+1)...)
	long := frames(bytes.Repeat([]byte{cfaNop}, maxProgram+1)...)
	for _, c := range []struct {
		name    string
		content []byte
		want    string
	}{
		{"many-entries", many, "cfa=h+8 q=c-8"},
		{"nested-states", nested, noRow},
		{"a-long-program", long, noRow},
		{"a-length-beyond-the-end", elftest.LE(^uint32(0), uint64(1)<<62, many[:64]), noRow},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := tableOf(t, ".eh_frame", c.content)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got := text(table.row(codeAt))
			runtime.ReadMemStats(&after)
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if n, most := after.TotalAlloc-before.TotalAlloc, uint64(1<<20+20*len(c.content)); n > most {
				t.Errorf("%d bytes allocated, at most %d wanted", n, most)
			}
		})
	}
}
