/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * What a new call stack is found from: the thread's registers and the top of its stack. User
 * space unwinds. The hot path knows its call stacks and never comes here.
 *
 * The stack is copied in parts that cross no page: one copy of all fails where the stack
 * ends within. The stack of a thread that is not the first ends at its thread pointer at
 * the latest.
 */
#ifndef TRACEPREDICT_STACKCOPY_H
#define TRACEPREDICT_STACKCOPY_H

#include "kernel.h"
#include "regs.h"
#include "ringbuf.h"
#include "slot.h"

#define MAX_PARTS 64                  /* of a stack */
#define MAX_RETURNS (STACK_PART / 16) /* the kernel keeps as many of a thread */

/* So many call stacks are copied, and then one of so many: those that come are then mostly known, and were forgotten by
 * the table. */
#define MANY_STACKS (1 << 17)
#define SAMPLED_STACKS 16

enum sent {
	SENT,
	UNREADABLE,
	NO_ROOM,
};

static __always_inline struct stack_part *new_part(
	__u64 thread, __u32 stack, __u64 addr, __u32 size)
{
	struct stack_part *p;

	if (unread() >= stack_limit)
		return 0;
	p = RESERVE(sizeof(*p));
	if (!p)
		return 0;
	fill_header(p, RECORD_STACK_PART, thread, stack);
	p->pad = 0;
	p->addr = addr;
	p->size = size;
	return p;
}

/* Sends a piece of the current thread's stack, all in one page. */
__noinline int send_part(__u64 thread, __u32 stack, __u64 addr, __u32 size)
{
	struct stack_part *p;

	if (size == 0 || size > STACK_PART)
		return UNREADABLE;
	p = new_part(thread, stack, addr, size);
	if (!p)
		return NO_ROOM;
	if (bpf_probe_read_user(p->data, size, (void *)addr)) {
		bpf_ringbuf_discard(p, BPF_RB_NO_WAKEUP);
		return UNREADABLE;
	}
	submit_reserved(p, sizeof(*p), false);
	return SENT;
}

/* Returns the return addresses that uretprobes, ours or another's, have replaced on a
 * thread's stack, the innermost first. */
static __always_inline struct return_instance *replaced_returns(struct task_struct *task)
{
	struct uprobe_task *u = BPF_CORE_READ(task, utask);

	if (!u || !bpf_core_field_exists(u->return_instances))
		return 0;
	return BPF_CORE_READ(u, return_instances);
}

/* Sends the replaced return addresses of the current thread; none is nothing to send. */
__noinline int send_returns(__u64 thread, __u32 stack)
{
	struct return_instance *r = replaced_returns(bpf_get_current_task_btf());
	struct stack_part *p;
	__u64 *pairs;
	int n = 0;

	if (!r)
		return UNREADABLE;
	p = new_part(thread, stack, 0, 0);
	if (!p)
		return NO_ROOM;
	pairs = (__u64 *)p->data;
	for (int i = 0; i < MAX_RETURNS; i++) {
		if (!r)
			break;
		pairs[2 * i] = BPF_CORE_READ(r, stack);
		pairs[2 * i + 1] = BPF_CORE_READ(r, orig_ret_vaddr);
		r = BPF_CORE_READ(r, next);
		n++;
	}
	p->size = n * 16;
	submit_reserved(p, sizeof(*p), false);
	return SENT;
}

/* Sends the top of the stack, from sp. Returns how many parts were sent, with CUT if there
 * was no room for more. */
#define CUT 0x100
__noinline int send_stack(__u64 thread, __u32 stack, __u64 sp)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 end = sp + stack_bytes, top = CURRENT_THREAD_POINTER(task), next;
	int parts = 0, sent;

	sent = send_returns(thread, stack);
	if (sent == NO_ROOM)
		return CUT;
	if (sent == SENT)
		parts++;
	if (top > sp && top < end)
		end = top;
	for (int i = 0; i <= MAX_PARTS; i++) {
		if (sp >= end)
			break;
		next = (sp & -(__u64)STACK_PART) + STACK_PART;
		if (next > end)
			next = end;
		sent = send_part(thread, stack, sp, next - sp);
		if (sent == NO_ROOM)
			return parts | CUT;
		if (sent != SENT)
			break;
		parts++;
		sp = next;
	}
	return parts;
}

#if defined(__TARGET_ARCH_x86)
static __always_inline void copy_registers(struct stack_record *s, struct pt_regs *r)
{
	s->regs[0] = r->ax;
	s->regs[1] = r->dx;
	s->regs[2] = r->cx;
	s->regs[3] = r->bx;
	s->regs[4] = r->si;
	s->regs[5] = r->di;
	s->regs[6] = r->bp;
	s->regs[7] = r->sp;
	s->regs[8] = r->r8;
	s->regs[9] = r->r9;
	s->regs[10] = r->r10;
	s->regs[11] = r->r11;
	s->regs[12] = r->r12;
	s->regs[13] = r->r13;
	s->regs[14] = r->r14;
	s->regs[15] = r->r15;
	s->regs[16] = r->ip;
	for (int i = 17; i < MAX_REGS; i++)
		s->regs[i] = 0;
}
#elif defined(__TARGET_ARCH_arm64)
static __always_inline void copy_registers(struct stack_record *s, struct pt_regs *r)
{
	bpf_probe_read_kernel(s->regs, sizeof(s->regs), r);
}
#endif

/* Sends what a new call stack is found from, without the stack's bytes if the ID stands for
 * several call stacks. Returns the ID, 0 if it cannot. The registers are those with which
 * the thread left the program, also where a system call or a watchpoint brought it here. Not
 * static, so that the verifier judges it once. */
__noinline __u32 new_stack(struct stack_key *key, __u64 thread, __u32 several)
{
	struct pt_regs *user = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	struct stack_record *s;
	__u32 stack;
	int parts = 0;

	if (!key)
		return 0;
	stack = __sync_fetch_and_add(&last_stack, 1) + 1;
	if (several)
		parts = CUT;
	else if (stack_bytes && (stack <= MANY_STACKS || stack % SAMPLED_STACKS == 0))
		parts = send_stack(thread, stack, REG_SP(user));
	s = room() ? RESERVE(sizeof(*s)) : 0;
	if (!s) {
		__sync_fetch_and_add(&lost_stacks, 1);
		return 0;
	}
	fill_header(s, RECORD_STACK, thread, stack);
	copy_registers(s, user);
	s->time = bpf_ktime_get_ns();
	s->caller = key->caller;
	s->site = key->site & 0xffff;
	s->call = key->site >> 16 & 0xffff;
	s->depth = key->outer ? 0 : key->depth;
	s->sp = key->outer ? 0 : CURRENT_THREAD_POINTER(bpf_get_current_task_btf()) - key->depth;
	s->cut = parts & CUT ? 1 : 0;
	s->parts = parts & (CUT - 1);
	submit_reserved(s, sizeof(*s), false);
	if (parts & CUT)
		__sync_fetch_and_add(&cut_stacks, 1);
	return stack;
}

#endif
