/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * What user space tells the programs: what each probe, watchpoint and function means. What a
 * probe means is data, so that the table of synchronisation calls never becomes code here.
 */
#ifndef TRACEPREDICT_SITE_H
#define TRACEPREDICT_SITE_H

#include "record.h"

/* What a probe does when it fires. */
enum action {
	ACTION_EMIT,    /* sends a record now */
	ACTION_SAVE,    /* remembers operands, and sends a record at the return */
	ACTION_BOTH,    /* sends a record now and one at the return */
	ACTION_RETURN,  /* the return of something saved by tid and stack pointer */
	ACTION_CALLER,  /* a wrapper is entered: the call just below counts as made here */
	ACTION_OUTCOME, /* within a function, after its operation: sends the record of its return */
	ACTION_TAIL,    /* the last jump of a function, to one whose return is seen too */
	/* Of lines: the thread is inside of them, or outside; object is the frame. */
	ACTION_ENTER_LINES,
	ACTION_LEAVE_LINES,
	ACTION_UNWIND, /* the stack below the stack pointer is given back, without returns */
};

/* Where an operand is. */
enum operand {
	FROM_NOWHERE,
	FROM_REG,    /* register reg, plus disp */
	FROM_FIXED,  /* address disp relative to the probed instruction */
	FROM_IMM,    /* a constant */
	FROM_MEMORY, /* width bytes at the object's address */
	FROM_STACK,  /* 8 bytes at disp from the stack pointer at the call's entry */
	FROM_KIND,   /* 1 + the 4 bytes at disp from the object's address; 0: unreadable */
	FROM_THREAD, /* disp from the thread pointer; of on_pointer */
};

/* When an operation had its effect, by what the function returned. */
enum success {
	SUCCESS_ALWAYS,
	SUCCESS_ZERO,    /* 0, or EOWNERDEAD for robust mutexes */
	SUCCESS_NONZERO, /* true */
	SUCCESS_BARRIER, /* 0 or PTHREAD_BARRIER_SERIAL_THREAD */
	SUCCESS_TRUE8,   /* C++ bool: low byte not 0 */
};

/* What an access must touch to be recorded. Of those with a home, the variable or array is
 * at home bytes from the probe, and the instruction touches what the object operand and the
 * index lead to. */
enum reach {
	REACH_VARIABLE, /* the object operand is the variable */
	REACH_HOME,     /* the variable at home, if the span bytes that are touched overlap it */
	REACH_TABLE,    /* likewise, at table_disp from the address that the word at home holds */
	REACH_ELEMENT,  /* what is touched, if the index leads to a multiple of stride */
	REACH_ARRAY,    /* what is touched, if it is an element of the array at home: span bytes,
			     * the elements stride apart */
	REACH_SHARED_ARRAY, /* what is touched, if it lies in the array at home of span bytes */
	/* Of on_pointer: the address is only remembered, for a load that destroys it; and what is touched is
	 * at the address remembered last. */
	REACH_REMEMBER,
	REACH_REMEMBERED,
	/* Of on_pointer, of a call or before a string instruction: span bytes from object on, as often as times
	 * holds, times the extra register, at most stride if that is not 0, and at most as many as the text has
	 * to which value_reg, plus one, points, its end included. With index_reg they are behind the text at
	 * object. With scale they are instead those of this buffer, counted from 1, of the vector that object is
	 * and that has as many as times holds; with index_reg 1, object is a message
	 * (struct msghdr), and with 2 a request (struct aiocb). */
	REACH_RANGE,
	/* Likewise, once the call has returned: object, times and extra are remembered at the call. Of OP_ALLOC,
	 * times and extra multiply to the size of the block. */
	REACH_CALLED,
	/* Behind such a call, which is home bytes from here: as many elements as the result says, of width
	 * bytes, plus imm, at most as many as times was, and with value_reg there at most as many as the text at
	 * object has. Of OP_ALLOC, the result is the block. */
	REACH_RETURNED,
	/* Of on_pointer, behind a string instruction, where object is the end of what it has accessed: imm
	 * plus times minus the extra register, times span, which is signed. */
	REACH_STRING,
};

