/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * on_signal_sent, on_signal_came: signals and timers. The kernel generates a signal in the thread that sends it,
 * and that of a timer in whichever thread runs at the time.
 */
#ifndef TRACEPREDICT_SIGNAL_H
#define TRACEPREDICT_SIGNAL_H

#include "callstack.h"
#include "notice.h"
#include "pause.h"
#include "syscall.h"
#include "thread.h"
#include "waking.h"

struct kernel_siginfo {
	int si_signo, si_code;
} CORE;

#define SIG_IGN 1 /* and 0, SIG_DFL */

struct signal_args {
	__u64 args[5];
};

#define SI_KERNEL 0x80
#define SI_TIMER (-2)
#define SEND_SIG_PRIV 1 /* in place of a siginfo: the kernel sends it */
#define SIGALRM 14
#define SIGVTALRM 26
#define SIGPROF 27

static __always_inline __s32 signal_code(__u64 info)
{
	if (info <= SEND_SIG_PRIV)
		return info ? SI_KERNEL : 0;
	return BPF_CORE_READ((struct kernel_siginfo *)info, si_code);
}

static __always_inline bool of_timer(__u64 sig, __s32 code)
{
	return code == SI_TIMER ||
	       (code == SI_KERNEL && (sig == SIGALRM || sig == SIGVTALRM || sig == SIGPROF));
}

/* Returns the ID of a task's process if it is a child, not observed, of the thread's process; else 0. */
static __always_inline __u32 child_of(__u64 thread, struct task_struct *task)
{
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);

	if (task_id(BPF_CORE_READ(leader, real_parent, group_leader)) != thread >> 32)
		return 0;
	return task_id(leader);
}

/* Runs in the sender: sig, info, task, group, result. */
SEC("raw_tp/signal_generate")
int on_signal_sent(struct signal_args *ctx)
{
	__u64 thread = current_thread(), sig = (__u32)ctx->args[0], to;
	struct task_struct *task = (void *)ctx->args[2];
	bool group = (__u32)ctx->args[3];

	__s32 code = signal_code(ctx->args[1]);

	if (!is_target(thread) || of_timer(sig, code))
		return 0;
	/* A thread whose end was recorded sends no more. */
	if (BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), flags) & PF_EXITING)
		return 0;
	to = target_of(task);
	if (!to)
		to = child_of(thread, task);
	if (!to &&
		code > 0) /* to a process that is not observed, by the kernel: as to who traces this one */
		return 0;
	send(thread, (struct record){.op = OP_SEND,
			     .stack = call_stack(thread),
			     .object = sig,
			     .value = to << 32 | (group || !to ? 0 : task_id(task)),
			     .result = CHANNEL_SIGNAL});
	if (!target_of(task))
		wakes(thread, call_of(bpf_get_current_task_btf()), BPF_CORE_READ(task, pid), 0);
	return 0;
}

/* Runs in the thread that a signal reaches: sig, info, action. */
SEC("raw_tp/signal_deliver")
int on_signal_came(struct signal_args *ctx)
{
	__u64 thread = current_thread(), sig = (__u32)ctx->args[0];
	__u64 handler = 0; /* the first member of struct k_sigaction */

	if (!is_target(thread))
		return 0;
	bpf_probe_read_kernel(&handler, sizeof(handler), (void *)ctx->args[2]);
	if (handler <= SIG_IGN) /* what runs no handler does not notify the program */
		return 0;
	pause_interrupted(thread);
	notice(thread, sig, of_timer(sig, signal_code(ctx->args[1])) ? FROM_TIMER : 0, CAME,
		CHANNEL_SIGNAL);
	return 0;
}

#endif
