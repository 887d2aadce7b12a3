/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * What is kept of each thread from one hit to the next.
 */
#ifndef TRACEPREDICT_SLOT_H
#define TRACEPREDICT_SLOT_H

#include "globals.h"

/* Operands between a function's entry and its return. They are found by stack pointer, so
 * that frames left by an exception or a cancellation are never mistaken for live ones, and a
 * function entered by a tail call is one with its caller. */
struct pending_call {
	__u64 sp; /* 0: free */
	__u64 object;
	__u64 second;
	__u64 entered; /* time of the entry, if the record needs it; else 0 */
	__u32 site;
	__u32 stack;
};

/* Call stacks that have been seen lately. Those of one site and caller are told apart by the depth
 * of the stack pointer, which is the same for the same call stack in each thread; those of one
 * depth by the return addresses further out, where there seem to be some. */
#define OUTER_WORDS 8
struct stack_key {
	__u64 caller;
	__u64 depth;
	__u64 site;
	__u64 outer; /* of the further return addresses; 0: of the call stack that came first */
};
struct known_stack {
	__u32 stack;  /* call stack ID */
	__u32 others; /* call stacks that came later, by their return addresses further out */
	/* How many of these are compared. User space finds out where they are once it has unwound the call stack; until then,
	 * these are words that look like return addresses. */
	__u8 words;
	__u8 pad;
	__u16 hits; /* of a line: since the call stack was last looked up, at most 65535 */
	__u16 at[OUTER_WORDS]; /* where, in bytes above the stack pointer */
	__u64 word[OUTER_WORDS];
};
struct stack_line {
	struct stack_key key;
	struct known_stack known;
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1 << 16);
	__type(key, struct stack_key);
	__type(value, struct known_stack);
} stacks SEC(".maps");

/* What a thread needs at nearly every hit, where an index finds it: a hash map costs as
 * much as all the rest of a record. A slot belongs to the thread that claimed it until that
 * thread exits. A thread that finds its slot taken uses the hash maps behind it, and so does
 * what does not fit. Only its thread writes to a slot. */
#define NEAR_CALLS 4
#define NEAR_STACKS 8
#define HELD_BITS 5
/* What a thread has read, and turns round to read again. */
#define NEAR_SPINS 4
struct spin {
	__u64 value, extra;
	__u32 site, pad;
};

struct slot {
	__u32 tid;         /* 0: free */
	__u32 outer_stack; /* of a wrapper entered at outer_sp; 0: none */
	__u64 outer_sp;
	struct spin spins
		[NEAR_SPINS]; /* the thread's last records, if they may be left out when they come again */
	__u64 spun;           /* how many there are */
	/* Numbers of the thread's records, and of those from which other threads could learn:
	 * writes and synchronisation. They decide which accesses are redundant. They are never
	 * reset: the slot's next thread goes on counting. */
	__u64 events, outs;
	__u64 remembered; /* see REACH_REMEMBER */
	__u64 lowest;     /* address of its stack that it has accessed; 0: none */
	__u64 taken;      /* cookie of the last hit of on_shared */
	/* Numbers of locks that the thread has acquired and not released, by a hash. */
	__u8 held[1 << HELD_BITS];
	struct pending_call calls[NEAR_CALLS];
	struct stack_line stacks[NEAR_STACKS];
};
/* The bits of a thread ID: the kernel gives no more. */
#define LAST_THREAD ((1ULL << 22) - 1)
#define SLOTS (1 << 13)
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SLOTS);
	__type(key, __u32);
	__type(value, struct slot);
} slots SEC(".maps");

/* Returns the thread's slot; null if another thread has it. */
static __always_inline struct slot *slot_of(__u32 tid)
{
	__u32 index = tid & (SLOTS - 1);
	struct slot *slot = bpf_map_lookup_elem(&slots, &index);

	if (!slot)
		return 0;
	if (slot->tid == tid)
		return slot;
	if (!slot->tid && __sync_val_compare_and_swap(&slot->tid, 0, tid) == 0) {
		for (int i = 0; i < NEAR_CALLS; i++)
			slot->calls[i].sp = 0;
		for (int i = 0; i < NEAR_STACKS; i++)
			slot->stacks[i].known.stack = 0;
		for (int i = 0; i < 1 << HELD_BITS; i++)
			slot->held[i] = 0;
		slot->outer_stack = 0;
		slot->lowest = slot->spun = slot->taken = 0;
		slot->events++;
		slot->outs++;
		return slot;
	}
	return 0;
}

#endif
