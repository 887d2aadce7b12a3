/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * What the probes have cost each thread, and how much it has done: user space removes those that cost too much.
 */
#ifndef TRACEPREDICT_COST_H
#define TRACEPREDICT_COST_H

#include "kernel.h"
#include "record.h"
#include "slot.h"

/* What accesses that nobody named have cost each thread, by the last bits of its ID. User space maps it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct thread_cost);
} thread_costs SEC(".maps");

/* How often the probe of each site was hit, of accesses that nobody named. User space reads those through pointers
 * every few milliseconds, so it maps them. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} site_hits SEC(".maps");

/* Counts a hit of a site's probe. */
static __always_inline void count_site(__u32 site)
{
	__u64 *hits = bpf_map_lookup_elem(&site_hits, &site);

	if (hits)
		(*hits)++; /* one of two at the same time may be missed */
}

/* Counts a hit for the current thread. */
static __always_inline void count_hit(__u64 thread)
{
	__u32 index = thread & (SLOTS - 1);
	struct thread_cost *c = bpf_map_lookup_elem(&thread_costs, &index);

	if (!c)
		return;
	c->tid = thread;
	c->hits++;
	c->ran = bpf_get_current_task_btf()->se.sum_exec_runtime;
}

/* Counts a call that synchronises for the current thread. */
static __always_inline void count_sync(__u64 thread)
{
	__u32 index = thread & (SLOTS - 1);
	struct thread_cost *c = bpf_map_lookup_elem(&thread_costs, &index);

	if (c)
		c->calls++;
}

#endif
