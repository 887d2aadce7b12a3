/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Threads that sleep until a signal handler has run: a record when the call is entered, and one when the
 * handler has returned to the code behind it. A handler that leaves by a jump, or ends the process,
 * makes no second record.
 */
#ifndef TRACEPREDICT_PAUSE_H
#define TRACEPREDICT_PAUSE_H

#include "callstack.h"
#include "ringbuf.h"
#include "syscall.h"

/* The handlers that run in threads that have paused, by thread. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1 << 12);
	__type(key, __u32);
	__type(value, __u32);
} pauses SEC(".maps");

/* Returns whether a call sleeps until a signal comes, with the signals blocked that the thread has blocked
 * before: pause(2), and ppoll(2) as C libraries call it in place of that. */
static __always_inline bool pauses_in(struct io_args *a)
{
	if (a->nr == CALL_PPOLL)
		return !a->arg[1] && !a->arg[2] && !a->arg[3];
	return a->nr == CALL_PAUSE;
}

/* Handles that a thread enters a system call. */
static __noinline int pause_entered(__u64 thread, struct io_args *a)
{
	__u32 tid = thread, none = 0, *handlers;

	if (!a)
		return 0;
	if (pauses_in(a)) {
		bpf_map_update_elem(&pauses, &tid, &none, BPF_ANY);
		send_now(thread, (struct record){.op = OP_PAUSE, .stack = call_stack(thread)},
			false, false);
		return 0;
	}
	if (a->nr != CALL_RT_SIGRETURN)
		return 0;
	handlers = bpf_map_lookup_elem(&pauses, &tid);
	if (!handlers || !*handlers || --*handlers)
		return 0;
	bpf_map_delete_elem(&pauses, &tid);
	send_now(thread, (struct record){.op = OP_PAUSE, .flags = REC_LEAVE}, false, false);
	return 0;
}

/* Handles that a signal handler is about to run in a thread. */
static __always_inline void pause_interrupted(__u64 thread)
{
	__u32 tid = thread, *handlers = bpf_map_lookup_elem(&pauses, &tid);

	if (handlers)
		++*handlers;
}

#endif
