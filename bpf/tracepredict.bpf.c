//go:build ignore

// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/*
 * What runs in the kernel. Two kinds of program: probes, which turn the hit of
 * a site into a record (on_probe at any instruction, on_return at a return,
 * on_call at what the user calls an event, on_heap where memory is allocated and
 * freed), and tracepoints for the life of threads. All records go through one ring
 * buffer, whose order of reservation is the order of the run, so each program
 * reserves as late, or as early, as its operation demands, and does all else
 * before.
 *
 * What a probe means is data (struct site), written by user space, so that the
 * table of synchronisation calls never becomes code here.
 */
#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "record.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* The parts of kernel types that are used; the loader relocates them. */
#define CORE __attribute__((preserve_access_index))

struct ns_common {
	unsigned int inum;
} CORE;
struct pid_namespace {
	struct ns_common ns;
} CORE;
struct upid {
	int nr;
	struct pid_namespace *ns;
} CORE;
struct pid {
	unsigned int level;
	struct upid numbers[];
} CORE;
struct mm_struct;
#if defined(__TARGET_ARCH_x86)
struct thread_struct {
	unsigned long fsbase;
} CORE;
#define THREAD_POINTER(task) BPF_CORE_READ(task, thread.fsbase)
#define CURRENT_THREAD_POINTER(task) ((task)->thread.fsbase)
#elif defined(__TARGET_ARCH_arm64)
struct thread_struct {
	struct {
		unsigned long tp_value;
	} uw;
} CORE;
#define THREAD_POINTER(task) BPF_CORE_READ(task, thread.uw.tp_value)
#define CURRENT_THREAD_POINTER(task) ((task)->thread.uw.tp_value)
#endif
struct signal_struct {
	unsigned int flags;
	int group_exit_code;
} CORE;
struct task_struct {
	unsigned int flags;
	struct signal_struct *signal;
	int pid;
	int tgid;
	struct pid *thread_pid;
	struct task_struct *group_leader;
	struct thread_struct thread;
	char comm[16];
} CORE;

__u64 lost_records;  /* all of them */
__u64 lost_lives;    /* of these, of the life of threads and libraries */
__u64 lost_stacks;   /* places whose chain could not be sent */
__u64 cut_stacks;    /* chains that were sent with less of the stack than was to be */
__u64 lost_pending;  /* operations whose return will not be recognised */
__u64 lost_places;   /* events at places beyond the table */
__u64 lost_blocks;   /* of the heap, beyond the table: their end will not be told */
__u32 last_place;
__u32 any_lost;
__u32 any_far; /* far_calls may hold something */
__u32 tight;   /* more than ring_limit may be unread */

/* Set before loading. */
const volatile __u64 pidns_dev; /* the tool's PID namespace, 0 in the initial one */
const volatile __u64 pidns_ino = 0xEFFFFFFC;
const volatile __u32 wake_bytes = 1 << 18; /* wake the reader when so much is unread */
/* Beyond so much unread only the records that tell of the life of threads and of
 * libraries find room: to lose one of these breaks more than an event. */
const volatile __u32 ring_limit = 60 << 20;
const volatile bool want_stacks = true;
const volatile __u32 stack_bytes = 32 << 10; /* of the stack are sent of each new place, at most */
const volatile __u32 stack_limit = 32 << 20; /* and none while so much is unread: the rest is for events */
const volatile bool follow; /* forked processes are observed too */
const volatile bool unnamed; /* variables that nobody named are watched (on_shared) */
const volatile __u64 enough; /* so many accesses of the elements of an array are recorded; 0: all */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 26);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << 16);
	__type(key, __u32);
	__type(value, struct site);
} sites SEC(".maps");

/* Operands between a function's entry and its return. By stack pointer, so
 * that frames left by an exception or a cancellation are never mistaken for
 * live ones, and a function entered by a tail call is one with its caller. */
struct pending_call {
	__u64 sp; /* 0: free */
	__u64 object;
	__u64 second;
	__u64 entered;
	__u32 site;
	__u32 place;
};

/* Places seen. Chains under one site and caller are told apart by the depth of
 * the stack, which is the same for the same chain in each thread; and those of one
 * depth by the return addresses further out, where there seem to be some. */
#define OUTER_WORDS 8
struct place_key {
	__u64 caller;
	__u64 depth;
	__u64 site;
	__u64 outer; /* of the further return addresses; 0: of the chain that came first */
};
struct known_place {
	__u32 place;
	__u32 others; /* chains that came later, by their return addresses further out */
	__u8 words;   /* how many of these are looked at */
	__u8 pad;
	__u16 hits;   /* of a line: since the chain was last looked for, at most 65535 */
	__u16 at[OUTER_WORDS]; /* where, in bytes above the stack pointer */
	__u64 word[OUTER_WORDS];
};
struct place_line {
	struct place_key key;
	struct known_place known;
};

/* What a thread needs at nearly every hit, where an index finds it: a hash map
 * costs as much as all the rest of a record. A slot belongs to the thread that
 * claimed it until that thread exits; who finds it taken uses the hash maps
 * behind it, and so does what does not fit. Only its thread writes to a slot. */
#define NEAR_CALLS 4
#define NEAR_PLACES 8
#define HELD_BITS 5
struct slot {
	__u32 tid; /* 0: free */
	__u32 outer_place; /* of a wrapper entered at outer_sp */
	__u64 outer_sp;
	__u64 spin_value, spin_extra; /* of the thread's last record, at spin_site */
	__u32 spin_site; /* 0: its last record may not be left out if it comes again */
	__u32 pad;
	/* Counts of what was recorded of the thread, and of what of it others may
	 * learn by: writes and synchronisation. By them it is known which accesses
	 * tell nothing new (redundant). Never reset: the slot's next thread goes on. */
	__u64 events, outs;
	__u64 taken; /* cookie of the last hit of on_shared */
	__u8 held[1 << HELD_BITS]; /* locks that the thread has taken and not given up, counted by a hash */
	struct pending_call calls[NEAR_CALLS];
	struct place_line places[NEAR_PLACES];
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

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 15);
	__type(key, struct place_key);
	__type(value, struct known_place);
} places SEC(".maps");

/* Processes that the tracepoints report, by id in the tool's namespace. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u8);
} targets SEC(".maps");

/* Records lost and not yet told of, by thread. Only the thread itself writes
 * to its line. */
struct lost_line {
	__u64 records;
	__u32 tgid;
	__u32 pad;
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 16);
	__type(key, __u32);
	__type(value, struct lost_line);
} lost SEC(".maps");

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8;
	unsigned long ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
};
#define REG_SP(ctx) ((ctx)->sp)
#define REG_IP(ctx) ((ctx)->ip)
#define REG_RESULT(ctx) ((ctx)->ax)

