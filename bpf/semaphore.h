/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Semaphores of System V.
 */
#ifndef TRACEPREDICT_SEMAPHORE_H
#define TRACEPREDICT_SEMAPHORE_H

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

#endif
