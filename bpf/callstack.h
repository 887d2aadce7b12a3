/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * The call stack of a thread in a system call, for events that no probe sees.
 */
#ifndef TRACEPREDICT_CALLSTACK_H
#define TRACEPREDICT_CALLSTACK_H

#include "probe.h"
#include "stackid.h"

#define NO_SITE 0xffff /* the index of no site */

/* Returns the ID of the call stack with which the current thread has entered the kernel; 0 if none are wanted. Not
 * static, so that the verifier judges it once. */
__noinline __u32 call_stack(__u64 thread)
{
	struct pt_regs *user = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	__s64 nr = SYSCALL_NUMBER(user);

	if (!want_stacks || nr < 0 || nr >= 0xffff)
		return 0;
	return stack_at(REG_IP(user), NO_SITE | (__u32)(nr + 1) << 16, REG_SP(user), thread,
		slot_of(thread));
}

#endif
