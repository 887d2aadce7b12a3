/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Functions whose calls the user asked for. Their sites have a program of their own, so that
 * the others pay nothing.
 */
#ifndef TRACEPREDICT_FUNCTION_H
#define TRACEPREDICT_FUNCTION_H

#include "knowledge.h"
#include "lines.h"
#include "operand.h"
#include "probe.h"
#include "ringbuf.h"
#include "scope.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << 12);
	__type(key, __u32);
	__type(value, struct signature);
} signatures SEC(".maps");

/* Calls that are to be seen to return, by the stack pointer at their entry: a stack has one
 * owner at a time, also where coroutines change threads. Where a function ends in a jump to
 * another whose return is seen too, both return at once: the other is a level above. What an
 * exception or longjmp left here is replaced when its part of the stack is used again. */
#define MAX_LEVELS 64
struct frame_key {
	__u64 sp;
	__u32 tgid;
	__u32 level;
};
struct pending_return {
	__u64 caller; /* return address */
	__u64 object;
	__u64 args[MAX_ARGS];
	__u32 site;
	__u32 stack;
	__u32 top;  /* in level 0: the highest level in use */
	__u32 tail; /* in level 0: the jump to the next one has been made */
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 16);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct frame_key);
	__type(value, struct pending_return);
} pending_returns SEC(".maps");

/* Returns the signature of a site's function; null if there is none. */
static __always_inline struct signature *signature_of(struct site *site)
{
	__u32 index = site->function.signature;

	return bpf_map_lookup_elem(&signatures, &index);
}

/* Returns a value cut to a width, and extended as its type says. */
static __always_inline __u64 cut(__u64 v, __s8 width)
{
	__u32 shift = (64 - 8 * (width < 0 ? -width : width)) & 63;

	v <<= shift;
	return width < 0 ? (__u64)((__s64)v >> shift) : v >> shift;
}

static __noinline __u64 argument(struct pt_regs *ctx, struct signature *sig, __u32 n, __u64 sp)
{
	if (!sig || n >= MAX_ARGS)
		return 0;
	if (sig->from[n] == FROM_IMM)
		return sig->disp[n];
	return cut(kept(ctx, sig->from[n], sig->reg[n], sig->disp[n], sp), sig->width[n]);
}

/* Replaces addresses by what the function has stored there. Returns how many parameters remain
 * unknown: the first that cannot be read, and those after it. */
static __noinline __u32 read_stored(struct signature *sig, struct pending_return *call, __u32 known)
{
	if (!sig || !call)
		return MAX_ARGS;
	for (__u32 i = 0; i < MAX_ARGS; i++) {
		__s8 width = sig->stored[i];
		__u32 bytes = width < 0 ? -width : width;
		__u64 v = 0;

		if (i >= sig->count)
			break;
		if (!width)
			continue;
		barrier_var(bytes); /* or the verifier does not see the bound */
		bytes &= 15;
		if (!known || bytes > sizeof(v) ||
			bpf_probe_read_user(
				&v, bytes, (void *)(call->args[i] + sig->element[i] * bytes)))
			return sig->count - i;
		call->args[i] = cut(v, width);
	}
	return 0;
}

/* Sends the record of a call or a return, with parameters if there are any and it ends no region. */
static __always_inline void send_call(
	__u64 thread, struct pending_return *call, __u8 count, struct record event, __u32 scope)
{
	struct call_record *c;

	event.object = call->object;
	event.site = call->site;
	event.stack = call->stack;
	if (scope == SCOPE_ACTION) {
		scope_action(&event, thread);
		return;
	}
	if (!count) {
		send(thread, event);
		return;
	}
	c = reserve(thread, sizeof(*c), false, 1);
	if (!c)
		return;
	mark_used(event.object);
	fill_header(&event, RECORD_CALL, thread, event.stack);
	event.time = bpf_ktime_get_ns();
	c->head = event;
	__builtin_memcpy(c->args, call->args, sizeof(c->args));
	submit_reserved(c, sizeof(*c), false);
}

/* Remembers a call until it returns. */
static __noinline int expect_return(struct pending_return *call, __u64 sp, __u32 tgid)
{
	struct frame_key key = {.sp = sp, .tgid = tgid};
	struct pending_return *first;

	if (!call)
		return 0;
	first = bpf_map_lookup_elem(&pending_returns, &key);
	if (first && first->tail && first->caller == call->caller) {
		first->tail = 0;
		if (first->top + 1 >= MAX_LEVELS) {
			__sync_fetch_and_add(&lost_pending, 1);
			return 0;
		}
		key.level = ++first->top;
	}
	if (bpf_map_update_elem(&pending_returns, &key, call, BPF_ANY))
		__sync_fetch_and_add(&lost_pending, 1);
	return 0;
}

