/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * What the BPF programs share with Go: the record, the site, and the
 * operations. Go's twins are generated from the object's BTF; bpf_test.go
 * compares sizes and offsets again, and the operations by name.
 */
#ifndef TRACEPREDICT_RECORD_H
#define TRACEPREDICT_RECORD_H

/* What a record says its thread did. Order and values are part of the
 * contract with Go (bpf.Op); add at the end. */
enum op {
	OP_NONE,
	OP_ACQUIRE,	 /* exclusive, after it returned; result says if it was had */
	OP_ACQUIRE_READ, /* shared, likewise */
	OP_RELEASE,	 /* before it happens */
	OP_WAIT,	 /* PHASE_ENTER: gives the mutex (second) up; PHASE_LEAVE: has it again */
	OP_SIGNAL,
	OP_BROADCAST,
	OP_BARRIER,	/* PHASE_ENTER: arrives; PHASE_LEAVE: departs */
	OP_SEM_POST,	/* before it happens */
	OP_SEM_WAIT,	/* after it returned */
	OP_ONCE,	/* PHASE_ENTER, PHASE_LEAVE */
	OP_GUARD_ACQUIRE, /* __cxa_guard_acquire: after it returned */
	OP_GUARD_RELEASE, /* __cxa_guard_release: before it happens */
	OP_GUARD_ABORT,
	OP_INIT,	/* the object is made; value is the second argument (sem_init: third) */
	OP_DESTROY,
	OP_CREATE,	/* pthread_create was entered */
	OP_JOIN,	/* after it returned; object is the pthread_t */
	OP_DETACH,	/* object is the pthread_t */
	OP_READ,
	OP_WRITE,
	OP_UPDATE,
	OP_FORK,	/* task_newtask: object is the child's tid, value its thread pointer */
	OP_EXIT,	/* sched_process_exit; with REC_PROCESS value is the status, as of wait(2) */
	OP_LIBRARY,	/* the dynamic loader has changed the list of libraries */
	OP_EXEC,	/* sched_process_exec */
	OP_STACK,	/* a stack record, see struct stack_record */
	OP_TASK,	/* a thread that lived when observation began: object tid, value thread pointer */
	OP_HOLE,	/* as many records of this thread as value says were lost before its next one */
	OP_TOUCH,	/* an access that a hardware watchpoint saw, after it; see touch_hint */
	OP_CALL,	/* a function was entered; object is its instance */
	OP_RETURN,	/* it returns value, with REC_VALUE; the rest as at its entry */
	OP_ALLOC,	/* after it returned: object is the block, value its size */
	OP_FREE,	/* before it happens: object is the block */
	OP_MOVE,	/* realloc of a block. Before: object is the block. REC_LEAVE: object is what
			 * it has become (0: freed, or too small to matter), value its size;
			 * REC_FAILED: it is what it was */
	OP_SEND,	/* object is a channel, result its enum channel_kind. Before: value is how many bytes at
			 * most; REC_LEAVE: how many, or with REC_FAILED an error. Of a futex, value
			 * is the caller's return address, and entered the instruction behind the call */
	OP_RECEIVE,	/* likewise */
	OP_CONSTRUCT,	/* a constructor is entered: object is what it makes, value its size */
	OP_DESTRUCT,	/* a destructor has returned: likewise what it ended */
	OP_UNSEEN,	/* the thread is, or just was, at a place that synchronises unobserved: object is the
			 * place's number; with result 1 its probe is to be removed, and later hits are not told */
	OP_CONSISTENT,	/* pthread_mutex_consistent was entered */
	OP_CANCEL,	/* pthread_cancel was entered: object is the pthread_t */
};

/* What threads hand each other messages through. */
enum channel_kind {
	CHANNEL_UNSEEN,	/* none: calls that are not seen may send and receive from now on */
	CHANNEL_PIPE,	/* object is its inode, never used again */
	CHANNEL_FIFO,	/* one with a name */
	CHANNEL_SOCKET,	/* object tells some sockets apart */
	CHANNEL_EVENTFD,
	CHANNEL_TIMERFD,
	CHANNEL_FUTEX,	/* object is its address in the process */
	CHANNEL_TIGHT = 256, /* added to another: it has little room, or the call takes more of it than its bytes */
};

/* record.flags */
enum {
	REC_LEAVE = 1,	  /* made after the operation (PHASE_LEAVE) */
	REC_FAILED = 2,	  /* the operation did not have its effect */
	REC_VALUE = 4,	  /* value holds the variable's value */
	REC_PROCESS = 8,  /* OP_FORK of a process, not of a thread; OP_EXIT with the whole process */
	REC_SHARED = 16,  /* with REC_PROCESS: in its parent's memory, until it executes a program */
	REC_KERNEL = 32,  /* OP_TOUCH by the kernel, in a system call of the thread */
	REC_SKIPPED = 128, /* of an access: writes of the variable just before it were redundant, and left out */
};

/* record.result of OP_TOUCH. Which of read and write it was is for user space to
 * find out from the instruction before entered, which holds the instruction
 * pointer after the access; a string instruction has registers to tell its two
 * operands apart. */
