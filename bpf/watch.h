/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Hardware watchpoints: a record for each access of a few variables, whatever instruction
 * makes it. The processor traps after the access; the kernel's perf event runs on_watch in the
 * thread that made it.
 *
 * A trap in the kernel is an access by a system call, unless it is one of ours: the probes of
 * other sites read variables too, out of an exception.
 */
#ifndef TRACEPREDICT_WATCH_H
#define TRACEPREDICT_WATCH_H

#include "probe.h"
#include "ringbuf.h"

struct bpf_perf_event_data {
	struct pt_regs regs;
	__u64 sample_period;
	__u64 addr;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 14);
	__type(key, struct watch_key);
	__type(value, struct watch);
} watches SEC(".maps");

/* Code of the kernel around an instruction that accessed a variable: user space cannot read
 * it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 10);
	__type(key, __u64);
	__type(value, struct kernel_code);
} kernel_codes SEC(".maps");

/* Returns where the instruction at ip comes from: a probe may step a copy of it out of
 * line. */
static __always_inline __u64 stepped_from(struct task_struct *task, __u64 ip)
{
	struct uprobe_task *u = BPF_CORE_READ(task, utask);
	__u64 copy;

	if (!u || !BPF_CORE_READ(u, active_uprobe))
		return ip;
	copy = BPF_CORE_READ(u, xol_vaddr);
	if (ip < copy || ip - copy > 16)
		return ip;
	return BPF_CORE_READ(u, vaddr) + (ip - copy);
}

#if defined(__TARGET_ARCH_x86)
#define KERNEL_MODE(regs) (!((regs)->cs & 3))
#define SOURCE(regs) ((regs)->si)
#define DEST(regs) ((regs)->di)
#define COUNT(regs) ((regs)->cx)
/* How probes without an exception enter the kernel. */
#define IS_PROBE(nr) ((nr) == 335 || (nr) == 336)
#elif defined(__TARGET_ARCH_arm64)
#define KERNEL_MODE(regs) ((regs)->pstate & 0xf)
#define SOURCE(regs) 0
#define DEST(regs) 0
#define COUNT(regs) 0
#define IS_PROBE(nr) false
#endif

static __always_inline bool near(__u64 pointer, __u64 object, __u8 width, __u32 distance)
{
	return pointer - (object - distance) <= width + 2 * distance;
}

/* Bytes that a string instruction may go on by before it traps: up to 128 were seen, on
 * Emerald Rapids. */
#define GROUP 256

/* Returns which operand of a string instruction is the variable, see touch_hint. The kernel
 * copies between its own memory and the program's. */
static __always_inline __u32 hints(struct pt_regs *ctx, __u64 object, __u8 width)
{
	__u64 from = SOURCE(ctx), to = DEST(ctx);
	__u32 h = 0;

	if (KERNEL_MODE(ctx))
		return ((__s64)from < 0 ? 0 : TOUCH_SOURCE) | ((__s64)to < 0 ? 0 : TOUCH_DEST);
	h = (near(from, object, width, 8) ? TOUCH_SOURCE : 0) |
	    (near(to, object, width, 8) ? TOUCH_DEST : 0);
	return h
		       ?: (near(from, object, width, GROUP) ? TOUCH_SOURCE : 0) |
				  (near(to, object, width, GROUP) ? TOUCH_DEST : 0);
}

/* Keeps the kernel's code around ip. */
static __noinline int keep_code(__u64 ip)
{
	struct kernel_code code;

	if (bpf_map_lookup_elem(&kernel_codes, &ip))
		return 0;
	if (!bpf_probe_read_kernel(&code, sizeof(code), (void *)(ip - KERNEL_CODE_BEFORE)))
		bpf_map_update_elem(&kernel_codes, &ip, &code, BPF_NOEXIST);
	return 0;
}

/* The system call in which the kernel last touched a variable for a thread: it may do so many
 * times in one. Only the thread writes to its line. */
struct kernel_call {
	__u32 count; /* from 1 */
	__u32 under_way;
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 14);
	__type(key, __u32);
	__type(value, struct kernel_call);
} kernel_calls SEC(".maps");

/* The next system call of a thread is another. */
SEC("raw_tp/sys_enter")
int on_watched_call(void *ctx)
{
	__u64 thread = current_thread();
	struct kernel_call *call;
	__u32 tid = thread;

	if (!is_target(thread))
		return 0;
	call = bpf_map_lookup_elem(&kernel_calls, &tid);
	if (call)
		call->under_way = 0;
	return 0;
}

SEC("tp_btf/sched_process_exit")
int on_watched_exit(__u64 *ctx)
{
	__u32 tid = current_thread();

	bpf_map_delete_elem(&kernel_calls, &tid);
	return 0;
}

