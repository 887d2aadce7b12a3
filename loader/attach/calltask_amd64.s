#include "textflag.h"

#define SYS_RT_SIGPROCMASK 14
#define SYS_CLONE 56
#define SYS_SETSID 112
#define SYS_EXIT_GROUP 231
#define CLONE_VM_FILES 0x500 // CLONE_VM | CLONE_FILES; no signal at its end

// func startCallTask(mask, old *uint64, nr uintptr, a uintptr, b unsafe.Pointer, c uintptr, result *int64) (pid int64)
TEXT ·startCallTask(SB), NOSPLIT, $0-64
	MOVQ $0, DI // SIG_BLOCK
	MOVQ mask+0(FP), SI
	MOVQ old+8(FP), DX
	MOVQ $8, R10
	MOVQ $SYS_RT_SIGPROCMASK, AX
	SYSCALL

	// All that the task needs is in registers: the stack is its parent's.
	MOVQ nr+16(FP), R12
	MOVQ a+24(FP), R13
	MOVQ b+32(FP), BX
	MOVQ c+40(FP), R9
	MOVQ result+48(FP), R15
	MOVQ $CLONE_VM_FILES, DI
	MOVQ $0, SI
	MOVQ $0, DX
	MOVQ $0, R10
	MOVQ $0, R8
	MOVQ $SYS_CLONE, AX
	SYSCALL
	TESTQ AX, AX
	JNZ  parent

	MOVQ $SYS_SETSID, AX
	SYSCALL
	MOVQ R13, DI
	MOVQ BX, SI
	MOVQ R9, DX
	MOVQ R12, AX
	SYSCALL
	MOVQ AX, (R15)
	MOVQ $0, DI
	MOVQ $SYS_EXIT_GROUP, AX
	SYSCALL
	INT  $3

parent:
	MOVQ AX, pid+56(FP)
	MOVQ $2, DI // SIG_SETMASK
	MOVQ old+8(FP), SI
	MOVQ $0, DX
	MOVQ $8, R10
	MOVQ $SYS_RT_SIGPROCMASK, AX
	SYSCALL
	RET
