/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Lines of a function that the user chose: when a thread enters them, and when it leaves them. A probe at an edge
 * does not know on which side control was before, so each frame has a state: a second entry without a departure
 * between is none, and so is a second departure. Frames that are inside form a list for each thread, from the
 * innermost out, by which those that an exception, longjmp or the thread's end removes are found.
 */
#ifndef TRACEPREDICT_LINES_H
#define TRACEPREDICT_LINES_H

#include "doubt.h"
#include "operand.h"
#include "probe.h"
#include "ringbuf.h"

/* Lines in one frame, or a call that an exception may end. A frame is known by its canonical address: that of the stack at
 * the call. */
struct lines_key {
	__u64 frame; /* 0: none */
	__u32 tgid;
	__u32 lines; /* site.function.lines; of a call LINES_CALL and its site */
};
#define LINES_CALL (1U << 31)

/* Ends the calls at a stack pointer without a return (function.h). */
__noinline int calls_unwound(__u64 sp, __u64 thread);
struct lines_inside {
	struct lines_key outer; /* the next frame out that is inside */
	__u32 site;             /* of the entry */
	__u32 stack;
	__u32 left; /* they were left, and the entry is only kept for the list */
	__u32 pad;
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 16);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct lines_key);
	__type(value, struct lines_inside);
} inside_lines SEC(".maps");

/* The innermost frame of each thread that is inside. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 16);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, struct lines_key);
} innermost_lines SEC(".maps");

__u32 any_lines; /* a thread has entered some */

#define MAX_UNWOUND 4096 /* frames that one exception removes */
#define MAX_IN_FRAME 8   /* ranges of lines of one function that overlap */

/* Sends the record of a departure. */
static __always_inline void send_left(
	__u64 thread, struct lines_key *key, struct lines_inside *inside)
{
	send(thread, (struct record){.op = OP_RETURN,
			     .flags = REC_LEAVE,
			     .site = inside->site,
			     .stack = inside->stack,
			     .sp = key->frame});
}

/* Removes the innermost frame of a thread's list. */
static __always_inline void pop_lines(
	__u64 thread, struct lines_key *key, struct lines_inside *inside)
{
	struct lines_key outer = inside->outer;

	bpf_map_delete_elem(&inside_lines, key);
	if (outer.frame)
		bpf_map_update_elem(&innermost_lines, &thread, &outer, BPF_ANY);
	else
		bpf_map_delete_elem(&innermost_lines, &thread);
}

/* Adds a frame to a thread's list. */
static __noinline int push_lines(__u64 thread, struct lines_key *key, struct lines_inside *inside)
{
	struct lines_key *outer;

	if (!key || !inside)
		return 0;
	outer = bpf_map_lookup_elem(&innermost_lines, &thread);
	if (outer)
		inside->outer = *outer;
	any_lines = 1;
	if (bpf_map_update_elem(&inside_lines, key, inside, BPF_ANY)) {
		__sync_fetch_and_add(&lost_pending, 1);
		return 0;
	}
	if (bpf_map_update_elem(&innermost_lines, &thread, key, BPF_ANY)) {
		__sync_fetch_and_add(&lost_pending, 1);
		bpf_map_delete_elem(&inside_lines, key);
		return 0;
	}
	return 1;
}

static __always_inline void enter_lines(
	struct pt_regs *ctx, struct site *site, __u32 index, __u64 thread, struct lines_key *key)
{
	struct lines_inside *known = bpf_map_lookup_elem(&inside_lines, key), inside = {};
	__u64 sp = REG_SP(ctx);

	if (known && !known->left)
		return;
	inside.site = index;
	inside.stack = stack_of(ctx, site, index, sp, thread, slot_of(thread));
	if (known) {
		known->site = inside.site;
		known->stack = inside.stack;
		known->left = 0;
	} else if (!push_lines(thread, key, &inside)) {
		return;
	}
	send(thread,
		(struct record){
			.op = OP_CALL, .site = index, .stack = inside.stack, .sp = key->frame});
}

/* Removes the innermost frames of a thread's list that were left. Not static, so that the verifier judges it by itself, once. */
__noinline int pop_left(__u64 thread)
{
	struct lines_inside *inside;
	struct lines_key *first, last;

	for (int i = 0; i < MAX_IN_FRAME; i++) {
		first = bpf_map_lookup_elem(&innermost_lines, &thread);
		if (!first)
			break;
		last = *first;
		inside = bpf_map_lookup_elem(&inside_lines, &last);
		if (!inside || !inside->left)
			break;
		pop_lines(thread, &last, inside);
	}
	return 0;
}