/* A context may not be read at a variable offset. */
#define REG_CASE(n, field)                                                                  \
	case n:                                                                             \
		asm volatile("%0 = *(u64 *)(%1 + %2)"                                       \
			     : "=r"(v)                                                      \
			     : "r"(ctx), "i"(__builtin_offsetof(struct pt_regs, field)));   \
		break;

static __always_inline __u64 reg(struct pt_regs *ctx, __u8 number)
{
	__u64 v = 0;

	if (number == 7) /* rdi, the first argument, before all others */
		return ctx->di;
	switch (number) {
	REG_CASE(0, ax)
	REG_CASE(1, cx)
	REG_CASE(2, dx)
	REG_CASE(3, bx)
	REG_CASE(4, sp)
	REG_CASE(5, bp)
	REG_CASE(6, si)
	REG_CASE(8, r8)
	REG_CASE(9, r9)
	REG_CASE(10, r10)
	REG_CASE(11, r11)
	REG_CASE(12, r12)
	REG_CASE(13, r13)
	REG_CASE(14, r14)
	REG_CASE(15, r15)
	}
	return v;
}

static __always_inline __u64 return_address(struct pt_regs *ctx, __u64 sp)
{
	__u64 address = 0;

	bpf_probe_read_user(&address, sizeof(address), (void *)sp);
	return address;
}
/* Whether the processor's flags meet condition n of the jcc opcodes: o, b, z,
 * be, s, p, l and le, each followed by its opposite (Intel's manual, volume 2,
 * appendix B). */
static __always_inline bool condition(struct pt_regs *ctx, __u8 n)
{
	__u64 f = ctx->flags;
	bool less = !(f & 1 << 7) != !(f & 1 << 11); /* SF, OF */
	bool holds;

	switch (n >> 1) {
	case 0:
		holds = f & 1 << 11;
		break;
	case 1:
		holds = f & 1 << 0;
		break;
	case 2:
		holds = f & 1 << 6;
		break;
	case 3:
		holds = f & (1 << 0 | 1 << 6);
		break;
	case 4:
		holds = f & 1 << 7;
		break;
	case 5:
		holds = f & 1 << 2;
		break;
	case 6:
		holds = less;
		break;
	default:
		holds = less || f & 1 << 6;
	}
	return holds != (n & 1);
}

/* The call pushed the return address, the return popped it. */
#define ENTRY_SP_AT_RETURN(ctx) (REG_SP(ctx) - 8)
#elif defined(__TARGET_ARCH_arm64)
/* The verifier knows a context by this name, where a function that is not static
 * takes one. */
#define pt_regs user_pt_regs
struct pt_regs {
	__u64 regs[31];
	__u64 sp, pc, pstate;
};
#define REG_SP(ctx) ((ctx)->sp)
#define REG_IP(ctx) ((ctx)->pc)
#define REG_RESULT(ctx) ((ctx)->regs[0])

static __always_inline __u64 reg(struct pt_regs *ctx, __u8 number)
{
	__u64 v = 0;

	if (number == 31)
		return ctx->sp;
	bpf_probe_read_kernel(&v, sizeof(v), &ctx->regs[number & 31]);
	return v;
}

static __always_inline __u64 return_address(struct pt_regs *ctx, __u64 sp)
{
	return ctx->regs[30];
}
#define ENTRY_SP_AT_RETURN(ctx) (REG_SP(ctx))

static __always_inline bool condition(struct pt_regs *ctx, __u8 n)
{
	return true;
}
#endif

struct who {
	__u32 tid, tgid;
};

/* The current thread, as the tool's /proc names it. */
static __always_inline struct who current_thread(void)
{
	struct who w;

	if (pidns_dev) {
		struct bpf_pidns_info ns = {};

		bpf_get_ns_current_pid_tgid(pidns_dev, pidns_ino, &ns, sizeof(ns));
		w.tid = ns.pid;
		w.tgid = ns.tgid;
	} else {
		__u64 id = bpf_get_current_pid_tgid();

		w.tid = id;
		w.tgid = id >> 32;
	}
	return w;
}

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
		for (int i = 0; i < NEAR_PLACES; i++)
			slot->places[i].known.place = 0;
		for (int i = 0; i < 1 << HELD_BITS; i++)
			slot->held[i] = 0;
		slot->outer_place = 0;
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

/* Finds the call whose frame begins at sp; forget says to remove it. */
static __always_inline bool recall(struct slot *slot, __u32 tid, __u64 sp, struct pending_call *call, bool forget)
{
	struct far_key key = {.sp = sp, .tid = tid};
	struct pending_call *far;

	if (slot) {
#pragma unroll
		for (int i = 0; i < NEAR_CALLS; i++) {
			if (slot->calls[i].sp == sp) {
				*call = slot->calls[i];
				if (forget)
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
	if (forget)
		bpf_map_delete_elem(&far_calls, &key);
	return true;
}

/* The id of any task, as the tool's /proc names it; 0 if it does not. */
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

static __always_inline __u64 wake_flags(bool now, __u64 size)
{
	__u64 unread = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);

	if (unread >= ring_limit)
		tight = 1;
	if (now)
		return BPF_RB_FORCE_WAKEUP;
	/* Once, when the mark is crossed: a wake-up costs more than a record. */
	if (unread >= wake_bytes && unread - wake_bytes <= size + 8)
		return BPF_RB_FORCE_WAKEUP;
	return BPF_RB_NO_WAKEUP;
}

static __noinline int count_lost(__u64 id)
{
	__u32 tid = id;
	struct lost_line *line = bpf_map_lookup_elem(&lost, &tid);
	struct lost_line first = {.records = 1, .tgid = id >> 32};

	__sync_fetch_and_add(&lost_records, 1);
	if (line) {
		line->records++;
		line->tgid = id >> 32;
	} else {
		bpf_map_update_elem(&lost, &tid, &first, BPF_ANY);
	}
	any_lost = 1;
	return 0;
}

/* Tells, by a record of its own, what the thread has lost; false if that
 * cannot be told now, so that nothing may follow it. */
static __noinline int tell_lost(__u64 id)
{
	__u32 tid = id;
	struct lost_line *line = bpf_map_lookup_elem(&lost, &tid);
	struct record *r;

	if (!line || !line->records)
		return 1;
	r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);
	if (!r)
		return 0;
	__builtin_memset(r, 0, sizeof(*r));
	r->time = bpf_ktime_get_ns();
	r->value = line->records;
	r->tid = tid;
	r->tgid = id >> 32;
	r->op = OP_HOLE;
	line->records = 0;
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	return 1;
}

/* Whether there is room for what is not of the life of threads. */
static __always_inline bool room(void)
{
	if (!tight)
		return true;
	if (bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) >= ring_limit)
		return false;
	tight = 0;
	return true;
}

static __always_inline void submit(struct record *r, bool now)
{
	bpf_ringbuf_submit(r, wake_flags(now, sizeof(*r)));
}

#include "stack.h"
#include "place.h"

#define WRAPPER_FRAME 128

