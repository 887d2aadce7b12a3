/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * What else orders threads through the kernel, and carries no bytes: signals and timers,
 * readiness (poll, select, epoll), connections, semaphores of System V, locks of files, the
 * end of children. The records are OP_SEND and OP_RECEIVE, as of messages; their kind says what
 * their operands are (record.h).
 */
#ifndef TRACEPREDICT_NOTICE_H
#define TRACEPREDICT_NOTICE_H

/* Sends the record of a notice; what is the operation and, times 256, the flags. */
__noinline int notice(__u64 thread, __u64 object, __u64 value, __u32 what, __s32 kind)
{
	send(thread, (struct record){.op = what,
			     .flags = what >> 8,
			     .object = object,
			     .value = value,
			     .result = kind});
	return 0;
}

#define CAME (REC_LEAVE << 8 | OP_RECEIVE)

/* Reports that an order of an unseen kind has reached the thread. */
static __always_inline void doubt(__u64 thread, __u64 why)
{
	notice(thread, why, 0, CAME, CHANNEL_DOUBT);
}

/* Readiness. */

#define POLLIN 1
#define POLLOUT 4
#define POLLIN_ANY 0x20db /* IN, PRI, ERR, HUP, NVAL, RDNORM, RDBAND, RDHUP */
#define POLLOUT_ANY 0x304 /* OUT, WRNORM, WRBAND */
#define ENDED_ANY 0x2018  /* ERR, HUP, RDHUP */
#define MOST_READY 16

struct polled_fd {
	__s32 fd;
	__s16 events, revents;
};

/* Reports which of the events a descriptor is ready for. */
__noinline int ready(__u64 thread, __s32 fd, __u32 events)
{
	struct channel c = {};

	if (events & POLLIN_ANY && find_channel(&c, fd, false) && c.key)
		send(thread, (struct record){.op = OP_RECEIVE,
				     .flags = REC_LEAVE,
				     .object = c.key,
				     .extra = events & ENDED_ANY,
				     .result = c.kind | CHANNEL_READY});
	if (events & POLLOUT_ANY && find_channel(&c, fd, true) && c.key)
		notice(thread, c.key, 0, REC_LEAVE << 8 | OP_SEND, c.kind | CHANNEL_READY);
	return 0;
}

static __always_inline void polled(__u64 thread, __u64 at, __u64 n)
{
	for (int i = 0; i < MOST_READY; i++) {
		struct polled_fd p = {};

		if (i >= n)
			return;
		bpf_probe_read_user(&p, sizeof(p), (void *)(at + i * sizeof(p)));
		if (p.revents)
			ready(thread, p.fd, (__u16)p.revents);
	}
	if (n > MOST_READY)
		doubt(thread, DOUBT_POLL);
}

struct selection {
	__u64 thread, at;
	__u64 word; /* that is being looked at */
	__u32 left; /* descriptors that may still be reported */
	bool in;
};

static long select_one(__u32 fd, struct selection *s)
{
	if (fd % 64 == 0) {
		s->word = 0;
		bpf_probe_read_user(&s->word, sizeof(s->word), (void *)(s->at + fd / 8));
	}
	if (!(s->word >> fd % 64 & 1))
		return 0;
	if (!s->left) {
		doubt(s->thread, DOUBT_POLL);
		return 1;
	}
	s->left--;
	ready(s->thread, fd, s->in ? POLLIN : POLLOUT);
	return 0;
}

/* Reports the descriptors of a set that select has returned, n of which it has looked at. */
static __always_inline void selected(__u64 thread, __u64 at, __u64 n, bool in)
{
	struct selection s = {.thread = thread, .at = at, .left = MOST_READY, .in = in};

	if (at)
		bpf_loop(n < 1024 ? n : 1024, select_one, &s, 0);
}

#if defined(__TARGET_ARCH_x86)
#define EPOLL_SIZE 12 /* of struct epoll_event, and where its data is */
#define EPOLL_DATA 4
#else
#define EPOLL_SIZE 16
#define EPOLL_DATA 8
#endif
#define EPOLL_CTL_DEL 2

static __always_inline void epoll_changed(__u64 thread, struct io_args *a)
{
	struct channel set = {}, c = {};
	__u64 data = 0;

	if ((__u32)a->arg[1] == EPOLL_CTL_DEL)
		return;
	find_channel(&set, a->arg[0], false);
	if (set.kind != CHANNEL_EPOLL)
		return;
	bpf_probe_read_user(&data, sizeof(data), (void *)(a->arg[3] + EPOLL_DATA));
	find_channel(&c, a->arg[2], false);
	send(thread, (struct record){.op = OP_SEND,
			     .object = set.key,
			     .value = data,
			     .extra = c.key,
			     .result = CHANNEL_EPOLL | c.kind << CHANNEL_OF_FD});
}

__noinline int epoll_one(__u64 thread, __u64 set, __u64 data, __u32 events)
{
	send(thread, (struct record){.op = OP_RECEIVE,
			     .flags = REC_LEAVE,
			     .object = set,
			     .value = data,
			     .extra = events & ENDED_ANY,
			     .result = CHANNEL_EPOLL});
	return 0;
}