enum touch_hint {
	TOUCH_SOURCE = 1,   /* rsi points into the variable, or near; in the kernel: into the program's memory */
	TOUCH_DEST = 2,	    /* rdi does */
	TOUCH_PART = 4,	    /* times 4: by which of the watchpoints of its variable, 0 to 3 */
	TOUCH_CALL = 16,    /* by the kernel: TOUCH_COUNT counts the thread's system calls that touched a variable */
	TOUCH_COUNT = 256,  /* times 256: the low bits of rcx, or with TOUCH_CALL of that count */
};

/* One event. One ring buffer for all CPUs: the order of reservation is the
 * order of the run. */
struct record {
	__u64 time;   /* bpf_ktime_get_ns when made */
	__u64 object; /* address the operation acts on */
	__u64 value;  /* variable's value, or the operation's second operand */
	__u64 sp;     /* user stack pointer at function entry, or at the access */
	__u64 entered; /* of a join, made at its return: time of the entry; of OP_TOUCH an instruction pointer;
			* of a use of a condition: not 0 if it says itself that it was destroyed; of an
			* init: what was in the register that says whether the object is shared;
			* of an access: what was in the register that the site names; of an element
			* of an array: how far from the array's beginning it is touched; else 0 */
	__u32 tid;    /* in the tool's PID namespace */
	__u32 tgid;
	__u32 site;   /* index into sites */
	__u32 place;  /* identifies site and calling chain; 0: not recorded */
	__u8 op;      /* enum op */
	__u8 flags;   /* REC_… */
	__u16 pad;
	__s32 result; /* what the function returned, low 32 bits */
};

/* The parameters of a call that a record has at most. */
#define MAX_ARGS 6

/* A record of OP_CALL or OP_RETURN whose site has parameters. */
struct call_record {
	struct record head;
	__u64 args[MAX_ARGS]; /* as at the entry; 0 beyond the signature's count */
};

/* Registers, by their numbers in DWARF; on x86-64 number 16 is the instruction
 * pointer, on arm64 32. */
#define MAX_REGS 33

/* What a place's calling chain is found from, sent once when the place is new, after
 * the parts of its stack. Its size tells it from struct record. */
struct stack_record {
	__u64 time;
	__u64 regs[MAX_REGS]; /* 0 beyond what the processor has */
	__u64 caller; /* return address on top of the stack, if the site is at an entry; else 0, or the place of the access */
	__u32 tid;
	__u32 tgid;
	__u32 site; /* of a watchpoint: plus 65536 times one more than the system call's number, if the kernel made the access */
	__u32 place;
	__u8 op; /* OP_STACK */
	__u8 cut; /* more of the stack was to be sent, and the ring had no room */
	__u16 parts; /* that were sent */
	__u32 pad;
};

/* A piece of a thread's stack, from the stack pointer upwards; none crosses a page. */
#define STACK_PART 1024
struct stack_part {
	__u64 addr;  /* of data in the process; 0: pairs of an address on the stack and the return
		      * address that a uretprobe replaced there */
	__u32 tid;
	__u32 tgid;
	__u32 place;
	__u32 size;  /* bytes of data that mean something */
	__u8 data[STACK_PART];
};

/* What a probe does when it fires. */
enum action {
	ACTION_EMIT,	/* a record now */
	ACTION_SAVE,	/* remember operands, a record at the return */
	ACTION_BOTH,	/* a record now and one at the return */
	ACTION_RETURN,	/* the return of something saved by tid and stack pointer */
	ACTION_PLACE,	/* a wrapper is entered: the call just below counts as made here */
	ACTION_OUTCOME,	/* within a function, after its operation: the record of its return */
	ACTION_TAIL,	/* the last jump of a function, to one that is followed too */
};

/* Where an operand is. */
enum operand {
	FROM_NOWHERE,
	FROM_REG,     /* register reg */
	FROM_FIXED,   /* address disp relative to the probed instruction */
	FROM_IMM,     /* the constant imm */
	FROM_MEMORY,  /* width bytes at the object's address; of OP_ACQUIRE, OP_ACQUIRE_READ: 1 + the 4 bytes at disp from there */
	FROM_STACK,   /* 8 bytes at disp from the stack pointer at the call's entry */
};

/* When an operation had its effect, by what the function returned. */
enum success {
	SUCCESS_ALWAYS,
	SUCCESS_ZERO,	 /* 0, or EOWNERDEAD for robust mutexes */
	SUCCESS_NONZERO, /* true */
	SUCCESS_BARRIER, /* 0 or PTHREAD_BARRIER_SERIAL_THREAD */
	SUCCESS_TRUE8,	 /* C++ bool: low byte not 0 */
};