/* site.flags */
enum {
	SITE_NO_STACK = 1, /* OP_RELEASE: the call stack matters only if the lock is not held */
	SITE_LEAF = 2,     /* a call whose frame is never unwound */
	SITE_INLINED = 4,  /* OP_RETURN: the end of an inlined copy, which has no frame */
	SITE_SPIN = 8,     /* an access that changes nothing is recorded once, if the thread's next
			     * record were the same */
	SITE_ORDERS =
		16, /* an access that orders threads (of an atomic variable): never redundant */
	SITE_INDIRECT = 32, /* OP_ALLOC: the block's address goes where object points */
	/* OP_FREE, OP_MOVE: the block's size is in the word before it, as glibc's malloc puts it
	 * there. */
	SITE_HEADER = 64,
	SITE_RANGE = 128, /* likewise: in the register old_reg; what ends are whole pages */
};

/* access_site.times, of string instructions (x86-64) */
enum {
	TIMES_EACH = 255,       /* one element, if the count is not 0 */
	TIMES_REMEMBERED = 254, /* REACH_STRING: what the last REACH_REMEMBER has remembered */
};

/* access_site.scale, where the index numbers a bit */
enum {
	SCALE_NUMBER =
		253, /* or, of REACH_RANGE, where the words at object stand for descriptors, and times holds the
			     * number of one */
	SCALE_BITS32 = 254, /* in its low 32 bits */
	SCALE_BITS = 255,
};

/* An access of a variable. Registers with "plus one" are 0 for none. */
struct access_site {
	__u64 imm;    /* FROM_IMM: the value */
	__s64 home;   /* see enum reach */
	__u32 span;   /* bytes; see enum reach */
	__u32 stride; /* bytes, not 0, where reach needs it */
	__s32 table_disp; /* REACH_TABLE; of REACH_RANGE a register that holds a descriptor, plus one: if that is
			   * not open, the call fails; 0: none does */
	__u32 watched; /* of on_shared: the variable's index in watched */
	__u8 value_from, value_reg;
	__u8 width;            /* bytes of the value, and of the variable */
	__u8 extra;            /* a register whose value is recorded too, plus one */
	__u8 reach;            /* enum reach */
	__u8 index_reg, scale; /* added to the object: index times scale; SCALE_…; 0: no index */
	__u8 times; /* a register that holds how many times span bytes are touched, plus one;
		     * TIMES_EACH; 0: once */
};

/* A call of the table of synchronisation calls. */
struct sync_site {
	__s64 second_disp;
	__u64 function; /* its address in its file */
	__u8 second_from, second_reg;
	__u8 success;     /* enum success */
	__u8 result_from; /* ACTION_OUTCOME: FROM_IMM, result; FROM_REG, the result register */
	__s32 result;     /* what the function will return */
	__s32 mark_disp;  /* where, from the object, the 4 bytes are that mark can be set in */
	/* Bits by which an object says that it was destroyed, and how many threads wait, extended
	 * by its highest bit; 0: none. */
	__s8 mark;
	__u8 extra; /* a register whose value is recorded too, plus one */
	__u8 pad[2];
};

/* A function that allocates or frees, a constructor or a destructor. */
struct heap_site {
	__u64 least;               /* the allocation of fewer bytes is not recorded */
	__u64 keep;                /* the size of a block of fewer bytes is not remembered */
	__u64 size;                /* OP_CONSTRUCT, OP_DESTRUCT: bytes of the object */
	__u8 size_reg, factor_reg; /* registers that multiply to the block's size, plus one; of
				    * OP_FREE they matter if the size is not known otherwise */
	__u8 old_reg;              /* SITE_RANGE: the register with the old size, plus one */
	__u8 cost;                 /* of a hit, see heap_costs; 0: it is not counted */
	__u8 if_reg;               /* OP_FREE: the register that decides, plus one; 0: none */
	__u8 always; /* SITE_RANGE: what ends is a library, and is recorded whatever is in it */
	__u8 pad[2];
	__u32 if_mask, if_value; /* memory ends if the bits of the mask in if_reg are these */
};

/* A function that the user asked for. */
struct function_site {
	__u32 signature; /* index into signatures */
	__u32 lines;     /* of lines: their number */
	__u8 result;     /* OP_RETURN: 1 if the result register holds the result, else 0 */
	__u8 left; /* OP_CALL: an exception, longjmp or the thread's end that removes the call is recorded too */
	__u8 pad[2];
	/* The events of a formula in the kernel that the function's calls may be, its returns, and whatever ends a call: a
	 * bit for each. */
	__u64 calls, returns, leaves;
};

/* A call of futex(2), at an instruction before it: its operands are those behind the instructions between, and so need
 * not be in the registers that the system call takes. The word is the site's object. */
