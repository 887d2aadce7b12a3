/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Messages between threads through the kernel: pipes, sockets, eventfds, timers and futexes.
 * There is a record when a system call that sends or receives is entered, and one when it has
 * returned. The programs are loaded and attached only where messages are asked for: each
 * system call of the machine pays for looking whose it is.
 */
#ifndef TRACEPREDICT_IO_H
#define TRACEPREDICT_IO_H

struct super_block {
	unsigned int s_dev;
	unsigned long s_magic;
} CORE;
struct inode {
	unsigned short i_mode;
	unsigned int i_rdev;
	unsigned long i_ino;
	struct super_block *i_sb;
} CORE;
struct qstr {
	const unsigned char *name;
} CORE;
struct dentry {
	struct qstr d_name;
} CORE;
struct path {
	struct dentry *dentry;
} CORE;
struct file {
	struct path f_path;
	struct inode *f_inode;
	unsigned int f_flags;
	void *private_data;
} CORE;
struct fdtable {
	unsigned int max_fds;
	struct file **fd;
} CORE;
struct files_struct {
	struct fdtable *fdt;
} CORE;
struct in6_addr {
	__u32 words[4];
};
struct sock_common {
	__u32 skc_daddr, skc_rcv_saddr; /* in the order of the network */
	struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr;
	unsigned short skc_family;
	volatile unsigned char skc_state;
	__u16 skc_dport; /* in the order of the network */
	__u16 skc_num;
} CORE;
struct sock {
	struct sock_common __sk_common;
	int sk_sndbuf;
} CORE;
struct inet_sock {
	__u16 inet_sport; /* in the order of the network; a connection that was reset keeps it */
} CORE;
struct unix_sock {
	void *addr;
	struct sock *peer;
} CORE;
struct socket {
	short type;
	struct sock *sk;
} CORE;
struct tty_struct {
	struct tty_struct *link;
} CORE;
struct tty_file_private {
	struct tty_struct *tty;
} CORE;
struct mq_attr {
	long mq_maxmsg;
} CORE;
struct mqueue_inode_info {
	struct inode vfs_inode;
	struct mq_attr attr;
} CORE;

#define S_IFMT 0170000
#define S_IFIFO 0010000
#define S_IFSOCK 0140000
#define S_IFREG 0100000
#define S_IFCHR 0020000
#define ANON_INODE_MAGIC 0x09041934
#define PIDFS_MAGIC 0x50494446
#define PIPEFS_MAGIC 0x50495045
#define MQUEUE_MAGIC 0x19800202
#define SMALL_QUEUE 8
#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10
#define AF_NETLINK 16
#define SOCK_DGRAM 2
#define TCP_LISTEN 10 /* of AF_UNIX, too */
#define SMALL_SNDBUF (1 << 16)
#define O_PACKETS IO_CALL(040000, 0200000) /* O_DIRECT */

