/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Locks of files, by flock and fcntl.
 */
#ifndef TRACEPREDICT_FILELOCK_H
#define TRACEPREDICT_FILELOCK_H

#include "channel.h"
#include "notice.h"

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

#endif
