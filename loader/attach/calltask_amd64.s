#include "go_asm.h"
#include "textflag.h"

#define SYS_RT_SIGPROCMASK 14
#define SYS_CLONE 56
#define SYS_SETSID 112
#define SYS_EXIT_GROUP 231
#define CLONE_VM_FILES 0x500 // CLONE_VM | CLONE_FILES; no signal at its end

// func startCallTask(c *systemCall) (pid int64)
TEXT ·startCallTask(SB), NOSPLIT, $0-16
	MOVQ c+0(FP), R15
	MOVQ $0, DI // SIG_BLOCK
	LEAQ systemCall_masks(R15), SI
	LEAQ (systemCall_masks+8)(R15), DX
	MOVQ $8, R10
	MOVQ $SYS_RT_SIGPROCMASK, AX
	SYSCALL

	// The task has the stack of its parent, which changes it: it may read nothing there.
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
	MOVQ (systemCall_args+0)(R15), DI
	MOVQ (systemCall_args+8)(R15), SI
	MOVQ (systemCall_args+16)(R15), DX
	MOVQ (systemCall_args+24)(R15), R10
	MOVQ (systemCall_args+32)(R15), R8
	MOVQ systemCall_nr(R15), AX
	SYSCALL
	MOVQ AX, systemCall_result(R15)
	MOVQ $0, DI
	MOVQ $SYS_EXIT_GROUP, AX
	SYSCALL
	INT  $3

parent:
	MOVQ AX, pid+8(FP)
	MOVQ $2, DI // SIG_SETMASK
	LEAQ (systemCall_masks+8)(R15), SI
	MOVQ $0, DX
	MOVQ $8, R10
	MOVQ $SYS_RT_SIGPROCMASK, AX
	SYSCALL
	RET
