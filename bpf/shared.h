/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Accesses of variables that nobody named: all of the program's, while it is not known which
 * of them threads share.
 */
#ifndef TRACEPREDICT_SHARED_H
#define TRACEPREDICT_SHARED_H

#include "access.h"
#include "cost.h"
#include "probe.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tally);
} watched SEC(".maps");

/* Not 0: user space is about to remove those of the variable's probes that were hit more often than
 * that. A map of its own, because user space writes whole values. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u8);
} hits_limit SEC(".maps");

/* What a thread has read last, by variable; a direct-mapped cache. */
#define NEAR_READS 8
struct reading {
	__u32 index; /* of the variable, plus one; 0: none */
	__u32 version;
	__u64 outs;
	__u64 value; /* 0 if it is not known */
};
struct readings {
	struct reading near[NEAR_READS];
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct readings);
} readings SEC(".maps");

/* tally.last: 22 bits of thread id, as many as the kernel gives, whether that
 * thread has written, and the low bits of its count of events after that. */
#define LAST_WROTE (1ULL << 22)
#define LAST_SKIPPED (1ULL << 23) /* and writes after these were not recorded */
#define LAST_EVENTS 24

/*
 * Returns whether an access is redundant: what races with it must race with a recorded one,
 * and a thread that reads what it wrote must learn as much from that one. The epochs of
 * FastTrack (Flanagan and Freund, PLDI 2009, section 3) are not enough, since by them writes
 * order nothing. Redundant are
 *
 * - an access of a variable that the thread has written, if nothing else was recorded of the
 *   thread since, and no other thread has accessed it since;
 * - a read of what the thread has read already, if nobody has written the variable since,
 *   and nothing was recorded of the thread from which another could learn of the first read
 *   (see read_before).
 *
 * Of a thread without a slot none is redundant. It sets skipped if writes before an access that is
 * recorded were redundant: the value last recorded is not the variable's. rules_test.go compares this
 * with a model, and analysis/engine tests that such a model loses no race.
 */
static __always_inline bool redundant(
	struct tally *v, struct slot *slot, __u32 tid, bool writes, bool *skipped)
{
	__u64 old = *(volatile __u64 *)&v->last, mine;

	if (slot && (old & ~LAST_SKIPPED) ==
			    (slot->events << LAST_EVENTS | LAST_WROTE | (tid & LAST_THREAD))) {
		if (!writes || old & LAST_SKIPPED)
			return true;
		if (__sync_val_compare_and_swap(&v->last, old, old | LAST_SKIPPED) == old)
			return true;
	}
	mine = tid & LAST_THREAD;
	if (slot) {
		slot->events++;
		mine |= slot->events << LAST_EVENTS | (writes ? LAST_WROTE : 0);
	}
	if (writes) {
		if (slot)
			slot->outs++;
		__sync_fetch_and_add(&v->version, 1);
	}
	old = __sync_lock_test_and_set(&v->last, mine);
	*skipped |= old & LAST_SKIPPED;
	return false;
}

/* Returns whether the thread has read this already, see redundant(); else remembers it. The
 * value is compared too: a write may not have been recorded yet. */
static __always_inline bool read_before(
	struct tally *v, struct slot *slot, __u32 tid, __u32 variable, __u64 value)
{
	__u32 index = tid & (SLOTS - 1);
	struct readings *all = bpf_map_lookup_elem(&readings, &index);
	struct reading *r;

	if (!all)
		return false;
	r = &all->near[variable & (NEAR_READS - 1)];
	if (r->index == variable + 1 && r->version == v->version && r->outs == slot->outs &&
		r->value == value)
		return true;
	r->index = variable + 1;
	r->version = v->version;
	r->outs = slot->outs;
	r->value = value;
	return false;
}

/* Returns whether the probe that was hit has had at most so many hits. */
static __always_inline bool seldom_hit(struct pt_regs *ctx, __u8 limit)
{
	__u32 head = bpf_get_attach_cookie(ctx);
	__u64 *hits = bpf_map_lookup_elem(&site_hits, &head);

	return hits && *hits <= limit;
}

/* Counts an access. Returns the variable, null if it is not watched any more by this probe. It sets
 * skipped if it is not watched by others. */