struct futex_site {
	__u32 op_mask,
		op_flip; /* the operation: op_reg, of which op_mask's bits are kept, xor op_flip */
	__u32 number;    /* of the system call */
	__u8 number_reg; /* the register that has the number, plus one; 0: it is known to be right */
	__u8 op_reg;
	__u8 pad[2];
};

/* One thing that one probe observes. Sites at one address are chained by next, in program
 * order. */
struct site {
	__u32 next;     /* site index, 0 ends the chain */
	__s32 sp_delta; /* stack pointer at entry minus the one at the probe */
	__u8 op;        /* enum op */
	__u8 action;    /* enum action */
	__u8 at_entry;  /* the caller's return address is on top of the stack (x86-64) or in the
			 * link register (arm64) */
	__u8 flags;     /* SITE_… */
	__u8 when; /* 0; or 1 + n: only if the flags meet condition n of the jcc opcodes (x86-64) */
	__u8 object_from, object_reg; /* enum operand */
	__u8 pad;
	__s64 object_disp; /* FROM_FIXED: object address minus probe address; FROM_REG: added; FROM_IMM: the
			    * address */
	union {
		struct access_site
			access; /* OP_READ, OP_WRITE, OP_UPDATE, of on_pointer OP_ALLOC; the largest is the first */
		struct sync_site sync;
		struct heap_site heap;
		struct function_site function; /* OP_CALL, OP_RETURN */
		struct futex_site futex;       /* of on_futex */
	};
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

/* What is recorded of the calls of a function. Widths are in bytes, negative for what is
 * sign-extended; 0 is none. */
struct signature {
	__s64 disp
		[MAX_ARGS]; /* FROM_REG: added to the register; FROM_STACK; FROM_IMM: the value; FROM_FIXED */
	__u8 from[MAX_ARGS], reg[MAX_ARGS];
	__s8 width[MAX_ARGS];
	/* The width of what lies at the address that the parameter is, where that is recorded in its
	 * place when the function returns; and which element of an array there, from 0. These
	 * parameters come after the others. */
	__s8 stored[MAX_ARGS];
	__u8 element[MAX_ARGS];
	__u8 count;  /* of parameters */
	__s8 result; /* width */
};

/* What the condition of an event of a scope reads at most (scope.h): parameters, and the result. */
#define SCOPE_INPUTS (MAX_ARGS + 1)

/* How much a formula may need that is evaluated here (knowledge.h). */
#define KNOWN_THREADS 8
#define KNOWN_NUMBERS 4 /* threads that it names: declared, or bound */
#define KNOWN_ENTRIES 128
#define KNOWN_LOCALS 8
#define FORMULA_BODIES 16
#define FORMULA_INPUTS 8

/* Where an input of an expression is. */
enum input_kind {
	INPUT_LOCAL,    /* the local variable index of the thread */
	INPUT_HAPPENED, /* whether the event index led to this state */
	INPUT_REMOTE,   /* body index, in the latest state of its thread that is known */
	INPUT_PAST,     /* body index, an operator that looks at the past, in this state */
};
struct formula_input {
	__u8 kind, index;
};

/* What a body of a formula is. */
enum body_kind {
	BODY_REMOTE, /* an expression that other threads know of */
	BODY_TOP,    /* a formula of which verdicts fall */
	BODY_PART,   /* an operand of an operator that looks at the past */
	BODY_PAST,   /* such an operator */
};

/* An expression that is evaluated in the states of one thread, or an operator. */
struct formula_body {
	__u64 initial; /* its value in the initial state */
	__u32 base;    /* BODY_REMOTE: index of its first entry, by which threads know it */
	/* BODY_PAST: whether it holds, and what it remembers, for each case: 1: its first operand holds; 2: the second does; 4:
	 * what it remembers; 8: no state came before. */
	__u16 holds, keeps;
	__u8 kind;
	__u8 thread; /* number of the thread */
	__u8 names;  /* numbers of the bound threads that it names, a bit for each */
	__u8 inputs; /* or operands: body input[n].index */
	__u8 root;   /* the BODY_REMOTE or BODY_TOP that it is part of */
	__u8 pad[3];
	struct formula_input input[FORMULA_INPUTS];
};

struct formula {
	__u64 mentioned;                          /* events that make a state, a bit for each */
	__u64 locals[KNOWN_LOCALS];               /* their initial values */
	struct formula_body body[FORMULA_BODIES]; /* each after those that it names */
	__u32 bodies;
	__u32 entries; /* of a vector */
	__u32 differ;  /* the threads that are bound are not the same */
	__u32 pad;
};

#endif