/* The system calls, by their numbers. */
#if defined(__TARGET_ARCH_x86)
#define IO_CALL(x86, arm) x86
#elif defined(__TARGET_ARCH_arm64)
#define IO_CALL(x86, arm) arm
#endif
#define CALL_READ IO_CALL(0, 63)
#define CALL_WRITE IO_CALL(1, 64)
#define CALL_READV IO_CALL(19, 65)
#define CALL_WRITEV IO_CALL(20, 66)
#define CALL_PREADV2 IO_CALL(327, 286)
#define CALL_PWRITEV2 IO_CALL(328, 287)
#define CALL_SENDFILE IO_CALL(40, 71)
#define CALL_VMSPLICE IO_CALL(278, 75)
#define CALL_SPLICE IO_CALL(275, 76)
#define CALL_TEE IO_CALL(276, 77)
#define CALL_SENDTO IO_CALL(44, 206)
#define CALL_RECVFROM IO_CALL(45, 207)
#define CALL_SENDMSG IO_CALL(46, 211)
#define CALL_RECVMSG IO_CALL(47, 212)
#define CALL_SENDMMSG IO_CALL(307, 269)
#define CALL_RECVMMSG IO_CALL(299, 243)
#define CALL_CLOSE IO_CALL(3, 57)
#define CALL_SHUTDOWN IO_CALL(48, 210)
#define CALL_DUP2 IO_CALL(33, NO_CALL + 33)
#define CALL_DUP3 IO_CALL(292, 24)
#define CALL_CLOSE_RANGE 436
#define CALL_IOCTL IO_CALL(16, 29)
#define CALL_RT_SIGPENDING IO_CALL(127, 136)
#define CALL_TIMERFD_SETTIME IO_CALL(286, 86)
#define CALL_FUTEX IO_CALL(202, 98)
#define CALL_IO_URING_SETUP 425
#define CALL_MQ_TIMEDSEND IO_CALL(242, 182)
#define CALL_MQ_TIMEDRECEIVE IO_CALL(243, 183)
#define CALL_MSGSND IO_CALL(69, 189)
#define CALL_MSGRCV IO_CALL(70, 188)
#define CALL_MSGCTL IO_CALL(71, 187)
#define CALL_TIMER_SETTIME IO_CALL(223, 110)
#define CALL_SETITIMER IO_CALL(38, 103)
#define CALL_ALARM IO_CALL(37, NO_CALL + 37)
#define CALL_RT_SIGTIMEDWAIT IO_CALL(128, 137)
#define CALL_POLL IO_CALL(7, NO_CALL + 7)
#define CALL_PPOLL IO_CALL(271, 73)
#define CALL_SELECT IO_CALL(23, NO_CALL + 23)
#define CALL_PSELECT6 IO_CALL(270, 72)
#define CALL_EPOLL_CTL IO_CALL(233, 21)
#define CALL_EPOLL_WAIT IO_CALL(232, NO_CALL + 232)
#define CALL_EPOLL_PWAIT IO_CALL(281, 22)
#define CALL_EPOLL_PWAIT2 441
#define CALL_CONNECT IO_CALL(42, 203)
#define CALL_LISTEN IO_CALL(50, 201)
#define CALL_ACCEPT IO_CALL(43, 202)
#define CALL_ACCEPT4 IO_CALL(288, 242)
#define CALL_SEMOP IO_CALL(65, 193)
#define CALL_SEMTIMEDOP IO_CALL(220, 192)
#define CALL_SEMCTL IO_CALL(66, 191)
#define CALL_FLOCK IO_CALL(73, 32)
#define CALL_KILL IO_CALL(62, 129)
#define CALL_TKILL IO_CALL(200, 130)
#define CALL_TGKILL IO_CALL(234, 131)
#define CALL_RT_SIGQUEUEINFO IO_CALL(129, 138)
#define CALL_RT_TGSIGQUEUEINFO IO_CALL(297, 240)
#define CALL_PIDFD_SEND_SIGNAL 424
#define CALL_FCNTL IO_CALL(72, 25)
#define CALL_WAIT4 IO_CALL(61, 260)
#define CALL_WAITID IO_CALL(247, 95)
#define CALL_NANOSLEEP IO_CALL(35, 101)
#define CALL_CLOCK_NANOSLEEP IO_CALL(230, 115)
#define CALL_RT_SIGSUSPEND IO_CALL(130, 133)
#define CALL_PAUSE IO_CALL(34, NO_CALL + 34)
#define CALL_OPEN IO_CALL(2, NO_CALL + 2)
#define CALL_OPENAT IO_CALL(257, 56)
#define CALL_OPENAT2 437
#define CALL_CREAT IO_CALL(85, NO_CALL + 85)
#define CALL_DUP IO_CALL(32, 23)
#define CALL_SOCKET IO_CALL(41, 198)
#define CALL_SOCKETPAIR IO_CALL(53, 199)
#define CALL_PIPE IO_CALL(22, NO_CALL + 22)
#define CALL_PIPE2 IO_CALL(293, 59)
#define CALL_EVENTFD IO_CALL(284, NO_CALL + 284)
#define CALL_EVENTFD2 IO_CALL(290, 19)
#define CALL_EPOLL_CREATE IO_CALL(213, NO_CALL + 213)
#define CALL_EPOLL_CREATE1 IO_CALL(291, 20)
#define CALL_TIMERFD_CREATE IO_CALL(283, 85)
#define CALL_SIGNALFD IO_CALL(282, NO_CALL + 282)
#define CALL_SIGNALFD4 IO_CALL(289, 74)
#define CALL_INOTIFY_INIT IO_CALL(253, NO_CALL + 253)
#define CALL_INOTIFY_INIT1 IO_CALL(294, 26)
#define CALL_MEMFD_CREATE IO_CALL(319, 279)
#define CALL_MQ_OPEN IO_CALL(240, 180)
#define CALL_PIDFD_OPEN 434
#define NO_CALL 100000 /* and more: this architecture has none */

