/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Which locks a thread holds, as far as was seen: the call stack of a release matters only if it holds none.
 */
#ifndef TRACEPREDICT_HELD_H
#define TRACEPREDICT_HELD_H

#include "record.h"
#include "site.h"
#include "slot.h"

static __always_inline __u8 *held(struct slot *slot, __u64 lock)
{
	return &slot->held[lock * 0x9e3779b97f4a7c15ULL >> (64 - HELD_BITS)];
}

/* Counts a lock that was acquired. A full count stays full. A lock that its last owner died
 * with does not count: where it is released matters. */
static __always_inline void acquired(struct slot *slot, struct site *site, __u64 lock, __s64 result)
{
	__u8 *count;

	if (!slot || (site->sync.success == SUCCESS_ZERO && (__s32)result) ||
		(site->op != OP_ACQUIRE && site->op != OP_ACQUIRE_READ))
		return;
	count = held(slot, lock);
	if (*count != 255)
		++*count;
}

/* Counts a lock that is released. Returns false if the thread certainly did not acquire it, as
 * far as was seen. */
static __always_inline bool releases(struct slot *slot, __u64 lock)
{
	__u8 *count;

	if (!slot)
		return true;
	count = held(slot, lock);
	if (*count && *count != 255)
		--*count;
	else
		return *count;
	return true;
}

#endif
