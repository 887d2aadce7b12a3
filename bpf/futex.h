/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * on_futex: for how long threads wait in the kernel for futexes, and who wakes them, summed up
 * here. A thread that finds what it wants in user space comes to none of these probes.
 *
 * A call has two probes: one where its operands are known, before the thread enters the kernel,
 * and one behind it. None is on the instruction that enters the kernel: the kernel would execute
 * a copy of it, and restart that after a signal.
 */
#ifndef TRACEPREDICT_FUTEX_H
#define TRACEPREDICT_FUTEX_H

#include "futexop.h"
#include "operand.h"
#include "probe.h"

/* The wait of a thread that is in the kernel. */
struct futex_wait {
	__u64 since; /* CLOCK_MONOTONIC, ns */
	__u64 sp;
	__u64 word; /* its address */
	__u32 stack;
	__u32 pad;
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* user space sets the sizes if futexes are observed */
	__type(key, __u64);     /* thread */
	__type(value, struct futex_wait);
} futex_waiting SEC(".maps");

/* The last call that woke those who wait for a word. */
struct futex_word {
	__u64 word;
	__u64 tgid;
};
struct futex_wake {
	__u64 at; /* before it woke them; CLOCK_MONOTONIC, ns */
	__u32 stack;
	__u32 pad;
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, struct futex_word);
	__type(value, struct futex_wake);
} futex_wakes SEC(".maps");

/* Waits that are summed up. */
struct futex_key {
	__u64 thread; /* 0: of several */
	__u64 word;   /* 0: several */
	__u32 stack;
	__u32 waker; /* call stack of who woke it; 0: unknown */
};
struct futex_sum {
	__u64 waits;
	__u64 ns;
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct futex_key);
	__type(value, struct futex_sum);
} futex_sums SEC(".maps");

__u32 futex_keys; /* sums that there are */
__u64 futex_lost; /* waits that had no room */
/* Calls that did not wait, and were not preempted, it seems, as they took less than twice the shortest of them; and what these
 * took in all, in ns, with their probes. */
__u64 futex_bare_calls, futex_bare_ns, futex_bare_least;
__u64 futex_ended; /* waits whose end was not seen: left by a signal, or a thread that was cancelled */

SETTING __u32 most_futex_keys; /* beyond these, words and threads are not told apart */

#define EAGAIN 11 /* include/uapi/asm-generic/errno-base.h */

/* Adds a wait to a sum. Returns whether there was room. */
static __noinline int add_futex_wait(struct futex_key *key, __u64 ns)
{
	struct futex_sum *sum, none = {};

	sum = bpf_map_lookup_elem(&futex_sums, key);
	if (!sum) {
		if (!bpf_map_update_elem(&futex_sums, key, &none, BPF_NOEXIST))
			__sync_fetch_and_add(&futex_keys, 1);
		sum = bpf_map_lookup_elem(&futex_sums, key);
	}
	if (!sum)
		return 0;
	__sync_fetch_and_add(&sum->waits, 1);
	__sync_fetch_and_add(&sum->ns, ns);
	return 1;
}

static __always_inline void add_bare_call(__u64 ns)
{
	if (!futex_bare_least || ns < futex_bare_least)
		futex_bare_least = ns;
	if (ns >= 2 * futex_bare_least)
		return;
	__sync_fetch_and_add(&futex_bare_calls, 1);
	__sync_fetch_and_add(&futex_bare_ns, ns);
}

/* Ends the wait of a thread. Not static, so that the verifier judges it by itself, once. */
__noinline int end_futex_wait(__u64 thread, __u64 sp, __u64 result)
{
	struct futex_wait *known = bpf_map_lookup_elem(&futex_waiting, &thread), wait;
	struct futex_word word = {.tgid = thread >> 32};
	struct futex_key key = {.thread = thread};
	struct futex_wake *by;
	__u64 now = bpf_ktime_get_ns();

	if (!known)
		return 0;
	wait = *known;
	bpf_map_delete_elem(&futex_waiting, &thread);
	if (wait.sp != sp) {
		__sync_fetch_and_add(&futex_ended, 1);
		return 0;
	}
	if ((__s32)result == -EAGAIN) { /* the word had another value: it did not wait */
		add_bare_call(now - wait.since);
		return 0;
	}
	word.word = key.word = wait.word;
	key.stack = wait.stack;
	by = (__s32)result ? 0 : bpf_map_lookup_elem(&futex_wakes, &word);
	if (by && by->at >= wait.since)
		key.waker = by->stack;
	if (futex_keys >= most_futex_keys && !bpf_map_lookup_elem(&futex_sums, &key))
		key.thread = key.word = 0;
	if (!add_futex_wait(&key, now - wait.since))
		__sync_fetch_and_add(&futex_lost, 1);
	return 0;
}

/* Begins the wait of a thread, just before it enters the kernel. Not static, as above. */
__noinline int begin_futex_wait(__u64 thread, __u64 sp, __u64 word, __u32 stack)
{
	struct futex_wait wait = {.sp = sp, .word = word, .stack = stack};

	if (bpf_map_lookup_elem(&futex_waiting, &thread))
		__sync_fetch_and_add(&futex_ended, 1);
	wait.since = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&futex_waiting, &thread, &wait, BPF_ANY))
		__sync_fetch_and_add(&futex_lost, 1);
	return 0;
}

/* Remembers who wakes those that wait for a word, before it does. Not static, as above. */
__noinline int wake_futex(__u64 thread, __u64 address, __u32 stack)
{
	struct futex_word word = {.tgid = thread >> 32, .word = address};
	struct futex_wake wake = {.at = bpf_ktime_get_ns(), .stack = stack};

	bpf_map_update_elem(&futex_wakes, &word, &wake, BPF_ANY);
	return 0;
}

/* Handles one site of a chain. */
__noinline __u32 one_futex(struct pt_regs *ctx, __u32 index, __u64 thread)
{
	struct site *site = bpf_map_lookup_elem(&sites, &index);
	__u64 sp = REG_SP(ctx), word;
	struct futex_site *f;
	__u32 op, stack;

	if (!site)
		return 0;
	if (site->action == ACTION_RETURN) {
		end_futex_wait(thread, sp, REG_RESULT(ctx));
		return site->next;
	}
	f = &site->futex;
	if (f->number_reg && (__u32)reg(ctx, f->number_reg - 1) != f->number)
		return site->next;
	op = ((__u32)reg(ctx, f->op_reg) & f->op_mask) ^ f->op_flip;
	if (!futex_is(op, FUTEX_WAITS | FUTEX_WAKES))
		return site->next;
	word = object_of(ctx, site);
	stack = stack_of(ctx, site, index, sp, thread, slot_of(thread));
	if (futex_is(op, FUTEX_WAITS))
		begin_futex_wait(thread, sp, word, stack);
	else
		wake_futex(thread, word, stack);
	return site->next;
}

SEC("uprobe.multi")
int on_futex(struct pt_regs *ctx)
{
	return chain(ctx, current_thread(), one_futex);
}

/* A thread has ended, perhaps in a wait. */
static __always_inline void forget_futex_wait(__u64 thread)
{
	if (most_futex_keys)
		bpf_map_delete_elem(&futex_waiting, &thread);
}

#endif
