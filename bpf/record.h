/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * What the ring buffers bring, and what iterators and maps tell user space. Go's twins are
 * generated from the object's BTF, and align_test.go compares sizes and offsets again; its constants
 * are generated from this text and that of site.h, by genops.
 */
#ifndef TRACEPREDICT_RECORD_H
#define TRACEPREDICT_RECORD_H

#include "base.h"

/* The kind of a record, its first byte. */
enum record_kind {
	RECORD_EVENT = 1,  /* struct record */
	RECORD_CALL,       /* struct call_record */
	RECORD_STACK,      /* struct stack_record */
	RECORD_STACK_PART, /* struct stack_part */
	RECORD_SCOPE,      /* struct scope_record */
};

/* What a record says its thread did. Order and values are part of the contract with Go
 * (bpf.Op); add at the end. REC_LEAVE tells the record made at an operation's return from the
 * one made at its entry. */
enum op {
	OP_NONE,
	OP_ACQUIRE,      /* exclusive, after it returned; result says if it succeeded */
	OP_ACQUIRE_READ, /* shared, likewise */
	OP_RELEASE,      /* before it happens */
	OP_WAIT,         /* entry: releases the mutex (value); REC_LEAVE: has acquired it again */
	OP_SIGNAL,
	OP_BROADCAST,
	OP_BARRIER,       /* entry: arrives; REC_LEAVE: departs */
	OP_SEM_POST,      /* before it happens */
	OP_SEM_WAIT,      /* after it returned */
	OP_ONCE,          /* entry and REC_LEAVE */
	OP_GUARD_ACQUIRE, /* __cxa_guard_acquire: after it returned */
	OP_GUARD_RELEASE, /* __cxa_guard_release: before it happens */
	OP_GUARD_ABORT,
	OP_INIT, /* the object is made; value is the second argument (sem_init: third) */
	OP_DESTROY,
	OP_CREATE, /* pthread_create was entered */
	OP_JOIN,   /* after it returned; object is the pthread_t */
	OP_DETACH, /* object is the pthread_t */
	OP_READ,
	OP_WRITE,
	OP_UPDATE,
	OP_FORK, /* task_newtask: object is the child's tid, value its thread pointer */
	OP_EXIT, /* sched_process_exit; with REC_PROCESS value is the status, as of wait(2) */
	OP_LIBRARY, /* the dynamic loader has changed the list of libraries; result 1: the thread is held */
	OP_EXEC,  /* sched_process_exec */
	OP_TASK,  /* a thread that lived when observation began: object tid, value thread pointer */
	OP_HOLE,  /* so many records of this thread as value says were lost before its next one */
	OP_TOUCH, /* an access that a hardware watchpoint saw, after it; see touch_hint */
	OP_CALL,  /* a function was entered; object is its instance */
	/* It returns value, with REC_VALUE; the rest as at its entry, but for what it has stored. Result is
	 * how many of its last parameters are unknown. REC_FAILED: an exception, longjmp or the thread's end removed
	 * its frame. */
	OP_RETURN,
	/* After it returned: object is the block, value its size. With result 1 all that is known is
	 * that the memory holds nothing of before. With REC_PAST the thread made it at the time extra. */
	OP_ALLOC,
	/* Before it happens: object is the memory, value its size, 0 if not known here; result is 1 if
	 * it is a mapping, whose contents may be mapped elsewhere, and 2 if the loader unmaps it. */
	OP_FREE,
	/* realloc of a block. Entry: object is the block, value its size, 0 if not known here.
	 * REC_LEAVE: object is what it has become (0: freed), value its size, result 1 if its
	 * allocation is not to be recorded; REC_FAILED: it is unchanged. */
	OP_MOVE,
	/* object is a channel, result its enum channel_kind. Entry: value is how many bytes at
	 * most; REC_LEAVE: how many, or with REC_FAILED an error. Of a futex, value is the caller's
	 * return address, and extra the instruction behind the call. */
	OP_SEND,
	OP_RECEIVE,   /* likewise */
	OP_CONSTRUCT, /* a constructor is entered: object is what it makes, value its size */
	OP_DESTRUCT,  /* a destructor has returned: likewise what it ended */
	/* The thread is, or just was, where code synchronises unobserved: object is the number of
	 * that instruction; of a loop that waited by asking, extra and sp are the keys of what it
	 * asked for last (CHANNEL_ASKED). With result 1 its probe is to be removed: later hits are not sent. */
	OP_UNSEEN,
	OP_CONSISTENT, /* pthread_mutex_consistent was entered */
	OP_CANCEL,     /* pthread_cancel was entered: object is the pthread_t */
	/* Probes of the heap have cost so much, in value, since a processor said so last. User space
	 * sets result to 1 where they are removed. */
	OP_HEAP_COST,
	OP_QUIT,   /* exit was entered: the process is about to end */
	OP_UNWIND, /* the thread has begun to end, by pthread_exit or because it was cancelled */
	/* OpenMP. A parallel region: entry, its threads begin; REC_LEAVE: all have ended their parts. */
	OP_PARALLEL,
	OP_TEAM_BARRIER,  /* the barrier of the thread's team: as OP_BARRIER */
	OP_ORDERED_LOOP,  /* the thread begins the next loop of its team that has ordered parts */
	OP_ORDERED_NEXT,  /* it asks for more iterations; entry and REC_LEAVE */
	OP_ORDERED_BEGIN, /* an ordered part of that loop begins; after it returned */
	OP_ORDERED_END,   /* it ends; before */
	/* A part that one thread of the team executes, and whose result the others copy: OP_COPY_BEGIN waits
	 * for that in them, REC_FAILED in the one; that one waits in OP_COPY_END. As OP_BARRIER. */
	OP_COPY_BEGIN,
	OP_COPY_END,
	OP_KEY_CREATE, /* pthread_key_create has returned: value is 1 + the key, 0 if that cannot be read */
	OP_KEY_DELETE,          /* pthread_key_delete was entered: object is the key */
	OP_INTERPRETER_RELEASE, /* entry and REC_LEAVE of what releases the lock of an interpreter */
	/* A formula that is evaluated in the kernel alone became false by the last event of the thread: value is the number
	 * of its body, extra the other thread that is bound to it; 0: none is. */
	OP_VERDICT,
	OP_NAME, /* the thread gets another name: its bytes are object and value. By_itself is 0 if another one gave it */
	/* The thread is about to sleep until a signal handler has run, by a call that takes no mask of signals. REC_LEAVE:
	 * that handler, and any that interrupted it, has returned to the code behind the call. */
	OP_PAUSE,
};