static __always_inline __u32 place_of(struct pt_regs *ctx, struct site *site, __u32 index, __u64 sp,
				      struct who *w, struct slot *slot)
{
	__u32 place;

	if (!want_stacks)
		return 0;
	/* A wrapper's frame is small, and the wrapped call the first thing in it. */
	if (slot && slot->outer_place && site->action != ACTION_PLACE && site->op != OP_CALL) {
		place = slot->outer_place;
		slot->outer_place = 0;
		if (sp <= slot->outer_sp && slot->outer_sp - sp <= WRAPPER_FRAME)
			return place;
	}
	return place_at(site->at_entry ? return_address(ctx, sp) : REG_IP(ctx), index, sp, w, slot);
}

static __always_inline __u64 operand(struct pt_regs *ctx, __u8 from, __u8 number, __s64 disp, __u64 imm)
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

/* A variable's value, cut to its width; how a register or memory holds it. */
static __always_inline bool value(struct pt_regs *ctx, struct site *site, __u64 object, __u64 *v)
{
	__u64 x = 0;
	__u8 width = site->width;

	switch (site->second_from) {
	case FROM_NOWHERE:
		return false;
	case FROM_MEMORY:
		if (width > 8 || bpf_probe_read_user(&x, width & 15 ?: 1, (void *)object))
			return false;
		break;
	default:
		x = operand(ctx, site->second_from, site->second_reg, site->second_disp, site->imm);
	}
	if (width < 8)
		x &= (1ULL << (width * 8)) - 1;
	*v = x;
	return true;
}

static __always_inline struct record *reserve_alone(struct who *w, bool life)
{
	__u64 id = (__u64)w->tgid << 32 | w->tid;
	struct record *r = 0;

	if ((life || room()) && (!any_lost || tell_lost(id)))
		r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);
	if (!r) {
		count_lost(id);
		if (life)
			__sync_fetch_and_add(&lost_lives, 1);
	}
	return r;
}

/* As reserve_alone, for all but on_shared: what the record tells may order the
 * thread's accesses, so that the next ones are not redundant. */
static __always_inline struct record *reserve(struct who *w, bool life)
{
	struct slot *slot;

	if (unnamed) {
		slot = slot_of(w->tid);
		if (slot) {
			slot->events++;
			slot->outs++;
		}
	}
	return reserve_alone(w, life);
}

static __always_inline void fill(struct record *r, struct site *site, __u32 index, struct who *w,
				 __u64 object, __u64 second, __u64 extra, __u8 flags, __u64 sp, __u32 place,
				 __s32 result)
{
	if (!r)
		return;
	r->time = bpf_ktime_get_ns();
	r->object = object;
	r->value = second;
	r->sp = sp;
	r->entered = extra;
	r->tid = w->tid;
	r->tgid = w->tgid;
	r->site = index;
	r->place = place;
	r->op = site->op;
	r->flags = flags;
	r->pad = 0;
	r->result = result;
	submit(r, site->op == OP_LIBRARY);
}

static __always_inline void emit(struct pt_regs *ctx, struct site *site, __u32 index, struct who *w,
				 __u64 object, __u64 second, __u64 extra, __u8 flags, __u64 sp, __u32 place,
				 __s32 result)
{
	fill(reserve(w, site->op == OP_LIBRARY), site, index, w, object, second, extra, flags, sp, place, result);
}

static __always_inline bool succeeded(__u8 rule, __s64 result)
{
	__s32 r = result;

	switch (rule) {
	case SUCCESS_ZERO:
		return r == 0 || r == 130; /* EOWNERDEAD: had, from a dead owner */
	case SUCCESS_NONZERO:
		return result != 0;
	case SUCCESS_BARRIER:
		return r == 0 || r == -1;
	case SUCCESS_TRUE8:
		return (result & 0xff) != 0;
	}
	return true;
}

/* Whether an access says again what the thread's last record said: it waits for
 * another thread, and turns round without doing anything that is recorded. */
static __always_inline bool spins(struct slot *slot, struct site *site, __u32 index, __u64 second, __u64 extra)
{
	bool may = site->flags & SITE_SPIN && (site->op == OP_READ || second == extra);
	bool again;

	if (!slot)
		return false;
	again = may && slot->spin_site == index && slot->spin_value == second && slot->spin_extra == extra;
	slot->spin_site = may ? index : 0;
	slot->spin_value = second;
	slot->spin_extra = extra;
	return again;
}

static __always_inline __u8 *held(struct slot *slot, __u64 lock)
{
	return &slot->held[lock * 0x9e3779b97f4a7c15ULL >> (64 - HELD_BITS)];
}

/* A lock was taken. A count that is full stays so. Where one that its last owner died with
 * is given up matters, so it does not count. */
static __always_inline void takes(struct slot *slot, struct site *site, __u64 lock, __s64 result)
{
	__u8 *count;

	if (!slot || (site->success == SUCCESS_ZERO && (__s32)result) || (site->op != OP_ACQUIRE && site->op != OP_ACQUIRE_READ))
		return;
	count = held(slot, lock);
	if (*count != 255)
		++*count;
}

/* A lock is given up; false if the thread certainly did not take it, as far as
 * was seen. */
static __always_inline bool gives_up(struct slot *slot, __u64 lock)
{
	__u8 *count;

	if (!slot)
		return true;
	count = held(slot, lock);
	if (*count && *count != 255)
		--*count;
	else
		return *count;
	return true;
}

/* The return of something saved at stack pointer sp, if there is one. */
static __always_inline void leave(struct pt_regs *ctx, struct who *w, struct slot *slot, __u64 sp)
{
	__s64 result = REG_RESULT(ctx);
	struct pending_call call;
	struct site *site;
	struct record *r;

	if (!recall(slot, w->tid, sp, &call, true))
		return;
	site = bpf_map_lookup_elem(&sites, &call.site);
	if (!site)
		return;
	r = reserve(w, false);
	if (!r)
		return;
	r->time = bpf_ktime_get_ns();
	r->object = call.object;
	r->value = call.second;
	r->sp = sp;
	r->entered = call.entered;
	r->tid = w->tid;
	r->tgid = w->tgid;
	r->site = call.site;
	r->place = call.place;
	r->op = site->op;
	r->flags = REC_LEAVE;
	if (succeeded(site->success, result))
		takes(slot, site, call.object, result);
	else
		r->flags |= REC_FAILED;
	r->pad = 0;
	r->result = result;
	submit(r, false);
}

/* Whether a call is part of another that is under way: the C library calls its
 * own public functions (musl's timed locks try first), and what it does within
 * one operation is that operation. Calls whose frame may have been unwound are
 * not believed to be under way, but for the waits for semaphores, which nothing
 * returns to once they are cancelled. */
