/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Accesses of variables that the user named, and of atomic ones.
 */
#ifndef TRACEPREDICT_ACCESS_H
#define TRACEPREDICT_ACCESS_H

#include "knowledge.h"
#include "operand.h"
#include "probe.h"
#include "ringbuf.h"
#include "sharing.h"
#include "spin.h"

/* Returns where the variable or array of a site is. */
static __always_inline __u64 home(struct pt_regs *ctx, struct access_site *a)
{
	__u64 at = REG_IP(ctx) + a->home;

	if (a->reach != REACH_TABLE)
		return at;
	if (bpf_probe_read_user(&at, sizeof(at), (void *)at))
		return 0;
	return at + a->table_disp;
}

/* Returns whether so many bytes are whole elements of an array. */
static __always_inline bool whole(__s64 bytes, __u32 element)
{
	__u64 n = bytes < 0 ? -bytes : bytes;

	return element && n % element == 0;
}

/* Sends the record of an access. */
static __always_inline void send_access(struct pt_regs *ctx, struct site *site, __u32 index,
	__u64 thread, struct slot *slot, struct record access)
{
	access.op = site->op;
	access.site = index;
	access.sp = REG_SP(ctx) + site->sp_delta;
	access.stack = stack_of(ctx, site, index, access.sp, thread, slot);
	if (!(access.flags & REC_ORDERS))
		named_words(thread, access.object, site->access.width);
	send(thread, access);
}

/* Lets the formula know of an access of a variable that was asked for, and sends its record. */
static __always_inline void named_access(struct pt_regs *ctx, struct site *site, __u32 index,
	__u64 thread, struct slot *slot, struct record access)
{
	bool orders = access.flags & REC_ORDERS || site->flags & SITE_ORDERS, verdict = false;

	if (knows && orders)
		known_atomic(thread, site->op, access.object);
	else if (knows)
		verdict = known_access(thread, site->op, access.flags, access.object, access.value);
	if (alone && !orders) {
		if (!verdict)
			return;
		access.flags &= ~REC_VALUE; /* what was written before may be no record */
	}
	send_access(ctx, site, index, thread, slot, access);
	if (verdict)
		send_verdict(thread);
}

/* Handles an access of the variable that the object operand is. */
static __noinline int accessed(struct pt_regs *ctx, struct site *site, __u32 index, __u64 thread)
{
	struct slot *slot = slot_of(thread);
	__u64 object = object_of(ctx, site), extra = extra_of(ctx, &site->access), second = 0;
	__u8 flags = value(ctx, &site->access, object, &second) ? REC_VALUE : 0;

	if (spins(slot, site, index, second, extra))
		return 0;
	named_access(ctx, site, index, thread, slot,
		(struct record){.object = object, .value = second, .extra = extra, .flags = flags});
	return 0;
}

/* Handles an instruction that may access the variable, or other parts of the object that it
 * belongs to. An operand that is not the variable just as it is does not give its value:
 * memory does. */
static __noinline int checked(struct pt_regs *ctx, struct site *site, __u32 index, __u64 thread)
{
	struct access_site *a = &site->access;
	__u64 variable, touched, by, span = a->span, second = 0;
	struct slot *slot;
	__u8 flags = 0;

	by = indexed(ctx, a);
	touched = object_of(ctx, site) + by;
	if (a->reach == REACH_ELEMENT) {
		if (!whole(by, a->stride))
			return 0;
		variable = touched;
	} else {
		variable = home(ctx, a);
	}
	if (a->times == TIMES_EACH)
		span = reg(ctx, 1) ? span : 0;
	else if (a->times)
		span *= reg(ctx, a->times - 1);
	if (!span || (touched - variable >= a->width && variable - touched >= span))
		return 0;
	if ((a->value_from == FROM_MEMORY || (touched == variable && span == a->width)) &&
		value(ctx, a, variable, &second))
		flags = REC_VALUE;
	slot = slot_of(thread);
	if (slot)
		slot->spun = 0;
	named_access(ctx, site, index, thread, slot,
		(struct record){.object = variable, .value = second, .flags = flags});
	return 0;
}

/* Handles an access of an element of an array, which the index selects. Other parts of the
 * object that the array is in are none. A thread that waits for one element does not say
 * again what it read. */
static __noinline int element(struct pt_regs *ctx, struct site *site, __u32 index, __u64 thread)
{
	struct access_site *a = &site->access;
	struct slot *slot = slot_of(thread);
	__u64 variable, from, second = 0;
	__u8 flags = 0;

	variable = object_of(ctx, site) + indexed(ctx, a);
	from = variable - home(ctx, a);
	if (from >= a->span || !whole(from, a->stride))
		return 0;
	if (value(ctx, a, variable, &second))
		flags = REC_VALUE;
	if (site->op == OP_READ) {
		if (spins(slot, site, index, second, variable))
			return 0;
	} else if (slot) {
		slot->spun = 0;
	}
	named_access(ctx, site, index, thread, slot,
		(struct record){.object = variable,
			.value = second,
			.extra = extra_of(ctx, a),
			.flags = flags});
	return 0;
}

#endif
