/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Programs that trace. A thread that tracepredict traces cannot be traced by another: ptrace
 * fails. Before a thread so traced asks for that, it is sent a signal that nobody minds, so that
 * it stops when the call has failed, and its tracer can make way and have the call repeated.
 */
#ifndef TRACEPREDICT_TRACING_H
#define TRACEPREDICT_TRACING_H

#include "channel.h"
#include "hold.h"
#include "thread.h"

/* Requests of ptrace that begin to trace. */
#define PTRACE_TRACEME 0
#define PTRACE_ATTACH 16
#define PTRACE_SEIZE 0x4206

#if defined(__TARGET_ARCH_x86)
#define CALL_PTRACE 101
#elif defined(__TARGET_ARCH_arm64)
#define CALL_PTRACE 117
#endif

SEC("raw_tp/sys_enter")
int on_ptrace(struct raw_args *ctx)
{
	struct io_args a = {};

	if (ctx->args[1] != CALL_PTRACE || !is_target(current_thread()))
		return 0;
	read_call(&a, ctx->args[0], true);
	if (a.arg[0] != PTRACE_TRACEME && a.arg[0] != PTRACE_ATTACH && a.arg[0] != PTRACE_SEIZE)
		return 0;
	stop_thread(bpf_get_current_task_btf());
	return 0;
}

#endif
