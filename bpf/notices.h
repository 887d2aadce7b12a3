/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * What a system call of a thread notifies others of, and what it has been notified of.
 */
#ifndef TRACEPREDICT_NOTICES_H
#define TRACEPREDICT_NOTICES_H

#include "child.h"
#include "connection.h"
#include "descriptor.h"
#include "filelock.h"
#include "notice.h"
#include "ready.h"
#include "semaphore.h"

/* Reports that a FIFO was opened, which waits for who opens its other end. */
#define O_NONBLOCK 04000
#define O_RDWR 2
static __always_inline void opened(__u64 thread, __s32 fd)
{
	struct channel c = {};

	find_channel(&c, fd, false);
	if ((c.kind & ~CHANNEL_TIGHT) == CHANNEL_FIFO &&
		!(BPF_CORE_READ(file_of(fd), f_flags) & (O_NONBLOCK | O_RDWR)))
		doubt(thread, DOUBT_FIFO);
}

#define ESRCH 3

/* Reports what a system call of a thread notifies others of, when it is entered. */
static __always_inline void notice_entered(__u64 thread, struct io_args *a)
{
	__u64 key;

	switch (a->nr) {
	case CALL_TIMER_SETTIME:
	case CALL_SETITIMER:
	case CALL_ALARM:
		notice(thread, 1, 0, OP_SEND, CHANNEL_TIMER);
		break;
	case CALL_EPOLL_CTL:
		epoll_changed(thread, a);
		break;
	case CALL_CONNECT:
		key = listener_at(a->arg[1]);
		if (key)
			notice(thread, key, 0, OP_SEND, CHANNEL_LISTENER);
		break;
	case CALL_LISTEN:
		key = bound_key(a->arg[0]);
		if (key)
			notice(thread, key | LISTENS, 0, OP_SEND, CHANNEL_LISTENER);
		break;
	case CALL_SEMOP:
	case CALL_SEMTIMEDOP:
		key = sem_changes(a, false);
		if (key)
			sem_notice(thread, a, key, OP_SEND);
		break;
	case CALL_SEMCTL:
		if (a->arg[2] == SETVAL || a->arg[2] == SETALL || a->arg[2] == IPC_RMID)
			sem_notice(thread, a, SEM_UP | SEM_DOWN, OP_SEND);
		break;
	case CALL_FLOCK:
	case CALL_FCNTL:
		if (locks_file(a, true))
			file_lock(thread, a->arg[0], lock_command(a), true);
		break;
	case CALL_CLOSE:
		number_freed(thread, a->arg[0]);
		if (last_owner)
			closes_locked(thread, a->arg[0]);
		break;
	case CALL_DUP2:
	case CALL_DUP3:
		if (a->arg[0] != a->arg[1])
			closed(thread, a->arg[1]);
		break;
	case CALL_CLOSE_RANGE:
		range_closed(thread, a);
		break;
	}
}

/* Reports what a system call of a thread has been notified of, when it has returned. Returns whether it
 * is such a call. */
static __always_inline bool notice_left(__u64 thread, struct io_args *a, __s64 result)
{
	__u64 key = 0;
	__u32 pid = 0, status = 0;

	numbers_taken(thread, a, result);
	switch (a->nr) {
	case CALL_RT_SIGPENDING:
		if (result == 0)
			bpf_probe_read_user(&key, sizeof(key), (void *)a->arg[0]);
		if (result == 0 && key)
			notice(thread, ANY_SIGNAL, 0, CAME, CHANNEL_SIGNAL | CHANNEL_READY);
		return true;
	case CALL_IOCTL:
		if (result == 0)
			counted(thread, a);
		return true;
	case CALL_RT_SIGTIMEDWAIT:
		if (result > 0)
			notice(thread, result, ANY_CODE, CAME, CHANNEL_SIGNAL);
		return true;
	case CALL_POLL:
	case CALL_PPOLL:
		if (result > 0)
			polled(thread, a->arg[0], (__u32)a->arg[1]);
		return true;
	case CALL_SELECT:
	case CALL_PSELECT6:
		if (result > 0) {
			selected(thread, a->arg[1], (__u32)a->arg[0], true);
			selected(thread, a->arg[2], (__u32)a->arg[0], false);
			selected(thread, a->arg[3], (__u32)a->arg[0], true);
		}
		return true;
	case CALL_EPOLL_WAIT:
	case CALL_EPOLL_PWAIT:
	case CALL_EPOLL_PWAIT2:
		if (result > 0)
			epoll_came(thread, a, result);
		return true;
	case CALL_CONNECT:
		key = listener_at(a->arg[1]);
		if (key && result == 0)
			notice(thread, key | LISTENS, 0, CAME, CHANNEL_LISTENER);
		if (key && result == -ECONNREFUSED)
			notice(thread, key, 0, CAME, CHANNEL_LISTENER | CHANNEL_FAR);
		return true;
	case CALL_ACCEPT:
	case CALL_ACCEPT4:
		if (ended(result))
			accepted(thread, a);
		return true;
	case CALL_SEMOP:
	case CALL_SEMTIMEDOP:
		key = sem_changes(a, true);
		if (key && (result == 0 || result == -EIDRM))
			sem_notice(thread, a, key, CAME);
		return true;
	case CALL_FLOCK:
	case CALL_FCNTL:
		if (result == 0 && locks_file(a, false))
			file_lock(thread, a->arg[0], lock_command(a), false);
		return true;
	case CALL_KILL:
	case CALL_TKILL:
	case CALL_TGKILL:
		if (result == -ESRCH)
			doubt(thread, DOUBT_GONE);
		return true;
	case CALL_WAIT4:
		if (result > 0 && a->arg[1])
			bpf_probe_read_user(&status, sizeof(status), (void *)a->arg[1]);
		if (result > 0)
			notice(thread, result, ended_by(status), CAME, CHANNEL_CHILD);
		return true;
	case CALL_WAITID:
		if (result == 0 && waited_for(a, &pid, &status))
			notice(thread, pid, status, CAME, CHANNEL_CHILD);
		return true;
	case CALL_OPEN:
	case CALL_OPENAT:
	case CALL_OPENAT2:
		if (result >= 0)
			opened(thread, result);
		return true;
	}
	return false;
}

#endif
