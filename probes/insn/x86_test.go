package insn

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestX86 tests hand-made encodings, at 0x1000. They are Known, and as long as the bytes given,
// unless edit changes that.
func TestX86(t *testing.T) {
	fixed := func(addr uint64, disp int64, size int, read, write bool) Mem {
		return Mem{Base: NoReg, Index: NoReg, Disp: disp, Fixed: true, Addr: addr, Size: size, Read: read, Write: write}
	}
	at := func(base Reg, disp int64, size int, read, write bool) Mem {
		return Mem{Base: base, Index: NoReg, Disp: disp, Size: size, Read: read, Write: write}
	}
	one := func(i *Inst, m Mem) { i.Mem[0], i.NMem = m, 1 }
	for _, x := range []struct {
		name, code string
		edit       func(*Inst)
	}{
		{"endbr64", "f30f1efa", func(i *Inst) { i.Kind = Nop }},
		{"nop", "90", func(i *Inst) { i.Kind, i.Emulated = Nop, true }},
		{"pause", "f390", func(i *Inst) { i.Kind, i.Emulated = Nop, true }},
		{"nopl, 5 bytes", "0f1f440000", func(i *Inst) { i.Kind, i.Emulated, i.RedZone, i.Reads = Nop, true, true, regs(RAX) }},
		{"cs nopw, 10 bytes", "662e0f1f840000000000", func(i *Inst) { i.Kind, i.Refused, i.Reads = Nop, true, regs(RAX) }},
		{"xchg %rax,%r8 is no nop", "4990", func(i *Inst) { i.Refused, i.Reads, i.Writes = true, regs(RAX, R8), regs(RAX, R8) }},
		{"push %rdi", "57", func(i *Inst) {
			i.Kind, i.Emulated, i.Reads, i.Writes, i.StackWrite, i.SPChange = Push, true, regs(RDI, RSP), regs(RSP), true, -8
		}},
		{"push %r15", "4157", func(i *Inst) {
			i.Kind, i.Emulated, i.Reads, i.Writes, i.StackWrite, i.SPChange = Push, true, regs(R15, RSP), regs(RSP), true, -8
		}},
		{"push %rdi with a useless REX is stepped", "4857", func(i *Inst) {
			i.Kind, i.Reads, i.Writes, i.StackWrite, i.SPChange = Push, regs(RDI, RSP), regs(RSP), true, -8
		}},
		{"push $3", "6a03", func(i *Inst) { i.Reads, i.Writes, i.StackWrite, i.SPChange = regs(RSP), regs(RSP), true, -8 }},
		{"pushf", "9c", func(i *Inst) {
			i.Reads, i.Writes, i.StackWrite, i.SPChange, i.Refused = regs(RSP), regs(RSP), true, -8, true
		}},
		{"pop %rbx", "5b", func(i *Inst) { i.Reads, i.Writes, i.SPChange = regs(RSP), regs(RBX, RSP), 8 }},
		{"pop %rsp", "5c", func(i *Inst) { i.Reads, i.Writes, i.SPLost = regs(RSP), regs(RSP), true }},
		{"leave", "c9", func(i *Inst) { i.Reads, i.Writes, i.SPLost = regs(RBP), regs(RSP, RBP), true }},
		{"ret", "c3", func(i *Inst) { i.Kind, i.Reads, i.Writes = Return, regs(RSP), regs(RSP) }},
		{"repz ret", "f3c3", func(i *Inst) { i.Kind, i.Reads, i.Writes = Return, regs(RSP), regs(RSP) }},
		{"jmp short", "eb10", func(i *Inst) { i.Kind, i.Target, i.Emulated = Jump, 0x1012, true }},
		{"bnd jmp", "f2e9fbffffff", func(i *Inst) { i.Kind, i.Target, i.Emulated = Jump, 0x1001, true }},
		{"jne near", "0f8510000000", func(i *Inst) { i.Kind, i.Target, i.Emulated, i.Cond = CondJump, 0x1016, true, 6 }},
		{"jrcxz", "e310", func(i *Inst) { i.Kind, i.Target, i.Reads = CondJump, 0x1012, regs(RCX) }},
		{"call", "e8fbffffff", func(i *Inst) {
			i.Kind, i.Target, i.Emulated, i.Reads, i.Writes, i.StackWrite = Call, 0x1000, true, regs(RSP), regs(RSP), true
		}},
		{"call of the general dynamic TLS model", "666648e800000000", func(i *Inst) {
			i.Kind, i.Target, i.Refused, i.Reads, i.Writes, i.StackWrite = Call, 0x1008, true, regs(RSP), regs(RSP), true
		}},
		{"notrack jmp *%rax", "3effe0", func(i *Inst) { i.Kind, i.Refused, i.Reads = IndirectJump, true, regs(RAX) }},
		{"bnd jmp *slot(%rip)", "f2ff2502000000", func(i *Inst) { i.Kind = IndirectJump; one(i, fixed(0x1009, 2, 8, true, false)) }},
		{"ud2", "0f0b", func(i *Inst) { i.Kind = Stop }},
		{"hlt", "f4", func(i *Inst) { i.Kind, i.Refused = Stop, true }},
		{"syscall", "0f05", func(i *Inst) {
			i.Kind, i.Reads, i.Writes = Syscall, regs(RAX, RDI, RSI, RDX, R10, R8, R9), regs(RAX, RCX, R11)
		}},
		{"mov %rsp,%rbp", "4889e5", func(i *Inst) { i.Reads, i.Writes, i.Sum = regs(RSP), regs(RBP), Sum{RBP, RSP, NoReg, 0} }},
		{"mov %ah,%cl writes rcx", "88e1", func(i *Inst) { i.Reads, i.Writes = regs(RAX), regs(RCX) }},
		{"mov g(%rip),%eax", "8b0502000000", func(i *Inst) { i.Writes, i.ValueReg = regs(RAX), RAX; one(i, fixed(0x1008, 2, 4, true, false)) }},
		{"mov %r9,g(%rip)", "4c890d02000000", func(i *Inst) { i.Reads, i.ValueReg = regs(R9), R9; one(i, fixed(0x1009, 2, 8, false, true)) }},
		{"movb $-1,g(%rip): the address counts from the end", "c60502000000ff", func(i *Inst) {
			i.HasImm, i.ValueImm = true, 0xff
			one(i, fixed(0x1009, 2, 1, false, true))
		}},
		{"movq $-1,8(%rdi)", "48c74708ffffffff", func(i *Inst) {
			i.Reads, i.HasImm, i.ValueImm = regs(RDI), true, ^uint64(0)
			one(i, at(RDI, 8, 8, false, true))
		}},
		{"mov %fs:0,%rax", "64488b042500000000", func(i *Inst) {
			i.Writes, i.ValueReg = regs(RAX), RAX
			one(i, Mem{Base: NoReg, Index: NoReg, Segment: true, Size: 8, Read: true})
		}},
		{"mov (%rax,%rcx,4),%edx", "8b1488", func(i *Inst) {
			i.Reads, i.Writes, i.ValueReg = regs(RAX, RCX), regs(RDX), RDX
			one(i, Mem{Base: RAX, Index: RCX, Scale: 4, Size: 4, Read: true})
		}},
		{"addl $1,g(%rip)", "83050100000001", func(i *Inst) { one(i, fixed(0x1008, 1, 4, true, true)) }},
		{"sub $0x18,%rsp", "4883ec18", func(i *Inst) {
			i.Reads, i.Writes, i.SPChange, i.Sum = regs(RSP), regs(RSP), -24, Sum{RSP, RSP, NoReg, -24}
		}},
		{"and $-16,%rsp", "4883e4f0", func(i *Inst) { i.Reads, i.Writes, i.SPLost = regs(RSP), regs(RSP), true }},
		{"add %rdx,%rax", "4801d0", func(i *Inst) { i.Reads, i.Writes, i.Sum = regs(RAX, RDX), regs(RAX), Sum{RAX, RAX, RDX, 0} }},
		{"xor %eax,%eax reads nothing", "31c0", func(i *Inst) { i.Writes, i.Sum = regs(RAX), Sum{RAX, NoReg, NoReg, 0} }},
		{"lea 2(%rip),%rax", "488d0502000000", func(i *Inst) { i.Writes, i.Sum = regs(RAX), Sum{RAX, NoReg, NoReg, 0x1009} }},
		{"mul %rcx", "48f7e1", func(i *Inst) { i.Reads, i.Writes = regs(RAX, RCX), regs(RAX, RDX) }},
		{"div %ecx", "f7f1", func(i *Inst) { i.Reads, i.Writes = regs(RAX, RCX, RDX), regs(RAX, RDX) }},
		{"shl %cl,%eax", "d3e0", func(i *Inst) { i.Reads, i.Writes = regs(RAX, RCX), regs(RAX) }},
		{"cltq", "4898", func(i *Inst) { i.Reads, i.Writes = regs(RAX), regs(RAX) }},
		{"cqto", "4899", func(i *Inst) { i.Reads, i.Writes = regs(RAX), regs(RDX) }},
		{"xchg %edx,(%rdi) is indivisible", "8717", func(i *Inst) {
			i.Reads, i.Writes, i.Locked = regs(RDX, RDI), regs(RDX), true
			one(i, at(RDI, 0, 4, true, true))
		}},
		{"lock cmpxchg %edx,(%rdi)", "f00fb117", func(i *Inst) {
			i.ValueReg, i.WritesIf = RDX, 5
			i.Reads, i.Writes, i.Locked, i.Refused = regs(RAX, RDX, RDI), regs(RAX), true, true
			one(i, at(RDI, 0, 4, true, true))
		}},
		{"lock xadd %eax,g(%rip)", "f00fc10502000000", func(i *Inst) {
			i.Reads, i.Writes, i.Locked, i.Refused = regs(RAX), regs(RAX), true, true
			one(i, fixed(0x100a, 2, 4, true, true))
		}},
		{"lock cmpxchg16b (%rdi)", "f0480fc70f", func(i *Inst) {
			i.WritesIf = 5
			i.Reads, i.Writes, i.Locked, i.Refused = regs(RAX, RBX, RCX, RDX, RDI), regs(RAX, RDX), true, true
			one(i, at(RDI, 0, 16, true, true))
		}},
		{"mfence", "0faef0", func(i *Inst) { i.Locked = true }},
		{"cpuid", "0fa2", func(i *Inst) { i.Reads, i.Writes, i.Refused = regs(RAX, RCX), regs(RAX, RBX, RCX, RDX), true }},
		{"xgetbv", "0f01d0", func(i *Inst) { i.Reads, i.Writes, i.Refused = regs(RCX), regs(RAX, RDX), true }},
		{"rep stosq", "f348ab", func(i *Inst) {
			i.Repeats = 8
			i.Reads, i.Writes = regs(RAX, RCX, RDI), regs(RCX, RDI)
			one(i, at(RDI, 0, 0, false, true))
		}},
		{"bts %rax,(%rdi): a bit string", "480fab07", func(i *Inst) {
			i.BitIndex, i.BitWord = RAX, 8
			i.Reads = regs(RAX, RDI)
			one(i, at(RDI, 0, 0, true, true))
		}},
		{"movsd %xmm0,g(%rip)", "f20f110502000000", func(i *Inst) { one(i, fixed(0x100a, 2, 8, false, true)) }},
		{"movss g(%rip),%xmm0", "f30f100502000000", func(i *Inst) { one(i, fixed(0x100a, 2, 4, true, false)) }},
		{"movq %xmm0,%rax", "66480f7ec0", func(i *Inst) { i.Writes = regs(RAX) }},
		{"cvttsd2si %xmm0,%eax", "f20f2cc0", func(i *Inst) { i.Writes = regs(RAX) }},
		{"vmovss %xmm0,g(%rip)", "c5fa110502000000", func(i *Inst) { one(i, fixed(0x100a, 2, 4, false, true)) }},
		{"vmovdqu %ymm0,g(%rip): the kernel would take it for jg", "c5fe7f0502000000", func(i *Inst) { i.Refused = true; one(i, fixed(0x100a, 2, 32, false, true)) }},
		{"vpor: for a jmp", "c5f1ebc0", func(i *Inst) { i.Refused = true }},
		{"vcmpps: for a ret", "c5f0c2c000", func(i *Inst) { i.Refused = true }},
		{"andn", "c4e268f2c0", func(i *Inst) { i.Reads, i.Writes = regs(RAX, RDX), regs(RAX) }},
		{"vmovups %zmm0, g(%rip)", "62f17c48110502000000", func(i *Inst) { one(i, fixed(0x100c, 2, 64, false, true)) }},
		{"under a mask: length and fixed operand", "62f17c49110502000000", func(i *Inst) {
			i.Known = false
			one(i, fixed(0x100c, 2, 0, false, false))
		}},
		{"fstpl g(%rip)", "dd1d02000000", func(i *Inst) { one(i, fixed(0x1008, 2, 8, false, true)) }},
		{"fnstsw %ax", "dfe0", func(i *Inst) { i.Writes = regs(RAX) }},
		{"xlat is not modelled", "d7", func(i *Inst) { i.Known, i.SPLost = false, true }},
	} {
		t.Run(x.name, func(t *testing.T) {
			code := unhex(t, x.code)
			want := Inst{Addr: 0x1000, Len: len(code), Known: true, ValueReg: NoReg, Sum: noSum, Derived: noDerived, BitIndex: NoReg}
			x.edit(&want)
			got, err := Decode(AMD64, append(code, 0x90), 0x1000)
			if err != nil {
				t.Fatal(err)
			}
			want.KeepsFlags = got.KeepsFlags // TestKeepsFlags
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestErrors checks that Decode fails, with the reason, for bytes that are cut short or are no
// instruction.
func TestErrors(t *testing.T) {
	for _, x := range []struct {
		arch   Arch
		code   string
		reason string
	}{
		{AMD64, "", cut},
		{AMD64, "48", cut},
		{AMD64, "8b05000000", cut},
		{AMD64, "c5f8", cut},
		{AMD64, "66666666666666666666666666666690", cut}, // more than 15 bytes
		{AMD64, "06", invalid},
		{AMD64, "66e8000000", invalid}, // its length depends on the processor's manufacturer
		{AMD64, "66c5f877", "a prefix before VEX or EVEX"},
		{AMD64, "62f97c48110502000000", "an EVEX prefix of APX"},
		{ARM64, "1f2003", cut},
		{ArchUnknown, "90", "unknown architecture"},
	} {
		_, err := Decode(x.arch, unhex(t, x.code), 0x40)
		want := (&Error{0x40, x.reason}).Error()
		if err == nil || err.Error() != want {
			t.Errorf("%v %s: %v, want %s", x.arch, x.code, err, want)
		}
	}
	if _, err := Decode(ARM64, word(0xd503201f), 2); err == nil {
		t.Error("an A64 instruction at an odd address decodes")
	}
}

// TestFormat checks the text of instructions in a plan of sites.
func TestFormat(t *testing.T) {
	for code, want := range map[string]string{
		"f30f1efa":   "endbr64",
		"f30f1efb":   "endbr32",
		"eb10":       "jmp 0x1012",
		"7510":       "jne 0x1012",
		"e8fbffffff": "call 0x1000",
		"57":         "push %rdi",
		"06":         "(bad) 06",
		"8fe97880c0": "(vector or rare) 8f e9 78 80 c0",
	} {
		if got := Format(AMD64, unhex(t, code), 0x1000); got != want {
			t.Errorf("%s: %q, want %q", code, got, want)
		}
	}
}

// TestKeepsFlags tests instructions that certainly do not change the flags, and some that may.
func TestKeepsFlags(t *testing.T) {
	for code, want := range map[string]bool{
		"\x89\xc8": true, "\x48\x8d\x04\x0a": true, "\x50": true, "\x0f\x94\xc0": true, "\x75\x00": true, "\x0f\x84\x00\x00\x00\x00": true,
		"\x48\x0f\x44\xc1": true, "\x0f\xb6\xc0": true, "\x90": true, "\x0f\x1f\x00": true, "\xc7\x00\x01\x00\x00\x00": true,
		"\x01\xc8": false, "\x31\xc0": false, "\x39\xc8": false, "\xff\xc0": false, "\x85\xc0": false, "\xc1\xe0\x03": false,
		"\xf0\x0f\xb1\x0a": false, "\x0f\xba\x20\x01": false, "\xf3\xa6": false, "\x9d": false,
	} {
		in, err := Decode(AMD64, []byte(code), 0x1000)
		if err != nil || in.KeepsFlags != want {
			t.Errorf("% x: keeps flags %v, want %v (%v)", code, in.KeepsFlags, want, err)
		}
	}
}