/* Counts the system calls of a thread in which the kernel touches a variable. Returns the
 * number of the current one, 0 if it cannot. */
static __always_inline __u32 count_call(__u32 tid)
{
	struct kernel_call *call = bpf_map_lookup_elem(&kernel_calls, &tid);
	struct kernel_call first = {.count = 1, .under_way = 1};

	if (!call)
		return bpf_map_update_elem(&kernel_calls, &tid, &first, BPF_NOEXIST) ? 0 : 1;
	if (!call->under_way) {
		call->under_way = 1;
		call->count++;
	}
	return call->count;
}

#define TOUCH_BITS 0x3fffff

#define FIRM_TRIES 64 /* see reserve: on_watch may run where the kernel tries but once */

static __always_inline __u64 watched_value(struct watch *watch, __u8 *flags)
{
	__u64 v = 0;
	__u8 width = watch->width;

	if (width <= 8 && !bpf_probe_read_user(&v, width & 15 ?: 1, (void *)watch->object))
		*flags |= REC_VALUE;
	return v;
}

SEC("perf_event")
int on_watch(struct bpf_perf_event_data *data)
{
	struct pt_regs *ctx = &data->regs;
	__u64 thread = current_thread();
	struct watch_key key = {.addr = data->addr, .tgid = thread >> 32};
	struct watch *watch = bpf_map_lookup_elem(&watches, &key);
	struct task_struct *task = bpf_get_current_task_btf();
	struct record event = {.op = OP_TOUCH}, *r;
	__u64 caller, call = 0;
	__u32 where;

	if (!watch)
		return 0;
	where = event.site = watch->site;
	event.object = watch->object;
	event.ip = REG_IP(ctx);
	if (KERNEL_MODE(ctx)) {
		struct pt_regs *user = (void *)bpf_task_pt_regs(task);
		__s64 nr = SYSCALL_NUMBER(user);

		if (nr < 0 || IS_PROBE(nr))
			return 0;
		event.flags = REC_KERNEL;
		event.sp = REG_SP(user);
		caller = REG_IP(user);
		keep_code(event.ip);
		call = count_call(thread);
		where |= (__u32)(nr + 1) << 16;
	} else {
		event.sp = REG_SP(ctx);
		caller = event.ip = stepped_from(task, event.ip);
	}
	event.value = watched_value(watch, &event.flags);
	event.stack = want_stacks ? stack_at(caller, where, event.sp, thread, slot_of(thread)) : 0;
	if (call)
		event.result = (call & TOUCH_BITS) * TOUCH_COUNT | TOUCH_CALL;
	else
		event.result = (COUNT(ctx) & TOUCH_BITS) * TOUCH_COUNT;
	event.result |= hints(ctx, watch->object, watch->width);
	event.result |= (watch->part & 3) * TOUCH_PART;
	if (knows)
		doubt_operation(thread, OP_TOUCH);
	r = reserve(thread, sizeof(*r), false, FIRM_TRIES);
	if (r)
		submit(r, thread, event, false);
	return 0;
}

struct list_head {
	struct list_head *next;
} CORE;
struct perf_event_attr {
	__u32 type;
	__u64 bp_addr;
} CORE;
struct perf_event {
	struct list_head event_entry;
	struct perf_event_attr attr;
	struct bpf_prog *prog;
} CORE;
struct perf_event_context {
	struct list_head event_list;
} CORE;

#define BREAKPOINT 5  /* PERF_TYPE_BREAKPOINT */
#define MAX_EVENTS 64 /* of a thread; others may have some too */

/* Lists the hardware watchpoints of the targets' threads that have a program: a thread
 * inherits those of the one that made it, and is not to get them twice. */
SEC("iter/task")
int list_watched(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct perf_event_context *events;
	struct list_head *head, *entry;
	struct watched_line line = {.tgid = target_of(task)};

	if (!line.tgid)
		return 0;
	events = BPF_CORE_READ(task, perf_event_ctxp);
	if (!events)
		return 0;
	line.tid = task_id(task);
	head = (void *)events + bpf_core_field_offset(events->event_list);
	entry = BPF_CORE_READ(head, next);
	for (int i = 0; i < MAX_EVENTS; i++) {
		struct perf_event *e =
			(void *)entry - bpf_core_field_offset(struct perf_event, event_entry);

		if (!entry || entry == head)
			break;
		if (BPF_CORE_READ(e, attr.type) == BREAKPOINT && BPF_CORE_READ(e, prog)) {
			line.addr = BPF_CORE_READ(e, attr.bp_addr);
			bpf_seq_write(ctx->meta->seq, &line, sizeof(line));
		}
		entry = BPF_CORE_READ(entry, next);
	}
	return 0;
}

#endif
