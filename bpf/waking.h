/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Who wakes a thread that sleeps in a system call: what it waited for is often not known, but
 * the kernel tells whose call ended the wait. A process that is not observed passes on what has
 * woken it last: the thread that made it run may be what made it wake another one.
 *
 * The program runs at each wake-up of the machine, so it first looks whose threads the two are.
 */
#ifndef TRACEPREDICT_WAKING_H
#define TRACEPREDICT_WAKING_H

#include "message.h"
#include "thread.h"

/* Of tasks that an observed thread has woken, directly or by others that are not observed: the
 * number of that wake-up. The key is the kernel's ID of the task in the initial PID namespace. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1 << 12);
	__type(key, __u32);
	__type(value, __u64);
} woken_by SEC(".maps");

__u64 last_wake; /* number of the last wake-up of a task by an observed thread */

#define PF_EXITING 4        /* of task_struct */
#define PF_KTHREAD 0x200000 /* of task_struct */

/* Returns whether a thread may sleep in a system call until something happens of which only the
 * return is recorded. Other calls are recorded with what ends them, or end when time has passed. */
static __always_inline bool sleeps_for(long nr)
{
	switch (nr) {
	case CALL_READ:
	case CALL_READV:
	case CALL_PREADV2:
	case CALL_RECVFROM:
	case CALL_RECVMSG:
	case CALL_RECVMMSG:
	case CALL_POLL:
	case CALL_PPOLL:
	case CALL_SELECT:
	case CALL_PSELECT6:
	case CALL_EPOLL_WAIT:
	case CALL_EPOLL_PWAIT:
	case CALL_EPOLL_PWAIT2:
	case CALL_WAIT4:
	case CALL_WAITID:
	case CALL_RT_SIGTIMEDWAIT:
	case CALL_RT_SIGSUSPEND:
	case CALL_PAUSE:
	case CALL_OPEN:
	case CALL_OPENAT:
	case CALL_OPENAT2:
	case CALL_ACCEPT:
	case CALL_ACCEPT4:
	case CALL_CONNECT:
		return true;
	}
	return false;
}

/* Returns the number of the system call that a task is in; negative if it is in none. */
static __always_inline long call_of(struct task_struct *task)
{
	struct pt_regs *regs = (void *)bpf_task_pt_regs(task);

#if defined(__TARGET_ARCH_x86)
	return BPF_CORE_READ(regs, orig_ax);
#else
	__s32 nr = -1;

	/* Behind user_pt_regs stand orig_x0 and syscallno. */
	bpf_probe_read_kernel(&nr, sizeof(nr), (void *)regs + sizeof(struct pt_regs) + 8);
	return nr;
#endif
}

/* Returns the ID of any task's process in the tool's PID namespace; 0 if it has none there. */
static __always_inline __u32 process_of(struct task_struct *task)
{
	return pidns_dev ? task_id(task->group_leader) : task->tgid;
}

/* Returns whether what a thread receives by its call is recorded with what it was sent by. */
static __always_inline bool knows_sender(__u32 tid)
{
	struct io_call *call = bpf_map_lookup_elem(&io_calls, &tid);

	return call && call->receive.key && (call->receive.kind & 0xff) < CHANNEL_SIGNAL;
}

/* Sends the record that an observed thread lets another task go on: tid is its ID if it is observed, else 0.
 * Returns the number of the wake-up. */
static __noinline __u64 lets_go_on(__u64 thread, long nr, __u32 tid)
{
	__u64 number = __sync_fetch_and_add(&last_wake, 1) + 1;

	send_now(thread,
		(struct record){.op = OP_SEND,
			.object = number,
			.value = nr,
			.woken = tid,
			.result = CHANNEL_WAKE},
		false, false);
	return number;
}

/* Handles that an observed thread wakes a task, by the kernel's ID pid. */
static __always_inline void wakes(__u64 thread, long nr, __u32 pid, __u32 tid)
{
	__u64 number;

	if (tid && knows_sender(tid))
		return;
	number = lets_go_on(thread, nr, tid);
	bpf_map_update_elem(&woken_by, &pid, &number, BPF_ANY);
}

/* Returns whether a task sleeps in a system call until a time. */
static __always_inline bool lets_time_pass(long nr)
{
	return nr == CALL_NANOSLEEP || nr == CALL_CLOCK_NANOSLEEP;
}

/* Returns whether a task sleeps in a system call for what others do, or for time to pass: not for what
 * the kernel needs to execute it. */
static __always_inline bool waits_in(long nr)
{
	return sleeps_for(nr) || lets_time_pass(nr);
}

/* Returns whether what a task does in system call nr may be what wakes another one: an interrupt does so as
 * well, whatever it interrupts. A task that is in no call wakes others at its end only, and one that lets time
 * pass is woken by that, or by a signal. */
static __always_inline bool may_wake(struct task_struct *self, long nr, struct task_struct *task)
{
	if (self->flags & PF_EXITING)
		return true;
	if (!lets_time_pass(call_of(task)))
		return nr >= 0;
	switch (nr) {
	case CALL_KILL:
	case CALL_TKILL:
	case CALL_TGKILL:
	case CALL_RT_SIGQUEUEINFO:
	case CALL_RT_TGSIGQUEUEINFO:
	case CALL_PIDFD_SEND_SIGNAL:
		return true;
	}
	return false;
}

