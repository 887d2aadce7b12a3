#include "textflag.h"

#define SYS_EXIT_GROUP 94
#define SYS_RT_SIGPROCMASK 135
#define SYS_SETSID 157
#define SYS_CLONE 220
#define CLONE_VM_FILES 0x500 // CLONE_VM | CLONE_FILES; no signal at its end

// func startCallTask(mask, old *uint64, nr uintptr, a uintptr, b unsafe.Pointer, c uintptr, result *int64) (pid int64)
TEXT ·startCallTask(SB), NOSPLIT, $0-64
	MOVD $0, R0 // SIG_BLOCK
	MOVD mask+0(FP), R1
	MOVD old+8(FP), R2
	MOVD $8, R3
	MOVD $SYS_RT_SIGPROCMASK, R8
	SVC

	// All that the task needs is in registers: the stack is its parent's.
	MOVD nr+16(FP), R19
	MOVD a+24(FP), R20
	MOVD b+32(FP), R21
	MOVD c+40(FP), R22
	MOVD result+48(FP), R23
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
	MOVD R20, R0
	MOVD R21, R1
	MOVD R22, R2
	MOVD R19, R8
	SVC
	MOVD R0, (R23)
	MOVD $0, R0
	MOVD $SYS_EXIT_GROUP, R8
	SVC
	BRK

parent:
	MOVD R0, pid+56(FP)
	MOVD $2, R0 // SIG_SETMASK
	MOVD old+8(FP), R1
	MOVD $0, R2
	MOVD $8, R3
	MOVD $SYS_RT_SIGPROCMASK, R8
	SVC
	RET
