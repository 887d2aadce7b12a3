/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Calls between their entry and their return: a few with their thread, the others in a map.
 */
#ifndef TRACEPREDICT_PENDING_H
#define TRACEPREDICT_PENDING_H

#include "slot.h"

struct far_key {
	__u64 sp;
	__u32 tid;
	__u32 pad;
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 16);
	__type(key, struct far_key);
	__type(value, struct pending_call);
} far_calls SEC(".maps");

/* Remembers a call, in place of any with the same frame. */
static __always_inline void remember(struct slot *slot, __u32 tid, struct pending_call *call)
{
	struct far_key key = {.sp = call->sp, .tid = tid};
	int free = -1;

	if (slot) {
#pragma unroll
		for (int i = NEAR_CALLS - 1; i >= 0; i--) {
			if (slot->calls[i].sp == call->sp) {
				slot->calls[i] = *call;
				return;
			}
			if (!slot->calls[i].sp)
				free = i;
		}
#pragma unroll
		for (int i = 0; i < NEAR_CALLS; i++) {
			if (i == free) {
				slot->calls[i] = *call;
				return;
			}
		}
	}
	any_far = 1;
	if (bpf_map_update_elem(&far_calls, &key, call, BPF_ANY))
		__sync_fetch_and_add(&lost_pending, 1);
}

/* Finds the call whose frame begins at sp, and removes it if remove is set. */
static __always_inline bool recall(
	struct slot *slot, __u32 tid, __u64 sp, struct pending_call *call, bool remove)
{
	struct far_key key = {.sp = sp, .tid = tid};
	struct pending_call *far;

	if (slot) {
#pragma unroll
		for (int i = 0; i < NEAR_CALLS; i++) {
			if (slot->calls[i].sp == sp) {
				*call = slot->calls[i];
				if (remove)
					slot->calls[i].sp = 0;
				return true;
			}
		}
	}
	if (!any_far)
		return false;
	far = bpf_map_lookup_elem(&far_calls, &key);
	if (!far)
		return false;
	*call = *far;
	if (remove)
		bpf_map_delete_elem(&far_calls, &key);
	return true;
}

#endif
