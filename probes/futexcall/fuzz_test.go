package futexcall_test

import (
	"testing"

	"github.com/tracepredict/tracepredict/probes/code"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/futexcall"
	"github.com/tracepredict/tracepredict/probes/insn"
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

func (m *memory) Text() []elf.Range { return []elf.Range{{Lo: base, Hi: base + uint64(len(m.code))}} }

func (m *memory) Functions() []elf.Range {
	return []elf.Range{{Lo: base, Hi: m.cut}, {Lo: m.cut, Hi: base + uint64(len(m.code))}}
}

// FuzzFind checks that the search of any bytes ends, and that its probes are in the code, and none at an instruction that enters
// the kernel.
func FuzzFind(f *testing.F) {
	f.Add([]byte("\xb8\xca\x00\x00\x00\x0f\x05\xc3"), uint16(8), false)                                          // mov $202,%eax; syscall; ret
	f.Add([]byte("\x41\xb8\xca\x00\x00\x00\x44\x89\xc0\x40\x80\xf6\x81\x0f\x05\x75\xf5\xc3"), uint16(18), false) // mov $202,%r8d; mov %r8d,%eax; xor $0x81,%sil; syscall; jne; ret
	f.Add([]byte("\xbf\xca\x00\x00\x00\xe8\x01\x00\x00\x00\xc3\xc3"), uint16(11), false)                         // mov $202,%edi; call the second function
	f.Add([]byte("\x48\x0c\x80\xd2\x01\x00\x00\xd4\xc0\x03\x5f\xd6"), uint16(12), true)                          // mov x8, #98; svc #0; ret
	f.Fuzz(func(t *testing.T, b []byte, cut uint16, arm bool) {
		if len(b) == 0 || len(b) > 4096 {
			return
		}
		m := &memory{code: b, cut: base + uint64(cut)%uint64(len(b)+1), arch: insn.AMD64}
		if arm {
			m.arch = insn.ARM64
		}
		im := code.NewImage(m)
		found := futexcall.Find(im, futexcall.Options{Stubs: map[uint64]bool{m.cut: true}, IsCode: im.IsCode})
		for _, c := range found.Calls {
			for _, addr := range []uint64{c.At, c.Before, c.Behind} {
				if addr < base || addr >= base+uint64(len(b)) {
					t.Errorf("%+v is not in the code", c)
				}
			}
			for _, addr := range []uint64{c.Before, c.Behind} {
				if in, err := im.Decode(addr); err != nil || in.Kind == insn.Syscall {
					t.Errorf("a probe of %+v is at an instruction that enters the kernel", c)
				}
			}
		}
	})
}

// TestFindOnARM64 checks that a call is found in code of arm64.
func TestFindOnARM64(t *testing.T) {
	m := &memory{code: []byte("\x48\x0c\x80\xd2\x01\x00\x00\xd4\xc0\x03\x5f\xd6"), cut: base + 12, arch: insn.ARM64}
	found := futexcall.Find(code.NewImage(m), futexcall.Options{IsCode: func(uint64) bool { return true }})
	if len(found.Calls) != 1 || found.Calls[0].Before != base || found.Calls[0].Behind != base+8 || found.Calls[0].NumberReg != insn.NoReg {
		t.Errorf("found %+v", found)
	}
}
