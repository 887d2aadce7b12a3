package waiting_test

import (
	"testing"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/waiting"
)

const base = 0x1000

// memory is a file of two functions, the second of which begins at cut.
type memory struct {
	code []byte
	cut  uint64
	arch insn.Arch
}

func (m *memory) Arch() insn.Arch { return m.arch }

func (m *memory) Bytes(addr uint64, n int) ([]byte, error) {
	if addr < base || addr-base > uint64(len(m.code)) {
		return nil, elf.ErrAddress
	}
	b := m.code[addr-base:]
	return b[:min(n, len(b))], nil
}

func (m *memory) Functions() []elf.Range {
	return []elf.Range{{Lo: base, Hi: m.cut}, {Lo: m.cut, Hi: base + uint64(len(m.code))}}
}

func (m *memory) FunctionAt(addr uint64) (elf.Range, bool) {
	for _, fn := range m.Functions() {
		if fn.Contains(addr) {
			return fn, true
		}
	}
	return elf.Range{}, false
}

func (m *memory) PLTTargets() map[uint64]string { return map[uint64]string{base + 7: "usleep"} }
func (m *memory) GOTSlots() map[uint64]string   { return map[uint64]string{base + 64: "read"} }
func (m *memory) FunctionName(uint64) string    { return "" }
func (m *memory) LocalSlots() map[uint64]uint64 { return nil }
func (m *memory) IsData(addr uint64) bool       { return addr%3 == 0 }

// FuzzFind checks that the search of any bytes ends, and returns addresses in the code.
func FuzzFind(f *testing.F) {
	f.Add([]byte("\x8b\x07\x85\xc0\x74\xfa\xc3"), uint16(7), false)                                  // mov (%rdi),%eax; test; je; ret
	f.Add([]byte("\xe8\x02\x00\x00\x00\x74\xf9\x8b\x07\x85\xc0\xc3"), uint16(7), false)              // a loop that calls the second function
	f.Add([]byte("\x55\x48\x89\xe5\x48\x8b\x45\xf8\x83\x38\x00\x74\xf7\x5d\xc3"), uint16(15), false) // through the frame
	f.Fuzz(func(t *testing.T, b []byte, cut uint16, arm bool) {
		if len(b) == 0 || len(b) > 4096 {
			return
		}
		m := &memory{code: b, cut: base + uint64(cut)%uint64(len(b)+1), arch: insn.AMD64}
		if arm {
			m.arch = insn.ARM64
		}
		waits, _, err := waiting.Find(m, waiting.Options{Holds: func(entry uint64, _ string) (int, bool) { return int(entry%3) - 1, entry%5 == 0 }})
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range waits {
			if len(w.Loads) == 0 || w.Loads[0].At < base || w.Loads[0].At >= base+uint64(len(b)) {
				t.Errorf("%+v", w)
			}
		}
	})
}