static __always_inline void leave_lines(__u64 thread, struct lines_key *key)
{
	struct lines_inside *inside = bpf_map_lookup_elem(&inside_lines, key);

	if (!inside || inside->left)
		return;
	send_left(thread, key, inside);
	inside->left = 1;
	pop_left(thread);
}

/* Remembers a call that an exception may end, and forgets one that has ended otherwise. */
static __always_inline struct lines_key call_key(__u64 sp, __u64 thread, __u32 site)
{
	return (struct lines_key){.frame = sp + RETURN_ADDRESS_BYTES,
		.tgid = thread >> 32,
		.lines = LINES_CALL | site};
}

static __always_inline void enter_call(__u64 sp, __u64 thread, __u32 site)
{
	struct lines_key key = call_key(sp, thread, site);
	struct lines_inside inside = {.site = site},
			    *known = bpf_map_lookup_elem(&inside_lines, &key);

	/* The end of the one before was not seen: its part of the stack is used again. */
	if (known)
		known->left = 0;
	else
		push_lines(thread, &key, &inside);
}

static __always_inline void leave_call(__u64 sp, __u64 thread, __u32 site)
{
	struct lines_key key = call_key(sp, thread, site);
	struct lines_inside *inside = bpf_map_lookup_elem(&inside_lines, &key);

	if (!inside)
		return;
	inside->left = 1;
	pop_left(thread);
}

/* Frames that are removed: those of a thread whose stack is below sp. */
struct unwinding {
	__u64 thread, sp;
};

static int unwind_one(__u32 n, void *data)
{
	struct unwinding *u = data;
	struct lines_key *first = bpf_map_lookup_elem(&innermost_lines, &u->thread), key;
	struct lines_inside *inside;

	if (!first || first->frame > u->sp)
		return 1;
	key = *first;
	inside = bpf_map_lookup_elem(&inside_lines, &key);
	if (!inside) {
		bpf_map_delete_elem(&innermost_lines, &u->thread);
		return 1;
	}
	if (key.lines & LINES_CALL) {
		/* This may be several calls, of which the others are in the list too. */
		inside->left = 1;
		calls_unwound(key.frame - RETURN_ADDRESS_BYTES, u->thread);
		pop_left(u->thread);
		return 0;
	}
	if (!inside->left)
		send_left(u->thread, &key, inside);
	pop_lines(u->thread, &key, inside);
	return 0;
}

/* Makes a thread unsure if frames below sp are removed, one of which may be a call that the formula in the kernel mentions. */
static __always_inline void unwinds_unseen(__u64 thread, __u64 sp)
{
	struct lines_key *first = bpf_map_lookup_elem(&innermost_lines, &thread);

	if (first && first->lines & LINES_CALL && first->frame <= sp)
		doubt_thread(thread, GIVEN_UP_UNWOUND, 0);
}

/* A thread removes all frames below sp. Not static, so that the verifier judges it by itself, once. */
__noinline int unwound(__u64 thread, __u64 sp)
{
	struct unwinding u = {.thread = thread, .sp = sp};

	if (bpf_loop(MAX_UNWOUND, unwind_one, &u, 0) == MAX_UNWOUND)
		__sync_fetch_and_add(&lost_pending, 1);
	return 0;
}

/* Handles a site of lines. Not static, as above. */
__noinline int at_lines(struct pt_regs *ctx, __u32 index, __u64 thread)
{
	struct site *site = bpf_map_lookup_elem(&sites, &index);
	struct lines_key key = {.tgid = thread >> 32};

	if (!site)
		return 0;
	if (site->action == ACTION_UNWIND) {
		if (knows && !given_up)
			unwinds_unseen(thread, REG_SP(ctx) + site->sp_delta);
		unwound(thread, REG_SP(ctx) + site->sp_delta);
		return 0;
	}
	key.lines = site->function.lines;
	key.frame = object_of(ctx, site);
	if (site->action == ACTION_ENTER_LINES)
		enter_lines(ctx, site, index, thread, &key);
	else
		leave_lines(thread, &key);
	return 0;
}

#endif
