/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Accesses of variables that the user named, and of atomic ones.
 */
#ifndef TRACEPREDICT_ACCESS_H
#define TRACEPREDICT_ACCESS_H

static __always_inline bool is_access(struct site *site)
{
	return site->op >= OP_READ && site->op <= OP_UPDATE;
}

/* Gets a variable's value, cut to its width, from a register or memory. Returns whether it
 * could. */
static __always_inline bool value(
	struct pt_regs *ctx, struct access_site *a, __u64 object, __u64 *v)
{
	__u64 x = 0;
	__u8 width = a->width;

	switch (a->value_from) {
	case FROM_NOWHERE:
		return false;
	case FROM_MEMORY:
		if (width > 8 || bpf_probe_read_user(&x, width & 15 ?: 1, (void *)object))
			return false;
		break;
	default:
		x = operand(ctx, a->value_from, a->value_reg, 0, a->imm);
	}
	if (width < 8)
		x &= (1ULL << (width * 8)) - 1;
	*v = x;
	return true;
}

/* Returns the register that a site wants recorded too. */
static __always_inline __u64 extra_of(struct pt_regs *ctx, struct access_site *a)
{
	return a->extra ? reg(ctx, a->extra - 1) : 0;
}

/* Returns whether an access says again what one of the thread's last records said: it waits for
 * another thread, and turns round without doing anything else that is recorded. */
static __always_inline bool spins(
	struct slot *slot, struct site *site, __u32 index, __u64 second, __u64 extra)
{
	bool may = site->flags & SITE_SPIN && (site->op == OP_READ || second == extra);
	__u64 n;

	if (!slot)
		return false;
	n = slot->spun;
	for (int i = 0; i < NEAR_SPINS && may; i++) {
		struct spin *x = &slot->spins[i];

		if (i >= n)
			break;
		if (x->site != index || x->extra != extra)
			continue;
		if (x->value == second)
			return true;
		n = 0; /* it goes on: all that it read before may be read again */
		break;
	}
	if (n >= NEAR_SPINS)
		n = 0;
	if (may)
		slot->spins[n & (NEAR_SPINS - 1)] = (struct spin){second, extra, index};
	slot->spun = may ? n + 1 : 0;
	return false;
}

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

/* Returns how far from the base an instruction with an index touches memory. */
static __always_inline __u64 indexed(struct pt_regs *ctx, struct access_site *a)
{
	__s64 index;

	if (!a->scale)
		return 0;
	index = reg(ctx, a->index_reg);
	if (a->scale == SCALE_BITS32)
		return (__s64)(__s32)index >> 3;
	if (a->scale == SCALE_BITS)
		return index >> 3;
	return index * a->scale;
}

/* Returns whether so many bytes are whole elements of an array. */
static __always_inline bool whole(__s64 bytes, __u32 element)
{
	__u64 n = bytes < 0 ? -bytes : bytes;

	return element && n % element == 0;
}

static __noinline int named_words(__u64 thread, __u64 at, __u64 size);
static __noinline int pointed_since(__u64 thread, __u64 at);

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

/* Handles an access of the variable that the object operand is. */
static __noinline int accessed(struct pt_regs *ctx, struct site *site, __u32 index, __u64 thread)
{
	struct slot *slot = slot_of(thread);
	__u64 object = object_of(ctx, site), extra = extra_of(ctx, &site->access), second = 0;
	__u8 flags = value(ctx, &site->access, object, &second) ? REC_VALUE : 0;

	if (spins(slot, site, index, second, extra))
		return 0;
	send_access(ctx, site, index, thread, slot,
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
	send_access(ctx, site, index, thread, slot,
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
	send_access(ctx, site, index, thread, slot,
		(struct record){.object = variable,
			.value = second,
			.extra = extra_of(ctx, a),
			.flags = flags});
	return 0;
}

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
