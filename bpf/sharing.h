/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Which accesses of a word are recorded. What one thread alone accesses is remembered, and not recorded: the
 * last write and the last read. When a second thread comes, these are sent after the fact, so that they can
 * be one side of a race, and from then on the accesses of the word are recorded, but for redundant ones.
 */
#ifndef TRACEPREDICT_SHARING_H
#define TRACEPREDICT_SHARING_H

#include "allocation.h"
#include "ringbuf.h"
#include "word.h"

__u32 joined_words; /* a thread has accessed through a pointer what another one accesses by its name */

/* An access of one word. */
struct word_access {
	__u64 thread, at;
	__u32 site;
	__u32 bytes; /* of the word, a bit for each */
	__s32 from;  /* of a range: how far from its beginning the word is, in bytes */
	bool whole;  /* it is all that the instruction accesses */
	bool more;   /* of a range: another word of it was recorded before */
};

#define LOWER_HALF 0x0f
#define UPPER_HALF 0xf0

/* Remembers an access of a word in a pair. */
static __always_inline void remember_access(struct past *pair, struct word_access *x)
{
	struct past *p = pair;

	if (!(x->bytes & LOWER_HALF))
		p = pair + 1;
	else if (x->bytes & UPPER_HALF)
		pair[1].when = 0;
	else if (pair->when & UPPER_HALF && !pair[1].when)
		pair[1] = *pair;
	p->site = x->site;
	p->from = x->from;
	p->when = moment(x->bytes);
}

/* Sends the accesses of a word, of a pair, that its owner made in the past. */
static __always_inline void send_past(__u64 owner, enum op op, struct past *pair, __u64 at)
{
	for (int i = 0; i < 2; i++) {
		__u64 when = pair[i].when;

		if (!when)
			continue;
		send_unordered(owner, (struct record){.op = op,
					      .flags = REC_PAST,
					      .site = pair[i].site,
					      .result = pair[i].from,
					      .object = at,
					      .bytes = when & 0xff,
					      .value = when >> 8});
	}
}

/* Makes a word that an owner has used a shared one, and sends where it was allocated and what the owner
 * did. */
static __always_inline void share(struct word *w, __u64 owner, __u64 thread, __u64 at)
{
	if (owner == WORD_SHARED ||
		__sync_val_compare_and_swap(&w->owner, owner, WORD_SHARED) != owner)
		return;
	send_block_around(at, thread >> 32);
	if (!owner)
		return;
	owner |= thread >> 32 << 32;
	send_past(owner, OP_WRITE, w->wrote, at & ~7ULL);
	send_past(owner, OP_READ, w->read, at & ~7ULL);
}

/* Returns whether a thread accesses through a pointer what another one accesses by the name of a variable. */
static __always_inline bool meets_name(struct word *w, __u32 tid)
{
	if (!w->named || w->named == tid)
		return false;
	joined_words = 1;
	return true;
}

/* Returns whether the thread is the only one that has accessed the word, and remembers what it does
 * now. If another thread has, also by the name of a variable, the word is shared from now on, and the
 * other one's accesses are sent. */
static __always_inline bool is_own(struct word *w, struct word_access *x, bool writes)
{
	__u64 thread = x->thread, at = x->at;
	__u32 tid = thread;
	__u64 owner = w->owner;

	if (meets_name(w, tid)) {
		share(w, owner, thread, at);
		return false;
	}
	if (!owner) {
		mark_page(at, thread >> 32);
		mark_page(0,
			thread >>
				32); /* where no process has memory: it says that there are words at all */
		owner = __sync_val_compare_and_swap(&w->owner, 0, tid) ?: tid;
	}
	if (owner == tid) {
		remember_access(writes ? w->wrote : w->read, x);
		/* Another thread may have come meanwhile, and sent what was there before. */
		return *(volatile __u64 *)&w->owner == tid;
	}
	share(w, owner, thread, at);
	return false;
}

/* word.last: 22 bits of thread id, whether that thread has written, the bytes, and the low bits of its
 * count of events after that. */
#define WORD_WROTE (1ULL << 22)
#define WORD_BYTES 23
#define WORD_EVENTS 31

/* Returns whether an access of a shared word is redundant: the thread has accessed all these bytes,
 * by a write if this one writes, nothing was recorded of the thread since, and no other thread has
 * accessed the word since. What is recorded of a range counts as one record. */
static __always_inline bool word_redundant(
	struct word *w, struct slot *slot, struct word_access *x, bool writes)
{
	__u32 tid = x->thread;
	__u8 bytes = x->bytes;
	__u64 old = *(volatile __u64 *)&w->last;
	__u8 before = old >> WORD_BYTES;

	if ((old & LAST_THREAD) == (tid & LAST_THREAD) &&
		old >> WORD_EVENTS == (slot->events & (~0ULL >> WORD_EVENTS)) &&
		!(bytes & ~before) && (!writes || old & WORD_WROTE))
		return true;
	if (!x->more) {
		slot->events++;
		if (writes)
			slot->outs++;
	}
	w->last = slot->events << WORD_EVENTS | (__u64)bytes << WORD_BYTES |
		  (writes ? WORD_WROTE : 0) | (tid & LAST_THREAD);
	return false;
}

/* Notes that a thread accesses a word by the name of a variable, which is recorded as such. If another
 * thread has used the word alone, through pointers, its accesses are sent. */
static __always_inline void named_word(__u64 thread, __u64 at)
{
	struct word *w = word_at(word_key(at, thread >> 32), true);
	__u32 tid = thread;
	__u64 owner;

	if (!w)
		return;
	if (!w->named) {
		mark_page(at, thread >> 32);
		mark_page(0, thread >> 32);
	}
	if (w->named != tid)
		w->named = w->named ? WORD_SHARED : tid;
	w->last = tid & LAST_THREAD; /* no access is redundant by it, and others see who was here */
	owner = w->owner;
	if (owner && owner != tid) {
		joined_words = 1;
		share(w, owner, thread, at);
	}
}

/* Notes that a thread accesses a variable of at most 8 bytes by its name. Not static, so that the verifier judges it by
 * itself, once. */
__noinline int named_words(__u64 thread, __u64 at, __u64 size)
{
	if (!all_pointers || !crowded || !size || size > 8)
		return 0;
	named_word(thread, at);
	if ((at & 7) + size > 8)
		named_word(thread, at + 7);
	return 0;
}

/* Returns whether another thread has accessed a word through a pointer since the thread accessed it by the
 * name of a variable. */
static __noinline int pointed_since(__u64 thread, __u64 at)
{
	struct word *w;

	if (!joined_words)
		return 0;
	w = word_at(word_key(at, thread >> 32), false);
	return w && w->named && (w->last & LAST_THREAD) != (thread & LAST_THREAD);
}

#endif
