/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * What the threads of the targets are doing, asked for by user space when they have
 * been quiet for a while: whether each sleeps, in which system call, with which
 * registers. That is what /proc and ptrace would tell together, of all threads at
 * once and without stopping one.
 */

#define SLEEPER_REGS 33
struct sleeper {
	__u32 tid, tgid;
	__u32 own_tid; /* in the thread's own PID namespace: what the C library writes into locks */
	__u32 asleep;  /* it waits for an event, and a signal would wake it */
	__s64 call;    /* number of the system call; -1 in user space */
	__u64 thread_pointer;
	__u64 switches;	/* how often it gave up the processor */
	/* By DWARF's numbers: x86-64: rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15, rip;
	 * arm64: x0 to x30, sp, pc. */
	__u64 regs[SLEEPER_REGS];
};

/* Parts of kernel types that nothing else uses. */
struct task_struct___sleeper {
	unsigned int __state;
	int exit_state;
	unsigned long nvcsw, nivcsw;
} CORE;

#if defined(__TARGET_ARCH_x86)
static __always_inline void saved_registers(struct sleeper *line, void *from)
{
	struct pt_regs r = {};

	bpf_probe_read_kernel(&r, sizeof(r), from);
	line->call = r.orig_ax;
	line->regs[0] = r.ax;
	line->regs[1] = r.dx;
	line->regs[2] = r.cx;
	line->regs[3] = r.bx;
	line->regs[4] = r.si;
	line->regs[5] = r.di;
	line->regs[6] = r.bp;
	line->regs[7] = r.sp;
	line->regs[8] = r.r8;
	line->regs[9] = r.r9;
	line->regs[10] = r.r10;
	line->regs[11] = r.r11;
	line->regs[12] = r.r12;
	line->regs[13] = r.r13;
	line->regs[14] = r.r14;
	line->regs[15] = r.r15;
	line->regs[16] = r.ip;
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

SEC("iter/task")
int list_sleepers(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct task_struct___sleeper *of = (void *)task;
	struct sleeper line = {};
	struct pid *pid;
	unsigned int level;
	struct upid *own;

	if (!task)
		return 0;
	line.tgid = task_id(BPF_CORE_READ(task, group_leader));
	if (!line.tgid || !bpf_map_lookup_elem(&targets, &line.tgid) || BPF_CORE_READ(of, exit_state))
		return 0;
	line.tid = task_id(task);
	pid = BPF_CORE_READ(task, thread_pid);
	level = BPF_CORE_READ(pid, level);
	own = (void *)pid + bpf_core_field_offset(pid->numbers) + level * bpf_core_type_size(struct upid);
	line.own_tid = BPF_CORE_READ(own, nr);
	line.asleep = BPF_CORE_READ(of, __state) & 1; /* TASK_INTERRUPTIBLE */
	line.thread_pointer = THREAD_POINTER(task);
	line.switches = BPF_CORE_READ(of, nvcsw) + BPF_CORE_READ(of, nivcsw);
	saved_registers(&line, (void *)bpf_task_pt_regs(task));
	bpf_seq_write(ctx->meta->seq, &line, sizeof(line));
	return 0;
}
