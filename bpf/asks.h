/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Threads that ask: a thread makes a system call, once or again and again until its answer is
 * another one, since a file is there, or gone, or longer, a descriptor is closed, a port is free.
 * Another thread's call made it so. Both calls name the same thing: a path, a file, a descriptor,
 * a port. A change is recorded when it is entered, an answer when it has come.
 *
 * Most changes are never asked for, and most answers are those of before. So a change is recorded
 * if it is the first, or if somebody has asked since the last one, or, a few times, if it is
 * another thread's; an answer, if something has changed since the thread's last one.
 */
#ifndef TRACEPREDICT_ASKS_H
#define TRACEPREDICT_ASKS_H

#include "channel.h"
#include "ringbuf.h"
#include "unseen.h"

#define ASKED_MIX 0x9e3779b97f4a7c15ULL
#define CWD (-100) /* AT_FDCWD */
#define PATH_WORDS 16

/* What was changed. */
struct changed {
	__u32 changer; /* the last thread that did */
	__u32 version; /* changes that were recorded */
	__u32 unasked; /* of these, since somebody asked */
	__u32 pad;
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1 << 12);
	__type(key, __u64);
	__type(value, struct changed);
} changes SEC(".maps");

#define MOST_CHANGERS 8 /* changes by threads in turn that are recorded although nobody asks */

__u32 asking; /* some observed file asks the kernel; set by user space */

static __always_inline __u64 asked_key(__u64 hash, enum asked_kind kind)
{
	return ((hash ^ hash >> 29) & 0xfffffffffff8ULL) | kind;
}

/* Returns the key of a path, relative to a directory; 0 if it is empty or cannot be read. */
static __noinline __u64 path_key(__s32 directory, __u64 at)
{
	__u64 words[PATH_WORDS] = {}, hash;

	if (bpf_probe_read_user_str(words, sizeof(words), (void *)at) <= 1)
		return 0;
	hash = (__u8)words[0] == '/' ? 0 : directory;
	for (int i = 0; i < PATH_WORDS; i++)
		hash = (hash ^ words[i] ^ hash >> 32) * ASKED_MIX;
	return asked_key(hash, ASKED_PATH);
}

/* Returns the key of a file, by its device as stat(2) numbers it. */
static __always_inline __u64 inode_key(__u64 device, __u64 inode)
{
	return asked_key((inode ^ device << 40) * ASKED_MIX, ASKED_FILE);
}

/* Returns the key of the regular file behind a descriptor; 0 if it is another file, or closed. */
static __noinline __u64 file_key(__s32 fd)
{
	struct file *f = file_of(fd);
	struct inode *inode;
	__u64 device;

	if (!f)
		return 0;
	inode = BPF_CORE_READ(f, f_inode);
	if ((BPF_CORE_READ(inode, i_mode) & S_IFMT) != S_IFREG)
		return 0;
	device = BPF_CORE_READ(inode, i_sb, s_dev);
	device = (device & 0xff) | (device >> 20) << 8 | (device & 0xfff00) << 12;
	return inode_key(device, BPF_CORE_READ(inode, i_ino));
}

static __always_inline __u64 fd_key(__u64 thread, __s32 fd)
{
	return asked_key(((thread >> 32) << 32 | (__u32)fd) * ASKED_MIX, ASKED_DESCRIPTOR);
}

static __always_inline __u64 name_key(__u64 thread, __s32 fd)
{
	return asked_key(((thread >> 32) << 32 | (__u32)fd) * ASKED_MIX, ASKED_NAME);
}

/* Returns the key of the port to which a socket is bound, or to be bound: that in the structure at an
 * address, if it is not 0; 0 if the socket has none. */
static __noinline __u64 port_key(__s32 fd, __u64 at)
{
	struct file *f = file_of(fd);
	struct socket *s;
	struct sock *sk;
	__u16 family, head[2] = {};
	__u64 port;

	if (!f || (BPF_CORE_READ(f, f_inode, i_mode) & S_IFMT) != S_IFSOCK)
		return 0;
	s = BPF_CORE_READ(f, private_data);
	sk = BPF_CORE_READ(s, sk);
	family = BPF_CORE_READ(sk, __sk_common.skc_family);
	if (family != AF_INET && family != AF_INET6)
		return 0;
	port = BPF_CORE_READ(sk, __sk_common.skc_num);
	if (at) {
		bpf_probe_read_user(head, sizeof(head), (void *)at);
		port = __builtin_bswap16(head[1]);
	}
	if (!port)
		return 0;
	return asked_key((port << 16 | (__u16)BPF_CORE_READ(s, type)) * ASKED_MIX, ASKED_PORT);
}

