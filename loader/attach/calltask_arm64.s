#include "go_asm.h"
#include "textflag.h"

#define SYS_EXIT_GROUP 94
#define SYS_RT_SIGPROCMASK 135
#define SYS_SETSID 157
#define SYS_CLONE 220
#define CLONE_VM_FILES 0x500 // CLONE_VM | CLONE_FILES; no signal at its end

// func startCallTask(c *systemCall) (pid int64)
TEXT ·startCallTask(SB), NOSPLIT, $0-16
	MOVD c+0(FP), R19
	MOVD $0, R0 // SIG_BLOCK
	ADD  $systemCall_masks, R19, R1
	ADD  $(systemCall_masks+8), R19, R2
	MOVD $8, R3
	MOVD $SYS_RT_SIGPROCMASK, R8
	SVC

	// The task has the stack of its parent, which changes it: it may read nothing there.
	MOVD $CLONE_VM_FILES, R0
	MOVD $0, R1
	MOVD $0, R2
	MOVD $0, R3
	MOVD $0, R4
	MOVD $SYS_CLONE, R8
	SVC
	CBNZ R0, parent

	MOVD $SYS_SETSID, R8
	SVC
	MOVD (systemCall_args+0)(R19), R0
	MOVD (systemCall_args+8)(R19), R1
	MOVD (systemCall_args+16)(R19), R2
	MOVD (systemCall_args+24)(R19), R3
	MOVD (systemCall_args+32)(R19), R4
	MOVD systemCall_nr(R19), R8
	SVC
	MOVD R0, systemCall_result(R19)
	MOVD $0, R0
	MOVD $SYS_EXIT_GROUP, R8
	SVC
	BRK

parent:
	MOVD R0, pid+8(FP)
	MOVD $2, R0 // SIG_SETMASK
	ADD  $(systemCall_masks+8), R19, R1
	MOVD $0, R2
	MOVD $8, R3
	MOVD $SYS_RT_SIGPROCMASK, R8
	SVC
	RET