#define FUTEX_WAIT 0
#define FUTEX_WAKE 1
#define FUTEX_REQUEUE 3
#define FUTEX_CMP_REQUEUE 4
#define FUTEX_WAKE_OP 5
#define FUTEX_LOCK_PI 6
#define FUTEX_UNLOCK_PI 7
#define FUTEX_WAIT_BITSET 9
#define FUTEX_WAKE_BITSET 10
#define FUTEX_WAIT_REQUEUE_PI 11
#define FUTEX_CMP_REQUEUE_PI 12
#define FUTEX_LOCK_PI2 13
#define FUTEX_COMMAND 127

#define UNBOUNDED (~0ULL)
#define SYSTEM_V (1ULL << 44) /* of the key of a queue of messages: the rest is its identifier */

/* What messages go through. */
struct channel {
	__u64 key;  /* 0: none */
	__s32 kind; /* enum channel_kind */
	__u32 pad;
};

/* A call between its entry and its return. */
struct io_call {
	struct channel send, receive;
	__u64 ip, caller; /* of a futex call */
	__s32 to;         /* the descriptor that it sends to */
	__u32 copies;     /* what it receives stays where it is */
	__u32 shuts;      /* it ends what comes in at its own end, for other threads there */
	__u32 pad;
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 14);
	__type(key, __u32);
	__type(value, struct io_call);
} io_calls SEC(".maps");

struct io_args {
	__u64 nr, arg[6];
	__u64 ip, sp, link;
};

static __always_inline void read_call(struct io_args *a, __u64 regs_at, bool entry)
{
	struct pt_regs regs = {};

	bpf_probe_read_kernel(&regs, sizeof(regs), (void *)regs_at);
#if defined(__TARGET_ARCH_x86)
	a->nr = regs.orig_ax;
	a->arg[0] = regs.di;
	a->arg[1] = regs.si;
	a->arg[2] = regs.dx;
	a->arg[3] = regs.r10;
	a->arg[4] = regs.r8;
	a->arg[5] = regs.r9;
	a->ip = regs.ip;
	a->sp = regs.sp;
#elif defined(__TARGET_ARCH_arm64)
	a->nr = regs.regs[8];
	for (int i = 0; i < 6; i++)
		a->arg[i] = regs.regs[i];
	/* The result has taken the first argument's place: struct user_pt_regs is
	 * followed by the original. */
	if (!entry)
		bpf_probe_read_kernel(&a->arg[0], 8, (void *)(regs_at + sizeof(regs)));
	a->ip = regs.pc;
	a->sp = regs.sp;
	a->link = regs.regs[30];
#endif
}

/* Returns an address of the kernel's, made unreadable: it only has to differ. */
static __always_inline __u64 veiled(void *p)
{
	__u64 v = (__u64)p * 0x9e3779b97f4a7c15ULL;

	return (v ^ v >> 29) & 0xffffffffffULL;
}

