package insn

// What Linux does with a uprobe on x86-64: arch/x86/kernel/uprobes.c (uprobe_init_insn,
// branch_setup_xol_ops, push_setup_xol_ops) as of Linux 6.18; TestKernel tests the running kernel.
// That code checks only the opcode byte, whatever the opcode map, and so mistakes some VEX
// instructions for instructions of the one-byte map: vmovdqa to memory (7F) for a jg, vpor (EB) for
// a jmp, vcmpps (C2) for a ret. A probe there would break the program. It also mistakes xchg
// %rax,%r8 (REX.B 90) for a nop. Where the kernel does refuse a probe, it may do so without an
// error: a probe that is set before the program maps the file attaches and never fires.

// kernelAccepts is the kernel's good_insns_64: bit n%32 of word n/32 is set if a uprobe may sit on
// opcode n. The kernel accepts 0F and does not check the second byte of the opcode.
var kernelAccepts = [8]uint32{0x3f3fbf3f, 0x7f7f7f7f, 0xffffffff, 0xffff0ff8, 0xfbfffffb, 0xffffffff, 0xff8f0fff, 0xf3ed0b0f}

// kernelNops are the nops that the kernel emulates by comparing all bytes
// (x86_nops in its alternative.c), by length.
var kernelNops = [9]string{
	"", "\x90", "\x66\x90", "\x0f\x1f\x00", "\x0f\x1f\x40\x00", "\x0f\x1f\x44\x00\x00",
	"\x66\x0f\x1f\x44\x00\x00", "\x0f\x1f\x80\x00\x00\x00\x00", "\x0f\x1f\x84\x00\x00\x00\x00\x00",
}

func (d *x86) kernel() {
	in := d.in
	in.Refused = d.badPrefix || !d.kernelAcceptsIt() || d.kernelMisexecutes()
	in.Emulated = !in.Refused && d.kernelEmulates()
	in.RedZone = d.pos == 5 && in.Kind == Nop && (d.op == 0x90 && d.table == 0 || d.op == 0x1f && d.table == 1)
}

func (d *x86) kernelAcceptsIt() bool {
	op := d.op
	if d.enc == legacy && d.table > 0 {
		op = 0x0f
	}
	segment := d.enc == legacy && d.table == 0 && op == 0x8e && d.reg == 2 // mov to ss
	return kernelAccepts[op/32]>>(op%32)&1 == 1 && d.enc != xop && !segment
}

// kernelMisexecutes reports whether the kernel would execute another instruction than the one in
// the code.
func (d *x86) kernelMisexecutes() bool {
	op := d.op
	if d.enc == legacy {
		if d.monitorExecutesIt() {
			return true
		}
		branch := d.table == 0 && (op >= 0x70 && op < 0x80 || op == 0xe8 || op == 0xe9 || op == 0xeb) || d.table == 1 && op&0xf0 == 0x80
		// A stepped pushf pushes the trap flag, and the popf that follows later would set it.
		return branch && d.opsize || d.table == 0 && (op == 0x90 && d.rexB || op == 0x9c)
	}
	switch op {
	case 0x90, 0x9a, 0x9d, 0xc2, 0xc3, 0xca, 0xcb, 0xe8, 0xe9, 0xea, 0xeb, 0xff:
		return true
	}
	return op >= 0x70 && op < 0x80
}

// monitorExecutesIt reports whether a virtual machine's monitor executes the instruction: cpuid or xgetbv. Some monitors
// then forget the step that the kernel asked for, so that the program executes what lies behind the copy.
func (d *x86) monitorExecutesIt() bool {
	return d.table == 1 && (d.op == 0xa2 || d.op == 0x01 && d.mod == 3 && d.reg == 2 && d.rm == 0)
}

func (d *x86) kernelEmulates() bool {
	if d.enc != legacy {
		return false
	}
	switch d.in.Kind {
	case Jump, Call:
		return true
	case CondJump:
		return d.table == 1 || d.op&0xf0 == 0x70
	case Nop:
		if d.table == 0 {
			return true // 90 under any prefix
		}
		return d.pos < len(kernelNops) && string(d.code[:d.pos]) == kernelNops[d.pos]
	case Push:
		return d.pos == 1 || d.pos == 2 && d.code[0] == 0x41
	}
	return false
}
