/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * The end of children, and what else wait reports of them.
 */
#ifndef TRACEPREDICT_CHILD_H
#define TRACEPREDICT_CHILD_H

#include "record.h"
#include "syscall.h"

#define SI_CODE 8 /* where siginfo_t has how a child ended, its ID, and by which signal */
#define SI_PID 16
#define SI_STATUS 24
#define CLD_EXITED 1
#define SIGCONT 18
#define P_PID 1
#define WNOHANG 1

/* Returns the signal that ended, stopped or continued a child, of the status that wait has returned;
 * 0 if it has ended by itself. */
static __always_inline __u32 ended_by(__u32 status)
{
	if ((status & 0xff) == 0x7f)
		return status >> 8 & 0xff;
	return status == 0xffff ? SIGCONT : status & 0x7f;
}

/* Returns whether a call of waitid has ended a wait, the child that it may name, and the signal that
 * ended, stopped or continued that child; 0 if none did, ANY_STATUS if that is not known. */
static __always_inline bool waited_for(struct io_args *a, __u32 *pid, __u32 *status)
{
	__u32 code = 0;

	*pid = 0;
	if (a->arg[2]) {
		bpf_probe_read_user(pid, sizeof(*pid), (void *)(a->arg[2] + SI_PID));
		bpf_probe_read_user(&code, sizeof(code), (void *)(a->arg[2] + SI_CODE));
		if (code != CLD_EXITED)
			bpf_probe_read_user(
				status, sizeof(*status), (void *)(a->arg[2] + SI_STATUS));
		return *pid;
	}
	*status = ANY_STATUS;
	if (a->arg[0] == P_PID)
		*pid = a->arg[1];
	return !(a->arg[3] & WNOHANG); /* else it is not known whether one ended */
}

#endif
