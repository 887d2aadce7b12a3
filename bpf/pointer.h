/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Accesses of memory through pointers. Nearly all memory is used by one thread at a time, so what
 * one thread alone accesses is remembered here, and not recorded: of each word of eight bytes the
 * last write and the last read. When a second thread comes, these are sent after the fact, so that
 * they can be one side of a race, and from then on the accesses of the word are recorded.
 */
#ifndef TRACEPREDICT_POINTER_H
#define TRACEPREDICT_POINTER_H

/* The last access of a part of a word. */
struct past {
	__u64 when; /* time and bytes, see moment; 0: none */
	__u32 site;
	__s32 from; /* how far from the beginning of the range, see struct word_access */
};

/* A word of eight bytes of a process. */
struct word {
	__u64 key;   /* see word_key; 0: free */
	__u64 owner; /* the one thread that has accessed it, or WORD_SHARED; 0: none */
	/* Of the owner. The first of each pair is of the lower half, and of the upper one too if its bytes
	 * say so and the second is older or none: neighbouring numbers of four bytes are two variables. */
	struct past wrote[2], read[2];
	__u64 named; /* the one thread that has accessed it by the name of a variable, or WORD_SHARED */
	__u64 last;   /* of a shared word: see word_redundant */
	__u64 atomic; /* its bytes, a bit for each, that atomic code has accessed */
};
#define WORD_SHARED (1ULL << 32)
#define WORD_TRIES 8
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct word);
} words SEC(".maps");

/* How often each site's probe was hit, so that those that cost too much can be removed. User space reads all of them
 * every few milliseconds, so it maps them. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} pointer_hits SEC(".maps");

__u32 joined_words; /* a thread has accessed through a pointer what another one accesses by its name */
__u32 mixed_words; /* code that is not atomic has accessed a word that atomic code had accessed */

#define HASH_FACTOR 0x9e3779b97f4a7c15ULL /* of Knuth's multiplicative hashing */

__u64 full_words; /* accesses that were not looked at, since the table was full */
__u64 own_words;  /* accesses of words that one thread alone has used */
__u64 cut_ranges; /* calls of library functions that accessed more than was looked at */

/* User addresses have 47 bits: without the low three they leave 20 for the process. */
#define PROCESS_BITS 20
static __always_inline __u64 word_key(__u64 at, __u32 tgid)
{
	return (at >> 3) << PROCESS_BITS | (tgid & ((1 << PROCESS_BITS) - 1));
}

static __always_inline __u64 moment(__u8 bytes)
{
	return bpf_ktime_get_ns() << 8 | bytes;
}

/* Finds a word, or makes it where asked to; null if it is not there, or if there is no room. Words
 * that were forgotten leave gaps, so that all places of a word are searched before one is made. */
static __always_inline struct word *word_at(__u64 key, bool make)
{
	__u32 hash = key * HASH_FACTOR >> (64 - word_bits);
	struct word *gap = 0;

	for (int i = 0; i < WORD_TRIES; i++) {
		__u32 index = (hash + i) & ((1 << word_bits) - 1);
		struct word *w = bpf_map_lookup_elem(&words, &index);

		if (!w)
			return 0;
		if (w->key == key)
			return w;
		if (!gap && !w->key)
			gap = w;
	}
	if (!make)
		return 0;
	if (gap) {
		__u64 was = __sync_val_compare_and_swap(&gap->key, 0, key);

		if (!was || was == key)
			return gap;
	}
	__sync_fetch_and_add(&full_words, 1); /* or another word was made in the gap just now */
	return 0;
}

/* A bit for each page of a process, by a hash: it may have words. */
#define PAGE_BITS 22
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} word_pages SEC(".maps");

static __always_inline __u64 *page_bits(__u64 page, __u32 tgid, __u64 *bit)
{
	__u64 hash = (page << PROCESS_BITS | (tgid & ((1 << PROCESS_BITS) - 1))) * HASH_FACTOR >>
		     (64 - PAGE_BITS);
	__u32 index = hash >> 6;

	*bit = 1ULL << (hash & 63);
	return bpf_map_lookup_elem(&word_pages, &index);
}

static __always_inline void mark_page(__u64 at, __u32 tgid)
{
	__u64 bit, *bits = page_bits(at >> PAGE_SHIFT, tgid, &bit);

	if (bits && !(*bits & bit))
		__sync_fetch_and_or(bits, bit);
}

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
					      .extra = when & 0xff,
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

/* Notes that a thread accesses a variable of at most 8 bytes by its name. */
static __noinline int named_words(__u64 thread, __u64 at, __u64 size)
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
				   .extra = x->bytes,
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

/* Bounds the words of a range that are looked at, and those that are recorded. */
#define MAX_RANGE 512
#define MAX_RANGE_SENT 128
#define RANGE_COST 16 /* so many words of a range count as a hit */
/* Bounds the words of a range at a probe with more hits than that, which may not be thinned. */
#define RANGE_HOT (1 << 18)
#define MAX_HOT_RANGE 16