/* What threads hand each other messages through. */
enum channel_kind {
	CHANNEL_UNSEEN, /* none: calls that are not seen may send and receive from now on */
	CHANNEL_PIPE,   /* object is its inode, never used again */
	CHANNEL_FIFO,   /* one with a name */
	CHANNEL_SOCKET, /* object tells some sockets apart */
	CHANNEL_EVENTFD,
	CHANNEL_TIMERFD,
	CHANNEL_FUTEX,    /* object is its address in the process */
	CHANNEL_TERMINAL, /* object is the end that is read */
	/* object is the signal, or ANY_SIGNAL. OP_SEND: value is the process that it is sent to and,
	 * in its low 32 bits, the thread, if it is for one. OP_RECEIVE: value is ANY_CODE if it may
	 * be a timer's, FROM_TIMER if it is. */
	CHANNEL_SIGNAL,
	CHANNEL_TIMER, /* all those of the process that send signals */
	/* An epoll set. value is the data of the descriptor. OP_SEND: the descriptor is added or
	 * changed, its own channel is extra, of the kind in result above CHANNEL_OF_FD. OP_RECEIVE:
	 * it is ready; with CHANNEL_READY all descriptors of the set may be. */
	CHANNEL_EPOLL,
	CHANNEL_LISTENER, /* a socket that is connected to */
	CHANNEL_QUEUE,    /* of messages; ANY_QUEUE: of any */
	/* Of System V: object is one more than the set's identifier, value whether values go up
	 * (1), and down (2); OP_RECEIVE: which of these was waited for. */
	CHANNEL_SEMAPHORE,
	CHANNEL_FILE_LOCK, /* object is the file, value who owns its lock */
	/* Object is a child process that has ended, 0 if it is not known which; value is the signal that
	 * ended, stopped or continued it, 0 if none did, ANY_STATUS if that is not known. */
	CHANNEL_CHILD,
	CHANNEL_DOUBT, /* OP_RECEIVE: of an order of which only this end is seen; see doubt */
	/* OP_SEND: in the system call value, the thread wakes another one: object is the number of the
	 * wake-up, extra the observed thread, 0 if it is not observed. OP_RECEIVE, made while the
	 * thread sleeps in a system call: it is woken by one that is not observed and was itself
	 * woken by the wake-up object; 0: by none. */
	CHANNEL_WAKE,
	/* Something that system calls change and ask for (asks.h): object is its key. OP_SEND: the
	 * thread changes it by the system call value. OP_RECEIVE: it has asked for it by that call. */
	CHANNEL_ASKED,
	/* The number of a descriptor, which is object. OP_SEND: it is about to be closed. OP_RECEIVE: a call
	 * has returned it. */
	CHANNEL_DESCRIPTOR,
	/* Added to another: it has little room, or the call takes more of it than its bytes. */
	CHANNEL_TIGHT = 256,
	/* Added to another: nothing moved, but there is something to receive, or room. */
	CHANNEL_READY = 512,
	/* Added to another: its other end is on another machine, or nobody there is expected to answer. */
	CHANNEL_FAR = 1024,
	/* The number of low bits of the kind of a CHANNEL_EPOLL; the others are the kind of the channel whose
	 * descriptor is in the set. */
	CHANNEL_OF_FD = 16,
};

