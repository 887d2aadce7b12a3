/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * What the threads of the targets are doing, asked for by user space when they have been quiet
 * for a while: whether each sleeps, in which system call, with which registers. That is what
 * /proc and ptrace would tell together, of all threads at once and without stopping one.
 */
#ifndef TRACEPREDICT_SLEEPER_H
#define TRACEPREDICT_SLEEPER_H

#include "regs.h"
#include "stackcopy.h"
#include "thread.h"

#define SLEEPER_REGS 33
#define SLEEPER_RETURNS 4
struct sleeper {
	__u32 tid, tgid;
	__u32 own_tid; /* in the thread's own PID namespace: what the C library writes into locks */
	__u32 state; /* the kernel's: 0 it may run, bit 0 it waits and a signal would wake it, bit 1
			* nothing but the event would, bits 2 and 3 it is stopped */
	__s64 call;  /* number of the system call; -1 in user space */
	__u64 thread_pointer;
	__u64 switches; /* how often it gave up the processor */
	/* As struct pt_regs of the architecture begins; 0 behind it. */
	__u64 regs[SLEEPER_REGS];
	/* Of the return addresses that uretprobes have replaced, the innermost: where each
	 * lies and what it was; the first 0 ends them. */
	__u64 replaced[SLEEPER_RETURNS];
	__u64 original[SLEEPER_RETURNS];
};

#if defined(__TARGET_ARCH_x86)
static __always_inline void saved_registers(struct sleeper *line, void *from)
{
	_Static_assert(sizeof(struct pt_regs) <= sizeof(line->regs), "all registers");
	bpf_probe_read_kernel(line->regs, sizeof(struct pt_regs), from);
	line->call = line->regs[__builtin_offsetof(struct pt_regs, orig_ax) / 8];
}
#elif defined(__TARGET_ARCH_arm64)
static __always_inline void saved_registers(struct sleeper *line, void *from)
{
	__s32 call = -1;

	bpf_probe_read_kernel(line->regs, sizeof(line->regs), from);
	/* Behind user_pt_regs stand orig_x0 and syscallno. */
	bpf_probe_read_kernel(&call, sizeof(call), from + sizeof(struct pt_regs) + 8);
	line->call = call;
}
#endif

static __always_inline void copy_returns(struct sleeper *line, struct task_struct *task)
{
	struct return_instance *r = replaced_returns(task);

	for (int i = 0; i < SLEEPER_RETURNS; i++) {
		if (!r)
			break;
		line->replaced[i] = BPF_CORE_READ(r, stack);
		line->original[i] = BPF_CORE_READ(r, orig_ret_vaddr);
		r = BPF_CORE_READ(r, next);
	}
}

SEC("iter/task")
int list_sleepers(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct sleeper line = {.tgid = target_of(task)};
	struct pid *pid;
	unsigned int level;
	struct upid *own;

	if (!line.tgid || BPF_CORE_READ(task, exit_state))
		return 0;
	line.tid = task_id(task);
	pid = BPF_CORE_READ(task, thread_pid);
	level = BPF_CORE_READ(pid, level);
	own = (void *)pid + bpf_core_field_offset(pid->numbers) +
	      level * bpf_core_type_size(struct upid);
	line.own_tid = BPF_CORE_READ(own, nr);
	line.state = BPF_CORE_READ(task, __state);
	line.thread_pointer = THREAD_POINTER(task);
	line.switches = BPF_CORE_READ(task, nvcsw) + BPF_CORE_READ(task, nivcsw);
	saved_registers(&line, (void *)bpf_task_pt_regs(task));
	copy_returns(&line, task);
	bpf_seq_write(ctx->meta->seq, &line, sizeof(line));
	return 0;
}

#endif
