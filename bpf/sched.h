/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * The life of threads: tracepoints where they begin, end and execute another program, and the
 * threads that live already when observation begins.
 */
#ifndef TRACEPREDICT_SCHED_H
#define TRACEPREDICT_SCHED_H

#include "forget.h"
#include "futex.h"
#include "knowledge.h"
#include "lines.h"
#include "ringbuf.h"
#include "scope.h"
#include "thread.h"

/* Removes the line of an ended thread whose losses have all been reported. */
static __noinline int end_losses(__u32 tid)
{
	struct lost_line *line = bpf_map_lookup_elem(&lost, &tid);

	if (line && !line->records)
		bpf_map_delete_elem(&lost, &tid);
	return 0;
}

/* Moves the losses of a thread that goes on under another ID, having called execve. */
static __noinline int move_losses(__u32 old, __u64 thread)
{
	__u32 tid = thread;
	struct lost_line *line = bpf_map_lookup_elem(&lost, &old),
			 *own = bpf_map_lookup_elem(&lost, &tid);

	if (!line || old == tid)
		return 0;
	if (own)
		own->records += line->records;
	else
		bpf_map_update_elem(&lost, &tid, line, BPF_ANY);
	bpf_map_delete_elem(&lost, &old);
	return 0;
}

#define CLONE_VM 0x100
#define CLONE_THREAD 0x10000

/* Runs in the parent, before the child runs: knows both. */
SEC("tp_btf/task_newtask")
int on_fork(__u64 *ctx)
{
	struct task_struct *child = (void *)ctx[0];
	__u64 clone_flags = ctx[1];
	__u64 thread = current_thread();
	__u64 never = 0;
	__u8 flags = 0;
	__u32 tid;

	if (!is_target(thread)) {
		if (is_kin(thread) && !(clone_flags & CLONE_THREAD))
			add_kin(task_id(child));
		return 0;
	}
	tid = task_id(child);
	if (clone_flags & CLONE_THREAD) {
		crowded = 1;
	} else {
		flags = clone_flags & CLONE_VM ? REC_PROCESS | REC_SHARED : REC_PROCESS;
		if (follow)
			bpf_map_update_elem(&targets, &tid, &never, BPF_ANY);
		else
			add_kin(tid);
	}
	send_now(thread,
		(struct record){.op = OP_FORK,
			.flags = flags,
			.object = tid,
			.value = THREAD_POINTER(child)},
		true, false);
	if (knows && !flags && !given_up)
		known_fork(thread, (thread >> 32) << 32 | tid, THREAD_POINTER(child));
	return 0;
}

#define SIGNAL_GROUP_EXIT 4 /* of signal_struct */
#define PF_SIGNALED 0x400 /* of task_struct: killed, as by another thread's exit_group or execve */

SEC("tp_btf/sched_process_exit")
int on_exit(__u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 thread = current_thread();
	struct record event = {.op = OP_EXIT, .object = (__u32)thread};
	struct slot *slot;

	if (!is_target(thread))
		return 0;
	if (task->flags & PF_SIGNALED || task->signal->flags & SIGNAL_GROUP_EXIT) {
		event.flags = REC_PROCESS;
		event.value = task->signal->group_exit_code;
	}
	if (any_lines)
		unwound(thread, ~0ULL);
	send_now(thread, event, true, true);
	if (knows)
		known_end(known_slot(thread, false));
	if (scoped)
		scope_leave(thread);
	if (any_lost)
		end_losses(thread);
	forget_futex_wait(thread);
	slot = slot_of(thread);
	forget_stack(slot, CURRENT_THREAD_POINTER(task), thread >> 32);
	if (!task->signal->live.counter)
		forget_process(thread >> 32);
	if (slot)
		slot->tid = 0;
	return 0;
}

SEC("tp_btf/sched_process_exec")
int on_exec(__u64 *ctx)
{
	__u64 thread = current_thread();
	__u32 old = ctx[1], tgid = thread >> 32;
	__u64 *executed = bpf_map_lookup_elem(&targets, &tgid);

	if (!executed)
		return 0;
	*executed = bpf_ktime_get_ns();
	if (any_lines)
		unwound(thread, ~0ULL);
	send_now(thread, (struct record){.op = OP_EXEC, .object = old}, true, true);
	if (knows && known_threads)
		give_up(GIVEN_UP_OPERATION, OP_EXEC);
	forget_process(tgid);
	if (any_lost)
		move_losses(old, thread);
	return 0;
}

/* Runs in the thread that names, which need not be observed: another one may have the name. */
SEC("tp_btf/task_rename")
int on_rename(__u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	__u64 thread = (__u64)target_of(task) << 32;
	__u64 name[2] = {};
	struct record *r;

	if (!thread)
		return 0;
	thread |= task_id(task);
	if (scoped)
		scope_named(thread);
	bpf_probe_read_kernel_str(name, sizeof(name), (void *)ctx[1]);
	r = reserve(thread, sizeof(*r), true, 1);
	if (r)
		submit(r, thread,
			(struct record){.op = OP_NAME,
				.object = name[0],
				.value = name[1],
				.by_itself = bpf_get_current_task_btf() == task},
			false);
	return 0;
}

SEC("iter/task")
int list_tasks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct task_line line = {.tgid = target_of(task)};

	if (!line.tgid)
		return 0;
	line.tid = task_id(task);
	line.thread_pointer = THREAD_POINTER(task);
	bpf_seq_write(ctx->meta->seq, &line, sizeof(line));
	return 0;
}

#endif