/* Handles that a thread is about to change something, or just has made it. */
static __noinline int changes_it(__u64 thread, __u64 key, __u64 nr)
{
	struct changed *c = bpf_map_lookup_elem(&changes, &key),
		       first = {.changer = thread, .version = 1, .unasked = 1};

	if (!key)
		return 0;
	if (!c) {
		bpf_map_update_elem(&changes, &key, &first, BPF_ANY);
	} else {
		if (c->unasked >= (c->changer == (__u32)thread ? 1 : MOST_CHANGERS))
			return 0;
		c->changer = thread;
		c->version++;
		c->unasked++;
	}
	send_now(thread,
		(struct record){.op = OP_SEND, .object = key, .value = nr, .result = CHANNEL_ASKED},
		false, false);
	return 0;
}

/* Handles that a thread has asked for two things by the system call nr; a key may be 0. */
static __noinline int asked_for(__u64 thread, __u64 nr, __u64 one, __u64 other)
{
	__u32 tid = thread;
	struct asker *a = bpf_map_lookup_elem(&askers, &tid), none = {};
	__u64 keys[2] = {one, other};
	struct changed *c;

	if (!a) {
		bpf_map_update_elem(&askers, &tid, &none, BPF_ANY);
		a = bpf_map_lookup_elem(&askers, &tid);
		if (!a)
			return 0;
	}
	a->pauses = 0;
	for (int i = 0; i < 2; i++) {
		a->key[i] = keys[i];
		c = keys[i] ? bpf_map_lookup_elem(&changes, &keys[i]) : 0;
		if (!c)
			continue;
		c->unasked = 0;
		if ((a->known[0] == keys[i] && a->version[0] == c->version) ||
			(a->known[1] == keys[i] && a->version[1] == c->version))
			continue;
		a->known[i] = keys[i];
		a->version[i] = c->version;
		send_now(thread,
			(struct record){.op = OP_RECEIVE,
				.flags = REC_LEAVE,
				.object = keys[i],
				.value = nr,
				.result = CHANNEL_ASKED},
			false, false);
	}
	return 0;
}

/* Counts the pauses since a thread has asked. */
static __noinline int paused(__u64 thread)
{
	__u32 tid = thread;
	struct asker *a = bpf_map_lookup_elem(&askers, &tid);

	if (a)
		a->pauses++;
	return 0;
}

/* Reports what a system call is about to change. */
static __noinline int change_entered(__u64 thread, struct io_args *a)
{
	if (!a)
		return 0;
	switch (a->nr) {
	case CALL_UNLINK:
	case CALL_RMDIR:
	case CALL_TRUNCATE:
		return changes_it(thread, path_key(CWD, a->arg[0]), a->nr);
	case CALL_UNLINKAT:
		return changes_it(thread, path_key(a->arg[0], a->arg[1]), a->nr);
	case CALL_RENAME:
		changes_it(thread, path_key(CWD, a->arg[0]), a->nr);
		return changes_it(thread, path_key(CWD, a->arg[1]), a->nr);
	case CALL_RENAMEAT:
	case CALL_RENAMEAT2:
		changes_it(thread, path_key(a->arg[0], a->arg[1]), a->nr);
		return changes_it(thread, path_key(a->arg[2], a->arg[3]), a->nr);
	case CALL_WRITE:
	case CALL_WRITEV:
	case CALL_PWRITE64:
	case CALL_PWRITEV:
	case CALL_PWRITEV2:
	case CALL_FTRUNCATE:
	case CALL_FALLOCATE:
		return changes_it(thread, file_key(a->arg[0]), a->nr);
	case CALL_CLOSE:
		changes_it(thread, port_key(a->arg[0], 0), a->nr);
		return changes_it(thread, fd_key(thread, a->arg[0]), a->nr);
	case CALL_DUP2:
	case CALL_DUP3:
		return changes_it(thread, fd_key(thread, a->arg[1]), a->nr);
	case CALL_NANOSLEEP:
	case CALL_CLOCK_NANOSLEEP:
	case CALL_SCHED_YIELD:
	case CALL_POLL:
	case CALL_SELECT:
	case CALL_PSELECT6:
		return paused(thread);
	}
	return 0;
}

