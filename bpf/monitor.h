/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Places for monitors in the kernel: functions that do nothing, and that others may replace before the programs are
 * loaded. Only then are they called: the verifier drops the calls as long as monitored is false.
 */
#ifndef TRACEPREDICT_MONITOR_H
#define TRACEPREDICT_MONITOR_H

#include "globals.h"

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

#endif