/* Finds what a file without an inode of its own is, by the name that the kernel gives it. */
static __always_inline void anonymous(struct channel *c, struct file *f)
{
	char name[12] = {};

	bpf_probe_read_kernel_str(name, sizeof(name), BPF_CORE_READ(f, f_path.dentry, d_name.name));
	if (__builtin_memcmp(name, "[eventfd]", 9) == 0)
		c->kind = CHANNEL_EVENTFD;
	else if (__builtin_memcmp(name, "[timerfd]", 9) == 0)
		c->kind = CHANNEL_TIMERFD;
	else if (__builtin_memcmp(name, "[eventpoll]", 11) == 0)
		c->kind = CHANNEL_EPOLL;
	else if (__builtin_memcmp(name, "[signalfd]", 10) == 0)
		c->kind = CHANNEL_SIGNAL;
	else
		c->kind = CHANNEL_DOUBT;
	c->key = veiled(BPF_CORE_READ(f, private_data));
	if (c->kind == CHANNEL_SIGNAL)
		c->key = ANY_SIGNAL;
	else if (c->kind == CHANNEL_DOUBT)
		c->key = __builtin_memcmp(name, "inotify", 8) == 0 ||
					 __builtin_memcmp(name, "[fanotify]", 10) == 0
				 ? DOUBT_INOTIFY
				 : DOUBT_READY;
}

#define MAJOR_TTY 4
#define MAJOR_TTY_SELF 5 /* and /dev/ptmx */
#define MAJOR_PTY_FIRST 136
#define MAJOR_PTY_LAST 143

/* Finds the end of a terminal that a file sends to or receives from. */
static __always_inline void terminal_channel(
	struct channel *c, struct file *f, __u32 device, bool send)
{
	struct tty_file_private *own = BPF_CORE_READ(f, private_data);
	__u32 major = device >> 20;
	struct tty_struct *tty;

	if (!(major == MAJOR_TTY || major == MAJOR_TTY_SELF ||
		    (major >= MAJOR_PTY_FIRST && major <= MAJOR_PTY_LAST)))
		return;
	if (!bpf_core_type_exists(struct tty_file_private))
		return;
	tty = BPF_CORE_READ(own, tty);
	if (send)
		tty = BPF_CORE_READ(tty, link);
	if (!tty)
		return;
	c->kind = CHANNEL_TERMINAL;
	c->key = veiled(tty);
}

#define TCP_LISTENERS 2

/* Returns the key of the sockets that listen at a port; all listeners of AF_UNIX are one. */
static __always_inline __u64 listener_key(__u16 family, __u16 port)
{
	if (family == AF_UNIX)
		return 1 << 16;
	if (family == AF_INET || family == AF_INET6)
		return TCP_LISTENERS << 16 | port;
	return 0;
}

/* Returns whether the other end of a connection may be on another machine: whether its address is
 * neither a loopback's nor that of this end. */
static __always_inline bool is_far(struct sock *sk, __u16 family)
{
	struct in6_addr there, here;

	if (family == AF_INET6 && bpf_core_field_exists(sk->__sk_common.skc_v6_daddr)) {
		there = BPF_CORE_READ(sk, __sk_common.skc_v6_daddr);
		here = BPF_CORE_READ(sk, __sk_common.skc_v6_rcv_saddr);
		if (there.words[0] | there.words[1] | there.words[2] | there.words[3])
			return there.words[0] != here.words[0] || there.words[1] != here.words[1] ||
			       there.words[2] != here.words[2] || there.words[3] != here.words[3];
		return true;
	}
	there.words[0] = BPF_CORE_READ(sk, __sk_common.skc_daddr);
	here.words[0] = BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr);
	return !there.words[0] ||
	       (there.words[0] != here.words[0] && (there.words[0] & 0xff) != 127);
}

/* The ports of TCP at which observed processes have accepted connections, a bit for each. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << 10);
	__type(key, __u32);
	__type(value, __u64);
} accepting SEC(".maps");

static __always_inline void mark_accepting(__u16 port)
{
	__u32 word = port >> 6;
	__u64 *ports = bpf_map_lookup_elem(&accepting, &word), bit = 1ULL << (port & 63);

	if (ports && !(*ports & bit))
		__sync_fetch_and_or(ports, bit);
}

/* Returns whether a stream was accepted by an observed process. One of AF_UNIX then has the name of the
 * listener, while who connects has none unless it asked for one. */