static __always_inline void epoll_came(__u64 thread, struct io_args *a, __s64 n)
{
	struct channel set = {};
	__u32 events;
	__u64 data;

	find_channel(&set, a->arg[0], false);
	if (set.kind != CHANNEL_EPOLL)
		return;
	for (int i = 0; i < MOST_READY; i++) {
		if (i >= n)
			return;
		data = 0;
		events = 0;
		bpf_probe_read_user(
			&data, sizeof(data), (void *)(a->arg[1] + i * EPOLL_SIZE + EPOLL_DATA));
		bpf_probe_read_user(&events, sizeof(events), (void *)(a->arg[1] + i * EPOLL_SIZE));
		epoll_one(thread, set.key, data, events);
	}
	if (n > MOST_READY) /* all that it has */
		notice(thread, set.key, 0, CAME, CHANNEL_EPOLL | CHANNEL_READY);
}

/* Connections. */

#define LISTENS (1ULL << 40) /* of a key: that the socket listens, and not that it is connected */

/* Returns the key of the listener at an address; 0 if there can be none. */
static __always_inline __u64 listener_at(__u64 address)
{
	__u16 head[2] = {}; /* of struct sockaddr: the family, and the port */

	bpf_probe_read_user(head, sizeof(head), (void *)address);
	return listener_key(head[0], __builtin_bswap16(head[1]));
}

#define EAGAIN 11
#define EINTR 4
#define ECONNREFUSED 111
#define ERESTARTSYS 512 /* and the next ones: the call is begun again */

/* Returns whether a wait was ended by what it waited for, be it an error. */
static __always_inline bool ended(__s64 result)
{
	return result >= 0 || (result != -EAGAIN && result != -EINTR && result > -ERESTARTSYS);
}

static __always_inline void accepted(__u64 thread, struct io_args *a)
{
	struct channel c = {};

	find_channel(&c, a->arg[0], false);
	if (c.kind != CHANNEL_LISTENER)
		return;
	if (c.key >> 16 == TCP_LISTENERS)
		mark_accepting(c.key);
	notice(thread, c.key, 0, CAME, CHANNEL_LISTENER | CHANNEL_FAR);
}

/* Semaphores of System V. */

#define SEM_UP 1
#define SEM_DOWN 2
#define MOST_SEMS 8
#define SETVAL 16
#define SETALL 17
#define IPC_RMID 0
#define EIDRM 43
#define ESRCH 3

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

/* Locks of files. */

#define LOCK_SH 1
#define LOCK_UN 8
#define F_SETLK 6
#define F_SETLKW 7
#define F_OFD_SETLK 37
#define F_OFD_SETLKW 38
#define F_RDLCK 0
#define F_UNLCK 2
#define FCNTL_LOCK (1ULL << 40) /* of a key: the locks of fcntl are others than flock's */
#define PROCESS_OWNS (1ULL << 41)

/* Open files that have been locked: to close one may unlock it. Each has a number as the owner
 * of its locks, since another file may be opened where one was. */
struct locked_file {
	__u64 key, owner;
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1 << 10);
	__type(key, __u64);
	__type(value, struct locked_file);
} locked_files SEC(".maps");

__u32 last_owner; /* of the numbers of locked files */

/* Sends what a lock of a file does: out when it is let go or weakened, else when it is had. */
__noinline int file_lock(__u64 thread, __s32 fd, __s32 command, bool out)
{
	struct file *f = file_of(fd);
	__u64 at = (__u64)f;
	struct locked_file *known = bpf_map_lookup_elem(&locked_files, &at), lock;

	if (!f)
		return 0;
	lock.key = veiled(BPF_CORE_READ(f, f_inode));
	if (command)
		lock.key ^= FCNTL_LOCK;
	if (known && known->key == lock.key) {
		lock.owner = known->owner;
	} else {
		lock.owner = __sync_fetch_and_add(&last_owner, 1) + 1;
		bpf_map_update_elem(&locked_files, &at, &lock, BPF_ANY);
	}
	if (command == F_SETLK || command == F_SETLKW)
		lock.owner = PROCESS_OWNS | thread >> 32;
	return notice(thread, lock.key, lock.owner, out ? OP_SEND : CAME, CHANNEL_FILE_LOCK);
}

__noinline int closes_locked(__u64 thread, __s32 fd)
{
	__u64 at = (__u64)file_of(fd);
	struct locked_file *known = bpf_map_lookup_elem(&locked_files, &at), lock;

	if (!known)
		return 0;
	lock = *known;
	bpf_map_delete_elem(&locked_files, &at);
	return notice(thread, lock.key, lock.owner, OP_SEND, CHANNEL_FILE_LOCK);
}

static __always_inline bool locks_file(struct io_args *a, bool out)
{
	__s16 type = 0;

	if (a->nr == CALL_FLOCK)
		return out ? a->arg[1] & (LOCK_UN | LOCK_SH) : !(a->arg[1] & LOCK_UN);
	switch (a->arg[1]) {
	case F_SETLK:
	case F_SETLKW:
	case F_OFD_SETLK:
	case F_OFD_SETLKW:
		break;
	default:
		return false;
	}
	bpf_probe_read_user(&type, sizeof(type), (void *)a->arg[2]);
	return out ? type == F_UNLCK || type == F_RDLCK : type != F_UNLCK;
}