/* A range of memory that a library function accesses. */
struct range {
	__u64 begin, size;
};

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
	hits = bpf_map_lookup_elem(&pointer_hits, &head);
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
	if (begun->access.imm) { /* all, if the result is so great, or nothing */
		n = (__u64)result + 1 >= begun->access.imm ? begun->access.span : 0;
	} else {
		n = result + a->imm;
		if (n > call.entered)
			n = call.entered;
	}
	r.begin = call.object;
	r.size = n * call.second;
	return r;
}

/* Returns what a function is called to access. */
static __always_inline struct range range_of(struct pt_regs *ctx, struct site *site)
{
	struct access_site *a = &site->access;
	struct range r = {object_of(ctx, site), a->span};

	if (a->times)
		r.size *= reg(ctx, a->times - 1);
	if (a->extra)
		r.size *= extra_of(ctx, a);
	if (a->stride && r.size > a->stride)
		r.size = a->stride;
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

/* Handles one site of a chain. */
__noinline __u32 one_pointer(struct pt_regs *ctx, __u32 index, __u64 thread)
{
	struct site *site = bpf_map_lookup_elem(&sites, &index);
	__u64 at, end, whole;
	struct range r;

	if (!site)
		return 0;
	if (site->when && !condition(ctx, site->when - 1))
		return site->next;
	if (site->op == OP_ALLOC) {
		if (site->access.reach == REACH_CALLED)
			range_called(ctx, site, index, thread);
		else
			allocated(ctx, index, thread);
		return site->next;
	}
	if (!crowded) /* what one thread does alone comes before all that others do */
		return site->next;
	if (site->access.reach >= REACH_RANGE) {
		if (site->access.reach == REACH_CALLED) {
			range_called(ctx, site, index, thread);
			return site->next;
		}
		if (site->access.reach == REACH_RETURNED)
			r = range_returned(ctx, site, thread);
		else if (site->access.reach == REACH_STRING)
			r = string_range(ctx, site, thread);
		else
			r = range_of(ctx, site);
		access_range(ctx, index, thread, r);
		return site->next;
	}
	if (site->object_from == FROM_THREAD)
		at = CURRENT_THREAD_POINTER(bpf_get_current_task_btf()) + site->object_disp;
	else
		at = object_of(ctx, site);
	at += indexed(ctx, &site->access);
	if (site->access.reach) {
		struct slot *slot = slot_of(thread);

		if (!slot)
			return site->next;
		if (site->access.reach == REACH_REMEMBER) {
			slot->remembered = at;
			return site->next;
		}
		at = slot->remembered;
	}
	end = at + site->access.span;
	whole = end <= (at | 7) + 1 ? ACCESS_WHOLE : 0;
	for (int i = 0; i < MAX_WORDS; i++) {
		if (at >= end)
			break;
		one_word(ctx, index, thread, at, bytes_before(at, end) | whole);
		at = (at | 7) + 1;
	}
	return site->next;
}

SEC("uprobe.multi")
int on_pointer(struct pt_regs *ctx)
{
	__u32 site = bpf_get_attach_cookie(ctx);
	__u64 *hits = bpf_map_lookup_elem(&pointer_hits, &site), thread = current_thread();

	if (hits)
		(*hits)++; /* one of two at the same time may be missed */
	count_hit(thread);
	return chain(ctx, thread, one_pointer);
}

/*
 * Memory that ends: what was accessed in it is no part of what is there next, and must not race with
 * it.
 */

static __always_inline void forget(struct word *w)
{
	w->wrote[0].when = w->wrote[1].when = w->read[0].when = w->read[1].when = 0;
	w->last = w->atomic = w->named = 0;
	w->owner = 0;
	__sync_lock_test_and_set(&w->key, 0); /* a barrier, too: it may be made again now */
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

/* Sends the accesses of the one thread that has used the word at an address, if another one frees it: these
 * may race. */
static __always_inline void send_freed(struct word *w, __u64 at, struct ended_memory *e)
{
	__u64 owner = w->owner;

	if (!e->by || !owner || owner == e->by || owner == WORD_SHARED || e->sent >= MAX_FREED)
		return;
	if (!e->sent++)
		send_block(e->block, e->tgid);
	owner |= (__u64)e->tgid << 32;
	send_past(owner, OP_WRITE, w->wrote, at);
	send_past(owner, OP_READ, w->read, at);
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
	struct word *w = bpf_map_lookup_elem(&words, &index);
	__u64 at;

	if (!w)
		return 1;
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
		bpf_loop(1 << word_bits, freed ? forget_if_freed : forget_if_ended, e, 0);
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
	bpf_loop(1 << word_bits, forget_if_ended, &e, 0);
	return 0;
}

#endif