static __always_inline bool is_accepted(struct sock *sk, __u16 family)
{
	__u16 port;
	__u32 word;
	__u64 *ports;

	if (family == AF_UNIX)
		return bpf_core_type_exists(struct unix_sock) &&
		       BPF_CORE_READ((struct unix_sock *)sk, addr);
	port = __builtin_bswap16(BPF_CORE_READ((struct inet_sock *)sk, inet_sport));
	word = port >> 6;
	ports = bpf_map_lookup_elem(&accepting, &word);
	return ports && *ports & 1ULL << (port & 63);
}

/* Finds what a socket sends to, or receives from. What comes in at one end of a stream of
 * AF_UNIX is named by that end. A stream of TCP is named by the two ports, and all datagrams
 * are one channel: too few names only make too many edges. */
static __always_inline void socket_channel(struct channel *c, struct file *f, bool send)
{
	struct socket *s = BPF_CORE_READ(f, private_data);
	struct sock *sk = BPF_CORE_READ(s, sk);
	short type = BPF_CORE_READ(s, type);
	__u16 family = BPF_CORE_READ(sk, __sk_common.skc_family);
	__u64 here, there;

	if (family == AF_NETLINK) { /* by which the C library learns of messages (mq_notify) */
		c->kind = CHANNEL_QUEUE;
		c->key = ANY_QUEUE;
		return;
	}
	if (family != AF_UNIX && family != AF_INET && family != AF_INET6)
		return;
	here = BPF_CORE_READ(sk, __sk_common.skc_num);
	if (BPF_CORE_READ(sk, __sk_common.skc_state) == TCP_LISTEN) {
		c->kind = CHANNEL_LISTENER;
		c->key = listener_key(family, here);
		return;
	}
	c->kind = CHANNEL_SOCKET;
	if (send && BPF_CORE_READ(sk, sk_sndbuf) < SMALL_SNDBUF)
		c->kind |= CHANNEL_TIGHT;
	if ((family != AF_UNIX && is_far(sk, family)) || is_accepted(sk, family))
		c->kind |= CHANNEL_FAR;
	if (type == SOCK_DGRAM) {
		c->key = family == AF_UNIX ? 1 : 2;
		return;
	}
	if (family == AF_UNIX) {
		if (!bpf_core_type_exists(struct unix_sock))
			return;
		c->key = veiled(send ? BPF_CORE_READ((struct unix_sock *)sk, peer) : sk);
		return;
	}
	there = __builtin_bswap16(BPF_CORE_READ(sk, __sk_common.skc_dport));
	here = __builtin_bswap16(BPF_CORE_READ((struct inet_sock *)sk, inet_sport));
	c->key = send ? here << 16 | there : there << 16 | here;
}

/* Returns the open file behind a descriptor of the current thread; null if there is none. */
static __always_inline struct file *file_of(__s32 fd)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file **files = BPF_CORE_READ(table, fd);
	struct file *f = 0;

	if (fd < 0 || fd >= BPF_CORE_READ(table, max_fds))
		return 0;
	bpf_probe_read_kernel(&f, sizeof(f), files + fd);
	return f;
}

/* Returns the key of the listener that a socket is about to be; 0 if it can be none. */
__noinline __u64 bound_key(__s32 fd)
{
	struct file *f = file_of(fd);
	struct socket *s;
	struct sock *sk;

	if (!f || (BPF_CORE_READ(f, f_inode, i_mode) & S_IFMT) != S_IFSOCK)
		return 0;
	s = BPF_CORE_READ(f, private_data);
	sk = BPF_CORE_READ(s, sk);
	return listener_key(
		BPF_CORE_READ(sk, __sk_common.skc_family), BPF_CORE_READ(sk, __sk_common.skc_num));
}

