/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Where blocks of memory were allocated. The calls of functions that allocate have probes in the
 * program's own code, and what they return is kept here until it is freed. Nearly all blocks are used
 * by one thread, so that nothing is sent at the call: when a word of a block becomes a shared one,
 * the block is looked up, and its record is sent, once.
 *
 * What is kept is of live blocks only. The probe of what frees memory removes it before the memory
 * can be another block's, so that a block whose allocation had no probe is never taken for an older
 * one at its address.
 */
#ifndef TRACEPREDICT_ALLOCATION_H
#define TRACEPREDICT_ALLOCATION_H

#include "pending.h"
#include "probe.h"
#include "ringbuf.h"

struct block_key {
	__u64 addr;
	__u32 tgid;
	__u32 pad;
};

struct allocation {
	__u64 size; /* bytes that were asked for */
	__u64 time; /* when it was made, in ns */
	__u32 tid;
	__u32 stack; /* call stack ID; 0: not recorded */
	__u32 site;
	__u16 large; /* its place in large_blocks, plus one; 0: none */
	__u16 sent;  /* its record was sent */
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct block_key);
	__type(value, struct allocation);
} allocations SEC(".maps");

__u32 any_allocations;   /* there may be some */
__u32 allocation_stacks; /* new call stacks that were recorded for them, about */

/* Of deep recursion each allocation may have a call stack of its own: beyond so many, only the call
 * is known. */
#define MAX_ALLOCATION_STACKS (1 << 12)

/* The block around a word is found by searching backwards, as far as that leads to blocks of so many
 * bytes. Larger ones are in a table that is searched as a whole. */
#define BLOCK_STEP 16
#define SEARCHED_SIZE 4096
#define LARGE_BITS 10
#define LARGE_TRIES 8
struct large_block {
	__u64 addr; /* 0: free */
	__u64 size;
	__u32 tgid;
	__u32 pad;
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << LARGE_BITS);
	__type(key, __u32);
	__type(value, struct large_block);
} large_blocks SEC(".maps");

/* Adds a large block. Returns its place plus one; 0: there is no room. */
static __always_inline __u16 add_large(struct block_key *key, __u64 size)
{
	__u32 hash = key->addr * 0x9e3779b97f4a7c15ULL >> (64 - LARGE_BITS);

	for (int i = 0; i < LARGE_TRIES; i++) {
		__u32 index = (hash + i) & ((1 << LARGE_BITS) - 1);
		struct large_block *b = bpf_map_lookup_elem(&large_blocks, &index);

		if (!b)
			return 0;
		if (b->addr || __sync_val_compare_and_swap(&b->addr, 0, key->addr))
			continue;
		b->tgid = key->tgid;
		b->size = size;
		return index + 1;
	}
	return 0;
}

static __always_inline void remove_large(__u16 place)
{
	__u32 index = (__u32)place - 1;
	struct large_block *b = place ? bpf_map_lookup_elem(&large_blocks, &index) : 0;

	if (!b)
		return;
	b->size = 0;
	__sync_lock_test_and_set(&b->addr, 0); /* a barrier, too: it may be another's now */
}

/* Removes what is kept of a block that ends. Returns whether its record was sent. */
static __noinline int forget_allocation(__u64 addr, __u32 tgid)
{
	struct block_key key = {.addr = addr, .tgid = tgid};
	struct allocation *a;
	int sent;

	if (!any_allocations || !addr)
		return 0;
	a = bpf_map_lookup_elem(&allocations, &key);
	if (!a)
		return 0;
	sent = a->sent;
	remove_large(a->large);
	bpf_map_delete_elem(&allocations, &key);
	return sent;
}

static long forget_if_of(void *map, struct block_key *key, struct allocation *a, __u32 *tgid)
{
	if (key->tgid == *tgid) {
		remove_large(a->large);
		bpf_map_delete_elem(map, key);
	}
	return 0;
}

/* Removes what is kept of the blocks of a process that ends, or that executes another program. */
static __noinline int forget_allocations(__u32 tgid)
{
	if (any_allocations)
		bpf_for_each_map_elem(&allocations, forget_if_of, &tgid, 0);
	return 0;
}

struct block_search {
	__u64 at;
	struct block_key key;
	bool found;
};

/* Looks for the block around an address one step further back. Blocks do not overlap: the first one
 * that begins before the address is the last that may contain it. */