#define NESTED_FRAMES 512
static __always_inline bool nested(struct slot *slot, __u64 sp, __u64 object)
{
	struct site *outer;

	if (!slot)
		return false;
#pragma unroll
	for (int i = 0; i < NEAR_CALLS; i++) {
		struct pending_call *call = &slot->calls[i];

		if (call->object != object || call->sp <= sp || call->sp - sp > NESTED_FRAMES)
			continue;
		outer = bpf_map_lookup_elem(&sites, &call->site);
		if (outer && (outer->flags & SITE_LEAF || outer->op == OP_SEM_WAIT))
			return true;
	}
	return false;
}

/* What is set of the bits by which an object says that it was destroyed. */
static __always_inline __u64 marked(struct site *site, __u64 object)
{
	__u32 word = 0;

	bpf_probe_read_user(&word, sizeof(word), (void *)(object + site->result));
	return word & site->width;
}

/* The second operand of an acquisition that wants to know of what kind the lock is:
 * 0 if its memory cannot be read, else 1 + the word there. */
static __always_inline __u64 kind_of(struct site *site, __u64 object)
{
	__u32 kind;

	if (bpf_probe_read_user(&kind, sizeof(kind), (void *)(object + site->second_disp)))
		return 0;
	return 1 + (__u64)kind;
}

static __always_inline void enter(struct pt_regs *ctx, struct site *site, __u32 index, struct who *w,
				  struct slot *slot, __u64 sp)
{
	__u64 object = operand(ctx, site->object_from, site->object_reg, site->object_disp, site->imm);
	__u64 second = 0, extra = 0;
	__u8 flags = 0;
	__u32 place;

	if (site->result_from == FROM_REG)
		extra = reg(ctx, site->result);
	else if (site->result_from == FROM_MEMORY)
		extra = marked(site, object);
	if (site->op >= OP_READ && site->op <= OP_UPDATE) {
		if (value(ctx, site, object, &second))
			flags = REC_VALUE;
		if (spins(slot, site, index, second, extra))
			return;
	} else if (site->second_from == FROM_MEMORY) {
		second = kind_of(site, object);
	} else if (site->second_from != FROM_NOWHERE) {
		second = operand(ctx, site->second_from, site->second_reg, site->second_disp, site->imm);
	}
	if (site->action != ACTION_EMIT) {
		struct pending_call call;

		/* Entered by a tail call from another of ours (musl's lock jumps to
		 * its timedlock): one operation, already remembered. */
		if (recall(slot, w->tid, sp, &call, false) && call.object == object && call.site != index)
			return;
		if (nested(slot, sp, object))
			return;
		place = place_of(ctx, site, index, sp, w, slot);
		call.sp = sp;
		call.object = object;
		call.second = second;
		/* The time matters where an identity must be looked up as of then. */
		call.entered = site->op == OP_JOIN ? bpf_ktime_get_ns() : 0;
		call.site = index;
		call.place = place;
		remember(slot, w->tid, &call);
		if (site->action == ACTION_SAVE)
			return;
	} else if (site->flags & SITE_NO_PLACE && gives_up(slot, object)) {
		place = 0;
	} else {
		place = place_of(ctx, site, index, sp, w, slot);
	}
	emit(ctx, site, index, w, object, second, extra, flags, sp, place, 0);
}

/* Whether the call whose frame begins at sp is the last part of another one
 * that is under way: that one jumped to it, and is recorded when it returns.
 * What the same function left there itself was abandoned. */
static __always_inline bool continues(struct slot *slot, __u64 sp, __u64 object, __u64 function)
{
	struct site *outer;

	if (!slot)
		return false;
#pragma unroll
	for (int i = 0; i < NEAR_CALLS; i++) {
		struct pending_call *call = &slot->calls[i];

		if (call->sp != sp || call->object != object)
			continue;
		outer = bpf_map_lookup_elem(&sites, &call->site);
		if (outer && outer->imm != function)
			return true;
		call->sp = 0;
	}
	return false;
}

/* An operand of a call that is under way; sp is that at its entry. */
static __always_inline __u64 kept(struct pt_regs *ctx, __u8 from, __u8 number, __s64 disp, __u64 sp)
{
	__u64 v = 0;

	if (from != FROM_STACK)
		return operand(ctx, from, number, disp, 0);
	bpf_probe_read_user(&v, sizeof(v), (void *)(sp + disp));
	return v;
}

/* What a function did is certain, and it has not returned yet. */
static __always_inline void outcome(struct pt_regs *ctx, struct site *site, __u32 index, struct who *w,
				    struct slot *slot, __u64 sp)
{
	__u64 object = kept(ctx, site->object_from, site->object_reg, site->object_disp, sp);
	__u64 second = kept(ctx, site->second_from, site->second_reg, site->second_disp, sp);
	__s64 result = site->result_from == FROM_IMM ? site->result : REG_RESULT(ctx);
	__u8 flags = REC_LEAVE;

	if (continues(slot, sp, object, site->imm) || nested(slot, sp, object))
		return;
	if (site->second_from == FROM_MEMORY)
		second = kind_of(site, object);
	if (succeeded(site->success, result))
		takes(slot, site, object, result);
	else
		flags |= REC_FAILED;
	emit(ctx, site, index, w, object, second, 0, flags, sp, place_of(ctx, site, index, sp, w, slot), result);
}

/* Where the variable of a site is that may access another object as well. */
static __always_inline __u64 home(struct pt_regs *ctx, struct site *site)
{
	__u64 at = REG_IP(ctx) + site->home;

	if (!(site->flags & SITE_TABLE))
		return at;
	if (bpf_probe_read_user(&at, sizeof(at), (void *)at))
		return 0;
	return at + site->home_disp;
}

/* How far from the base an instruction with an index touches memory. */
static __always_inline __u64 indexed(struct pt_regs *ctx, struct site *site)
{
	__s64 index;

	if (!site->scale)
		return 0;
	index = reg(ctx, site->index_reg);
	if (site->scale == SCALE_BITS32)
		return (__s64)(__s32)index >> 3;
	if (site->scale == SCALE_BITS)
		return index >> 3;
	return index * site->scale;
}

/* Whether so many bytes are whole elements of an array. */
static __always_inline bool whole(__s64 bytes, __u32 element)
{
	__u64 n = bytes < 0 ? -bytes : bytes;

	return element && n % element == 0;
}

/* An instruction that may access the variable, or other parts of the object
 * that it belongs to. An operand that is not the variable just as it is does
 * not give its value: memory does. */
static __noinline int checked(struct pt_regs *ctx, struct site *site, __u32 index, __u64 id)
{
	struct who w = {.tid = id, .tgid = id >> 32};
	__u64 variable, touched, by, span = site->span, second = 0, sp;
	struct slot *slot;
	__u8 flags = 0;

	touched = operand(ctx, site->object_from, site->object_reg, site->object_disp, site->imm);
	by = indexed(ctx, site);
	touched += by;
	if (site->flags & SITE_ELEMENT) {
		if (!whole(by, site->home_disp))
			return 0;
		variable = touched;
	} else {
		variable = home(ctx, site);
	}
	if (site->times == TIMES_EACH)
		span = reg(ctx, 1) ? span : 0;
	else if (site->times)
		span *= reg(ctx, site->times - 1);
	if (!span || (touched - variable >= site->size && variable - touched >= span))
		return 0;
	if ((site->second_from == FROM_MEMORY || (touched == variable && span == site->size)) &&
	    value(ctx, site, variable, &second))
		flags = REC_VALUE;
	sp = REG_SP(ctx) + site->sp_delta;
	slot = slot_of(w.tid);
	if (slot)
		slot->spin_site = 0;
	emit(ctx, site, index, &w, variable, second, 0, flags, sp, place_of(ctx, site, index, sp, &w, slot), 0);
	return 0;
}

