/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Calls of the table of synchronisation calls: records at the entry, at the return, or where
 * the outcome is certain.
 */
#ifndef TRACEPREDICT_SYNC_H
#define TRACEPREDICT_SYNC_H

#include "cost.h"
#include "held.h"
#include "hold.h"
#include "knowledge.h"
#include "monitor.h"
#include "operand.h"
#include "pending.h"
#include "probe.h"
#include "ringbuf.h"
#include "scope.h"

static __always_inline bool succeeded(__u8 rule, __s64 result)
{
	__s32 r = result;

	switch (rule) {
	case SUCCESS_ZERO:
		return r == 0 || r == 130; /* EOWNERDEAD: acquired, from a dead owner */
	case SUCCESS_NONZERO:
		return result != 0;
	case SUCCESS_BARRIER:
		return r == 0 || r == -1;
	case SUCCESS_TRUE8:
		return (result & 0xff) != 0;
	}
	return true;
}

/* Handles the success of an operation. */
static __always_inline void succeeds(
	struct slot *slot, struct site *site, __u64 thread, __u64 object, __s64 result)
{
	acquired(slot, site, object, result);
	if (monitored)
		on_sync(thread, site->op, object);
}

/* Returns the operand FROM_KIND. */
static __always_inline __u64 kind_of(struct site *site, __u64 object)
{
	__u32 kind;

	if (bpf_probe_read_user(&kind, sizeof(kind), (void *)(object + site->sync.second_disp)))
		return 0;
	return 1 + (__u64)kind;
}

/* Handles the return of a call saved at stack pointer sp, if there is one. */
static __always_inline void leave(struct pt_regs *ctx, __u64 thread, struct slot *slot, __u64 sp)
{
	__s64 result = REG_RESULT(ctx);
	struct pending_call call;
	struct site *site;
	__u8 flags = REC_LEAVE;

	if (!recall(slot, thread, sp, &call, true))
		return;
	site = bpf_map_lookup_elem(&sites, &call.site);
	if (!site)
		return;
	if (succeeded(site->sync.success, result))
		succeeds(slot, site, thread, call.object, result);
	else
		flags |= REC_FAILED;
	if (site->op == OP_KEY_CREATE) /* which the call has stored only now */
		call.second = kind_of(site, call.object);
	send_acting(thread, (struct record){.op = site->op,
				    .flags = flags,
				    .site = call.site,
				    .stack = call.stack,
				    .object = call.object,
				    .value = call.second,
				    .entered = call.entered,
				    .sp = sp,
				    .result = result});
	if (knows)
		knows_sync(thread, site->op, flags, call.object, call.second);
}

/* Returns whether a call is part of another that is under way: the C library calls its own
 * public functions (musl's timed locks try first), and what it does within one operation is
 * that operation. Calls whose frame may have been unwound are not believed to be under way,
 * but for the waits for semaphores, which nothing returns to once they are cancelled. */
#define NESTED_FRAMES 512
static __always_inline bool nested(struct slot *slot, __u64 sp, __u64 object)
{
	struct site *outer;

	if (!slot)
		return false;
#pragma unroll
	for (int i = 0; i < NEAR_CALLS; i++) {
		struct pending_call *call = &slot->calls[i];

		if (call->object != object || call->sp <= sp || call->sp - sp > NESTED_FRAMES)
			continue;
		outer = bpf_map_lookup_elem(&sites, &call->site);
		if (outer && (outer->flags & SITE_LEAF || outer->op == OP_SEM_WAIT))
			return true;
	}
	return false;
}

/* Returns those of the bits of a site's mark that are set in the object. What cannot be read was
 * not destroyed, and as many threads wait as can be. */
#define COND_DESTROYED 4
static __always_inline __u64 marked(struct site *site, __u64 object)
{
	__u32 word, mark = (__s32)site->sync.mark;

	if (bpf_probe_read_user(&word, sizeof(word), (void *)(object + site->sync.mark_disp)))
		return mark & ~COND_DESTROYED;
	return word & mark;
}

/* Handles the entry of a call. */
static __always_inline void enter(struct pt_regs *ctx, struct site *site, __u32 index, __u64 thread,
	struct slot *slot, __u64 sp)
{
	__u64 object = object_of(ctx, site), second, extra = 0;
	bool library = site->op == OP_LIBRARY;
	__u32 stack;

