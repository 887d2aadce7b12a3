/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Places for monitors in the kernel: functions that do nothing, and that others may replace before the programs are
 * loaded. Only then are they called: the verifier drops the calls as long as monitored is false.
 */
#ifndef TRACEPREDICT_MONITOR_H
#define TRACEPREDICT_MONITOR_H

#include "globals.h"
#include "regs.h"
#include "site.h"

/* A thread, as the code of expressions sees it. */
struct known_thread {
	__u64 thread;  /* process and thread ID; 0: none */
	__u64 pointer; /* its thread pointer; 0: not known */
	__u64 version; /* rises with each change of what it knows */
	__u64 matched; /* the events that its present state comes after, a bit for each */
	__u64 tid; /* 0: the number in reports is not known here. Conditions read from here on: it, then the locals */
	__u64 locals[KNOWN_LOCALS];
	__u64 in[FORMULA_INPUTS], out; /* of an expression */
	__u32 verdict;                 /* one more than the number of the body that became false */
	__u32 verdict_other; /* the slot of the other thread that is bound; KNOWN_THREADS: none is */
	__u64 told;          /* when its last verdict was delivered; 0: none was */
	/* The slots of threads that are bound to it no more, and of each body, by the slot of the other thread that is bound
	 * (0: none): whether the formula is false, whether the operator or its operand holds, what it remembers, and whether
	 * there has been a state. A bit for each slot. */
	__u32 gone, pad;
	__u32 violated[FORMULA_BODIES], holds[FORMULA_BODIES], keeps[FORMULA_BODIES],
		begun[FORMULA_BODIES];
};

/* A thread is at the site of an index, before what the site observes has been done. */
__noinline int on_local(struct pt_regs *ctx, __u32 index, __u64 thread)
{
	asm volatile("" ::"r"(ctx), "r"(index), "r"(thread));
	return 0;
}

/* A thread has done something that orders threads, an enum op, with an object; of a release, is about to. */
__noinline int on_sync(__u64 thread, __u32 op, __u64 object)
{
	asm volatile("" ::"r"(thread), "r"(op), "r"(object));
	return 0;
}

/* Of the events in matched, the conditions are checked, and the assignments of those that are left are made. */
__noinline int on_matched(struct known_thread *t)
{
	asm volatile("" ::"r"(t));
	return 0;
}

/* Computes a body from in, into out. */
__noinline int on_body(struct known_thread *t, __u32 body)
{
	asm volatile("" ::"r"(t), "r"(body));
	return 0;
}

/* What the condition of an event reads, and its value. */
struct scope_asked {
	__u64 in[SCOPE_INPUTS];
	__u64 out;
};

/* Computes the condition of a number from in, into out. */
__noinline int on_when(struct scope_asked *asked, __u32 number)
{
	asm volatile("" ::"r"(asked), "r"(number));
	return 0;
}

#endif
