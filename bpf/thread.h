/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Threads: who the current one is, and which processes are observed. A thread is named by tgid << 32 |
 * tid in the tool's PID namespace, as bpf_get_current_pid_tgid names it in the kernel's.
 */
#ifndef TRACEPREDICT_THREAD_H
#define TRACEPREDICT_THREAD_H

#include "globals.h"
#include "kernel.h"

/* Processes that the tracepoints report, by ID in the tool's namespace: the time of the last execve, 0 if there was
 * none. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u64);
} targets SEC(".maps");

static __always_inline bool is_target(__u64 thread)
{
	__u32 tgid = thread >> 32;

	return bpf_map_lookup_elem(&targets, &tgid);
}

/* Processes that are not observed and that observed ones have forked, themselves or by others of these. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u8);
} kin SEC(".maps");

__u32 any_kin; /* there have been such */

static __always_inline bool is_kin(__u64 thread)
{
	__u32 tgid = thread >> 32;

	return any_kin && bpf_map_lookup_elem(&kin, &tgid);
}

static __always_inline void add_kin(__u32 tgid)
{
	__u8 one = 1;

	any_kin = 1;
	bpf_map_update_elem(&kin, &tgid, &one, BPF_ANY);
}

/* Returns the current thread, as the tool's /proc names it. */
static __always_inline __u64 current_thread(void)
{
	struct bpf_pidns_info ns = {};

	if (!pidns_dev)
		return bpf_get_current_pid_tgid();
	bpf_get_ns_current_pid_tgid(pidns_dev, pidns_ino, &ns, sizeof(ns));
	return (__u64)ns.tgid << 32 | ns.pid;
}

/* Returns the ID of any task, as the tool's /proc names it; 0 if it does not. */
static __always_inline __u32 task_id(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	unsigned int level = BPF_CORE_READ(pid, level);

	for (unsigned int i = 0; i < 8; i++) {
		struct upid *u = (void *)pid + bpf_core_field_offset(pid->numbers) +
				 i * bpf_core_type_size(struct upid);
		if (i > level)
			break;
		if (BPF_CORE_READ(u, ns, ns.inum) == pidns_ino)
			return BPF_CORE_READ(u, nr);
	}
	return 0;
}

/* Returns the ID of a target's task's process; 0 of another task. */
static __always_inline __u32 target_of(struct task_struct *task)
{
	__u32 tgid = task ? task_id(BPF_CORE_READ(task, group_leader)) : 0;

	return tgid && bpf_map_lookup_elem(&targets, &tgid) ? tgid : 0;
}

#endif
