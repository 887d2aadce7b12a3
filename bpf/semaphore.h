/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Semaphores of System V.
 */
#ifndef TRACEPREDICT_SEMAPHORE_H
#define TRACEPREDICT_SEMAPHORE_H

#include "callstack.h"
#include "ringbuf.h"
#include "syscall.h"

#define SEM_UP 1
#define SEM_DOWN 2
#define MOST_SEMS 8
#define SETVAL 16
#define SETALL 17
#define IPC_RMID 0
#define EIDRM 43

struct sem_op {
	__u16 num;
	__s16 op, flag;
};

/* Returns what a call changes, or with waits what it waits for: SEM_UP, SEM_DOWN. */
static __always_inline __u64 sem_changes(struct io_args *a, bool waits)
{
	__u64 changes = 0;

	for (int i = 0; i < MOST_SEMS; i++) {
		struct sem_op s = {};

		if (i >= a->arg[2])
			return changes;
		bpf_probe_read_user(&s, sizeof(s), (void *)(a->arg[1] + i * sizeof(s)));
		if (waits)
			changes |= s.op > 0 ? 0 : s.op ? SEM_UP : SEM_DOWN;
		else
			changes |= s.op > 0 ? SEM_UP : s.op ? SEM_DOWN : 0;
	}
	return a->arg[2] > MOST_SEMS ? SEM_UP | SEM_DOWN : changes;
}

#define IPC_NOWAIT 04000

/* Returns which semaphore of the set a call is about, and what it does to it. */
static __always_inline __u64 sem_one(struct io_args *a)
{
	struct sem_op s = {};
	__u64 by, once;

	if (a->nr == CALL_SEMCTL && a->arg[2] == SETVAL)
		return ((a->arg[1] + 1) & SEM_ONE) | (a->arg[3] & 0xffff) << SEM_BY |
		       1ULL << SEM_SET;
	if (a->nr == CALL_SEMCTL || a->arg[2] != 1)
		return 0;
	bpf_probe_read_user(&s, sizeof(s), (void *)a->arg[1]);
	by = s.op < 0 ? -s.op : s.op;
	once = s.flag & IPC_NOWAIT || (a->nr == CALL_SEMTIMEDOP && a->arg[3]);
	return ((s.num + 1) & SEM_ONE) | (by & 0xffff) << SEM_BY | once << SEM_ONCE;
}

/* Sends the record of a call on a set of semaphores. */
static __noinline int sem_notice(__u64 thread, struct io_args *a, __u64 changes, __u32 what)
{
	if (!a)
		return 0;
	send(thread, (struct record){.op = what,
			     .flags = what >> 8,
			     .stack = call_stack(thread),
			     .object = a->arg[0] + 1,
			     .value = changes,
			     .token = sem_one(a),
			     .result = CHANNEL_SEMAPHORE});
	return 0;
}

#endif