/* Finds out what queue of messages a file is, if it is one. */
static __always_inline void queue_channel(struct channel *c, struct inode *inode)
{
	struct mqueue_inode_info *info = 0;

	if (BPF_CORE_READ(inode, i_sb, s_magic) != MQUEUE_MAGIC)
		return;
	c->kind = CHANNEL_QUEUE;
	c->key = veiled(inode);
	if (!bpf_core_field_exists(info->attr)) {
		c->kind |= CHANNEL_TIGHT;
		return;
	}
	info = (void *)inode - bpf_core_field_offset(info->vfs_inode);
	if (BPF_CORE_READ(info, attr.mq_maxmsg) < SMALL_QUEUE)
		c->kind |= CHANNEL_TIGHT;
}

/* Finds out what a file is that looks like a regular one. */
static __always_inline void regular_channel(struct channel *c, struct file *f, struct inode *inode)
{
	unsigned long magic = BPF_CORE_READ(inode, i_sb, s_magic);

	if (magic == ANON_INODE_MAGIC)
		anonymous(c, f);
	else if (magic == PIDFS_MAGIC)
		*c = (struct channel){.kind = CHANNEL_DOUBT, .key = DOUBT_READY};
	else
		queue_channel(c, inode);
}

/* Finds the channel behind a descriptor of the current thread. Returns whether it is open. */
__noinline int find_channel(struct channel *c, __s32 fd, bool send)
{
	struct file *f = file_of(fd);
	struct inode *inode;
	unsigned short mode;

	if (!c)
		return 0;
	*c = (struct channel){};
	if (!f)
		return 0;
	inode = BPF_CORE_READ(f, f_inode);
	mode = BPF_CORE_READ(inode, i_mode) & S_IFMT;
	if (mode == S_IFIFO) {
		bool named = BPF_CORE_READ(inode, i_sb, s_magic) != PIPEFS_MAGIC;

		c->kind = named ? CHANNEL_FIFO : CHANNEL_PIPE;
		c->key = BPF_CORE_READ(inode, i_ino);
		if (BPF_CORE_READ(f, f_flags) & O_PACKETS)
			c->kind |= CHANNEL_TIGHT;
		if (named)
			c->key ^= (__u64)BPF_CORE_READ(inode, i_sb, s_dev) << 32;
	} else if (mode == S_IFSOCK) {
		socket_channel(c, f, send);
	} else if (mode == S_IFREG) {
		regular_channel(c, f, inode);
	} else if (mode == S_IFCHR) {
		terminal_channel(c, f, BPF_CORE_READ(inode, i_rdev), send);
	} else if (mode == 0) {
		anonymous(c, f);
	}
	return 1;
}

/* Finds the channels of a futex call: the futex's address in the process. */
static __always_inline void futex_channels(struct io_call *call, struct io_args *a)
{
	struct channel c = {.key = a->arg[0], .kind = CHANNEL_FUTEX};

	switch (a->arg[1] & FUTEX_COMMAND) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
	case FUTEX_WAIT_REQUEUE_PI:
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
		call->receive = c;
		break;
	case FUTEX_WAKE:
	case FUTEX_WAKE_BITSET:
	case FUTEX_WAKE_OP:
	case FUTEX_REQUEUE:
	case FUTEX_CMP_REQUEUE:
	case FUTEX_CMP_REQUEUE_PI:
	case FUTEX_UNLOCK_PI:
		call->send = c;
		break;
	default:
		return;
	}
	call->ip = a->ip;
#if defined(__TARGET_ARCH_x86)
	bpf_probe_read_user(&call->caller, sizeof(call->caller), (void *)a->sp);
#else
	call->caller = a->link;
#endif
}

/* Returns whether a call moves pages, each of which takes a slot of a pipe, however few bytes
 * it has. */
static __always_inline bool splices(__u64 nr)
{
	return nr == CALL_SENDFILE || nr == CALL_VMSPLICE || nr == CALL_SPLICE || nr == CALL_TEE;
}

#define O_ACCMODE 3
#define STDERR 2
#define SHUT_WR 1

static __always_inline bool is_written(__s32 fd)
{
	struct file *f = file_of(fd);

	return f && BPF_CORE_READ(f, f_flags) & O_ACCMODE;
}

