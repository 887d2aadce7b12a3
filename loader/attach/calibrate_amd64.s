#include "textflag.h"

// func emulated(n int)
// The loop has a nop, which the kernel emulates when it has a probe.
TEXT ·emulated(SB), NOSPLIT, $0-8
	MOVQ n+0(FP), CX
again:
	BYTE $0x90
	DECQ CX
	JNZ  again
	RET

// func stepped(n int)
// The loop has an instruction that the kernel executes out of line, by itself, when it has a probe.
TEXT ·stepped(SB), NOSPLIT, $0-8
	MOVQ n+0(FP), CX
again:
	MOVQ DX, DX
	DECQ CX
	JNZ  again
	RET

// func loops() (emulated, stepped unsafe.Pointer)
TEXT ·loops(SB), NOSPLIT, $0-16
	LEAQ ·emulated(SB), AX
	MOVQ AX, emulated+0(FP)
	LEAQ ·stepped(SB), AX
	MOVQ AX, stepped+8(FP)
	RET