/* extra of a CHANNEL_EVENTFD. */
enum {
	/* The call takes the only unit, or gives one where there is none, and would wait for it. */
	EVENTFD_TOKEN = 1,
	EVENTFD_NUMBER = 1, /* the bits below one more than the descriptor */
};

/* extra of a CHANNEL_SEMAPHORE: one more than the number of the semaphore, if the call is about one; 0: about several. */
enum {
	SEM_ONE = 0xffff,
	SEM_BY =
		16, /* the bits below by how much the value goes up or down, or what it is set to */
	SEM_SET = 32,  /* the bit that says that the value is set */
	SEM_ONCE = 33, /* the bit that says that the call does not wait, or with a time limit */
};

/* What the key of a CHANNEL_ASKED is of, in its low three bits. */
enum asked_kind {
	ASKED_PATH = 1,
	ASKED_FILE,
	ASKED_DESCRIPTOR,
	ASKED_PORT,
	ASKED_NAME, /* of a socket */
};

/* Values in records of some kinds of channel. */
enum {
	ANY_SIGNAL = 0xffff, /* object: a signalfd, which may have any signal */
	ANY_QUEUE = 0xffff,  /* object: news of any queue */
	ANY_STATUS = 0xffff, /* value: it is not known what became of a child */
	FROM_TIMER = 1,      /* value: a timer has sent the signal */
	ANY_CODE = 2,        /* value: a timer may have sent it */
};

/* Orders of which only one end is seen: object of a CHANNEL_DOUBT. */
enum doubt {
	DOUBT_INOTIFY = 1, /* a file has changed */
	DOUBT_FIFO,        /* the other end of a FIFO was opened */
	DOUBT_POLL,        /* more descriptors are ready than are recorded */
	DOUBT_READY,       /* a descriptor of another kind is ready */
	DOUBT_GONE,        /* a thread or process has ended: a signal could not be sent to it */
};