/* Finds what a system call sends to and receives from; false if nothing. To close a
 * descriptor may tell the other end of it. */
static __always_inline bool io_call_of(struct io_call *call, struct io_args *a)
{
	__s32 to = -1, from = -1;

	switch (a->nr) {
	case CALL_READ:
	case CALL_READV:
	case CALL_PREADV2:
	case CALL_RECVFROM:
	case CALL_RECVMSG:
	case CALL_RECVMMSG:
	case CALL_MQ_TIMEDRECEIVE:
		from = a->arg[0];
		break;
	case CALL_WRITE:
	case CALL_WRITEV:
	case CALL_PWRITEV2:
	case CALL_SENDTO:
	case CALL_SENDMSG:
	case CALL_SENDMMSG:
	case CALL_TIMERFD_SETTIME:
	case CALL_CLOSE:
	case CALL_SHUTDOWN:
	case CALL_MQ_TIMEDSEND:
		to = a->arg[0];
		break;
	case CALL_VMSPLICE: /* the way for which the pipe is open */
		if (is_written(a->arg[0]))
			to = a->arg[0];
		else
			from = a->arg[0];
		break;
	case CALL_SENDFILE:
		to = a->arg[0];
		from = a->arg[1];
		break;
	case CALL_SPLICE:
		from = a->arg[0];
		to = a->arg[2];
		break;
	case CALL_TEE:
		from = a->arg[0];
		to = a->arg[1];
		call->copies = 1;
		break;
	case CALL_FUTEX:
		futex_channels(call, a);
		return call->send.key || call->receive.key;
	case CALL_MSGCTL:
		if (a->arg[1])
			return false;
	case CALL_MSGSND: /* or IPC_RMID, which ends all waits */
		call->send = (struct channel){.key = SYSTEM_V | a->arg[0], .kind = CHANNEL_QUEUE};
		return true;
	case CALL_MSGRCV:
		call->receive =
			(struct channel){.key = SYSTEM_V | a->arg[0], .kind = CHANNEL_QUEUE};
		return true;
	default:
		return false;
	}
	if (to >= 0) {
		find_channel(&call->send, to, true);
		if (call->send.kind >= CHANNEL_SIGNAL && call->send.kind != CHANNEL_LISTENER &&
			(call->send.kind & ~CHANNEL_TIGHT) != CHANNEL_QUEUE &&
			call->send.kind < CHANNEL_TIGHT)
			call->send.key = 0; /* closed, which tells nobody */
		call->to = to;
		call->shuts = a->nr == CALL_SHUTDOWN && a->arg[1] != SHUT_WR;
		if (to && to <= STDERR)
			call->send.kind |= CHANNEL_FAR;
		if (splices(a->nr))
			call->send.kind |= CHANNEL_TIGHT;
	}
	if (from >= 0)
		find_channel(&call->receive, from, false);
	return call->send.key || call->receive.key;
}

/* Returns how many bytes a call moves at most, where it says so. */
static __always_inline __u64 most(struct io_args *a)
{
	switch (a->nr) {
	case CALL_READ:
	case CALL_WRITE:
	case CALL_SENDTO:
	case CALL_RECVFROM:
	case CALL_TEE:
		return a->arg[2];
	case CALL_SENDFILE:
		return a->arg[3];
	case CALL_SPLICE:
		return a->arg[4];
	case CALL_CLOSE:
	case CALL_SHUTDOWN:
		return 0;
	}
	return UNBOUNDED;
}

static __noinline int io_record(struct io_call *call, __u64 thread, __u64 bytes, __u32 what)
{
	struct channel *c;

	if (!call)
		return 0;
	c = (what & 0xff) == OP_SEND ? &call->send : &call->receive;
	send(thread, (struct record){.op = what,
			     .flags = what >> 8,
			     .object = c->key,
			     .value = c->kind == CHANNEL_FUTEX ? call->caller : bytes,
			     .extra = call->ip,
			     .result = c->kind});
	return 0;
}

/* Reports that a call ends what comes in at its own end of a socket: a thread that waits there
 * receives the end. */
