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
struct sock_common {
	unsigned short skc_family;
	__u16 skc_dport; /* in the order of the network */
	__u16 skc_num;
} CORE;
struct sock {
	struct sock_common __sk_common;
	int sk_sndbuf;
} CORE;
struct unix_sock {
	struct sock *peer;
} CORE;
struct socket {
	short type;
	struct sock *sk;
} CORE;

#define S_IFMT 0170000
#define S_IFIFO 0010000
#define S_IFSOCK 0140000
#define PIPEFS_MAGIC 0x50495045
#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10
#define SOCK_DGRAM 2
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
#define CALL_TIMERFD_SETTIME IO_CALL(286, 86)
#define CALL_FUTEX IO_CALL(202, 98)
#define CALL_IO_URING_SETUP 425

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
	else
		return;
	c->key = veiled(BPF_CORE_READ(f, private_data));
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

	if (family != AF_UNIX && family != AF_INET && family != AF_INET6)
		return;
	c->kind = CHANNEL_SOCKET;
	if (send && BPF_CORE_READ(sk, sk_sndbuf) < SMALL_SNDBUF)
		c->kind |= CHANNEL_TIGHT;
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
	here = BPF_CORE_READ(sk, __sk_common.skc_num);
	there = __builtin_bswap16(BPF_CORE_READ(sk, __sk_common.skc_dport));
	c->key = send ? here << 16 | there : there << 16 | here;
}

/* Returns the channel behind a descriptor of the current thread. */
static __always_inline struct channel channel_of(__s32 fd, bool send)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct channel c = {};
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file **files = BPF_CORE_READ(table, fd);
	struct file *f = 0;
	struct inode *inode;
	unsigned short mode;

	if (fd < 0 || fd >= BPF_CORE_READ(table, max_fds))
		return c;
	bpf_probe_read_kernel(&f, sizeof(f), files + fd);
	if (!f)
		return c;
	inode = BPF_CORE_READ(f, f_inode);
	mode = BPF_CORE_READ(inode, i_mode) & S_IFMT;
	if (mode == S_IFIFO) {
		bool named = BPF_CORE_READ(inode, i_sb, s_magic) != PIPEFS_MAGIC;

		c.kind = named ? CHANNEL_FIFO : CHANNEL_PIPE;
		c.key = BPF_CORE_READ(inode, i_ino);
		if (BPF_CORE_READ(f, f_flags) & O_PACKETS)
			c.kind |= CHANNEL_TIGHT;
		if (named)
			c.key ^= (__u64)BPF_CORE_READ(inode, i_sb, s_dev) << 32;
	} else if (mode == S_IFSOCK) {
		socket_channel(&c, f, send);
	} else {
		anonymous(&c, f);
	}
	return c;
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
		to = a->arg[0];
		break;
	case CALL_VMSPLICE: /* either way */
		to = a->arg[0];
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
		break;
	case CALL_FUTEX:
		futex_channels(call, a);
		return call->send.key || call->receive.key;
	default:
		return false;
	}
	if (to >= 0) {
		call->send = channel_of(to, true);
		if (splices(a->nr))
			call->send.kind |= CHANNEL_TIGHT;
	}
	if (from >= 0)
		call->receive = channel_of(from, false);
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

	if (!is_target(thread))
		return 0;
	read_call(&a, ctx->args[0], true);
	a.nr = ctx->args[1];
	if (hands_over(&a)) {
		call.send.kind = CHANNEL_UNSEEN;
		io_record(&call, thread, 0, OP_SEND);
	}
	if (!io_call_of(&call, &a))
		return 0;
	if (call.receive.key)
		io_record(&call, thread, most(&a), OP_RECEIVE);
	if (call.send.key)
		io_record(&call, thread, most(&a), OP_SEND);
	bpf_map_update_elem(&io_calls, &tid, &call, BPF_ANY);
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

	if (!is_target(thread))
		return 0;
	begun = bpf_map_lookup_elem(&io_calls, &tid);
	if (begun) {
		call = *begun;
		bpf_map_delete_elem(&io_calls, &tid);
	} else {
		/* Under way when observation began, if anything. */
		read_call(&a, ctx->args[0], false);
		if (!io_call_of(&call, &a))
			return 0;
	}
	if (result < 0)
		flags |= REC_FAILED;
	if (call.receive.key)
		io_record(&call, thread, result, flags << 8 | OP_RECEIVE);
	if (call.send.key)
		io_record(&call, thread, result, flags << 8 | OP_SEND);
	return 0;
}

#endif
