package insn

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/arch/arm64/arm64asm"

	"github.com/tracepredict/tracepredict/internal/testtool"
)

func word(w uint32) []byte { return binary.LittleEndian.AppendUint32(nil, w) }

func regs(rs ...Reg) RegSet {
	var s RegSet
	for _, r := range rs {
		s = s.With(r)
	}
	return s
}

func none() Inst {
	return Inst{Addr: 0x1000, Len: 4, Known: true, ValueReg: NoReg, Sum: noSum, Derived: noDerived, BitIndex: NoReg}
}

// TestARM64 tests hand-made encodings, the LSE atomics among them.
func TestARM64(t *testing.T) {
	mem := func(base Reg, disp int64, size int, read, write bool) [2]Mem {
		return [2]Mem{{Base: base, Index: NoReg, Disp: disp, Size: size, Read: read, Write: write}}
	}
	for _, x := range []struct {
		name string
		word uint32
		edit func(*Inst)
	}{
		{"nop", 0xd503201f, func(i *Inst) { i.Kind, i.Emulated = Nop, true }},
		{"bti c", 0xd503245f, func(i *Inst) { i.Kind = Nop }},
		{"yield", 0xd503203f, func(i *Inst) { i.Kind, i.Refused = Nop, true }},
		{"b +8", 0x14000002, func(i *Inst) { i.Kind, i.Target, i.Emulated = Jump, 0x1008, true }},
		{"bl -4", 0x97ffffff, func(i *Inst) { i.Kind, i.Target, i.Emulated, i.Writes = Call, 0xffc, true, regs(30) }},
		{"b.ne +8", 0x54000041, func(i *Inst) { i.Kind, i.Target, i.Emulated = CondJump, 0x1008, true }},
		{"cbz x3, +8", 0xb4000043, func(i *Inst) { i.Kind, i.Target, i.Emulated, i.Reads = CondJump, 0x1008, true, regs(3) }},
		{"tbnz w3, #1, +8", 0x37080043, func(i *Inst) { i.Kind, i.Target, i.Emulated, i.Reads = CondJump, 0x1008, true, regs(3) }},
		{"br x16", 0xd61f0200, func(i *Inst) { i.Kind, i.Emulated, i.Reads = IndirectJump, true, regs(16) }},
		{"blr x1", 0xd63f0020, func(i *Inst) { i.Kind, i.Emulated, i.Reads, i.Writes = IndirectCall, true, regs(1), regs(30) }},
		{"ret", 0xd65f03c0, func(i *Inst) { i.Kind, i.Emulated, i.Reads = Return, true, regs(30) }},
		{"retaa", 0xd65f0bff, func(i *Inst) { i.Kind, i.Refused, i.Reads = Return, true, regs(30, 31) }},
		{"svc 0", 0xd4000001, func(i *Inst) { i.Kind, i.Refused, i.Reads, i.Writes = Syscall, true, 0x1ff, regs(0) }},
		{"brk 0", 0xd4200000, func(i *Inst) { i.Kind, i.Refused = Stop, true }},
		{"dmb ish", 0xd5033bbf, func(i *Inst) { i.Locked = true }},
		{"mrs x0, tpidr_el0", 0xd53bd040, func(i *Inst) { i.Writes = regs(0) }},
		{"adr x0, +4", 0x10000020, func(i *Inst) { i.Writes, i.Emulated, i.Sum = regs(0), true, Sum{0, NoReg, NoReg, 0x1004} }},
		{"adrp x1, +1 page", 0xb0000001, func(i *Inst) { i.Writes, i.Emulated, i.Sum = regs(1), true, Sum{1, NoReg, NoReg, 0x2000} }},
		{"add x1, x1, #0x10", 0x91004021, func(i *Inst) { i.Reads, i.Writes, i.Sum = regs(1), regs(1), Sum{1, 1, NoReg, 16} }},
		{"sub sp, sp, #0x10", 0xd10043ff, func(i *Inst) {
			i.Reads, i.Writes, i.Sum, i.SPChange = regs(31), regs(31), Sum{31, 31, NoReg, -16}, -16
		}},
		{"mov sp, x29", 0x910003bf, func(i *Inst) {
			i.Reads, i.Writes, i.Sum, i.SPLost = regs(29), regs(31), Sum{31, 29, NoReg, 0}, true
		}},
		{"cmp x0, #1", 0xf100041f, func(i *Inst) { i.Tests = true; i.Reads = regs(0) }},
		{"mov x0, x1", 0xaa0103e0, func(i *Inst) { i.Reads, i.Writes, i.Sum = regs(1), regs(0), Sum{0, 1, NoReg, 0} }},
		{"mov w0, #5", 0x528000a0, func(i *Inst) { i.Writes, i.Sum = regs(0), Sum{0, NoReg, NoReg, 5} }},
		{"movk x0, #5", 0xf28000a0, func(i *Inst) { i.Reads, i.Writes = regs(0), regs(0) }},
		{"ldr w0, [x1, #8]", 0xb9400820, func(i *Inst) {
			i.Reads, i.Writes, i.ValueReg, i.Mem, i.NMem = regs(1), regs(0), 0, mem(1, 8, 4, true, false), 1
		}},
		{"str xzr, [x1]", 0xf900003f, func(i *Inst) {
			i.Reads, i.HasImm, i.Mem, i.NMem = regs(1), true, mem(1, 0, 8, false, true), 1
		}},
		{"ldr x0, +8 (literal)", 0x58000040, func(i *Inst) {
			i.Writes, i.ValueReg, i.NMem, i.Refused = regs(0), 0, 1, true
			i.Mem[0] = Mem{Base: NoReg, Index: NoReg, Disp: 8, Fixed: true, Addr: 0x1008, Size: 8, Read: true}
		}},
		{"stp x29, x30, [sp, #-16]!", 0xa9bf7bfd, func(i *Inst) {
			i.Reads, i.Writes, i.StackWrite, i.SPChange = regs(29, 30, 31), regs(31), true, -16
			i.Sum = Sum{31, 31, NoReg, -16}
		}},
		{"ldp x29, x30, [sp], #16", 0xa8c17bfd, func(i *Inst) {
			i.Reads, i.Writes, i.SPChange = regs(31), regs(29, 30, 31), 16
			i.Mem, i.NMem = mem(31, 0, 16, true, false), 1
		}},
		{"ldaxr w0, [x1]", 0x885ffc20, func(i *Inst) {
			i.Reads, i.Writes, i.Locked, i.Refused, i.Mem, i.NMem = regs(1), regs(0), true, true, mem(1, 0, 4, true, false), 1
		}},
		{"stlxr w2, w0, [x1]", 0x8802fc20, func(i *Inst) {
			i.Reads, i.Writes, i.Locked, i.Refused, i.Mem, i.NMem = regs(0, 1), regs(2), true, true, mem(1, 0, 4, false, true), 1
		}},
		{"ldar w0, [x1]", 0x88dffc20, func(i *Inst) {
			i.Reads, i.Writes, i.ValueReg, i.Mem, i.NMem = regs(1), regs(0), 0, mem(1, 0, 4, true, false), 1
		}},
		{"stlr w0, [x1]", 0x889ffc20, func(i *Inst) {
			i.Reads, i.ValueReg, i.Mem, i.NMem = regs(0, 1), 0, mem(1, 0, 4, false, true), 1
		}},
		{"casal w0, w2, [x1]", 0x88e0fc22, func(i *Inst) {
			i.Reads, i.Writes, i.Locked, i.Mem, i.NMem = regs(0, 1, 2), regs(0), true, mem(1, 0, 4, true, true), 1
		}},
		{"ldaddal x0, x2, [x1]", 0xf8e00022, func(i *Inst) {
			i.Reads, i.Writes, i.Locked, i.Mem, i.NMem = regs(0, 1), regs(2), true, mem(1, 0, 8, true, true), 1
		}},
		{"swpal w0, w2, [x1]", 0xb8e08022, func(i *Inst) {
			i.Reads, i.Writes, i.Locked, i.Mem, i.NMem = regs(0, 1), regs(2), true, mem(1, 0, 4, true, true), 1
		}},
		{"stadd w0, [x1]", 0xb820003f, func(i *Inst) {
			i.Reads, i.Locked, i.Mem, i.NMem = regs(0, 1), true, mem(1, 0, 4, true, true), 1
		}},
		{"ldapr w0, [x1]", 0xb8bfc020, func(i *Inst) {
			i.Reads, i.Writes, i.ValueReg, i.Mem, i.NMem = regs(1), regs(0), 0, mem(1, 0, 4, true, false), 1
		}},
		{"fadd d0, d1, d2", 0x1e622820, func(*Inst) {}},
		{"fmov x0, d0", 0x9e660000, func(i *Inst) { i.Writes = regs(0) }},
		{"csel x0, x1, x2, eq", 0x9a820020, func(i *Inst) { i.Reads, i.Writes = regs(1, 2), regs(0) }},
		{"madd x0, x1, x2, x3", 0x9b020c20, func(i *Inst) { i.Reads, i.Writes = regs(1, 2, 3), regs(0) }},
		{"an SVE instruction", 0x04200000, func(i *Inst) { i.Known, i.SPLost = false, true }},
		{"udf", 0, func(i *Inst) { i.Kind, i.Refused = Stop, true }},
	} {
		t.Run(x.name, func(t *testing.T) {
			want := none()
			x.edit(&want)
			got, err := Decode(ARM64, word(x.word), 0x1000)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestFormatARM64 checks the names of the atomics that arm64asm does not decode.
func TestFormatARM64(t *testing.T) {
	for w, want := range map[uint32]string{
		0x88e0fc22: "casal w0, w2, [x1]",
		0xf8e00022: "ldaddal x0, x2, [x1]",
		0x38a08022: "swpab w0, w2, [x1]",
		0xd503201f: "nop",
		0x04200000: "(rare) .inst 0x04200000",
	} {
		if got := Format(ARM64, word(w), 0); got != want {
			t.Errorf("%08x: %q, want %q", w, got, want)
		}
	}
}

const armSource = `
typedef unsigned long u64;
int g; u64 big[64]; double fl; _Atomic int at; __thread int tl;
int load(int *p, long i) { return p[i] + g; }
void store(int *p, long i, int v) { p[i] = v; g = v + 1; fl = v * 2.5; }
int atomic(void) { return __c11_atomic_fetch_add(&at, 3, 5) + __c11_atomic_exchange(&at, 4, 3); }
int cas(int v) { int e = 3; return __c11_atomic_compare_exchange_strong(&at, &e, v, 5, 5) + __c11_atomic_load(&at, 2); }
u64 div(u64 a, u64 b) { return a / b + (a % b) * (a >> (b & 7)) - (a ? b : 1); }
int tls(void) { return ++tl; }
int sw(int x) { switch (x) { case 0: return g; case 1: g = 4; return 7; case 2: return 9; case 3: g++; return 1; case 4: return x * 77; default: return 0; } }
u64 loop(u64 n) { u64 s = 0; for (u64 i = 0; i < n; i++) s ^= big[i & 63] * i + __builtin_popcountll(s); return s; }
double fp(double a, float b, int c) { return a * b + c - (a > b ? (int)a : fl); }
int call(int (*f)(int), int v) { int a[40]; for (int i = 0; i < 40; i++) a[i] = f(v + i); return a[v & 31]; }
`

// TestObjdumpARM64 compares control flow, destinations and the direction of memory operands with
// objdump's output for compiled code.
func TestObjdumpARM64(t *testing.T) {
	files := []string{}
	for _, flags := range []string{"-O0", "-O2", "-O2 -march=armv8.1-a"} {
		files = append(files, armObject(t, flags))
	}
	if f := os.Getenv("ARM64_BINARY"); f != "" { // any other program
		files = append(files, f)
	}
	for _, f := range files {
		ts := openImage(t, f).load(t)
		total, wrong, unknown := 0, 0, map[string]int{}
		dump(t, "aarch64-linux-gnu-objdump", f, func(d dumped) {
			if strings.HasPrefix(d.text, ".") || d.n != 4 || strings.Contains(d.text, "undefined") || strings.HasPrefix(d.text, "udf") {
				return
			}
			total++
			in, err := Decode(ARM64, bytesAt(ts, d.addr, 4), d.addr)
			if err != nil {
				t.Fatalf("%x: %v", d.addr, err)
			}
			if !in.Known {
				unknown[strings.Fields(d.text)[0]]++
			}
			if why := differsARM(in, d.text); why != "" {
				if wrong++; wrong < 30 {
					t.Errorf("%x: %s: %s\n%+v", d.addr, d.text, why, in)
				}
			}
		})
		t.Logf("%s: %d instructions, %d disagree, not modelled %v", filepath.Base(f), total, wrong, top(unknown, 12))
	}
}

func armObject(t *testing.T, flags string) string {
	clang := "clang-19"
	if testtool.Missing(clang) != "" && testtool.Missing("clang") == "" {
		clang = "clang"
	}
	testtool.Need(t, clang)
	dir := t.TempDir()
	src, obj := filepath.Join(dir, "a.c"), filepath.Join(dir, "a.o")
	if err := os.WriteFile(src, []byte(armSource), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"--target=aarch64-linux-gnu", "-c", "-ffreestanding", "-o", obj, src}, strings.Fields(flags)...)
	if out, err := exec.Command(clang, args...).CombinedOutput(); err != nil {
		t.Skipf("clang does not compile for arm64: %v\n%s", err, out)
	}
	if _, err := elf.Open(obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

// armReg reads an operand that is a general register.
func armReg(s string) (Reg, bool) {
	s = strings.Trim(s, " ,")
	switch s {
	case "sp", "wsp":
		return 31, true
	}
	if len(s) < 2 || s[0] != 'x' && s[0] != 'w' {
		return 0, false
	}
	n, err := strconv.Atoi(s[1:])
	return Reg(n), err == nil && n < 31
}

func differsARM(in Inst, text string) string {
	op, rest, _ := strings.Cut(strings.TrimSpace(text), "\t")
	op = strings.Fields(op)[0]
	operands := strings.Split(rest, ",")
	first, isReg := armReg(operands[0])
	kind := Plain
	switch {
	case op == "b":
		kind = Jump
	case strings.HasPrefix(op, "b."), op == "cbz", op == "cbnz", op == "tbz", op == "tbnz":
		kind = CondJump
	case op == "bl":
		kind = Call
	case op == "blr":
		kind = IndirectCall
	case op == "br":
		kind = IndirectJump
	case op == "ret":
		kind = Return
	case op == "svc":
		kind = Syscall
	case op == "brk", op == "hlt", op == "udf":
		kind = Stop
	case op == "nop", op == "bti", op == "yield", op == "hint", op == "wfe", op == "sev":
		kind = Nop
	}
	switch {
	case kind != in.Kind:
		return fmt.Sprintf("kind %d, want %d", in.Kind, kind)
	case !in.Known || kind != Plain:
		return ""
	}
	load, store := strings.HasPrefix(op, "ld"), strings.HasPrefix(op, "st")
	if load || store {
		if !strings.Contains(text, "prfm") && in.NMem+b2i(in.StackWrite) == 0 {
			return "no memory operand"
		}
		if store && in.NMem > 0 && !in.Mem[0].Write || load && !in.Mem[0].Read {
			return "direction"
		}
	}
	compare := strings.HasPrefix(op, "cm") || strings.HasPrefix(op, "tst") || strings.HasPrefix(op, "ccm") || op == "prfm" || op == "prfum" || op == "msr"
	atomicUpdate := in.Locked && load && !strings.HasPrefix(op, "ldx") && !strings.HasPrefix(op, "ldax")
	switch {
	case compare || store || atomicUpdate || strings.HasPrefix(op, "cas") || strings.HasPrefix(op, "swp"):
	case isReg && !in.Writes.Has(first):
		return "its destination is not written"
	case isReg && !load && in.Writes != RegSet(0).With(first):
		return "it writes something else"
	case !isReg && !load && in.Writes != 0:
		return "it writes a general register"
	}
	for _, o := range operands[min(1, len(operands)):] {
		if r, ok := armReg(strings.Trim(o, "[]! ")); ok && !load && !in.Reads.Has(r) && !strings.HasPrefix(op, "swp") {
			return fmt.Sprintf("x%d is not read", r)
		}
	}
	return ""
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// FuzzARM64 checks that every word decodes, and that every branch of arm64asm is one here.
func FuzzARM64(f *testing.F) {
	for _, w := range []uint32{0xd503201f, 0x14000002, 0x88e0fc22, 0xa9bf7bfd, 0xffffffff, 0x04200000} {
		f.Add(w)
	}
	f.Fuzz(func(t *testing.T, w uint32) {
		in, err := Decode(ARM64, word(w), 0x1000)
		if err != nil || in.Len != 4 {
			t.Fatalf("%08x: %+v, %v", w, in, err)
		}
		checkInst(t, ARM64, &in)
		Format(ARM64, word(w), 0x1000)
		x, err := arm64asm.Decode(word(w))
		if err != nil {
			return
		}
		switch x.Op {
		case arm64asm.B, arm64asm.BL, arm64asm.CBZ, arm64asm.CBNZ, arm64asm.TBZ, arm64asm.TBNZ:
			if in.Kind != Jump && in.Kind != CondJump && in.Kind != Call {
				t.Errorf("%08x: kind %d of %v", w, in.Kind, x)
			}
		}
	})
}