/* An access of an element of an array, which the index tells. Other parts of the
 * object that the array is in are none. A thread that waits for one element does
 * not say again what it read. */
static __noinline int element(struct pt_regs *ctx, struct site *site, __u32 index, __u64 id)
{
	struct who w = {.tid = id, .tgid = id >> 32};
	struct slot *slot = slot_of(w.tid);
	__u64 variable, from, second = 0, extra = 0, sp;
	__u8 flags = 0;

	variable = operand(ctx, site->object_from, site->object_reg, site->object_disp, site->imm) + indexed(ctx, site);
	from = variable - home(ctx, site);
	if (from >= site->span || !whole(from, site->home_disp))
		return 0;
	if (value(ctx, site, variable, &second))
		flags = REC_VALUE;
	if (site->result_from == FROM_REG)
		extra = reg(ctx, site->result);
	if (site->op == OP_READ) {
		if (spins(slot, site, index, second, variable))
			return 0;
	} else if (slot) {
		slot->spin_site = 0;
	}
	sp = REG_SP(ctx) + site->sp_delta;
	emit(ctx, site, index, &w, variable, second, extra, flags, sp, place_of(ctx, site, index, sp, &w, slot), 0);
	return 0;
}

#define MAX_CHAIN 8
#define COOKIE_GENERATION (1ULL << 32) /* of on_shared: counts the links of a batch */
#define COOKIE_FILTER (1ULL << 63) /* the link has no PID filter of its own */

/* One site of a chain; returns the next one's index, 0 at the end. Not static, so
 * that the verifier judges it by itself, once, and not anew for each of a chain. */
__noinline __u32 one_site(struct pt_regs *ctx, __u32 index, __u64 id)
{
	struct who w = {.tid = id, .tgid = id >> 32};
	struct site *site = bpf_map_lookup_elem(&sites, &index);
	struct slot *slot;
	__u64 sp;

	if (!site)
		return 0;
	if (site->when && !condition(ctx, site->when - 1))
		return site->next;
	if (site->flags & SITE_CHECK) {
		if (site->flags & SITE_ARRAY)
			element(ctx, site, index, id);
		else
			checked(ctx, site, index, id);
		return site->next;
	}
	sp = REG_SP(ctx) + site->sp_delta;
	slot = slot_of(w.tid);
	if (slot && (site->action != ACTION_EMIT || site->op < OP_READ || site->op > OP_UPDATE))
		slot->spin_site = 0;
	if (site->action == ACTION_OUTCOME) {
		outcome(ctx, site, index, &w, slot, sp);
	} else if (site->action == ACTION_RETURN) {
		leave(ctx, &w, slot, sp);
	} else if (site->action == ACTION_PLACE) {
		if (slot) {
			slot->outer_place = place_of(ctx, site, index, sp, &w, slot);
			slot->outer_sp = sp;
		}
	} else
		enter(ctx, site, index, &w, slot, sp);
	return site->next;
}

/* Takes the sites of a probe, one after the other: one gives the next. */
static __always_inline int chain(struct pt_regs *ctx, __u32 (*one)(struct pt_regs *, __u32, __u64))
{
	__u64 cookie = bpf_get_attach_cookie(ctx);
	struct who w = current_thread();
	__u64 id = (__u64)w.tgid << 32 | w.tid;
	__u32 next;

	if (cookie & COOKIE_FILTER && !bpf_map_lookup_elem(&targets, &w.tgid))
		return 0;
	next = one(ctx, cookie, id);
#pragma unroll
	for (int i = 1; i < MAX_CHAIN; i++) {
		if (!next)
			break;
		next = one(ctx, next, id);
	}
	return 0;
}

SEC("uprobe.multi")
int on_probe(struct pt_regs *ctx)
{
	return chain(ctx, one_site);
}

SEC("uprobe.multi")
int on_return(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);
	struct who w = current_thread();

	if (cookie & COOKIE_FILTER && !bpf_map_lookup_elem(&targets, &w.tgid))
		return 0;
	leave(ctx, &w, slot_of(w.tid), ENTRY_SP_AT_RETURN(ctx));
	return 0;
}

/* Variables that nobody named: all of the program's, while it is not known which
 * of them threads share. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tally);
} watched SEC(".maps");

/* Not 0: user space is about to remove the variable's probes. Apart, because user
 * space writes whole values. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u8);
} dropped SEC(".maps");

__u32 crowded; /* some observed process has had a second thread */

/* What a thread has read last, by variable, where an index finds it. */
#define NEAR_READS 8
struct reading {
	__u32 index; /* of the variable, plus one; 0: none */
	__u32 version;
	__u64 outs;
	__u64 value; /* if it was had */
};
struct readings {
	struct reading near[NEAR_READS];
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct readings);
} readings SEC(".maps");

/* tally.last: 22 bits of thread id, as many as the kernel gives, whether that
 * thread has written, and the low bits of its count of events after that. */
#define LAST_WROTE (1ULL << 22)
#define LAST_SKIPPED (1ULL << 23) /* and writes after these were left out */
#define LAST_EVENTS 24
#define LAST_THREAD ((1ULL << 22) - 1)

/*
 * Whether an access tells nothing new. What races with it must race with one that
 * was recorded, and who reads what it wrote must learn as much from that one; so
 * the epochs of FastTrack (Flanagan and Freund, PLDI 2009, section 3) do not do,
 * by which writes order nothing. It is so of
 *
 * - an access of a variable that the thread has written, if nothing else was
 *   recorded of the thread since, and no other thread has accessed it since;
 * - a read of what the thread has read already, if nobody has written the
 *   variable since, and nothing was recorded of the thread from which another
 *   could learn of the first read.
 *
 * skipped says that writes before an access that is recorded were redundant: the
 * value last recorded is not the variable's. analysis/suite tests the rule.
 */
static __always_inline bool redundant(struct tally *v, struct slot *slot, __u32 tid, bool writes, bool *skipped)
{
	__u64 old = *(volatile __u64 *)&v->last, mine;

	if ((old & ~LAST_SKIPPED) == (slot->events << LAST_EVENTS | LAST_WROTE | (tid & LAST_THREAD))) {
		if (!writes || old & LAST_SKIPPED)
			return true;
		if (__sync_val_compare_and_swap(&v->last, old, old | LAST_SKIPPED) == old)
			return true;
	}
	slot->events++;
	mine = slot->events << LAST_EVENTS | (tid & LAST_THREAD);
	if (writes) {
		slot->outs++;
		__sync_fetch_and_add(&v->version, 1);
		mine |= LAST_WROTE;
	}
	old = __sync_lock_test_and_set(&v->last, mine);
	*skipped = old & LAST_SKIPPED;
	return false;
}

