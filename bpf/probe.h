/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * What the programs of probes share: which threads they are for, where operands are, the
 * call stack of a hit, and the sites that are chained at one address.
 */
#ifndef TRACEPREDICT_PROBE_H
#define TRACEPREDICT_PROBE_H

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << 16);
	__type(key, __u32);
	__type(value, struct site);
} sites SEC(".maps");

#define MAX_CHAIN 8
#define COOKIE_GENERATION (1ULL << 32) /* of on_shared: counts the links of a batch */
#define COOKIE_FILTER (1ULL << 63)     /* the link has no PID filter of its own */

/* Returns whether a hit of a probe is a target's. */
static __always_inline bool is_observed(__u64 cookie, __u64 thread)
{
	return !(cookie & COOKIE_FILTER) || is_target(thread);
}

#define WRAPPER_FRAME 128

/* Returns the call stack ID of a hit of a site; 0 if none is wanted. */
static __always_inline __u32 stack_of(struct pt_regs *ctx, struct site *site, __u32 index, __u64 sp,
	__u64 thread, struct slot *slot)
{
	__u32 stack;

	if (!want_stacks)
		return 0;
	/* A wrapper's frame is small, and the wrapped call the first thing in it. */
	if (slot && slot->outer_stack && site->action != ACTION_CALLER && site->op != OP_CALL) {
		stack = slot->outer_stack;
		slot->outer_stack = 0;
		if (sp <= slot->outer_sp && slot->outer_sp - sp <= WRAPPER_FRAME)
			return stack;
	}
	return stack_at(
		site->at_entry ? return_address(ctx, sp) : REG_IP(ctx), index, sp, thread, slot);
}

static __always_inline __u64 operand(
	struct pt_regs *ctx, __u8 from, __u8 number, __s64 disp, __u64 imm)
{
	switch (from) {
	case FROM_REG:
		return reg(ctx, number) + disp;
	case FROM_FIXED:
		return REG_IP(ctx) + disp;
	case FROM_IMM:
		return imm;
	}
	return 0;
}

/* Returns the operand that is a site's object. */
static __always_inline __u64 object_of(struct pt_regs *ctx, struct site *site)
{
	return operand(ctx, site->object_from, site->object_reg, site->object_disp, 0);
}

/* Returns an operand of a call that is under way; sp is that at its entry. */
static __always_inline __u64 kept(struct pt_regs *ctx, __u8 from, __u8 number, __s64 disp, __u64 sp)
{
	__u64 v = 0;

	if (from != FROM_STACK)
		return operand(ctx, from, number, disp, 0);
	bpf_probe_read_user(&v, sizeof(v), (void *)(sp + disp));
	return v;
}

/* What accesses that nobody named have cost each thread, by the last bits of its ID. User space maps it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct thread_cost);
} thread_costs SEC(".maps");

/* Counts a hit for the current thread. */
static __always_inline void count_hit(__u64 thread)
{
	__u32 index = thread & (SLOTS - 1);
	struct thread_cost *c = bpf_map_lookup_elem(&thread_costs, &index);

	if (!c)
		return;
	c->tid = thread;
	c->hits++;
	c->ran = bpf_get_current_task_btf()->se.sum_exec_runtime;
}

/* Counts a call that synchronises for the current thread. */
static __always_inline void count_sync(__u64 thread)
{
	__u32 index = thread & (SLOTS - 1);
	struct thread_cost *c = bpf_map_lookup_elem(&thread_costs, &index);

	if (c)
		c->calls++;
}

/* Runs the sites of a probe, one after the other. one handles the site of an index and
 * returns the index of the next, 0 at the end. It is not static, so that the verifier judges it by
 * itself, once, and not anew for each of a chain. */
static __always_inline int chain(
	struct pt_regs *ctx, __u64 thread, __u32 (*one)(struct pt_regs *, __u32, __u64))
{
	__u64 cookie = bpf_get_attach_cookie(ctx);
	__u32 next;

	if (!is_observed(cookie, thread))
		return 0;
	next = one(ctx, cookie, thread);
#pragma unroll
	for (int i = 1; i < MAX_CHAIN; i++) {
		if (!next)
			break;
		next = one(ctx, next, thread);
	}
	return 0;
}

#endif
