/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * What threads hand each other messages through: which channel is behind a descriptor.
 */
#ifndef TRACEPREDICT_CHANNEL_H
#define TRACEPREDICT_CHANNEL_H

#include "file.h"
#include "kernel.h"
#include "record.h"
#include "syscall.h"

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

/* What messages go through. */
struct channel {
	__u64 key;  /* 0: none */
	__s32 kind; /* enum channel_kind */
	__u32 pad;
};

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

#endif