/* Whether the thread has read this already, see redundant(); else remembers it.
 * The value is compared too: a write may not have been recorded yet. */
static __always_inline bool read_before(struct tally *v, struct slot *slot, __u32 tid, __u32 variable, __u64 value)
{
	__u32 index = tid & (SLOTS - 1);
	struct readings *all = bpf_map_lookup_elem(&readings, &index);
	struct reading *r;

	if (!all)
		return false;
	r = &all->near[variable & (NEAR_READS - 1)];
	if (r->index == variable + 1 && r->version == v->version && r->outs == slot->outs && r->value == value)
		return true;
	r->index = variable + 1;
	r->version = v->version;
	r->outs = slot->outs;
	r->value = value;
	return false;
}

/* Counts an access; gives the variable, 0 if it is not watched any more. */
static __always_inline struct tally *hit(__u32 index, __u32 tid)
{
	struct tally *v;
	__u8 *gone = bpf_map_lookup_elem(&dropped, &index);
	__u32 owner;

	if (!gone || *gone)
		return 0;
	v = bpf_map_lookup_elem(&watched, &index);
	if (!v)
		return 0;
	__sync_fetch_and_add(&v->hits, 1);
	if (crowded)
		__sync_fetch_and_add(&v->crowd, 1);
	owner = v->owner;
	if (!owner)
		owner = __sync_val_compare_and_swap(&v->owner, 0, tid) ?: tid;
	if (owner != tid && !v->shared) {
		v->shared = 1;
		/* The owner's next access counts, though it read before: Eraser forgives
		 * an owner what it did alone. */
		__sync_fetch_and_add(&v->version, 1);
	}
	return v;
}

/*
 * An access of an element of an array, which the code picks: the record says which
 * bytes. What is redundant is not asked, since that is of each element. Instead
 * there are enough after so many; and what the program did alone, before it had
 * threads, comes before all that they do.
 */
__noinline int one_element(struct pt_regs *ctx, __u32 index, __u64 id)
{
	struct who w = {.tid = id, .tgid = id >> 32};
	struct site *site = bpf_map_lookup_elem(&sites, &index);
	__u64 at, by, second = 0, sp;
	struct slot *slot;
	struct tally *v;
	__u8 flags = 0;

	if (!site)
		return 0;
	at = operand(ctx, site->object_from, site->object_reg, site->object_disp, 0) + indexed(ctx, site);
	by = at - (REG_IP(ctx) + site->home);
	if (by >= (__u32)site->home_disp)
		return 0;
	v = hit(site->watched, w.tid);
	if (!v || !crowded)
		return 0;
	if (enough && v->recorded >= enough)
		return 0;
	__sync_fetch_and_add(&v->recorded, 1);
	if (value(ctx, site, at, &second))
		flags = REC_VALUE;
	sp = REG_SP(ctx) + site->sp_delta;
	slot = slot_of(w.tid);
	if (slot)
		slot->spin_site = 0;
	emit(ctx, site, index, &w, at, second, by, flags, sp, place_of(ctx, site, index, sp, &w, slot), 0);
	return 0;
}

/* As one_site, for an access of a variable that nobody named. */
__noinline __u32 one_shared(struct pt_regs *ctx, __u32 index, __u64 id)
{
	struct who w = {.tid = id, .tgid = id >> 32};
	struct site *site = bpf_map_lookup_elem(&sites, &index);
	struct tally *v;
	struct slot *slot;
	__u64 object, second = 0, sp;
	bool skipped = false, writes;
	__u32 place;
	__u8 flags = 0;

	if (!site)
		return 0;
	if (site->flags & SITE_CHECK) {
		one_element(ctx, index, id);
		return site->next;
	}
	v = hit(site->watched, w.tid);
	if (!v)
		return site->next;
	sp = REG_SP(ctx) + site->sp_delta;
	object = operand(ctx, site->object_from, site->object_reg, site->object_disp, site->imm);
	if (value(ctx, site, object, &second))
		flags |= REC_VALUE;
	slot = slot_of(w.tid);
	writes = site->op != OP_READ;
	if (slot && !(site->flags & SITE_ORDERS)) {
		if (!writes && read_before(v, slot, w.tid, site->watched, second))
			return site->next;
		if (redundant(v, slot, w.tid, writes, &skipped))
			return site->next;
	}
	if (slot)
		slot->spin_site = 0;
	if (skipped)
		flags |= REC_SKIPPED;
	place = place_of(ctx, site, index, sp, &w, slot);
	fill(site->flags & SITE_ORDERS ? reserve(&w, false) : reserve_alone(&w, false), site, index, &w, object, second, 0, flags, sp, place, 0);
	return site->next;
}

SEC("uprobe.multi")
int on_shared(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);
	struct who w = current_thread();
	__u64 id = (__u64)w.tgid << 32 | w.tid;
	__u32 next = cookie;
	struct slot *slot;

	if (cookie & COOKIE_FILTER && !bpf_map_lookup_elem(&targets, &w.tgid))
		return 0;
	/* While a link is put in another's place both are there, and the newer one,
	 * whose cookie has the next generation, has had this hit (the kernel calls
	 * the latest first). */
	slot = slot_of(w.tid);
	if (slot) {
		if (slot->taken == cookie + COOKIE_GENERATION) {
			slot->taken = 0;
			return 0;
		}
		slot->taken = cookie;
	}
	for (int i = 0; i < MAX_CHAIN && next; i++)
		next = one_shared(ctx, next, id);
	return 0;
}

/* Functions whose calls the user asked for. Their sites have a program of their
 * own, so that the others pay nothing. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << 12);
	__type(key, __u32);
	__type(value, struct signature);
} signatures SEC(".maps");

/* Calls that are to be seen to return, by the stack pointer at their entry: a
 * stack has one owner at a time, also where coroutines change threads. Where a
 * function ends in a jump to another that is followed too, both return at once:
 * the other is a level above. What an exception or longjmp left here is replaced
 * when its place on the stack is used again. */
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
	__u32 place;
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

/* A value cut to a width, and extended as its type says. */
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

