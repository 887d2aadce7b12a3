/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * The numbers of descriptors that were closed, and the words that stand for descriptors.
 */
#ifndef TRACEPREDICT_NUMBER_H
#define TRACEPREDICT_NUMBER_H

#include "file.h"
#include "measure.h"

/* The thread that closed the number last, by process and number, and whether a call has returned the number since. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1 << 14);
	__type(key, __u64);
	__type(value, __u32);
} freed_numbers SEC(".maps");
#define NUMBER_TAKEN (1U << 31)

__u32 calls_seen; /* system calls are observed, by which numbers are freed and taken */

static __always_inline __u64 number_key(__u64 thread, __s32 fd)
{
	return thread >> 32 << 32 | (__u32)fd;
}

/* Returns whether the current thread may have descriptors of its own. */
static __always_inline bool has_own_files(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	void *of_process = BPF_CORE_READ(task, group_leader, files);

	return of_process && of_process != BPF_CORE_READ(task, files);
}

#define FIRST_NUMBER \
	3 /* standard input and output remain open in most programs, or become others by dup2 */
#define MOST_NUMBERS 1024 /* from there on, numbers count as one */

/* Returns the word that stands for a descriptor, of those at an address where no process has memory. There is none
 * where the descriptor is not open, or was opened by a call that is not seen, so that nothing orders the use after the
 * last close. */
static __always_inline struct range number_word(__u64 thread, __s32 fd, __u64 words)
{
	__u64 key = number_key(thread, fd);
	struct range r = {};
	__u32 *by;

	if (!calls_seen || fd < FIRST_NUMBER || fd >= MOST_NUMBERS || !file_of(fd) ||
		has_own_files())
		return r;
	by = bpf_map_lookup_elem(&freed_numbers, &key);
	if (by && !(*by & NUMBER_TAKEN))
		return r;
	r.begin = words + 8 * fd;
	r.size = 8;
	return r;
}

#endif