static int look_back(__u32 i, void *data)
{
	struct block_search *s = data;
	struct allocation *a = bpf_map_lookup_elem(&allocations, &s->key);

	if (a) {
		s->found = s->at - s->key.addr < a->size;
		return 1;
	}
	s->key.addr -= BLOCK_STEP;
	return 0;
}

static int look_large(__u32 index, void *data)
{
	struct block_search *s = data;
	struct large_block *b = bpf_map_lookup_elem(&large_blocks, &index);

	if (!b)
		return 1;
	if (b->tgid != s->key.tgid || s->at - b->addr >= b->size)
		return 0;
	s->key.addr = b->addr;
	s->found = true;
	return 1;
}

/* Sends the record of an allocation, unless it was sent before. */
static __noinline int send_block(__u64 addr, __u32 tgid)
{
	struct block_key key = {.addr = addr, .tgid = tgid};
	struct allocation *a;

	if (!any_allocations || !addr)
		return 0;
	a = bpf_map_lookup_elem(&allocations, &key);
	if (!a || a->sent)
		return 0;
	a->sent = 1;
	send_unordered((__u64)tgid << 32 | a->tid, (struct record){.op = OP_ALLOC,
							   .flags = REC_PAST,
							   .site = a->site,
							   .stack = a->stack,
							   .object = addr,
							   .value = a->size,
							   .allocated = a->time});
	return 0;
}

/* Sends the record of the allocation of the block around an address. */
static __noinline int send_block_around(__u64 at, __u32 tgid)
{
	struct block_search s = {.at = at, .key = {.addr = at & -(__u64)BLOCK_STEP, .tgid = tgid}};

	if (!any_allocations)
		return 0;
	bpf_loop(SEARCHED_SIZE / BLOCK_STEP + 1, look_back, &s, 0);
	if (!s.found)
		bpf_loop(1 << LARGE_BITS, look_large, &s, 0);
	if (s.found)
		send_block(s.key.addr, tgid);
	return 0;
}

/* Returns the call stack ID of an allocation. Functions that allocate for others have many callers, of
 * which the thread's last call stack may not be taken for that of another: all return addresses are
 * compared. */
static __always_inline __u32 allocation_stack(
	struct pt_regs *ctx, __u32 index, __u64 sp, __u64 thread)
{
	__u32 last = last_stack, stack;

	if (!want_stacks || allocation_stacks >= MAX_ALLOCATION_STACKS)
		return 0;
	stack = stack_at(REG_IP(ctx), index, sp, thread, 0);
	if (stack > last)
		__sync_fetch_and_add(&allocation_stacks, 1);
	return stack;
}

/* Handles the return of a function that allocates; index is the site behind its call. Not static, so
 * that the verifier judges it by itself, once. */
__noinline int allocated(struct pt_regs *ctx, __u32 index, __u64 thread)
{
	struct site *site = bpf_map_lookup_elem(&sites, &index), *begun;
	struct slot *slot = slot_of(thread);
	struct block_key key = {.addr = REG_RESULT(ctx), .tgid = thread >> 32};
	struct allocation a = {.site = index, .tid = thread};
	struct pending_call call;
	__u64 sp;

	if (!site)
		return 0;
	sp = REG_SP(ctx) + site->sp_delta;
	if (!recall(slot, thread, sp, &call, true) ||
		call.stack != (__u32)(REG_IP(ctx) + site->access.home))
		return 0;
	begun = bpf_map_lookup_elem(&sites, &call.site);
	if (!begun || begun->op != OP_ALLOC)
		return 0;
	if (begun->flags & SITE_INDIRECT &&
		((__u32)key.addr ||
			bpf_probe_read_user(&key.addr, sizeof(key.addr), (void *)call.object)))
		return 0;
	a.size = call.second * (~call.entered ? call.entered : 1);
	if (!key.addr || !a.size)
		return 0;
	any_allocations = 1;
	forget_allocation(key.addr, key.tgid); /* its end was not seen */
	a.time = bpf_ktime_get_ns();
	a.stack = allocation_stack(ctx, index, sp, thread);
	if (a.size > SEARCHED_SIZE)
		a.large = add_large(&key, a.size);
	if (bpf_map_update_elem(&allocations, &key, &a, BPF_ANY))
		remove_large(a.large);
	return 0;
}

#endif