static __noinline int shut(__s32 fd, __u64 thread, __u32 what)
{
	struct io_call own = {};

	if (find_channel(&own.send, fd, false) && own.send.key)
		io_record(&own, thread, 0, what);
	return 0;
}

#include "waking.h"
#include "notice.h"
#include "asks.h"

struct raw_args {
	__u64 args[2];
};

/* Returns whether calls that are not seen may receive from now on: an io_uring is set up, or a
 * descriptor is handed over. */
static __always_inline bool hands_over(struct io_args *a)
{
	__u64 control = 0;

	if (a->nr == CALL_SENDMSG) /* msg_controllen of struct user_msghdr */
		bpf_probe_read_user(&control, sizeof(control), (void *)(a->arg[1] + 40));
	return a->nr == CALL_IO_URING_SETUP || control;
}

SEC("raw_tp/sys_enter")
int on_call_in(struct raw_args *ctx)
{
	__u64 thread = current_thread();
	struct io_call call = {};
	struct io_args a = {};
	__u32 tid = thread;

	if (!is_target(thread)) {
		if (is_kin(thread))
			kin_sends(ctx->args[0]);
		return 0;
	}
	read_call(&a, ctx->args[0], true);
	a.nr = ctx->args[1];
	if (hands_over(&a)) {
		call.send.kind = CHANNEL_UNSEEN;
		io_record(&call, thread, 0, OP_SEND);
	}
	notice_entered(thread, &a);
	if (asking)
		change_entered(thread, &a);
	if (!io_call_of(&call, &a))
		return 0;
	if (call.receive.key)
		io_record(&call, thread, most(&a), OP_RECEIVE);
	if (call.send.key) {
		io_record(&call, thread, most(&a), OP_SEND);
		if (any_kin)
			sends_to_kin(thread, a.nr, &call.send);
	}
	if (call.shuts)
		shut(call.to, thread, OP_SEND);
	bpf_map_update_elem(&io_calls, &tid, &call, BPF_ANY);
	return 0;
}

#define EPIPE 32
#define ECONNRESET 104

/* Reports, of a send that failed since the other end was closed, that it has received the end of
 * what comes from there. */
__noinline int refused(__u64 thread, __s32 fd)
{
	struct io_call call = {};

	if (find_channel(&call.receive, fd, false) && call.receive.key)
		io_record(&call, thread, 0, REC_LEAVE << 8 | OP_RECEIVE);
	return 0;
}

SEC("raw_tp/sys_exit")
int on_call_out(struct raw_args *ctx)
{
	__u64 thread = current_thread();
	__s64 result = ctx->args[1];
	struct io_call call = {}, *begun;
	struct io_args a = {};
	__u32 flags = REC_LEAVE, tid = thread;

	if (!is_target(thread)) {
		if (is_kin(thread) && result >= 0)
			kin_receives(ctx->args[0]);
		return 0;
	}
	begun = bpf_map_lookup_elem(&io_calls, &tid);
	if (begun) {
		call = *begun;
		bpf_map_delete_elem(&io_calls, &tid);
	} else {
		/* Otherwise under way when observation began, if anything. */
		read_call(&a, ctx->args[0], false);
		if (asking)
			ask_left(thread, &a, result);
		if (notice_left(thread, &a, result) || !io_call_of(&call, &a))
			return 0;
	}
	if (result < 0)
		flags |= REC_FAILED;
	if (call.receive.key && any_kin && result >= 0)
		receives_from_kin(thread, &call.receive);
	if (call.receive.key)
		io_record(&call, thread, call.copies && result > 0 ? 0 : result,
			flags << 8 | OP_RECEIVE);
	if (call.send.key)
		io_record(&call, thread, result, flags << 8 | OP_SEND);
	if (call.shuts)
		shut(call.to, thread, flags << 8 | OP_SEND);
	if (call.send.key && call.send.kind != CHANNEL_FUTEX &&
		(result == -EPIPE || result == -ECONNRESET))
		refused(thread, call.to);
	return 0;
}

#endif