static __always_inline void send_call(struct who *w, struct pending_return *call, __u8 op, __u8 flags,
				      __u8 count, __u64 value, __u64 sp)
{
	__u64 id = (__u64)w->tgid << 32 | w->tid;
	struct call_record *c = 0;
	struct record *r;

	if (count) {
		if (room() && (!any_lost || tell_lost(id)))
			c = bpf_ringbuf_reserve(&ring, sizeof(*c), 0);
		if (!c) {
			count_lost(id);
			return;
		}
		__builtin_memcpy(c->args, call->args, sizeof(c->args));
		r = &c->head;
	} else {
		r = reserve(w, false);
		if (!r)
			return;
	}
	r->time = bpf_ktime_get_ns();
	r->object = call->object;
	r->value = value;
	r->sp = sp;
	r->entered = 0;
	r->tid = w->tid;
	r->tgid = w->tgid;
	r->site = call->site;
	r->place = call->place;
	r->op = op;
	r->flags = flags;
	r->pad = 0;
	r->result = 0;
	if (c)
		bpf_ringbuf_submit(c, wake_flags(false, sizeof(*c)));
	else
		bpf_ringbuf_submit(r, wake_flags(false, sizeof(*r)));
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

static __always_inline void called(struct pt_regs *ctx, struct site *site, __u32 index, struct who *w, __u64 sp)
{
	struct pending_return call = {};
	__u32 number = site->imm;
	struct signature *sig = bpf_map_lookup_elem(&signatures, &number);

	if (!sig)
		return;
	call.object = kept(ctx, site->object_from, site->object_reg, site->object_disp, sp);
#pragma unroll
	for (__u32 i = 0; i < MAX_ARGS; i++) {
		if (i >= sig->count)
			break;
		call.args[i] = argument(ctx, sig, i, sp);
	}
	call.site = index;
	call.place = place_of(ctx, site, index, sp, w, slot_of(w->tid));
	if (site->action != ACTION_EMIT) {
		/* An inlined copy has no return address, and no frame but that of the
		 * function around it, which may be under way too. */
		call.caller = site->at_entry ? return_address(ctx, sp) : 0;
		expect_return(&call, site->at_entry ? sp : sp | 1, w->tgid);
	}
	if (site->action != ACTION_SAVE)
		send_call(w, &call, OP_CALL, 0, sig->count, 0, sp);
}

/* The return of the call at one level of a stack pointer; not had: without its
 * result. Not static, so that the verifier judges it by itself, once. */
__noinline int returned(__u64 sp, __u64 id, __u32 level, __u64 result, __u32 had)
{
	struct frame_key key = {.sp = sp, .tgid = id >> 32, .level = level};
	struct who w = {.tid = id, .tgid = id >> 32};
	struct pending_return *call, copy;
	struct site *site;
	struct signature *sig;
	__u32 number;
	__u8 flags = REC_LEAVE;

	call = bpf_map_lookup_elem(&pending_returns, &key);
	if (!call)
		return 0;
	site = bpf_map_lookup_elem(&sites, &call->site);
	if (!site)
		return 0;
	number = site->imm;
	sig = bpf_map_lookup_elem(&signatures, &number);
	if (!sig)
		return 0;
	if (sig->result && had) {
		flags |= REC_VALUE;
		result = cut(result, sig->result);
	} else {
		result = 0;
	}
	copy = *call;
	bpf_map_delete_elem(&pending_returns, &key);
	send_call(&w, &copy, OP_RETURN, flags, sig->count, result, sp & ~1ULL);
	return 0;
}

/* One site of a chain, as one_site. */
__noinline __u32 one_call(struct pt_regs *ctx, __u32 index, __u64 id)
{
	struct who w = {.tid = id, .tgid = id >> 32};
	struct site *site = bpf_map_lookup_elem(&sites, &index);
	struct frame_key key = {};
	struct pending_return *first;
	__u32 top;

	if (!site)
		return 0;
	if (site->when && !condition(ctx, site->when - 1))
		return site->next;
	key.sp = REG_SP(ctx) + site->sp_delta;
	key.tgid = w.tgid;
	if (site->action != ACTION_RETURN && site->action != ACTION_TAIL) {
		called(ctx, site, index, &w, key.sp);
		return site->next;
	}
	if (site->flags & SITE_LEAF)
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
		returned(key.sp, id, top - i, REG_RESULT(ctx), site->result_from == FROM_REG);
	}
	return site->next;
}

SEC("uprobe.multi")
int on_call(struct pt_regs *ctx)
{
	return chain(ctx, one_call);
}

/* The heap, where fields of objects are watched: its blocks have lifetimes. Only
 * those are told of that are as large as an object of a watched type (imm of the
 * sites), and their ends: most of what a program allocates is not. */
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

static __always_inline void keep_block(__u64 addr, __u32 tgid)
{
	struct block_key key = {.addr = addr, .tgid = tgid};
	__u8 one = 1;

	if (bpf_map_update_elem(&blocks, &key, &one, BPF_ANY))
		__sync_fetch_and_add(&lost_blocks, 1);
}

/* Whether the block is one that was told of. It is forgotten before it is freed:
 * afterwards its address may be another's. */
static __always_inline bool forget_block(__u64 addr, __u32 tgid)
{
	struct block_key key = {.addr = addr, .tgid = tgid};

	return addr && !bpf_map_delete_elem(&blocks, &key);
}

static __always_inline void heap_entered(struct pt_regs *ctx, struct site *site, __u32 index, struct who *w, __u64 sp)
{
	__u64 object = operand(ctx, site->object_from, site->object_reg, site->object_disp, 0);
	__u64 size = operand(ctx, site->second_from, site->second_reg, 0, 0);
	struct slot *slot = slot_of(w->tid);
	struct pending_call call;
	bool had = false;

	if (site->op == OP_CONSTRUCT) {
		emit(ctx, site, index, w, object, site->imm, 0, 0, sp, 0, 0);
		return;
	}
	if (site->op == OP_DESTRUCT) {
		call.place = 0;
		call.sp = sp;
		call.object = object;
		call.second = site->imm;
		call.entered = 0;
		call.site = index;
		remember(slot, w->tid, &call);
		return;
	}
	if (site->width)
		size *= reg(ctx, site->width - 1);
	if (site->op != OP_ALLOC)
		had = forget_block(object, w->tgid);
	if (site->op == OP_FREE) {
		if (had)
			emit(ctx, site, index, w, object, 0, 0, 0, sp, 0, 0);
		return;
	}
	if (!had && size < site->imm)
		return;
	call.place = place_of(ctx, site, index, sp, w, slot);
	if (had)
		emit(ctx, site, index, w, object, 0, 0, 0, sp, call.place, 0);
	call.sp = sp;
	call.object = had || site->op == OP_ALLOC ? object : 0;
	call.second = size;
	call.entered = 0;
	call.site = index;
	remember(slot, w->tid, &call);
}

