/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Memory that ends: what was accessed in it is no part of what is there next, and must not race with it.
 */
#ifndef TRACEPREDICT_FORGET_H
#define TRACEPREDICT_FORGET_H

#include "allocation.h"
#include "sharing.h"
#include "word.h"

static __always_inline void forget(struct word *w)
{
	w->wrote[0].when = w->wrote[1].when = w->read[0].when = w->read[1].when = 0;
	w->last = w->atomic = w->named = 0;
	w->owner = 0;
	__sync_fetch_and_add(&word_counts[w->table & (WORD_TABLES - 1)], -1);
	__sync_lock_test_and_set(
		&w->key, WORD_FORGOTTEN); /* a barrier, too: it may be made again now */
}

/* Memory of a process that ends, from at on. */
struct ended_memory {
	__u64 at, end;
	__u32 tgid;
	__u32 by;    /* the thread that frees it; 0: none does, or it is not known */
	__u64 block; /* its beginning */
	__u32 sent;  /* words of other threads than that */
};

/* Bounds the words of which the accesses are sent when their memory is freed. */
#define MAX_FREED 16

/* Sends the accesses of the one thread that has used the word at an address, and before them the block, unless it is
 * 0. Returns the number of words, 1 at most. Not static, so that the verifier judges it by itself, once, and not in
 * each loop. */
__noinline int send_word(__u64 at, __u64 block, __u32 tgid)
{
	struct word *w = word_at(word_key(at, tgid), false);
	__u64 owner = w ? w->owner : 0;

	if (!w || !owner || owner == WORD_SHARED)
		return 0;
	if (block)
		send_block(block, tgid);
	owner |= (__u64)tgid << 32;
	send_past(owner, OP_WRITE, w->wrote, at);
	send_past(owner, OP_READ, w->read, at);
	return 1;
}

/* Sends the accesses of the one thread that has used the word at an address, if another one frees it: these
 * may race. */
static __always_inline void send_freed(struct word *w, __u64 at, struct ended_memory *e)
{
	__u64 owner = w->owner;

	if (!e->by || !owner || owner == e->by || owner == WORD_SHARED || e->sent >= MAX_FREED)
		return;
	e->sent += send_word(at & ~7ULL, e->sent ? 0 : e->block, e->tgid);
}

/* Forgets the next word, or skips a page that has none. With freed, accesses of it may be sent before. */
static __always_inline int forget_one(struct ended_memory *e, bool freed)
{
	__u64 bit, *bits, next = (e->at | ((1 << PAGE_SHIFT) - 1)) + 1;
	struct word *w;

	if (e->at >= e->end)
		return 1;
	bits = page_bits(e->at >> PAGE_SHIFT, e->tgid, &bit);
	if (!bits || !(*bits & bit)) {
		e->at = next;
		return 0;
	}
	w = word_at(word_key(e->at, e->tgid), false);
	if (w) {
		if (freed)
			send_freed(w, e->at, e);
		forget(w);
	}
	e->at += 8;
	return 0;
}

static int forget_next(__u32 n, void *data)
{
	return forget_one(data, true);
}

static int forget_next_silently(__u32 n, void *data)
{
	return forget_one(data, false);
}

/* Forgets a word of the table if it is one of the memory that ends. With freed, accesses of it may be sent
 * before. */
static __always_inline int forget_ended(__u32 index, struct ended_memory *e, bool freed)
{
	void *table = words_of(index >> word_bits);
	struct word *w = table ? word_in(table, index & ((1 << word_bits) - 1)) : 0;
	__u64 at;

	if (!w || w->key <= WORD_FORGOTTEN)
		return 0;
	at = w->key >> PROCESS_BITS << 3;
	if (at < e->at || at >= e->end || w->key != word_key(at, e->tgid))
		return 0;
	if (freed)
		send_freed(w, at, e);
	forget(w);
	return 0;
}

static int forget_if_freed(__u32 index, void *data)
{
	return forget_ended(index, data, true);
}

static int forget_if_ended(__u32 index, void *data)
{
	return forget_ended(index, data, false);
}

#define MAX_FORGET_STEPS (1 << 23)

/* Forgets the words of memory that ends: one after the other, and in the whole table where there are more pages
 * than that has words, or where too many of them may have some. */
static __always_inline void forget_range(struct ended_memory *e, bool freed)
{
	if ((e->end - e->at) >> PAGE_SHIFT <= 1 << word_bits)
		bpf_loop(MAX_FORGET_STEPS, freed ? forget_next : forget_next_silently, e, 0);
	if (e->at < e->end)
		bpf_loop(word_tables << word_bits, freed ? forget_if_freed : forget_if_ended, e, 0);
}

/* Forgets the accesses of memory that ends, or that begins where the end of another was not seen. By is as
 * in struct ended_memory. Returns of how many words accesses were sent. Not static, so that the verifier
 * judges it by itself, once. */
__noinline int forget_words(__u64 addr, __u64 size, __u32 tgid, __u32 by)
{
	struct ended_memory e = {
		.at = addr & ~7ULL, .end = addr + size, .tgid = tgid, .by = by, .block = addr};

	if (!through_pointers || !crowded || !addr || !size)
		return 0;
	forget_range(&e, true);
	return e.sent;
}

#define MAX_STACK (1ULL << 30)

/* Forgets the stack of a thread that ends, and its thread-local variables above it: the C library gives
 * both to the next thread. */
static __noinline int forget_stack(struct slot *slot, __u64 end, __u32 tgid)
{
	__u64 low;

	if (!slot)
		return 0;
	low = slot->lowest;
	slot->lowest = 0;
	if (through_pointers && crowded && low && low < end && end - low < MAX_STACK) {
		struct ended_memory e = {.at = low & ~7ULL, .end = end, .tgid = tgid};

		forget_range(&e, false);
	}
	return 0;
}

/* Forgets all words of a process that ends, or that executes another program. */
static __noinline int forget_process(__u32 tgid)
{
	struct ended_memory e = {.end = ~0ULL, .tgid = tgid};
	__u64 bit, *bits = page_bits(0, tgid, &bit);

	forget_allocations(tgid);
	if (!through_pointers || !bits || !(*bits & bit))
		return 0;
	/* The bit stays: it may be that of a page of another process, too. */
	bpf_loop(word_tables << word_bits, forget_if_ended, &e, 0);
	return 0;
}

#endif
