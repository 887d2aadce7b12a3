/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * An access of one word through a pointer: of data, or of what atomic code accesses.
 */
#ifndef TRACEPREDICT_ONE_WORD_H
#define TRACEPREDICT_ONE_WORD_H

#include "access.h"
#include "sharing.h"
#include "spin.h"

__u32 mixed_words; /* code that is not atomic has accessed a word that atomic code had accessed */
__u64 own_words;   /* accesses of words that one thread alone has used */

#define RED_ZONE 128 /* bytes below the stack pointer that a function may use */

/* Remembers how far down a thread accesses its own stack, below its thread pointer. */
static __always_inline void note_depth(struct pt_regs *ctx, struct slot *slot, __u64 at)
{
	if (at >= REG_SP(ctx) - RED_ZONE && (!slot->lowest || at < slot->lowest))
		slot->lowest = at;
}

/* Records an access of bytes that atomic code accesses, which orders threads. What one thread alone did
 * in the word before is one side of a race, too. */
static __always_inline int atomic_access(
	struct pt_regs *ctx, struct word_access *x, struct word *w, struct slot *slot)
{
	struct site *site = bpf_map_lookup_elem(&sites, &x->site);
	__u64 owner = w->owner, second = 0, extra;
	__u8 flags = REC_ORDERS;

	if (!site)
		return 0;
	if (!(site->flags & SITE_ORDERS))
		mixed_words = 1;
	if (!owner) {
		mark_page(x->at, x->thread >> 32);
		mark_page(0, x->thread >> 32);
	}
	meets_name(w, x->thread);
	share(w, owner, x->thread, x->at);
	if ((w->last & LAST_THREAD) != (x->thread & LAST_THREAD))
		w->last = x->thread & LAST_THREAD; /* as in named_word */
	if (~w->atomic & x->bytes)
		__sync_fetch_and_or(&w->atomic, x->bytes);
	extra = site->access.extra ? extra_of(ctx, &site->access) : 0;
	if (value(ctx, &site->access, x->at, &second))
		flags |= REC_VALUE;
	if (spins(slot, site, x->site, second, site->op == OP_READ ? x->at : extra))
		return 0;
	send_access(ctx, site, x->site, x->thread, slot,
		(struct record){.object = x->at, .value = second, .extra = extra, .flags = flags});
	return 0;
}

/* Records an access of data, unless the thread is the only one that uses the word. Returns whether it
 * did. */
static __always_inline int data_access(
	struct pt_regs *ctx, struct word_access *x, struct word *w, struct slot *slot)
{
	struct site *site = bpf_map_lookup_elem(&sites, &x->site);
	bool writes;
	__u64 sp;

	if (!site)
		return 0;
	writes = site->op != OP_READ;
	if (is_own(w, x, writes)) {
		__sync_fetch_and_add(&own_words, 1);
		return 0;
	}
	if (slot && word_redundant(w, slot, x, writes))
		return 0;
	if (slot)
		slot->spun = 0;
	else
		w->last = x->thread & LAST_THREAD; /* as in named_word */
	sp = REG_SP(ctx) + site->sp_delta;
	mark_used(x->at);
	send_unordered(
		x->thread, (struct record){.op = site->op,
				   .site = x->site,
				   .stack = stack_of(ctx, site, x->site, sp, x->thread, slot),
				   .result = x->from,
				   .object = x->at & ~7ULL,
				   .bytes = x->bytes,
				   .sp = sp});
	return 1;
}

/* What one_word is told of an access of a word, besides its bytes; from, as in struct word_access, is in
 * the upper 32 bits. */
#define ACCESS_WHOLE (1 << 8)
#define ACCESS_MORE (1 << 9)
#define ACCESS_FROM 32

/* Handles an access of one word. Returns whether an access of data was recorded. Not static, so that the
 * verifier judges it by itself, once. */
__noinline int one_word(struct pt_regs *ctx, __u32 index, __u64 thread, __u64 at, __u64 what)
{
	struct word_access x = {.thread = thread,
		.at = at,
		.site = index,
		.bytes = what & 0xff,
		.whole = what & ACCESS_WHOLE,
		.more = what & ACCESS_MORE,
		.from = what >> ACCESS_FROM};
	struct site *site = bpf_map_lookup_elem(&sites, &index);
	struct slot *slot = slot_of(thread);
	struct word *w = word_at(word_key(at, thread >> 32), true);

	if (slot)
		note_depth(ctx, slot, at);
	if (!w)
		leave_out(index);
	if (!w || !site)
		return 0;
	if (x.whole && (site->flags & SITE_ORDERS || w->atomic & x.bytes))
		return atomic_access(ctx, &x, w, slot);
	return data_access(ctx, &x, w, slot);
}

/* Returns the bytes of the word at an address, a bit for each, that lie before end. */
static __always_inline __u64 bytes_before(__u64 at, __u64 end)
{
	__u64 next = (at | 7) + 1, bytes = 0xff & (0xff << (at & 7));

	return end < next ? bytes & 0xff >> (next - end) : bytes;
}

#define MAX_WORDS 9 /* of an access of 64 bytes */

#endif