static __always_inline __s32 lock_command(struct io_args *a)
{
	return a->nr == CALL_FLOCK ? 0 : a->arg[1];
}

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

/* Numbers of descriptors. Whoever gets one gets it after it was closed, by whichever thread. */

/* The thread that closed the number last, by process and number. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1 << 14);
	__type(key, __u64);
	__type(value, __u32);
} freed_numbers SEC(".maps");

static __always_inline __u64 number_key(__u64 thread, __s32 fd)
{
	return thread >> 32 << 32 | (__u32)fd;
}

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
	__u32 *by = bpf_map_lookup_elem(&freed_numbers, &key);

	if (!by || *by == (__u32)thread)
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

/* Descriptors that are closed otherwise than by close. */

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

#define FIONREAD 0x541b

/* Reports that a descriptor has something to read, if a call has said so. */
static __always_inline void counted(__u64 thread, struct io_args *a)
{
	__s32 bytes = 0;

	if ((__u32)a->arg[1] != FIONREAD)
		return;
	bpf_probe_read_user(&bytes, sizeof(bytes), (void *)a->arg[2]);
	if (bytes > 0)
		ready(thread, a->arg[0], POLLIN);
}

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
			notice(thread, a->arg[0] + 1, key, OP_SEND, CHANNEL_SEMAPHORE);
		break;
	case CALL_SEMCTL:
		if (a->arg[2] == SETVAL || a->arg[2] == SETALL || a->arg[2] == IPC_RMID)
			notice(thread, a->arg[0] + 1, SEM_UP | SEM_DOWN, OP_SEND,
				CHANNEL_SEMAPHORE);
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
			notice(thread, a->arg[0] + 1, key, CAME, CHANNEL_SEMAPHORE);
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

/* Signals. The kernel generates one in the thread that sends it; that of a timer in whichever
 * thread runs at the time. */

struct kernel_siginfo {
	int si_signo, si_code;
} CORE;

#define SIG_IGN 1 /* and 0, SIG_DFL */

struct signal_args {
	__u64 args[5];
};

#define SI_KERNEL 0x80
#define SI_TIMER (-2)
#define SEND_SIG_PRIV 1 /* in place of a siginfo: the kernel sends it */
#define SIGALRM 14
#define SIGVTALRM 26
#define SIGPROF 27

static __always_inline __s32 signal_code(__u64 info)
{
	if (info <= SEND_SIG_PRIV)
		return info ? SI_KERNEL : 0;
	return BPF_CORE_READ((struct kernel_siginfo *)info, si_code);
}

static __always_inline bool of_timer(__u64 sig, __s32 code)
{
	return code == SI_TIMER ||
	       (code == SI_KERNEL && (sig == SIGALRM || sig == SIGVTALRM || sig == SIGPROF));
}

/* Returns the ID of a task's process if it is a child, not observed, of the thread's process; else 0. */
static __always_inline __u32 child_of(__u64 thread, struct task_struct *task)
{
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);

	if (task_id(BPF_CORE_READ(leader, real_parent, group_leader)) != thread >> 32)
		return 0;
	return task_id(leader);
}

/* Runs in the sender: sig, info, task, group, result. */
SEC("raw_tp/signal_generate")
int on_signal_sent(struct signal_args *ctx)
{
	__u64 thread = current_thread(), sig = (__u32)ctx->args[0], to;
	struct task_struct *task = (void *)ctx->args[2];
	bool group = (__u32)ctx->args[3];

	__s32 code = signal_code(ctx->args[1]);

	if (!is_target(thread) || of_timer(sig, code))
		return 0;
	/* A thread whose end was recorded sends no more. */
	if (BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), flags) & PF_EXITING)
		return 0;
	to = target_of(task);
	if (!to)
		to = child_of(thread, task);
	if (!to &&
		code > 0) /* to a process that is not observed, by the kernel: as to who traces this one */
		return 0;
	notice(thread, sig, to << 32 | (group || !to ? 0 : task_id(task)), OP_SEND, CHANNEL_SIGNAL);
	if (!target_of(task))
		wakes(thread, call_of(bpf_get_current_task_btf()), BPF_CORE_READ(task, pid), 0);
	return 0;
}

/* Runs in the thread that a signal reaches: sig, info, action. */
SEC("raw_tp/signal_deliver")
int on_signal_came(struct signal_args *ctx)
{
	__u64 thread = current_thread(), sig = (__u32)ctx->args[0];
	__u64 handler = 0; /* the first member of struct k_sigaction */

	if (!is_target(thread))
		return 0;
	bpf_probe_read_kernel(&handler, sizeof(handler), (void *)ctx->args[2]);
	if (handler <= SIG_IGN) /* what runs no handler does not notify the program */
		return 0;
	notice(thread, sig, of_timer(sig, signal_code(ctx->args[1])) ? FROM_TIMER : 0, CAME,
		CHANNEL_SIGNAL);
	return 0;
}

#endif