/* Returns the key of the file that a call has described in a struct stat; 0 if it failed. */
static __always_inline __u64 described(__u64 at, __s64 result)
{
	__u64 head[2] = {}; /* the device, and the inode */

	if (result || bpf_probe_read_user(head, sizeof(head), (void *)at))
		return 0;
	return inode_key(head[0], head[1]);
}

#define O_CREAT 0100
#define O_EXCL 0200

/* Handles a call that makes what a path names, or finds it there. asks: which of these decides whether it succeeds. */
static __always_inline int makes(
	__u64 thread, __s32 directory, __u64 at, __u64 nr, bool made, bool asks)
{
	__u64 key = path_key(directory, at);

	if (asks)
		asked_for(thread, nr, key, 0);
	return made ? changes_it(thread, key, nr) : 0;
}

/* open(2) with O_CREAT alone succeeds in any case. */
static __always_inline int opens(
	__u64 thread, __s32 directory, __u64 at, __u64 nr, __u64 flags, __s64 result)
{
	bool creates = flags & O_CREAT;

	return makes(thread, directory, at, nr, result >= 0 && creates, !creates || flags & O_EXCL);
}

/* Reports what a system call has answered, or made. */
static __noinline int ask_left(__u64 thread, struct io_args *a, __s64 result)
{
	__u64 key;

	if (!a)
		return 0;
	switch (a->nr) {
	case CALL_ACCESS:
	case CALL_READLINK:
	case CALL_UNLINK:
	case CALL_RMDIR:
	case CALL_RENAME:
		return asked_for(thread, a->nr, path_key(CWD, a->arg[0]), 0);
	case CALL_FACCESSAT:
	case CALL_FACCESSAT2:
	case CALL_READLINKAT:
	case CALL_STATX:
	case CALL_UNLINKAT:
	case CALL_RENAMEAT:
	case CALL_RENAMEAT2:
		return asked_for(thread, a->nr, path_key(a->arg[0], a->arg[1]), 0);
	case CALL_STAT:
	case CALL_LSTAT:
		return asked_for(
			thread, a->nr, path_key(CWD, a->arg[0]), described(a->arg[1], result));
	case CALL_NEWFSTATAT:
		key = path_key(a->arg[0], a->arg[1]);
		return asked_for(thread, a->nr, key ? key : fd_key(thread, a->arg[0]),
			described(a->arg[2], result));
	case CALL_OPEN:
		return opens(thread, CWD, a->arg[0], a->nr, a->arg[1], result);
	case CALL_OPENAT:
		return opens(thread, a->arg[0], a->arg[1], a->nr, a->arg[2], result);
	case CALL_CREAT:
	case CALL_MKDIR:
		return makes(thread, CWD, a->arg[0], a->nr, result >= 0, true);
	case CALL_MKDIRAT:
		return makes(thread, a->arg[0], a->arg[1], a->nr, result >= 0, true);
	case CALL_LINK:
	case CALL_SYMLINK:
		return makes(thread, CWD, a->arg[1], a->nr, result >= 0, true);
	case CALL_SYMLINKAT:
		return makes(thread, a->arg[1], a->arg[2], a->nr, result >= 0, true);
	case CALL_LINKAT:
		return makes(thread, a->arg[2], a->arg[3], a->nr, result >= 0, true);
	case CALL_READ:
	case CALL_READV:
	case CALL_PREADV2:
	case CALL_PREAD64:
	case CALL_LSEEK:
	case CALL_FSTAT:
	case CALL_FCNTL:
		return asked_for(thread, a->nr, file_key(a->arg[0]), fd_key(thread, a->arg[0]));
	case CALL_BIND:
		key = port_key(a->arg[0], a->arg[1]);
		asked_for(thread, a->nr, key, 0);
		if (result)
			return 0;
		changes_it(thread, name_key(thread, a->arg[0]), a->nr);
		return changes_it(thread, key, a->nr);
	case CALL_GETSOCKNAME:
		return asked_for(thread, a->nr, name_key(thread, a->arg[0]), 0);
	}
	return 0;
}

#endif
