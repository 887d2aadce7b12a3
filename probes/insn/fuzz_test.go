package insn

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/arch/x86/x86asm"
)

// checkInst checks what must hold for every instruction, whatever its bytes.
func checkInst(t *testing.T, arch Arch, in *Inst) {
	t.Helper()
	if in.Len < 1 || in.Len > arch.MaxLen() || in.NMem < 0 || in.NMem > 2 {
		t.Errorf("shape: %+v", in)
	}
	if in.Emulated && in.Refused {
		t.Errorf("emulated and refused: %+v", in)
	}
	if !in.Known && (in.Reads|in.Writes != 0 || in.Sum.Dst != NoReg || in.ValueReg != NoReg || in.HasImm) {
		t.Errorf("says something though not known: %+v", in)
	}
	if in.Sum.Dst != NoReg && in.Writes != RegSet(0).With(in.Sum.Dst) {
		t.Errorf("a sum is the only effect: %+v", in)
	}
	if in.SPChange != 0 && in.SPLost {
		t.Errorf("the stack pointer is both known and lost: %+v", in)
	}
	for _, m := range in.Mem[:in.NMem] {
		if in.Known && !in.Reads.Has(m.Base) && m.Base != NoReg || in.Known && m.Index != NoReg && !in.Reads.Has(m.Index) {
			t.Errorf("an address register is not read: %+v", in)
		}
	}
}

// FuzzX86 checks that there is no panic, that no instruction is longer than its bytes, and that
// lengths are those of x86asm where it is sure.
func FuzzX86(f *testing.F) {
	for _, s := range []string{"\xf3\x0f\x1e\xfa", "\xc5\xf8\x77", "\x62\xf1\x7c\x48\x28\xc1", "\xf0\x0f\xb1\x0f", "\x66\x0f\x1f\x84\x00\x00\x00\x00\x00",
		"\x8f\xe9\x78\x80\x00", "\x48\x8b\x05\x10\x00\x00\x00", "\xf2\xff\x25\x00\x00\x00\x00", "\x67\x8d\x00", "\xc8\x01\x02\x03"} {
		f.Add([]byte(s), uint64(0x1000))
	}
	f.Fuzz(func(t *testing.T, b []byte, addr uint64) {
		in, err := Decode(AMD64, b, addr)
		Format(AMD64, b, addr)
		checkSkim(t, AMD64, b, addr)
		if err != nil {
			if e := new(Error); !errors.As(err, &e) || e.Addr != addr || e.Reason == "" {
				t.Errorf("% x: error %v", b, err)
			}
			return
		}
		if in.Len > len(b) {
			t.Fatalf("% x: length %d", b, in.Len)
		}
		checkInst(t, AMD64, &in)
		again, err := Decode(AMD64, b[:in.Len], addr)
		if err != nil || again != in {
			t.Errorf("% x: alone it is %+v, %v", b[:in.Len], again, err)
		}
		if in.Len > 1 {
			if _, err := Decode(AMD64, b[:in.Len-1], addr); err == nil && b[0] != 0x62 {
				if short, _ := Decode(AMD64, b[:in.Len-1], addr); short.Len == in.Len {
					t.Errorf("% x: decodes without its last byte", b[:in.Len])
				}
			}
		}
	})
}

// TestX86asm compares, over real code, memory operands and their sizes with those of x86asm, where
// it has any.
func TestX86asm(t *testing.T) {
	lib := libraries(t)[0]
	var total, wrong int
	for _, s := range openImage(t, lib).load(t) {
		for at := 0; at < len(s.data) && total < mostDumped; {
			in, err := Decode(AMD64, s.data[at:], s.addr+uint64(at))
			if err != nil {
				at++
				continue
			}
			code := s.data[at : at+in.Len]
			at += in.Len
			x, err := x86asm.Decode(code, 64)
			if err != nil || x.Op == 0 || !in.Known || strings.Contains(x.String(), "FNOP") {
				continue
			}
			total++
			if why := differsX86asm(&in, &x); why != "" {
				if wrong++; wrong < 20 {
					t.Errorf("% x %v: %s", code, x, why)
				}
			}
		}
	}
	t.Logf("%d instructions compared, %d differ", total, wrong)
}

func differsX86asm(in *Inst, x *x86asm.Inst) string {
	if x.Len != in.Len {
		return "length"
	}
	for _, a := range x.Args {
		m, ok := a.(x86asm.Mem)
		if !ok || in.NMem != 1 || x.Op == x86asm.NOP || x.Op == x86asm.LEA {
			continue
		}
		if got := in.Mem[0].Size; got != 0 && x.MemBytes != 0 && got != x.MemBytes {
			return "size " + strconv.Itoa(got) + ", not " + strconv.Itoa(x.MemBytes)
		}
		if got := in.Mem[0].Disp; !in.Mem[0].Fixed && int32(got) != int32(m.Disp) {
			return "displacement"
		}
		if want := x86Base(m.Base); !in.Mem[0].Fixed && in.Mem[0].Base != want {
			return "base"
		}
		if want := x86Base(m.Index); !in.Mem[0].Fixed && in.Mem[0].Index != want {
			return "index"
		}
	}
	return ""
}

func x86Base(r x86asm.Reg) Reg {
	if r >= x86asm.RAX && r <= x86asm.R15 {
		return Reg(r - x86asm.RAX)
	}
	return NoReg
}
