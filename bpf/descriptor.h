/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Numbers of descriptors. Whoever gets one gets it after it was closed, by whichever thread.
 */
#ifndef TRACEPREDICT_DESCRIPTOR_H
#define TRACEPREDICT_DESCRIPTOR_H

#include "filelock.h"
#include "message.h"
#include "notice.h"
#include "number.h"

/* Reports that a descriptor is about to be closed, by one of several threads. */
__noinline int number_freed(__u64 thread, __s32 fd)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u64 key = number_key(thread, fd);
	__u32 tid = thread;

	if (!file_of(fd) || BPF_CORE_READ(task, signal, live.counter) < 2)
		return 0;
	bpf_map_update_elem(&freed_numbers, &key, &tid, BPF_ANY);
	return notice(thread, fd, 0, OP_SEND, CHANNEL_DESCRIPTOR);
}

/* Reports that a call has returned the number of a descriptor, if another thread had closed that. */
__noinline int number_taken(__u64 thread, __s32 fd)
{
	__u64 key = number_key(thread, fd);
	__u32 *by = bpf_map_lookup_elem(&freed_numbers, &key), closer;

	if (!by)
		return 0;
	closer = *by & ~NUMBER_TAKEN;
	*by = closer | NUMBER_TAKEN;
	if (closer == (__u32)thread)
		return 0;
	return notice(thread, fd, 0, CAME, CHANNEL_DESCRIPTOR);
}

static __always_inline void both_taken(__u64 thread, __u64 at)
{
	__s32 fds[2] = {-1, -1};

	bpf_probe_read_user(fds, sizeof(fds), (void *)at);
	number_taken(thread, fds[0]);
	number_taken(thread, fds[1]);
}

#define F_DUPFD 0
#define F_DUPFD_CLOEXEC 1030

/* Reports the numbers of descriptors that a call has made. */
static __always_inline void numbers_taken(__u64 thread, struct io_args *a, __s64 result)
{
	if (result < 0)
		return;
	switch (a->nr) {
	case CALL_PIPE:
	case CALL_PIPE2:
		both_taken(thread, a->arg[0]);
		return;
	case CALL_SOCKETPAIR:
		both_taken(thread, a->arg[3]);
		return;
	case CALL_FCNTL:
		if (a->arg[1] != F_DUPFD && a->arg[1] != F_DUPFD_CLOEXEC)
			return;
	case CALL_ACCEPT:
	case CALL_ACCEPT4:
	case CALL_OPEN:
	case CALL_OPENAT:
	case CALL_OPENAT2:
	case CALL_CREAT:
	case CALL_DUP:
	case CALL_DUP2:
	case CALL_DUP3:
	case CALL_SOCKET:
	case CALL_EVENTFD:
	case CALL_EVENTFD2:
	case CALL_EPOLL_CREATE:
	case CALL_EPOLL_CREATE1:
	case CALL_TIMERFD_CREATE:
	case CALL_SIGNALFD:
	case CALL_SIGNALFD4:
	case CALL_INOTIFY_INIT:
	case CALL_INOTIFY_INIT1:
	case CALL_MEMFD_CREATE:
	case CALL_MQ_OPEN:
	case CALL_PIDFD_OPEN:
		number_taken(thread, result);
	}
}

__noinline int closed(__u64 thread, __s32 fd)
{
	struct io_call call = {};

	number_freed(thread, fd);
	if (last_owner)
		closes_locked(thread, fd);
	if (!find_channel(&call.send, fd, true) || !call.send.key ||
		((call.send.kind & 0xff) >= CHANNEL_SIGNAL &&
			(call.send.kind & 0xff) != CHANNEL_LISTENER))
		return 0;
	io_record(&call, thread, 0, OP_SEND);
	return io_record(&call, thread, 0, REC_LEAVE << 8 | OP_SEND);
}

struct closing {
	__u64 thread;
	__u32 first;
};

static long close_one(__u32 i, struct closing *c)
{
	closed(c->thread, c->first + i);
	return 0;
}

#define CLOSE_RANGE_CLOEXEC 4
#define MOST_CLOSED 4096

static __always_inline void range_closed(__u64 thread, struct io_args *a)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u32 open = BPF_CORE_READ(task, files, fdt, max_fds);
	__u32 first = a->arg[0], last = a->arg[1], n;
	struct closing c = {.thread = thread, .first = first};

	if (a->arg[2] & CLOSE_RANGE_CLOEXEC || !open || first >= open)
		return;
	n = (last < open ? last : open - 1) - first + 1;
	bpf_loop(n < MOST_CLOSED ? n : MOST_CLOSED, close_one, &c, 0);
}

#endif