static __always_inline struct tally *hit(struct pt_regs *ctx, __u32 index, __u32 tid, bool *skipped)
{
	struct tally *v;
	__u8 *limit = bpf_map_lookup_elem(&hits_limit, &index);
	__u32 owner;

	if (!limit || (*limit && !seldom_hit(ctx, *limit)))
		return 0;
	*skipped = *limit;
	v = bpf_map_lookup_elem(&watched, &index);
	if (!v)
		return 0;
	__sync_fetch_and_add(&v->hits, 1);
	if (crowded)
		__sync_fetch_and_add(&v->crowd, 1);
	owner = v->owner;
	if (!owner)
		owner = __sync_val_compare_and_swap(&v->owner, 0, tid) ?: tid;
	if (owner != tid && !v->shared) {
		v->shared = 1;
		/* The owner's next access is recorded, though it read before: Eraser forgives an
		 * owner what it did alone. */
		__sync_fetch_and_add(&v->version, 1);
	}
	return v;
}

/*
 * Handles an access of an element of an array, which the code picks: the record says which
 * bytes. Whether it is redundant is not asked, since that is a question of each element.
 * Instead enough accesses are recorded, and none before the program has a second thread, since
 * that comes before all that its threads do.
 */
__noinline int one_element(struct pt_regs *ctx, __u32 index, __u64 thread)
{
	struct site *site = bpf_map_lookup_elem(&sites, &index);
	__u64 at, by, second = 0;
	struct slot *slot;
	struct tally *v;
	bool skipped = false;
	__u8 flags = 0;

	if (!site)
		return 0;
	at = object_of(ctx, site) + indexed(ctx, &site->access);
	by = at - (REG_IP(ctx) + site->access.home);
	if (by >= site->access.span)
		return 0;
	v = hit(ctx, site->access.watched, thread, &skipped);
	if (!v || !crowded)
		return 0;
	if (enough && v->recorded >= enough && !skipped)
		return 0;
	__sync_fetch_and_add(&v->recorded, 1);
	if (value(ctx, &site->access, at, &second))
		flags = REC_VALUE;
	if (skipped)
		flags |= REC_SKIPPED;
	slot = slot_of(thread);
	if (slot)
		slot->spun = 0;
	send_access(ctx, site, index, thread, slot,
		(struct record){.object = at, .value = second, .offset = by, .flags = flags});
	return 0;
}

/* Handles one site of a chain. */
__noinline __u32 one_shared(struct pt_regs *ctx, __u32 index, __u64 thread)
{
	struct site *site = bpf_map_lookup_elem(&sites, &index);
	struct tally *v;
	struct slot *slot;
	__u64 object, second = 0, sp;
	bool skipped = false, writes;
	__u32 stack;
	__u8 flags = 0;

	if (!site)
		return 0;
	if (site->when && !condition(ctx, site->when - 1))
		return site->next;
	if (site->access.reach == REACH_SHARED_ARRAY) {
		one_element(ctx, index, thread);
		return site->next;
	}
	v = hit(ctx, site->access.watched, thread, &skipped);
	if (!v)
		return site->next;
	object = object_of(ctx, site);
	if (value(ctx, &site->access, object, &second))
		flags |= REC_VALUE;
	slot = slot_of(thread);
	writes = site->op != OP_READ;
	if (!(site->flags & SITE_ORDERS)) {
		if (pointed_since(thread, object)) {
			v->shared = 1;
			__sync_fetch_and_and(&v->last, LAST_SKIPPED);
			__sync_fetch_and_add(&v->version, 1);
		}
		if (slot && !writes && read_before(v, slot, thread, site->access.watched, second))
			return site->next;
		if (redundant(v, slot, thread, writes, &skipped))
			return site->next;
	}
	if (slot)
		slot->spun = 0;
	if (skipped)
		flags |= REC_SKIPPED;
	if (site->flags & SITE_ORDERS)
		count_order(thread);
	else
		named_words(thread, object, site->access.width);
	sp = REG_SP(ctx) + site->sp_delta;
	stack = stack_of(ctx, site, index, sp, thread, slot);
	send_unordered(thread, (struct record){.op = site->op,
				       .flags = flags,
				       .site = index,
				       .stack = stack,
				       .object = object,
				       .value = second,
				       .sp = sp});
	return site->next;
}

SEC("uprobe.multi")
int on_shared(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);
	__u64 thread = current_thread();
	__u32 next = cookie;
	struct slot *slot;

	if (!is_observed(cookie, thread))
		return 0;
	count_hit(thread);
	/* While one link replaces another both are there, and the newer one, whose cookie has the
	 * next generation, has had this hit: the kernel calls the latest first. */
	slot = slot_of(thread);
	if (slot) {
		if (slot->taken == cookie + COOKIE_GENERATION) {
			slot->taken = 0;
			return 0;
		}
		slot->taken = cookie;
	}
	count_site(cookie);
	for (int i = 0; i < MAX_CHAIN && next; i++)
		next = one_shared(ctx, next, thread);
	return 0;
}

#endif