	count_sync(thread);
	if (site->sync.extra)
		extra = reg(ctx, site->sync.extra - 1);
	else if (site->sync.mark)
		extra = marked(site, object);
	if (site->sync.second_from == FROM_KIND)
		second = kind_of(site, object);
	else
		second = operand(ctx, site->sync.second_from, site->sync.second_reg,
			site->sync.second_disp, 0);
	if (site->action != ACTION_EMIT) {
		struct pending_call call;

		/* Entered by a tail call from another of ours (musl's lock jumps to its
		 * timedlock): one operation, already remembered. */
		if (recall(slot, thread, sp, &call, false) && call.object == object &&
			call.site != index)
			return;
		if (nested(slot, sp, object))
			return;
		stack = stack_of(ctx, site, index, sp, thread, slot);
		call.sp = sp;
		call.object = object;
		call.second = second;
		/* The time matters where an identity must be looked up as of then. */
		call.entered = site->op == OP_JOIN ? bpf_ktime_get_ns() : 0;
		call.site = index;
		call.stack = stack;
		remember(slot, thread, &call);
		if (site->action == ACTION_SAVE)
			return;
	} else if (site->flags & SITE_NO_STACK && releases(slot, object)) {
		stack = 0;
	} else {
		stack = stack_of(ctx, site, index, sp, thread, slot);
	}
	mark_used(object);
	if (monitored)
		on_sync(thread, site->op, object);
	if (scoped && acts(thread, site->op, object, second)) {
		struct record event = {
			.op = site->op, .site = index, .stack = stack, .object = object, .sp = sp};

		event.value = second;
		event.extra = extra;
		scope_action(&event, thread);
		if (knows)
			knows_sync(thread, site->op, 0, object, second);
		return;
	}
	send_now(thread,
		(struct record){.op = site->op,
			.site = index,
			.stack = stack,
			.result = library ? hold_loading(thread) : 0,
			.object = object,
			.value = second,
			.extra = extra,
			.sp = sp},
		library, library);
	if (knows)
		knows_sync(thread, site->op, 0, object, second);
}

/* Returns whether the call whose frame begins at sp is the last part of another one that is
 * under way: that one jumped to it, and is recorded when it returns. What the same function
 * left there itself was abandoned. */
static __always_inline bool continues(struct slot *slot, __u64 sp, __u64 object, __u64 function)
{
	struct site *outer;

	if (!slot)
		return false;
#pragma unroll
	for (int i = 0; i < NEAR_CALLS; i++) {
		struct pending_call *call = &slot->calls[i];

		if (call->sp != sp || call->object != object)
			continue;
		outer = bpf_map_lookup_elem(&sites, &call->site);
		if (outer && outer->sync.function != function)
			return true;
		call->sp = 0;
	}
	return false;
}

/* Handles a place in a function where what it did is certain, before it returns. */
static __always_inline void outcome(struct pt_regs *ctx, struct site *site, __u32 index,
	__u64 thread, struct slot *slot, __u64 sp)
{
	struct sync_site *sync = &site->sync;
	__u64 object = kept(ctx, site->object_from, site->object_reg, site->object_disp, sp);
	__u64 second = kept(ctx, sync->second_from, sync->second_reg, sync->second_disp, sp);
	__s64 result = sync->result_from == FROM_IMM ? sync->result : REG_RESULT(ctx);
	__u32 stack;
	__u8 flags = REC_LEAVE;

	if (continues(slot, sp, object, sync->function) || nested(slot, sp, object))
		return;
	if (sync->second_from == FROM_KIND)
		second = kind_of(site, object);
	if (succeeded(sync->success, result))
		succeeds(slot, site, thread, object, result);
	else
		flags |= REC_FAILED;
	stack = stack_of(ctx, site, index, sp, thread, slot);
	send_acting(thread, (struct record){.op = site->op,
				    .flags = flags,
				    .site = index,
				    .stack = stack,
				    .object = object,
				    .value = second,
				    .sp = sp,
				    .result = result});
	if (knows)
		knows_sync(thread, site->op, flags, object, second);
}

#endif
