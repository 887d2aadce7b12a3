/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Holding a thread for its tracer, which is the tool: it is sent a signal that nobody minds, so that it stops before it
 * goes on in the program.
 */
#ifndef TRACEPREDICT_HOLD_H
#define TRACEPREDICT_HOLD_H

#include "globals.h"
#include "kernel.h"
#include "thread.h"

#define SIGURG 23 /* it is ignored unless the program handles it */

/* Returns whether the tool traces a thread. */
static __always_inline bool traced_by_tool(struct task_struct *task)
{
	return BPF_CORE_READ(task, ptrace) &&
	       task_id(BPF_CORE_READ(task, parent, group_leader)) == tool_tgid;
}

/* Has a thread that the tool traces stop. Returns whether it will. */
static __always_inline bool stop_thread(struct task_struct *task)
{
	/* A blocked signal would come at another time. */
	return traced_by_tool(task) &&
	       !(BPF_CORE_READ(task, blocked.sig[0]) & 1ULL << (SIGURG - 1)) &&
	       !bpf_send_signal_thread(SIGURG);
}

__u32 holds_loading; /* set by user space, where it traces the program from its start */

/* Threads that stop, or will, since the dynamic loader has changed the list of libraries. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 10);
	__type(key, __u32);
	__type(value, __u32);
} loading_threads SEC(".maps");

/* Has the current thread stop until the libraries that it has loaded have their probes. Returns whether it will. */
static __noinline int hold_loading(__u64 thread)
{
	__u32 tid = thread, one = 1;

	if (!holds_loading || bpf_map_update_elem(&loading_threads, &tid, &one, BPF_ANY))
		return 0;
	if (stop_thread(bpf_get_current_task_btf()))
		return 1;
	bpf_map_delete_elem(&loading_threads, &tid);
	return 0;
}

#endif
