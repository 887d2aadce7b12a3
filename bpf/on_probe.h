/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * on_probe, on_return: the program of sites that are synchronisation calls, or accesses of variables that the user
 * named.
 */
#ifndef TRACEPREDICT_ON_PROBE_H
#define TRACEPREDICT_ON_PROBE_H

#include "access.h"
#include "lines.h"
#include "monitor.h"
#include "sync.h"

/* Handles one site of a chain. */
__noinline __u32 one_site(struct pt_regs *ctx, __u32 index, __u64 thread)
{
	struct site *site = bpf_map_lookup_elem(&sites, &index);
	struct slot *slot;
	__u64 sp;

	if (!site)
		return 0;
	if (site->when && !condition(ctx, site->when - 1))
		return site->next;
	if (site->action >= ACTION_ENTER_LINES) {
		at_lines(ctx, index, thread);
		return site->next;
	}
	if (monitored)
		on_local(ctx, index, thread);
	if (is_access(site)) {
		if (site->access.reach == REACH_VARIABLE)
			accessed(ctx, site, index, thread);
		else if (site->access.reach == REACH_ARRAY)
			element(ctx, site, index, thread);
		else
			checked(ctx, site, index, thread);
		return site->next;
	}
	slot = slot_of(thread);
	sp = REG_SP(ctx) + site->sp_delta;
	if (slot)
		slot->spun = 0;
	if (site->action == ACTION_OUTCOME) {
		outcome(ctx, site, index, thread, slot, sp);
	} else if (site->action == ACTION_RETURN) {
		leave(ctx, thread, slot, sp);
	} else if (site->action != ACTION_CALLER) {
		enter(ctx, site, index, thread, slot, sp);
	} else if (slot) {
		slot->outer_stack = stack_of(ctx, site, index, sp, thread, slot);
		slot->outer_sp = sp;
	}
	return site->next;
}

SEC("uprobe.multi")
int on_probe(struct pt_regs *ctx)
{
	return chain(ctx, current_thread(), one_site);
}

SEC("uprobe.multi")
int on_return(struct pt_regs *ctx)
{
	__u64 thread = current_thread();

	if (is_observed(bpf_get_attach_cookie(ctx), thread))
		leave(ctx, thread, slot_of(thread), ENTRY_SP_AT_RETURN(ctx));
	return 0;
}

#endif
