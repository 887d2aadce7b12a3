/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Where there are objects, so that the end of other memory need not be recorded.
 */
#ifndef TRACEPREDICT_USED_H
#define TRACEPREDICT_USED_H

#include "base.h"

/* Where there are objects: of each page, whose address is hashed, a bit for each of its 64
 * granules. An object's bit remains when the object ends. */
#define PAGE_SHIFT 12
#define GRANULE_SHIFT 6
#define USED_BITS 14
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << USED_BITS);
	__type(key, __u32);
	__type(value, __u64);
} used SEC(".maps");

static __always_inline __u64 *used_granules(__u64 page)
{
	__u32 hash = page * 0x9e3779b97f4a7c15ULL >> (64 - USED_BITS);

	return bpf_map_lookup_elem(&used, &hash);
}

/* Records that there is an object at an address. */
static __always_inline void mark_used(__u64 addr)
{
	__u64 *granules = used_granules(addr >> PAGE_SHIFT),
	      bit = 1ULL << (addr >> GRANULE_SHIFT & 63);

	if (granules && !(*granules & bit))
		__sync_fetch_and_or(granules, bit);
}

#endif