/* record.flags */
enum {
	REC_LEAVE = 1,   /* made after the operation */
	REC_FAILED = 2,  /* the operation did not have its effect */
	REC_VALUE = 4,   /* value is the variable's value */
	REC_PROCESS = 8, /* OP_FORK of a process, not of a thread; OP_EXIT with the whole process */
	REC_SHARED = 16, /* with REC_PROCESS: in its parent's memory, until it executes a program */
	REC_KERNEL = 32, /* OP_TOUCH by the kernel, in a system call of the thread */
	/* Of an access through a pointer: the thread made it at the time value, in ns; it is sent now,
	 * since another thread has accessed the same memory. */
	REC_PAST = 64,
	/* Of an access through a pointer: atomic instructions access the memory; object is its address,
	 * and value and extra are as those of an access of an atomic variable. */
	REC_ORDERS = 8,
	/* Of an access: writes of the variable just before it were not recorded: they were redundant, or other probes of
	 * the variable were removed. */
	REC_SKIPPED = 128,
};

/* record.result of OP_TOUCH. User space finds out which of read and write it was, from the
 * instruction before extra, which holds the instruction pointer after the access. A string
 * instruction has registers to tell its two operands apart. */
enum touch_hint {
	TOUCH_SOURCE = 1, /* rsi points at or near the variable; in the kernel: to user memory */
	TOUCH_DEST = 2,   /* rdi does */
	TOUCH_PART = 4,   /* times 4: by which of the watchpoints of its variable, 0 to 3 */
	TOUCH_CALL = 16,  /* TOUCH_COUNT counts the thread's system calls that touched a variable */
	TOUCH_COUNT = 256, /* times 256: the low bits of rcx, or with TOUCH_CALL of that count */
};

/* One event. */
struct record {
	__u8 kind;  /* enum record_kind */
	__u8 op;    /* enum op */
	__u8 flags; /* REC_… */
	__u8 pad;
	__u32 tid; /* in the tool's PID namespace */
	__u32 tgid;
	__u32 stack;  /* call stack ID; 0: not recorded */
	__u64 number; /* from 0, in the order of the run, of all records */
	/* What the function returned, low 32 bits. Of an access of data through a pointer: how far from
	 * the address in the register object lies, if a library function accesses a range. */
	__s32 result;
	__u32 site;   /* index into sites */
	__u64 time;   /* bpf_ktime_get_ns when made */
	__u64 object; /* address the operation acts on */
	__u64 value;  /* variable's value, or the operation's second operand */
	/* A third operand; 0 where none of these is meant. */
	union {
		/* Of an access: the register that the site names. Of a call: the register that the site
		 * names, or what it marks; see those below. */
		__u64 extra;
		__u64 entered;   /* OP_JOIN, after it returned: the time of its entry */
		__u64 allocated; /* OP_ALLOC with REC_PAST: the time at which the thread made it */
		__u64 ip; /* OP_TOUCH: the instruction pointer; of a futex: the instruction behind the call */
		__u64 token; /* of an eventfd or a set of semaphores: see EVENTFD_TOKEN, SEM_ONE */
		/* Of a use or destroy of a condition: bit 2 if it is marked as destroyed; if the site says so,
		 * bit 0 if processes share it, and from bit 3 on how many threads wait. Of a destroy of a
		 * mutex: all of 32 bits if it is marked as destroyed. */
		__u64 marks;
		__u64 pshared; /* OP_INIT: the register that says whether processes share the object */
		__u64 bytes; /* of an access of data through a pointer: the bytes of the word, a bit for each */
		__u64 offset; /* of an access of an element of an array: its distance from the beginning */
		__u64 ended; /* of a descriptor that is ready: those of its events that say that it has ended */
		__u64 channel; /* OP_SEND to an epoll set: the channel of the descriptor */
		__u64 woken; /* OP_SEND of a CHANNEL_WAKE: the observed thread that is woken; 0: another */
		__u64 by_itself; /* OP_NAME */
		__u64 asked; /* OP_UNSEEN: a key of what a loop asked for; the other one is sp */
	};
	__u64 sp; /* user stack pointer at function entry, or at the access */
};