static __always_inline void heap_left(struct pt_regs *ctx, struct who *w, __u64 sp)
{
	__u64 block = REG_RESULT(ctx);
	struct pending_call call;
	struct record *r;
	struct site *site;
	__u8 flags = REC_LEAVE;

	if (!recall(slot_of(w->tid), w->tid, sp, &call, true))
		return;
	site = bpf_map_lookup_elem(&sites, &call.site);
	if (!site || (site->op != OP_ALLOC && site->op != OP_MOVE && site->op != OP_DESTRUCT))
		return;
	if (site->op == OP_DESTRUCT) {
		block = call.object;
		goto tell;
	}
	if (site->flags & SITE_INDIRECT) {
		if ((__u32)block || bpf_probe_read_user(&block, sizeof(block), (void *)call.object))
			return;
	}
	if (!block && site->op == OP_ALLOC)
		return;
	if (!block && call.second) { /* realloc failed */
		if (!call.object)
			return;
		block = call.object;
		flags |= REC_FAILED;
	} else if (call.second < site->imm) {
		block = 0;
	}
	if (block)
		keep_block(block, w->tgid);
tell:
	r = reserve(w, false);
	if (!r)
		return;
	r->time = bpf_ktime_get_ns();
	r->object = block;
	r->value = call.second;
	r->sp = sp;
	r->entered = 0;
	r->tid = w->tid;
	r->tgid = w->tgid;
	r->site = call.site;
	r->place = call.place;
	r->op = site->op;
	r->flags = flags;
	r->pad = 0;
	r->result = 0;
	submit(r, false);
}

/* One site of a chain, as one_site. */
__noinline __u32 one_heap(struct pt_regs *ctx, __u32 index, __u64 id)
{
	struct who w = {.tid = id, .tgid = id >> 32};
	struct site *site = bpf_map_lookup_elem(&sites, &index);

	if (!site)
		return 0;
	if (site->action == ACTION_RETURN)
		heap_left(ctx, &w, REG_SP(ctx) + site->sp_delta);
	else
		heap_entered(ctx, site, index, &w, REG_SP(ctx) + site->sp_delta);
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
	__u64 cookie = bpf_get_attach_cookie(ctx);
	struct who w = current_thread();

	if (cookie & COOKIE_FILTER && !bpf_map_lookup_elem(&targets, &w.tgid))
		return 0;
	heap_left(ctx, &w, ENTRY_SP_AT_RETURN(ctx));
	return 0;
}

static __always_inline void thread_record(struct who *w, __u8 op, __u8 flags, __u64 object, __u64 value,
					  __u32 place)
{
	struct record *r = reserve(w, true);

	if (!r)
		return;
	r->time = bpf_ktime_get_ns();
	r->object = object;
	r->value = value;
	r->sp = 0;
	r->entered = 0;
	r->tid = w->tid;
	r->tgid = w->tgid;
	r->site = 0;
	r->place = place;
	r->op = op;
	r->flags = flags;
	r->pad = 0;
	r->result = 0;
	submit(r, op != OP_FORK);
}

/* Forgets an ended thread that has lost nothing but what it has told of. */
static __noinline int told(__u32 tid)
{
	struct lost_line *line = bpf_map_lookup_elem(&lost, &tid);

	if (line && !line->records)
		bpf_map_delete_elem(&lost, &tid);
	return 0;
}

/* A thread that calls execve goes on under another id. */
static __noinline int renamed(__u32 old, __u64 id)
{
	__u32 tid = id;
	struct lost_line *line = bpf_map_lookup_elem(&lost, &old), *own = bpf_map_lookup_elem(&lost, &tid);

	if (!line || old == tid)
		return 0;
	if (own)
		own->records += line->records;
	else
		bpf_map_update_elem(&lost, &tid, line, BPF_ANY);
	bpf_map_delete_elem(&lost, &old);
	return 0;
}

#define CLONE_VM 0x100
#define CLONE_THREAD 0x10000

/* In the parent, before the child runs: knows both. */
SEC("tp_btf/task_newtask")
int on_fork(__u64 *ctx)
{
	struct task_struct *child = (void *)ctx[0];
	__u64 clone_flags = ctx[1];
	struct who w = current_thread();
	__u8 flags = 0, one = 1;
	__u32 tid;

	if (!bpf_map_lookup_elem(&targets, &w.tgid))
		return 0;
	tid = task_id(child);
	if (clone_flags & CLONE_THREAD) {
		crowded = 1;
	} else {
		flags = clone_flags & CLONE_VM ? REC_PROCESS | REC_SHARED : REC_PROCESS;
		if (follow)
			bpf_map_update_elem(&targets, &tid, &one, BPF_ANY);
	}
	thread_record(&w, OP_FORK, flags, tid, THREAD_POINTER(child), 0);
	return 0;
}

#define SIGNAL_GROUP_EXIT 4 /* of signal_struct */
#define PF_SIGNALED 0x400   /* of task_struct: killed, as by another thread's exit_group or execve */

SEC("tp_btf/sched_process_exit")
int on_exit(__u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct who w = current_thread();
	struct slot *slot;
	bool process;

	if (!bpf_map_lookup_elem(&targets, &w.tgid))
		return 0;
	process = task->flags & PF_SIGNALED || task->signal->flags & SIGNAL_GROUP_EXIT;
	thread_record(&w, OP_EXIT, process ? REC_PROCESS : 0, w.tid, process ? task->signal->group_exit_code : 0, 0);
	if (any_lost)
		told(w.tid);
	slot = slot_of(w.tid);
	if (slot)
		slot->tid = 0;
	return 0;
}

SEC("tp_btf/sched_process_exec")
int on_exec(__u64 *ctx)
{
	struct who w = current_thread();

	if (!bpf_map_lookup_elem(&targets, &w.tgid))
		return 0;
	thread_record(&w, OP_EXEC, 0, (__u32)ctx[1], 0, 0);
	if (any_lost)
		renamed(ctx[1], (__u64)w.tgid << 32 | w.tid);
	return 0;
}

struct seq_file;
struct bpf_iter_meta {
	struct seq_file *seq;
	__u64 session_id;
	__u64 seq_num;
} CORE;
struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
} CORE;

struct task_line {
	__u32 tid, tgid;
	__u64 thread_pointer;
};

/* The threads that live already when observation begins. */
SEC("iter/task")
int list_tasks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct task_line line = {};

	if (!task)
		return 0;
	line.tgid = task_id(BPF_CORE_READ(task, group_leader));
	if (!line.tgid || !bpf_map_lookup_elem(&targets, &line.tgid))
		return 0;
	line.tid = task_id(task);
	line.thread_pointer = THREAD_POINTER(task);
	bpf_seq_write(ctx->meta->seq, &line, sizeof(line));
	return 0;
}

#include "watch.h"
#include "io.h"
#include "unseen.h"
#include "sleeper.h"

/* Types that no map names, for the generator. */
struct watched_line *unused_watched_line __attribute__((unused));
struct record *unused_record __attribute__((unused));
struct stack_record *unused_stack_record __attribute__((unused));
struct stack_part *unused_stack_part __attribute__((unused));
struct task_line *unused_task_line __attribute__((unused));
struct lost_line *unused_lost_line __attribute__((unused));
struct call_record *unused_call_record __attribute__((unused));
struct sleeper *unused_sleeper __attribute__((unused));
struct tally *unused_tally __attribute__((unused));
