/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Ranges of memory that library functions and string instructions access.
 */
#ifndef TRACEPREDICT_RANGE_H
#define TRACEPREDICT_RANGE_H

#include "cost.h"
#include "file.h"
#include "measure.h"
#include "number.h"
#include "one_word.h"
#include "operand.h"
#include "pending.h"

/* Bounds the words of a range that are looked at, and those that are recorded. */
#define MAX_RANGE 512
#define MAX_RANGE_SENT 128
#define RANGE_COST 16 /* so many words of a range count as a hit */
/* Bounds the words of a range at a probe with more hits than that, which may not be thinned. */
#define RANGE_HOT (1 << 18)
#define MAX_HOT_RANGE 16

/* A range on its way, see next_of_range. */
struct range_access {
	struct pt_regs *ctx;
	__u64 thread, begin, at, end;
	__u32 site, sent, looked;
};

/* Handles the next word of a range: in a loop of the kernel's, whose body the verifier judges once. With
 * it, the calls are nested as deeply as the kernel allows, which is why one_word's parts are inlined. */
static int next_of_range(__u32 n, void *data)
{
	struct range_access *r = data;
	__u64 at = r->at, what;

	if (at >= r->end || r->sent >= MAX_RANGE_SENT)
		return 1;
	what = bytes_before(at, r->end) | ((at & ~7ULL) - r->begin) << ACCESS_FROM;
	if (r->sent)
		what |= ACCESS_MORE;
	r->sent += one_word(r->ctx, r->site, r->thread, at, what);
	r->at = (at | 7) + 1;
	r->looked = n + 1;
	return 0;
}

/* Handles the accesses of a range, by the function that a site calls. */
static __always_inline void access_range(
	struct pt_regs *ctx, __u32 site, __u64 thread, struct range range)
{
	struct range_access r = {.ctx = ctx,
		.thread = thread,
		.begin = range.begin,
		.at = range.begin,
		.end = range.begin + range.size,
		.site = site};
	__u32 head = bpf_get_attach_cookie(ctx);
	__u64 *hits;

	if (!r.begin || r.end < r.begin)
		return;
	hits = bpf_map_lookup_elem(&site_hits, &head);
	bpf_loop(hits && *hits > RANGE_HOT ? MAX_HOT_RANGE : MAX_RANGE, next_of_range, &r, 0);
	if (r.at < r.end)
		__sync_fetch_and_add(&cut_ranges, 1);
	if (hits)
		*hits += r.looked / RANGE_COST;
}

/* Remembers a call of a function that has accessed memory once it returns. */
static __always_inline void range_called(
	struct pt_regs *ctx, struct site *site, __u32 index, __u64 thread)
{
	struct access_site *a = &site->access;
	struct pending_call call = {.sp = REG_SP(ctx) + site->sp_delta,
		.object = object_of(ctx, site),
		.second = extra_of(ctx, a) ?: !a->extra,
		.entered = a->times ? reg(ctx, a->times - 1) : ~0ULL,
		.site = index,
		.stack = REG_IP(ctx)};

	remember(slot_of(thread), thread, &call);
}

/* Returns what such a call has accessed, of which the result says how much; nothing if the call was not
 * remembered. */
static __always_inline struct range range_returned(
	struct pt_regs *ctx, struct site *site, __u64 thread)
{
	struct access_site *a = &site->access;
	__s64 result = REG_RESULT(ctx);
	struct pending_call call;
	struct range r = {};
	struct site *begun;
	__u64 n;

	if (!recall(slot_of(thread), thread, REG_SP(ctx) + site->sp_delta, &call, true) ||
		call.stack != (__u32)(REG_IP(ctx) + a->home))
		return r;
	begun = bpf_map_lookup_elem(&sites, &call.site);
	if (!begun || !is_access(begun) || begun->access.reach != REACH_CALLED)
		return r;
	if (a->width == 4)
		result = (__s32)result;
	if (result < 0)
		return r;
	if (begun->access.scale)
		return buffer_of(&begun->access, call.object, call.entered, result);
	if (begun->access.imm) { /* all, if the result is so great, or nothing */
		n = (__u64)result + 1 >= begun->access.imm ? begun->access.span : 0;
	} else {
		n = result + a->imm;
		if (n > call.entered)
			n = call.entered;
	}
	r.begin = call.object;
	r.size = n * call.second;
	if (r.begin && r.size && begun->access.value_reg)
		bound_by_text(&r, r.begin);
	return r;
}

/* Returns what a function is called to access. */
static __always_inline struct range range_of(struct pt_regs *ctx, struct site *site, __u64 thread)
{
	struct access_site *a = &site->access;
	struct range r = {object_of(ctx, site), a->span};

	if (a->scale == SCALE_NUMBER)
		return number_word(thread, reg(ctx, a->times - 1), r.begin);
	if (a->table_disp && !file_of(reg(ctx, a->table_disp - 1)))
		return (struct range){};
	if (a->scale)
		return buffer_of(a, r.begin, a->times ? reg(ctx, a->times - 1) : 0, ~0ULL);
	if (a->times)
		r.size *= reg(ctx, a->times - 1);
	if (a->extra)
		r.size *= extra_of(ctx, a);
	if (a->stride && r.size > a->stride)
		r.size = a->stride;
	if (r.begin && r.size && a->value_reg)
		bound_by_text(&r, reg(ctx, a->value_reg - 1));
	if (r.begin && r.size && a->index_reg)
		put_behind_text(&r);
	return r;
}

/* Returns what a string instruction has accessed before the probe. */
static __always_inline struct range string_range(
	struct pt_regs *ctx, struct site *site, __u64 thread)
{
	struct access_site *a = &site->access;
	__u64 end = object_of(ctx, site), moved = a->imm - extra_of(ctx, a);
	struct slot *slot;
	struct range r = {};

	if (a->times == TIMES_REMEMBERED) {
		slot = slot_of(thread);
		if (!slot)
			return r;
		moved += slot->remembered;
	} else if (a->times) {
		moved += reg(ctx, a->times - 1);
	}
	r.size = moved * (__s32)a->span;
	r.begin = end - r.size;
	return r;
}

#endif