/* What is known of a call, in known of scope_call: so many parameters, and the result. */
#define SCOPE_RESULT 0x100

/* Sets what a condition reads. Returns whether that is known. */
static __always_inline bool scope_input(struct scope_asked *asked, struct scope_when *w,
	struct pending_return *call, __u64 result, __u32 known)
{
	for (__u32 i = 0; i < SCOPE_INPUTS; i++) {
		__u32 from = w->from[i];

		if (i >= w->inputs)
			break;
		if (from >= MAX_ARGS) {
			if (!(known & SCOPE_RESULT))
				return false;
			asked->in[i] = result;
			continue;
		}
		if (from >= (known & (SCOPE_RESULT - 1)))
			return false;
		asked->in[i] = call->args[from];
	}
	return true;
}

/* Adds the events of which the conditions hold. One whose condition reads what is not known has no place in a state. */
static __noinline int scope_conditions(struct scope_letters *l, struct scope_site *s,
	struct pending_return *call, __u64 result, __u32 known)
{
	struct scope_asked asked = {};

	if (!l || !s || !call)
		return 0;
	for (__u32 i = 0; i < SCOPE_WHENS; i++) {
		struct scope_when *w = &s->when[i];

		if (i >= s->whens)
			break;
		if (!scope_input(&asked, w, call, result, known)) {
			__sync_fetch_and_add(&scope_missed, 1);
			continue;
		}
		on_when(&asked, w->number);
		for (__u32 j = 0; asked.out && j < SCOPE_LOCALS; j++)
			l->of[j] |= w->letter[j];
	}
	return 0;
}

/* Returns whether an event is one of some property. */
static __always_inline bool has_letter(struct scope_letters *l)
{
	__u8 any = 0;

#pragma unroll
	for (int i = 0; i < SCOPE_LOCALS; i++)
		any |= l->of[i];
	return any;
}

/* Handles a call or a return. */
__noinline __u32 scope_call(
	struct pending_return *call, __u64 thread, __u32 returns, __u64 result, __u32 known)
{
	struct scope_letters l = {};
	struct scope_site *s;

	if (!call)
		return SCOPE_NOTHING;
	s = scope_site_of(call->site, returns & 1);
	if (!s)
		return SCOPE_NOTHING;
	if (s->action)
		return SCOPE_ACTION;
	if (!s->local)
		return SCOPE_NOTHING;
	__builtin_memcpy(l.of, s->letter, sizeof(l.of));
	if (s->whens)
		scope_conditions(&l, s, call, result, known);
	if (has_letter(&l))
		scope_step(&l, thread);
	return SCOPE_LOCAL;
}

/* Handles the entry of a function. */
static __always_inline void called(
	struct pt_regs *ctx, struct site *site, __u32 index, __u64 thread, __u64 sp)
{
	struct pending_return call = {};
	struct signature *sig = signature_of(site);
	__u32 scope = SCOPE_NOTHING;
	bool verdict = false;

	if (!sig)
		return;
	call.site = index;
	if (scoped && site->action != ACTION_SAVE && !scope_asks(index, 0))
		scope = scope_call(&call, thread, 0, 0, 0);
	if (scope == SCOPE_LOCAL && site->action == ACTION_EMIT)
		return;
	call.object = kept(ctx, site->object_from, site->object_reg, site->object_disp, sp);
#pragma unroll
	for (__u32 i = 0; i < MAX_ARGS; i++) {
		if (i >= sig->count)
			break;
		call.args[i] = argument(ctx, sig, i, sp);
	}
	if (scoped && site->action != ACTION_SAVE && scope_asks(index, 0))
		scope = scope_call(&call, thread, 0, 0, sig->count);
	if (scope == SCOPE_LOCAL && site->action == ACTION_EMIT)
		return;
	call.stack = stack_of(ctx, site, index, sp, thread, slot_of(thread));
	if (site->action != ACTION_EMIT) {
		/* An inlined copy has no return address, and no frame but that of the function
		 * around it, which may be under way too. */
		call.caller = site->at_entry ? return_address(ctx, sp) : 0;
		expect_return(&call, site->at_entry ? sp : sp | 1, thread >> 32);
		if (site->function.left && site->at_entry)
			enter_call(sp, thread, index);
	}
	if (knows)
		verdict = knows_event(thread, site->function.calls);
	if (site->action != ACTION_SAVE && scope != SCOPE_LOCAL &&
		!(alone && site->function.calls && !verdict))
		send_call(
			thread, &call, sig->count, (struct record){.op = OP_CALL, .sp = sp}, scope);
	if (verdict)
		send_verdict(thread);
}

/* Handles the return of the call at one level of a stack pointer; known: with its result. Not
 * static, so that the verifier judges it by itself, once. */
