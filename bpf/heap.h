/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Lifetimes of memory. What ends (free, realloc, munmap) is recorded if there may be an object in
 * it, which a bit says for each 64 bytes. How large a block is, the word before it says (glibc), or
 * a map, into which its allocation puts it. Where fields of objects are watched, the allocations of
 * blocks as large as an object of a watched type are recorded, too.
 */
#ifndef TRACEPREDICT_HEAP_H
#define TRACEPREDICT_HEAP_H

#include "allocation.h"
#include "forget.h"
#include "operand.h"
#include "pending.h"
#include "probe.h"

/* Twice the size of each block, plus one if its allocation was recorded. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 20);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct block_key);
	__type(value, __u64);
} blocks SEC(".maps");

static __always_inline void add_block(__u64 addr, __u32 tgid, __u64 size, bool recorded)
{
	struct block_key key = {.addr = addr, .tgid = tgid};
	__u64 value = size << 1 | recorded;

	if (bpf_map_update_elem(&blocks, &key, &value, BPF_ANY))
		__sync_fetch_and_add(&lost_blocks, 1);
}

/* What the probes of the heap have cost on each processor, by the costs of their sites. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} heap_costs SEC(".maps");
#define HEAP_COST_STEP 4096

/* Counts what a hit costs, and reports it now and then. */
static __always_inline void count_cost(struct site *site, __u64 thread)
{
	__u32 only = 0;
	__u64 *cost, before;

	if (!site->heap.cost)
		return;
	cost = bpf_map_lookup_elem(&heap_costs, &only);
	if (!cost)
		return;
	before = *cost;
	*cost = before + site->heap.cost;
	if ((before ^ *cost) & HEAP_COST_STEP)
		send_now(thread, (struct record){.op = OP_HEAP_COST, .value = HEAP_COST_STEP},
			false, true);
}

#define MAX_PAGES 64

/* Returns whether there may be an object in memory. What is large is not searched. Not static, so
 * that the verifier judges it by itself, once. */
__noinline int holds_object(__u64 addr, __u64 size)
{
	__u64 page = addr >> PAGE_SHIFT, last, mask, *granules;

	if (!size)
		return 0;
	last = (addr + size - 1) >> PAGE_SHIFT;
	if (last - page >= MAX_PAGES)
		return 1;
	mask = ~0ULL << (addr >> GRANULE_SHIFT & 63);
	for (int i = 0; i < MAX_PAGES; i++) {
		if (page >= last)
			break;
		granules = used_granules(page);
		if (granules && *granules & mask)
			return 1;
		mask = ~0ULL;
		page++;
	}
	mask &= ~0ULL >> (63 - ((addr + size - 1) >> GRANULE_SHIFT & 63));
	granules = used_granules(page);
	return granules && *granules & mask;
}

/* Memory that ends. */
struct ending {
	__u64 size;    /* bytes; 0: not known */
	bool recorded; /* its allocation was */
	bool holds;    /* there may be an object in it */
};

#define CHUNK_MAPPED 2 /* of glibc's malloc: the chunk is a mapping of its own */

/* Returns what is known of a block or mapping that is about to end. A block is removed from the map
 * before it is freed: afterwards its address may be another's. */
static __always_inline struct ending ending_of(
	struct pt_regs *ctx, struct site *site, __u64 addr, __u32 tgid)
{
	struct block_key key = {.addr = addr, .tgid = tgid};
	struct ending e = {};
	__u64 *known, word = 0;

	if (!addr)
		return e;
	if (site->flags & SITE_RANGE) {
		e.size = (reg(ctx, site->heap.old_reg - 1) + 4095) & ~4095ULL;
		e.holds = site->heap.always || holds_object(addr, e.size);
		return e;
	}
	if (~site->heap.keep) {
		known = bpf_map_lookup_elem(&blocks, &key);
		if (known) {
			e.size = *known >> 1;
			e.recorded = *known & 1;
			bpf_map_delete_elem(&blocks, &key);
		}
	}
	if (!e.size && site->flags & SITE_HEADER &&
		!bpf_probe_read_user(&word, sizeof(word), (void *)(addr - 8)) && word >= 32)
		e.size = (word & ~7ULL) - (word & CHUNK_MAPPED ? 16 : 8);
	if (!e.size && site->op == OP_FREE && site->heap.size_reg)
		e.size = reg(ctx, site->heap.size_reg - 1);
	e.holds = holds_object(addr, e.size);
	return e;
}

/* What a record of memory that ends says in its result. */
#define ENDS_BLOCK 0
#define ENDS_MAPPING \
	1         /* a part of one, which another mapping may show, too: a lock there may be held */
#define UNLOADS 2 /* a mapping of a file that the dynamic loader unmaps */
#define UNMAPS 3  /* a mapping that munmap ends for the program: as if it were written */

static __always_inline __u64 ends(struct site *site)
{
	if (!(site->flags & SITE_RANGE))
		return ENDS_BLOCK;
	if (site->op != OP_FREE || site->heap.if_reg)
		return ENDS_MAPPING;
	return site->heap.always ? UNLOADS : UNMAPS;
}

