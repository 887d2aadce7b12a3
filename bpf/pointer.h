/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * on_pointer: accesses of memory through pointers.
 */
#ifndef TRACEPREDICT_POINTER_H
#define TRACEPREDICT_POINTER_H

#include "cost.h"
#include "one_word.h"
#include "range.h"

/* Handles one site of a chain. */
__noinline __u32 one_pointer(struct pt_regs *ctx, __u32 index, __u64 thread)
{
	struct site *site = bpf_map_lookup_elem(&sites, &index);
	__u64 at, end, whole;
	struct range r;

	if (!site)
		return 0;
	if (site->when && !condition(ctx, site->when - 1))
		return site->next;
	if (site->op == OP_ALLOC) {
		if (site->access.reach == REACH_CALLED)
			range_called(ctx, site, index, thread);
		else
			allocated(ctx, index, thread);
		return site->next;
	}
	if (!crowded) /* what one thread does alone comes before all that others do */
		return site->next;
	if (site->access.reach >= REACH_RANGE) {
		if (site->access.reach == REACH_CALLED) {
			range_called(ctx, site, index, thread);
			return site->next;
		}
		if (site->access.reach == REACH_RETURNED)
			r = range_returned(ctx, site, thread);
		else if (site->access.reach == REACH_STRING)
			r = string_range(ctx, site, thread);
		else
			r = range_of(ctx, site, thread);
		access_range(ctx, index, thread, r);
		return site->next;
	}
	if (site->object_from == FROM_THREAD)
		at = CURRENT_THREAD_POINTER(bpf_get_current_task_btf()) + site->object_disp;
	else
		at = object_of(ctx, site);
	at += indexed(ctx, &site->access);
	if (site->access.reach) {
		struct slot *slot = slot_of(thread);

		if (!slot)
			return site->next;
		if (site->access.reach == REACH_REMEMBER) {
			slot->remembered = at;
			return site->next;
		}
		at = slot->remembered;
	}
	end = at + site->access.span;
	whole = end <= (at | 7) + 1 ? ACCESS_WHOLE : 0;
	for (int i = 0; i < MAX_WORDS; i++) {
		if (at >= end)
			break;
		one_word(ctx, index, thread, at, bytes_before(at, end) | whole);
		at = (at | 7) + 1;
	}
	return site->next;
}

SEC("uprobe.multi")
int on_pointer(struct pt_regs *ctx)
{
	__u64 thread = current_thread();

	count_site(bpf_get_attach_cookie(ctx));
	count_hit(thread);
	return chain(ctx, thread, one_pointer);
}

#endif