/* Sends the record that a wake-up by an observed thread has led to one of another such thread. */
static __noinline int let_go_on(__u64 thread, __u64 number)
{
	send_unordered(thread, (struct record){.op = OP_RECEIVE,
				       .flags = REC_LEAVE,
				       .object = number,
				       .result = CHANNEL_WAKE});
	return 0;
}

/* Handles that a task is woken by one that is not observed, or in an interrupt: number is that of
 * what has woken that one last, or 0. */
static __always_inline void passes_on(
	__u64 number, struct task_struct *task, __u32 tgid, bool observed)
{
	__u32 key = task->pid;
	__u64 *known = bpf_map_lookup_elem(&woken_by, &key);

	if (!number && !known)
		return;
	if (number)
		bpf_map_update_elem(&woken_by, &key, &number, BPF_ANY);
	else if (!waits_in(call_of(task)))
		return; /* for a page, or the like */
	else
		bpf_map_delete_elem(&woken_by, &key);
	if (observed)
		send_unordered((__u64)tgid << 32 | task_id(task), (struct record){.op = OP_RECEIVE,
									  .flags = REC_LEAVE,
									  .object = number,
									  .result = CHANNEL_WAKE});
}

/* Returns whether a task is an observed thread that sleeps for something of which only the return is
 * recorded. */
static __noinline int sleeps_observed(__u32 tgid, long nr)
{
	if (!bpf_map_lookup_elem(&targets, &tgid))
		return -1;
	return sleeps_for(nr);
}

/* What was last sent on a channel from which a child that is not observed may receive: the number of the
 * wake-up that led to it. A child that finds something to receive need not be woken. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1 << 10);
	__type(key, __u64);
	__type(value, __u64);
} sent_by SEC(".maps");

/* Handles that an observed thread sends on a channel. */
static __always_inline void sends_to_kin(__u64 thread, long nr, struct channel *c)
{
	__u64 number;

	if ((c->kind & 0xff) >= CHANNEL_SIGNAL || c->kind & CHANNEL_FAR)
		return;
	number = lets_go_on(thread, nr, 0);
	bpf_map_update_elem(&sent_by, &c->key, &number, BPF_ANY);
}

/* Handles that a child that is not observed sends: it passes on what has woken it last. */
static __noinline int kin_sends(__u64 regs_at)
{
	__u32 key = ((struct task_struct *)bpf_get_current_task_btf())->pid;
	__u64 *number = bpf_map_lookup_elem(&woken_by, &key);
	struct io_args a = {};
	struct channel c = {};

	if (!number)
		return 0;
	read_call(&a, regs_at, true);
	if (a.nr != CALL_WRITE && a.nr != CALL_WRITEV && a.nr != CALL_SENDTO &&
		a.nr != CALL_SENDMSG)
		return 0;
	if (find_channel(&c, a.arg[0], true) && c.key && (c.kind & 0xff) < CHANNEL_SIGNAL)
		bpf_map_update_elem(&sent_by, &c.key, number, BPF_ANY);
	return 0;
}

/* Handles that a child that is not observed has received. */
static __noinline int kin_receives(__u64 regs_at)
{
	__u32 key = ((struct task_struct *)bpf_get_current_task_btf())->pid;
	struct io_args a = {};
	struct channel c = {};
	__u64 *number;

	read_call(&a, regs_at, false);
	if (a.nr != CALL_READ && a.nr != CALL_READV && a.nr != CALL_RECVFROM &&
		a.nr != CALL_RECVMSG)
		return 0;
	if (!find_channel(&c, a.arg[0], false) || !c.key)
		return 0;
	number = bpf_map_lookup_elem(&sent_by, &c.key);
	if (number)
		bpf_map_update_elem(&woken_by, &key, number, BPF_ANY);
	return 0;
}

/* Handles that an observed thread has received from a channel. */
static __always_inline void receives_from_kin(__u64 thread, struct channel *c)
{
	__u64 *number = bpf_map_lookup_elem(&sent_by, &c->key);

	if (number && (c->kind & 0xff) < CHANNEL_SIGNAL)
		let_go_on(thread, *number);
}

SEC("tp_btf/sched_waking")
int on_waking(__u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0], *self = bpf_get_current_task_btf();
	__u64 thread = current_thread(), *known, number = 0;
	__u32 tgid, key = self->pid, other = task->pid;
	bool by_target = is_target(thread);
	int observed;
	long nr;

	if (by_target) {
		by_target = !(self->flags & PF_EXITING);
	} else if (!last_wake) {
		return 0;
	} else {
		known = bpf_map_lookup_elem(&woken_by, &key);
		if (known)
			number = *known;
		else if (!bpf_map_lookup_elem(&woken_by, &other))
			return 0;
	}
	if (task == self || task->flags & PF_KTHREAD)
		return 0;
	tgid = process_of(task);
	observed = sleeps_observed(tgid, call_of(task));
	if (!observed || (observed < 0 && tgid == tool_tgid))
		return 0;
	nr = call_of(self);
	if (!may_wake(self, nr, task))
		by_target = false, number = 0;
	if (by_target)
		wakes(thread, nr, task->pid, observed > 0 ? task_id(task) : 0);
	else
		passes_on(number, task, tgid, observed > 0);
	return 0;
}

#endif
