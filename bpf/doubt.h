/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * What each thread knows, for a formula that is evaluated here (knowledge.h), and the marks of those of which that is not
 * certain, which all that makes records may set.
 */
#ifndef TRACEPREDICT_DOUBT_H
#define TRACEPREDICT_DOUBT_H

#include "globals.h"
#include "monitor.h"
#include "record.h"

SETTING struct formula evaluated;

struct known_entry {
	__u64 seq, value;
};
/* What a thread or an object knows. Entries with seq 0 are those of the initial state. */
struct known_vector {
	struct known_entry at[KNOWN_ENTRIES];
	__u32 unsure; /* there may be more, which is not known here; it stays so */
	__u32 ended;  /* the slots of threads of whose end is known, a bit for each */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, KNOWN_THREADS);
	__type(key, __u32);
	__type(value, struct known_thread);
} known SEC(".maps");

/* What is behind struct known_thread, which the generated code sees too. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, KNOWN_THREADS);
	__type(key, __u32);
	__type(value, struct known_vector);
} known_vectors SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4 * KNOWN_THREADS);
	__type(key, __u64);
	__type(value, __u32);
} known_slots SEC(".maps");

/* Gives up a formula that is evaluated here. The first reason counts. */
static __noinline int give_up(__u32 why, __u32 op)
{
	if (!__sync_val_compare_and_swap(&given_up, 0, why))
		given_up_op = op;
	return 0;
}

/* Returns a thread's slot, KNOWN_THREADS for none. */
static __noinline __u32 known_slot(__u64 thread, bool make)
{
	__u32 *slot = bpf_map_lookup_elem(&known_slots, &thread), n;
	struct known_thread *t;

	if (slot)
		return *slot;
	if (!make)
		return KNOWN_THREADS;
	n = __sync_fetch_and_add(&known_threads, 1);
	t = bpf_map_lookup_elem(&known, &n);
	if (!t || bpf_map_update_elem(&known_slots, &thread, &n, BPF_ANY)) {
		give_up(GIVEN_UP_THREADS, 0);
		return KNOWN_THREADS;
	}
	for (int i = 0; i < KNOWN_LOCALS; i++)
		t->locals[i] = evaluated.locals[i];
	t->gone = known_ended;
	t->thread = thread;
	return n;
}

/* Counts a reason for which threads are unsure. */
static __always_inline void count_doubt(__u32 why)
{
	__sync_fetch_and_add(&doubts[why & (GIVEN_UP_REASONS - 1)], 1);
}

/* Makes a thread unsure. */
static __noinline int doubt_thread(__u64 thread, __u32 why, __u32 op)
{
	__u32 slot = known_slot(thread, true);
	struct known_vector *v = bpf_map_lookup_elem(&known_vectors, &slot);

	if (!v || v->unsure)
		return 0;
	v->unsure = 1;
	count_doubt(why);
	__sync_val_compare_and_swap(&doubt_op, 0, op);
	return 0;
}

#define OP_BIT(op) (1ULL << (op))
/* The operations that order threads in ways that knowledge.h does not know. Only threads that do one learn by it. */
#define DOUBTED                                                                                \
	(OP_BIT(OP_BARRIER) | OP_BIT(OP_SEM_POST) | OP_BIT(OP_SEM_WAIT) | OP_BIT(OP_ONCE) |    \
		OP_BIT(OP_GUARD_ACQUIRE) | OP_BIT(OP_GUARD_RELEASE) | OP_BIT(OP_GUARD_ABORT) | \
		OP_BIT(OP_TOUCH) | OP_BIT(OP_SEND) | OP_BIT(OP_RECEIVE) | OP_BIT(OP_CONSISTENT))
/* Likewise, but others may learn. */
#define OTHER_ORDERS                                                                           \
	(OP_BIT(OP_CANCEL) | OP_BIT(OP_PARALLEL) | OP_BIT(OP_TEAM_BARRIER) |                   \
		OP_BIT(OP_ORDERED_LOOP) | OP_BIT(OP_ORDERED_NEXT) | OP_BIT(OP_ORDERED_BEGIN) | \
		OP_BIT(OP_ORDERED_END) | OP_BIT(OP_COPY_BEGIN) | OP_BIT(OP_COPY_END) |         \
		OP_BIT(OP_INTERPRETER_RELEASE))

/* Handles an operation of which a record is made. */
static __always_inline void doubt_operation(__u64 thread, __u32 op)
{
	if (op >= 64)
		return;
	if (OTHER_ORDERS & OP_BIT(op))
		give_up(GIVEN_UP_OPERATION, op);
	if (DOUBTED & OP_BIT(op))
		doubt_thread(thread, GIVEN_UP_OPERATION, op);
}

#endif