/* site.flags */
enum {
	SITE_NO_PLACE = 1, /* OP_RELEASE: where it was is of no use, unless the thread does not hold the lock: no calling chain */
	SITE_LEAF = 2,	   /* a call whose frame is never unwound; of OP_RETURN: the end of an inlined copy */
	SITE_CHECK = 4,	   /* an access: a record only if it touches the variable; of on_shared: an array, home_disp its bytes */
	SITE_TABLE = 8,	   /* with SITE_CHECK: the variable's address is in the global offset table */
	SITE_SPIN = 16,	   /* an access that changes nothing is recorded once, if the thread's next record were the same */
	SITE_ORDERS = 128, /* an access that orders threads (of an atomic variable): never redundant */
	SITE_INDIRECT = 32, /* OP_ALLOC: the block's address goes where object points */
	SITE_ARRAY = 32, /* with SITE_CHECK: the variable is the element that is touched of an array of span bytes at home; they begin home_disp apart */
	SITE_ELEMENT = 64, /* with SITE_CHECK: whatever is touched is the variable, if index times scale is a multiple of home_disp */
};

/* site.times: an element of a string instruction, if its count is not 0 (x86-64) */
enum {
	TIMES_EACH = 255,
};

/* site.scale, where the index numbers a bit */
enum {
	SCALE_BITS32 = 254,
	SCALE_BITS = 255,
};

/* One thing that one probe observes. Sites at one address are chained by
 * next, in program order. */
struct site {
	__s64 object_disp; /* FROM_FIXED: object address minus probe address; FROM_REG: added to the register */
	__s64 second_disp;
	__u64 imm;	/* FROM_IMM; of a call: the function's address in its file; OP_CALL: index into signatures */
	__u32 next;	/* site index, 0 ends the chain */
	__s32 sp_delta; /* stack pointer at entry minus the one at the probe */
	__u8 op;
	__u8 action;
	__u8 object_from, object_reg;
	__u8 second_from, second_reg; /* second operand, or the variable's value */
	__u8 width;	/* bytes of the value; of OP_ALLOC and OP_MOVE: 0, or 1 + a register that the size is multiplied by */
	__u8 success;
	__u8 at_entry;	/* the caller's return address is on top of the stack (x86-64) or in the link register (arm64) */
	__u8 flags;	/* SITE_… */
	__u8 when;	/* 0; or 1 + n: only if the flags meet condition n of the jcc opcodes (x86-64) */
	__u8 result_from; /* of ACTION_OUTCOME: FROM_IMM, the result below; FROM_REG, the result register; of OP_RETURN: FROM_REG or FROM_NOWHERE;
			   * of an access or an init: FROM_REG, register result is recorded too; of a use of a condition:
			   * FROM_MEMORY, the bits of width in the 4 bytes at the object's address plus result are */
	__s32 result;	/* what the function will return; a register's number */
	/* With SITE_CHECK. The instruction touches span bytes from object_from plus
	 * index times scale on; the record's object is the variable. */
	__s64 home;	/* the variable's address minus the probe's; with SITE_TABLE, the address of the
			 * word that holds an address, minus the probe's */
	__s32 home_disp; /* with SITE_TABLE: the variable's address minus the one that the word holds; with SITE_ELEMENT: bytes, not 0 */
	__u32 span;
	__u8 index_reg, scale; /* scale 0: no index; SCALE_BITS: it numbers a bit, SCALE_BITS32: in 32 bits */
	__u8 size;	/* bytes of the variable */
	__u8 times;	/* 0; or 1 + a register that holds how many times span bytes are touched; TIMES_EACH */
	__u32 watched;	/* of on_shared: the variable's index in watched */
};

/* What a hardware watchpoint at an address of a process watches. */
struct watch_key {
	__u64 addr;
	__u32 tgid;
	__u32 pad;
};
struct watch {
	__u64 object; /* the variable's address */
	__u32 site;
	__u8 width; /* bytes of the variable */
	__u8 part;  /* which of those that its variable takes, 0 to 3 */
	__u16 pad;
};

/* A hardware watchpoint of ours that a thread has. */
struct watched_line {
	__u64 addr;
	__u32 tid, tgid;
};

/* Code of the kernel around an instruction that accessed a variable: the bytes
 * before the instruction pointer, and those at it. */
#define KERNEL_CODE_BEFORE 32
struct kernel_code {
	__u8 bytes[KERNEL_CODE_BEFORE + 16];
};

/* What is recorded of the calls of a function. Widths are in bytes, negative for
 * what is sign-extended; 0 is none. */
struct signature {
	__s64 disp[MAX_ARGS]; /* FROM_REG: added to the register; FROM_STACK; FROM_IMM: the value; FROM_FIXED */
	__u8 from[MAX_ARGS], reg[MAX_ARGS];
	__s8 width[MAX_ARGS];
	__u8 count;  /* of parameters */
	__s8 result; /* width */
	__u8 pad[4];
};

/* A variable that nobody named. The programs write it, user space reads. */
struct tally {
	__u64 last;  /* the last access, see redundant() */
	__u64 hits;  /* accesses, recorded or not */
	__u64 crowd; /* of these, while the program had several threads */
	__u32 owner; /* the first thread */
	__u32 shared; /* another thread has accessed it too */
	__u32 version; /* counts writes that were recorded, and the first sharing */
	__u32 recorded; /* of an array: accesses */
};

#endif
