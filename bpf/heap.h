/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * The heap, where fields of objects are watched: its blocks have lifetimes. Recorded are the
 * blocks that are as large as an object of a watched type, and their ends: most of what a
 * program allocates is smaller, or not of that type.
 */
#ifndef TRACEPREDICT_HEAP_H
#define TRACEPREDICT_HEAP_H

struct block_key {
	__u64 addr;
	__u32 tgid;
	__u32 pad;
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 20);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct block_key);
	__type(value, __u8);
} blocks SEC(".maps");

static __always_inline void add_block(__u64 addr, __u32 tgid)
{
	struct block_key key = {.addr = addr, .tgid = tgid};
	__u8 one = 1;

	if (bpf_map_update_elem(&blocks, &key, &one, BPF_ANY))
		__sync_fetch_and_add(&lost_blocks, 1);
}

/* Removes a block. Returns whether it was recorded. It is removed before it is freed:
 * afterwards its address may be another's. */
static __always_inline bool remove_block(__u64 addr, __u32 tgid)
{
	struct block_key key = {.addr = addr, .tgid = tgid};

	return addr && !bpf_map_delete_elem(&blocks, &key);
}

/* Handles the entry of a function that allocates, frees, makes or ends. */
static __always_inline void heap_entered(
	struct pt_regs *ctx, struct site *site, __u32 index, __u64 thread)
{
	__u64 sp = REG_SP(ctx) + site->sp_delta;
	struct pending_call call = {.sp = sp, .object = object_of(ctx, site), .site = index};
	struct record event = {.op = site->op, .site = index, .object = call.object, .sp = sp};
	struct slot *slot = slot_of(thread);
	bool recorded = false;

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
	if (site->op != OP_ALLOC)
		recorded = remove_block(call.object, thread >> 32);
	if (site->op == OP_FREE) {
		if (recorded)
			send(thread, event);
		return;
	}
	call.second = reg(ctx, site->heap.size_reg - 1);
	if (site->heap.factor_reg)
		call.second *= reg(ctx, site->heap.factor_reg - 1);
	if (!recorded && call.second < site->heap.least)
		return;
	call.stack = stack_of(ctx, site, index, sp, thread, slot);
	if (recorded) {
		event.stack = call.stack;
		send(thread, event);
	} else if (site->op != OP_ALLOC) {
		call.object = 0;
	}
	remember(slot, thread, &call);
}

/* Handles the return of a call saved at stack pointer sp, if there is one. */
static __always_inline void heap_left(struct pt_regs *ctx, __u64 thread, __u64 sp)
{
	__u64 block = REG_RESULT(ctx);
	struct pending_call call;
	struct site *site;
	__u8 flags = REC_LEAVE;

	if (!recall(slot_of(thread), thread, sp, &call, true))
		return;
	site = bpf_map_lookup_elem(&sites, &call.site);
	if (!site || (site->op != OP_ALLOC && site->op != OP_MOVE && site->op != OP_DESTRUCT))
		return;
	if (site->flags & SITE_INDIRECT &&
		((__u32)block || bpf_probe_read_user(&block, sizeof(block), (void *)call.object)))
		return;
	if (site->op == OP_DESTRUCT) {
		block = call.object;
	} else if (!block && site->op == OP_ALLOC) {
		return;
	} else if (!block && call.second) { /* realloc failed */
		if (!call.object)
			return;
		block = call.object;
		flags |= REC_FAILED;
	} else if (call.second < site->heap.least) {
		block = 0;
	}
	if (block && site->op != OP_DESTRUCT)
		add_block(block, thread >> 32);
	send(thread, (struct record){.op = site->op,
			     .flags = flags,
			     .site = call.site,
			     .stack = call.stack,
			     .object = block,
			     .value = call.second,
			     .sp = sp});
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
	return chain(ctx, one_heap);
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