/* Handles the entry of a function that allocates, frees, makes or ends. */
static __always_inline void heap_entered(
	struct pt_regs *ctx, struct site *site, __u32 index, __u64 thread)
{
	__u64 sp = REG_SP(ctx) + site->sp_delta;
	struct pending_call call = {.sp = sp, .object = object_of(ctx, site), .site = index};
	struct record event = {.op = site->op, .site = index, .object = call.object, .sp = sp};
	struct slot *slot = slot_of(thread);
	struct ending old = {};
	__u64 how = ends(site);
	bool sends;

	if (site->op == OP_CONSTRUCT) {
		event.value = site->heap.size;
		send(thread, event);
		return;
	}
	if (site->op == OP_DESTRUCT) {
		call.second = site->heap.size;
		remember(slot, thread, &call);
		return;
	}
	count_cost(site, thread);
	if (site->heap.if_reg &&
		((reg(ctx, site->heap.if_reg - 1) ^ site->heap.if_value) & site->heap.if_mask))
		return;
	if (site->op != OP_ALLOC) {
		old = ending_of(ctx, site, call.object, thread >> 32);
		event.value = old.size;
		if (forget_words(call.object, old.size, thread >> 32,
			    how == ENDS_BLOCK || how == UNMAPS ? thread : 0))
			old.holds = true;
		if (!(site->flags & SITE_RANGE) && forget_allocation(call.object, thread >> 32))
			old.holds = true;
	}
	sends = old.recorded || old.holds;
	if (site->op == OP_FREE) {
		event.result = how;
		if (old.holds && (how == ENDS_BLOCK || how == UNMAPS))
			event.stack = stack_of(ctx, site, index, sp, thread, slot);
		if (sends)
			send_now(thread, event, false, false);
		return;
	}
	call.second = reg(ctx, site->heap.size_reg - 1);
	if (site->heap.factor_reg)
		call.second *= reg(ctx, site->heap.factor_reg - 1);
	if (!sends && call.second < site->heap.keep)
		return;
	if (sends || call.second >= site->heap.least)
		call.stack = stack_of(ctx, site, index, sp, thread, slot);
	if (sends) {
		event.stack = call.stack;
		call.entered = old.size;
		send_now(thread, event, false, false);
	} else if (site->op != OP_ALLOC) {
		call.object = 0;
	}
	remember(slot, thread, &call);
}

/* Returns whether a function of a site that moves memory has failed, by what it returned. */
static __always_inline bool move_failed(struct site *site, __u64 block, __u64 size)
{
	return site->flags & SITE_RANGE ? block == ~0ULL : !block && size;
}

/* Handles the return of a call saved at stack pointer sp, if there is one. */
static __always_inline void heap_left(struct pt_regs *ctx, __u64 thread, __u64 sp)
{
	__u64 block = REG_RESULT(ctx);
	struct pending_call call;
	struct site *site;
	__u8 flags = REC_LEAVE;
	bool recorded, wanted;

	if (!recall(slot_of(thread), thread, sp, &call, true))
		return;
	site = bpf_map_lookup_elem(&sites, &call.site);
	if (!site || (site->op != OP_ALLOC && site->op != OP_MOVE && site->op != OP_DESTRUCT))
		return;
	if (site->flags & SITE_INDIRECT &&
		((__u32)block || bpf_probe_read_user(&block, sizeof(block), (void *)call.object)))
		return;
	if (site->op == OP_DESTRUCT) {
		send(thread, (struct record){.op = site->op,
				     .flags = flags,
				     .site = call.site,
				     .object = call.object,
				     .value = call.second,
				     .sp = sp});
		return;
	}
	recorded = call.second >= site->heap.least;
	wanted = recorded;
	if (site->op == OP_MOVE) {
		wanted = wanted || call.object;
		if (move_failed(site, block, call.second)) {
			if (!call.object)
				return;
			block = call.object;
			call.second = call.entered;
			flags |= REC_FAILED;
		}
	} else if (!block) {
		return;
	} else if (!recorded) { /* in memory whose end may not have been seen */
		wanted = holds_object(block, call.second);
	}
	forget_words(block, call.second, thread >> 32, 0);
	if (block && call.second >= site->heap.keep)
		add_block(block, thread >> 32, call.second, recorded);
	if (!wanted)
		return;
	send_now(thread,
		(struct record){.op = site->op,
			.flags = flags,
			.site = call.site,
			.stack = call.stack,
			.object = block,
			.value = call.second,
			.sp = sp,
			.result = !recorded},
		false, false);
}

/* Handles one site of a chain. */
__noinline __u32 one_heap(struct pt_regs *ctx, __u32 index, __u64 thread)
{
	struct site *site = bpf_map_lookup_elem(&sites, &index);

	if (!site)
		return 0;
	if (site->action == ACTION_RETURN)
		heap_left(ctx, thread, REG_SP(ctx) + site->sp_delta);
	else
		heap_entered(ctx, site, index, thread);
	return site->next;
}

SEC("uprobe.multi")
int on_heap(struct pt_regs *ctx)
{
	return chain(ctx, current_thread(), one_heap);
}

SEC("uprobe.multi")
int on_heap_return(struct pt_regs *ctx)
{
	__u64 thread = current_thread();

	if (is_observed(bpf_get_attach_cookie(ctx), thread))
		heap_left(ctx, thread, ENTRY_SP_AT_RETURN(ctx));
	return 0;
}

#endif
