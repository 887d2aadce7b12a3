/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * What the programs of probes share: which threads they are for, where operands are, the
 * call stack of a hit, and the sites that are chained at one address.
 */
#ifndef TRACEPREDICT_PROBE_H
#define TRACEPREDICT_PROBE_H

#include "regs.h"
#include "site.h"
#include "stackid.h"
#include "thread.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << 16);
	__type(key, __u32);
	__type(value, struct site);
} sites SEC(".maps");

#define MAX_CHAIN 8
#define COOKIE_GENERATION (1ULL << 32) /* of on_shared: counts the links of a batch */
#define COOKIE_FILTER (1ULL << 63)     /* the link has no PID filter of its own */

/* Returns whether a hit of a probe is a target's. */
static __always_inline bool is_observed(__u64 cookie, __u64 thread)
{
	return !(cookie & COOKIE_FILTER) || is_target(thread);
}

#define WRAPPER_FRAME 128

/* Returns the call stack ID of a hit of a site; 0 if none is wanted. */
static __always_inline __u32 stack_of(struct pt_regs *ctx, struct site *site, __u32 index, __u64 sp,
	__u64 thread, struct slot *slot)
{
	__u32 stack;

	if (!want_stacks)
		return 0;
	/* A wrapper's frame is small, and the wrapped call the first thing in it. */
	if (slot && slot->outer_stack && site->action != ACTION_CALLER && site->op != OP_CALL) {
		stack = slot->outer_stack;
		slot->outer_stack = 0;
		if (sp <= slot->outer_sp && slot->outer_sp - sp <= WRAPPER_FRAME)
			return stack;
	}
	return stack_at(
		site->at_entry ? return_address(ctx, sp) : REG_IP(ctx), index, sp, thread, slot);
}

/* Runs the sites of a probe, one after the other. one handles the site of an index and
 * returns the index of the next, 0 at the end. It is not static, so that the verifier judges it by
 * itself, once, and not anew for each of a chain. */
static __always_inline int chain(
	struct pt_regs *ctx, __u64 thread, __u32 (*one)(struct pt_regs *, __u32, __u64))
{
	__u64 cookie = bpf_get_attach_cookie(ctx);
	__u32 next;

	if (!is_observed(cookie, thread))
		return 0;
	next = one(ctx, cookie, thread);
#pragma unroll
	for (int i = 1; i < MAX_CHAIN; i++) {
		if (!next)
			break;
		next = one(ctx, next, thread);
	}
	return 0;
}

#endif