/* Why a formula was given up, or an object of it. */
enum given_up {
	GIVEN_UP_NOT,
	GIVEN_UP_THREADS,   /* there were more threads */
	GIVEN_UP_OBJECTS,   /* there were more objects than the table has room for */
	GIVEN_UP_CLAIM,     /* two threads used an object at the same time */
	GIVEN_UP_VALUES,    /* a value was not the one that was written last */
	GIVEN_UP_OPERATION, /* an operation orders threads in a way that is not known here */
	GIVEN_UP_JOIN,      /* it is not known which thread was joined */
	GIVEN_UP_UNWOUND,   /* an exception or longjmp ended a call without a return */
};

/* The parameters of a call that a record has at most. */
#define MAX_ARGS 6

/* A record of OP_CALL or OP_RETURN whose site has parameters. */
struct call_record {
	struct record head;
	__u64 args[MAX_ARGS]; /* as at the entry, or stored; 0 beyond the signature's count */
};

/* Registers, by their numbers in DWARF; on x86-64 number 16 is the instruction pointer, on
 * arm64 32. */
#define MAX_REGS 33

/* What a call stack is found from, sent once when it is new, after the parts of its stack. */
struct stack_record {
	__u8 kind;
	__u8 cut;    /* more of the stack was to be sent, and the ring buffer had no room */
	__u16 parts; /* that were sent */
	__u32 tid;
	__u32 tgid;
	__u32 stack;
	__u64 number;
	__u32 site;
	__u32 call; /* of a watchpoint: one more than the system call's number, if the kernel made
		     * the access; else 0 */
	__u64 time;
	/* The return address on top of the stack, if the site is at an entry; else the address of
	 * the access, or 0. */
	__u64 caller;
	__u64 regs[MAX_REGS]; /* 0 beyond what the processor has */
	/* Of the first call stack of a site, caller and depth: the depth, and the stack pointer that it is counted from. Else 0. */
	__u64 depth, sp;
};

/* A piece of a thread's stack, from the stack pointer upwards; none crosses a page. */
#define STACK_PART 1024
struct stack_part {
	__u8 kind;
	__u8 pad;
	__u16 size; /* bytes of data that mean something */
	__u32 tid;
	__u32 tgid;
	__u32 stack;
	__u64 number;
	__u64 addr; /* of data in the process; 0: pairs of an address on the stack and the return
		     * address that a uretprobe replaced there */
	__u8 data[STACK_PART];
};

/* A thread that lived when observation began. */
struct task_line {
	__u32 tid, tgid;
	__u64 thread_pointer;
};

/* A hardware watchpoint of ours that a thread has. */
struct watched_line {
	__u64 addr;
	__u32 tid, tgid;
};

/* Code of the kernel around an instruction that accessed a variable: the bytes before the
 * instruction pointer, and those at it. */
#define KERNEL_CODE_BEFORE 32
struct kernel_code {
	__u8 bytes[KERNEL_CODE_BEFORE + 16];
};

/* What accesses that nobody named have cost a thread. The programs write it, user space reads. */
struct thread_cost {
	__u64 ran;   /* its processor time up to the last hit, in ns */
	__u64 calls; /* that synchronise: a measure of the work that it has done */
	__u32 tid;   /* in the tool's namespace; threads with the same place take turns */
	__u32 hits;  /* of any of them */
};

/* A variable that nobody named. The programs write it, user space reads. */
struct tally {
	__u64 last;     /* the last access, see redundant() */
	__u64 hits;     /* accesses, recorded or not */
	__u64 crowd;    /* of these, while the program had several threads */
	__u32 owner;    /* the first thread */
	__u32 shared;   /* another thread has accessed it too */
	__u32 version;  /* counts writes that were recorded, and the first sharing */
	__u32 recorded; /* of an array: accesses */
};

#endif