__noinline int returned(__u64 sp, __u64 thread, __u32 level, __u64 result, __u32 known)
{
	struct frame_key key = {.sp = sp, .tgid = thread >> 32, .level = level};
	struct pending_return *call, copy;
	struct site *site;
	struct signature *sig;
	__u8 flags = REC_LEAVE;
	__u32 unknown, scope = SCOPE_NOTHING;
	__u64 events;
	bool verdict = false;

	call = bpf_map_lookup_elem(&pending_returns, &key);
	if (!call)
		return 0;
	site = bpf_map_lookup_elem(&sites, &call->site);
	if (!site)
		return 0;
	sig = signature_of(site);
	if (!sig)
		return 0;
	if (sig->result && known) {
		flags |= REC_VALUE;
		result = cut(result, sig->result);
	} else {
		result = 0;
	}
	copy = *call;
	bpf_map_delete_elem(&pending_returns, &key);
	events = site->function.leaves | site->function.returns;
	if (site->function.left)
		leave_call(sp, thread, copy.site);
	if (scoped && !scope_asks(copy.site, 1))
		scope = scope_call(&copy, thread, 1, 0, 0);
	if (scope == SCOPE_LOCAL)
		return 0;
	if (knows)
		verdict = knows_event(thread, events);
	if (alone && events && !verdict)
		return 0;
	/* An inlined copy has no result, but all that it stores. */
	unknown = read_stored(sig, &copy, known || (sp & 1));
	if (scoped && scope_asks(copy.site, 1))
		scope = scope_call(&copy, thread, 1, result,
			(sig->count - unknown) | (flags & REC_VALUE ? SCOPE_RESULT : 0));
	if (scope == SCOPE_LOCAL)
		return 0;
	send_call(thread, &copy, sig->count,
		(struct record){
			.op = OP_RETURN,
			.flags = flags,
			.value = result,
			.result = unknown,
			.sp = sp & ~1ULL,
		},
		scope);
	if (verdict)
		send_verdict(thread);
	return 0;
}

/* Handles a call at one level of a stack pointer that ends without a return. Not static, as above. */
__noinline int call_unwound(__u64 sp, __u64 thread, __u32 level)
{
	struct frame_key key = {.sp = sp, .tgid = thread >> 32, .level = level};
	struct pending_return *call = bpf_map_lookup_elem(&pending_returns, &key), copy;
	struct signature *sig;
	struct site *site;

	site = call ? bpf_map_lookup_elem(&sites, &call->site) : 0;
	sig = site ? signature_of(site) : 0;
	if (!sig)
		return 0;
	copy = *call;
	bpf_map_delete_elem(&pending_returns, &key);
	if (site->function.left)
		leave_call(sp, thread, copy.site);
	send_call(thread, &copy, sig->count,
		(struct record){
			.op = OP_RETURN,
			.flags = REC_LEAVE | REC_FAILED,
			.result = sig->count, /* it has stored nothing */
			.sp = sp,
		},
		SCOPE_NOTHING);
	return 0;
}

__noinline int calls_unwound(__u64 sp, __u64 thread)
{
	struct frame_key key = {.sp = sp, .tgid = thread >> 32};
	struct pending_return *first = bpf_map_lookup_elem(&pending_returns, &key);
	__u32 top;

	if (!first)
		return 0;
	top = first->top;
	for (__u32 i = 0; i < MAX_LEVELS; i++) {
		if (i > top)
			break;
		call_unwound(sp, thread, top - i);
	}
	return 0;
}

/* Handles one site of a chain. */
__noinline __u32 one_call(struct pt_regs *ctx, __u32 index, __u64 thread)
{
	struct site *site = bpf_map_lookup_elem(&sites, &index);
	struct frame_key key = {.tgid = thread >> 32};
	struct pending_return *first;
	__u32 top;

	if (!site)
		return 0;
	if (site->when && !condition(ctx, site->when - 1))
		return site->next;
	key.sp = REG_SP(ctx) + site->sp_delta;
	if (site->action != ACTION_RETURN && site->action != ACTION_TAIL) {
		called(ctx, site, index, thread, key.sp);
		return site->next;
	}
	if (site->flags & SITE_INLINED)
		key.sp |= 1;
	first = bpf_map_lookup_elem(&pending_returns, &key);
	if (!first || (first->caller && first->caller != return_address(ctx, key.sp)))
		return site->next;
	if (site->action == ACTION_TAIL) {
		first->tail = 1;
		return site->next;
	}
	top = first->top;
	for (__u32 i = 0; i < MAX_LEVELS; i++) {
		if (i > top)
			break;
		returned(key.sp, thread, top - i, REG_RESULT(ctx), site->function.result);
	}
	return site->next;
}

SEC("uprobe.multi")
int on_call(struct pt_regs *ctx)
{
	return chain(ctx, current_thread(), one_call);
}

#endif
