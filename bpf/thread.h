/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Threads: who the current one is, which processes are observed, and what is kept of each
 * thread from one hit to the next. A thread is named by tgid << 32 | tid in the tool's PID
 * namespace, as bpf_get_current_pid_tgid names it in the kernel's.
 */
#ifndef TRACEPREDICT_THREAD_H
#define TRACEPREDICT_THREAD_H

/* Processes that the tracepoints report, by ID in the tool's namespace: the time of the last execve, 0 if there was
 * none. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u64);
} targets SEC(".maps");

static __always_inline bool is_target(__u64 thread)
{
	__u32 tgid = thread >> 32;

	return bpf_map_lookup_elem(&targets, &tgid);
}

/* Processes that are not observed and that observed ones have forked, themselves or by others of these. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u8);
} kin SEC(".maps");

__u32 any_kin; /* there have been such */

static __always_inline bool is_kin(__u64 thread)
{
	__u32 tgid = thread >> 32;

	return any_kin && bpf_map_lookup_elem(&kin, &tgid);
}

static __always_inline void add_kin(__u32 tgid)
{
	__u8 one = 1;

	any_kin = 1;
	bpf_map_update_elem(&kin, &tgid, &one, BPF_ANY);
}

/* Returns the current thread, as the tool's /proc names it. */
static __always_inline __u64 current_thread(void)
{
	struct bpf_pidns_info ns = {};

	if (!pidns_dev)
		return bpf_get_current_pid_tgid();
	bpf_get_ns_current_pid_tgid(pidns_dev, pidns_ino, &ns, sizeof(ns));
	return (__u64)ns.tgid << 32 | ns.pid;
}

/* Returns the ID of any task, as the tool's /proc names it; 0 if it does not. */
static __always_inline __u32 task_id(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	unsigned int level = BPF_CORE_READ(pid, level);

	for (unsigned int i = 0; i < 8; i++) {
		struct upid *u = (void *)pid + bpf_core_field_offset(pid->numbers) +
				 i * bpf_core_type_size(struct upid);
		if (i > level)
			break;
		if (BPF_CORE_READ(u, ns, ns.inum) == pidns_ino)
			return BPF_CORE_READ(u, nr);
	}
	return 0;
}

/* Returns the ID of a target's task's process; 0 of another task. */
static __always_inline __u32 target_of(struct task_struct *task)
{
	__u32 tgid = task ? task_id(BPF_CORE_READ(task, group_leader)) : 0;

	return tgid && bpf_map_lookup_elem(&targets, &tgid) ? tgid : 0;
}

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

/* Call stacks that have been seen. Those of one site and caller are told apart by the depth
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
	__u8 words;   /* how many of these are compared */
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
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 15);
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
#define SLOTS (1 << 13)
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SLOTS);
	__type(key, __u32);
	__type(value, struct slot);
} slots SEC(".maps");

struct far_key {
	__u64 sp;
	__u32 tid;
	__u32 pad;
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 16);
	__type(key, struct far_key);
	__type(value, struct pending_call);
} far_calls SEC(".maps");

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

/* Remembers a call, in place of any with the same frame. */
static __always_inline void remember(struct slot *slot, __u32 tid, struct pending_call *call)
{
	struct far_key key = {.sp = call->sp, .tid = tid};
	int free = -1;

	if (slot) {
#pragma unroll
		for (int i = NEAR_CALLS - 1; i >= 0; i--) {
			if (slot->calls[i].sp == call->sp) {
				slot->calls[i] = *call;
				return;
			}
			if (!slot->calls[i].sp)
				free = i;
		}
#pragma unroll
		for (int i = 0; i < NEAR_CALLS; i++) {
			if (i == free) {
				slot->calls[i] = *call;
				return;
			}
		}
	}
	any_far = 1;
	if (bpf_map_update_elem(&far_calls, &key, call, BPF_ANY))
		__sync_fetch_and_add(&lost_pending, 1);
}

/* Finds the call whose frame begins at sp, and removes it if remove is set. */
static __always_inline bool recall(
	struct slot *slot, __u32 tid, __u64 sp, struct pending_call *call, bool remove)
{
	struct far_key key = {.sp = sp, .tid = tid};
	struct pending_call *far;

	if (slot) {
#pragma unroll
		for (int i = 0; i < NEAR_CALLS; i++) {
			if (slot->calls[i].sp == sp) {
				*call = slot->calls[i];
				if (remove)
					slot->calls[i].sp = 0;
				return true;
			}
		}
	}
	if (!any_far)
		return false;
	far = bpf_map_lookup_elem(&far_calls, &key);
	if (!far)
		return false;
	*call = *far;
	if (remove)
		bpf_map_delete_elem(&far_calls, &key);
	return true;
}

#endif
