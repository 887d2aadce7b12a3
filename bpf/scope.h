/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Scopes whose local properties are monitored here. An event of one is no record: it changes the thread's own state, by
 * a table that user space has made of the properties. A synchronising action ends the region: its record brings the
 * states of the threads, and each begins anew.
 *
 * A thread has two words, for regions of even and of odd number. A word has the number of its region in its upper 16
 * bits, and the state of each property in a byte: so the thread steps all of them by one exchange that fails if the
 * region has been closed meanwhile, and a region is closed for a thread by one exchange. An event whose exchange fails
 * counts in the next region: it did not come before the action. The words of threads that did nothing are older. All
 * of this holds if actions come one after the other; where two are under way at once, that is counted.
 */
#ifndef TRACEPREDICT_SCOPE_H
#define TRACEPREDICT_SCOPE_H

#include "ringbuf.h"
#include "site.h"

#define SCOPE_LOCALS 6
#define SCOPE_THREADS 1024
#define SCOPE_TABLE (1 << 16)
#define SCOPE_REGION 48 /* where, in a word, the number of the region begins */
#define SCOPE_TRIES 8
#define SCOPE_WHENS 4

/* The automata of the local properties. State 0 is the first of each. */
struct scope_automata {
	struct {
		__u32 from;  /* index in next of its state 0 */
		__u32 shift; /* binary logarithm of the number of letters */
	} local[SCOPE_LOCALS];
	__u8 next[SCOPE_TABLE]; /* by state and letter */
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scope_automata);
} scope_tables SEC(".maps");

/* An event that has a condition. */
struct scope_when {
	__u8 letter[SCOPE_LOCALS]; /* as in scope_site, if the condition holds */
	__u8 number;               /* for on_when */
	__u8 inputs;
	__u8 from[SCOPE_INPUTS]; /* by input: the parameter; MAX_ARGS: the result */
};

/* What the calls or the returns of a site are, by site << 1, plus 1 for returns. */
struct scope_site {
	__u8 letter[SCOPE_LOCALS]; /* by property; 0: no event of it */
	__u8 local;                /* an event of some property */
	__u8 action;               /* a synchronising action */
	__u8 whens;                /* events that have conditions */
	struct scope_when when[SCOPE_WHENS];
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scope_site);
} scope_sites SEC(".maps");

/* The operations on a lock that are synchronising actions. */
struct scope_lock {
	__u64 object;
	__u32 tgid;
	__u32 op;
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct scope_lock);
	__type(value, __u8);
} scope_locks SEC(".maps");

struct scope_thread {
	__u64 thread; /* 0: free */
	__u64 word[2];
	__u64 events; /* of local properties; the thread alone writes it */
	__u64 ended;  /* SCOPE_ENDED, SCOPE_NAMED */
};
#define SCOPE_ENDED 1
#define SCOPE_NAMED 2 /* it got a name in the region, behind events that its states have */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scope_thread);
} scope_threads SEC(".maps");

/* Where a thread is in scope_threads. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, __u32);
} scope_places SEC(".maps");

__u64 scope_region;    /* number of the present one */
__u64 scope_missed;    /* events that have no place in a state */
__u64 scope_events;    /* of threads that are no longer in scope_threads */
__u64 scope_records;   /* of actions */
__u32 scope_used;      /* so many of scope_threads have been in use */
__u32 scope_under_way; /* actions that are */

/* What a region brings of a thread whose state has changed in it. */
struct scope_state {
	__u32 tid;
	__u32 ended;
	__u64 word;
};

/* The record of a synchronising action, which the states of count threads follow. */
struct scope_record {
	struct record head;
	__u64 region; /* number of the one that ends */
	__u64 missed; /* events of all regions so far that have no place in a state */
	__u32 count;
	__u32 together; /* not 0: another action was under way, or a thread too many began */
};

#define SCOPE_RECORD(n)                       \
	struct scope_record_##n {             \
		struct scope_record action;   \
		struct scope_state states[n]; \
	}
SCOPE_RECORD(8);
SCOPE_RECORD(64);
SCOPE_RECORD(1024);

/* Returns the number of a region as a word has it. */
static __always_inline __u64 in_word(__u64 region)
{
	return region << SCOPE_REGION;
}

static __always_inline struct scope_thread *scope_place(__u32 i)
{
	return bpf_map_lookup_elem(&scope_threads, &i);
}

/* Who looks for a place. */
struct scope_newcomer {
	__u64 thread;
	__u32 place;
};
static int scope_try_place(__u32 i, void *context)
{
	struct scope_newcomer *c = context;
	struct scope_thread *t = scope_place(i);

	c->place = i;
	return !t || !__sync_val_compare_and_swap(&t->thread, 0, c->thread);
}

/* Finds a place for a thread that has none: a free one, or else the next one. */
static __noinline int scope_enter(__u64 thread)
{
	struct scope_newcomer c = {.thread = thread, .place = SCOPE_THREADS};
	struct scope_thread *t;
	__u32 used = scope_used;

	if (used)
		bpf_loop(used, scope_try_place, &c, 0);
	t = scope_place(c.place);
	if (!t || t->thread != thread) {
		c.place = __sync_fetch_and_add(&scope_used, 1);
		t = scope_place(c.place);
		if (!t) {
			__sync_fetch_and_add(&scope_used, -1);
			return 0;
		}
		t->word[0] = t->word[1] = in_word(scope_region - 1);
		t->thread = thread;
	}
	bpf_map_update_elem(&scope_places, &thread, &c.place, BPF_ANY);
	return 0;
}

static __always_inline struct scope_thread *scope_thread_of(__u64 thread)
{
	__u32 *i = bpf_map_lookup_elem(&scope_places, &thread);

	if (!i) {
		scope_enter(thread);
		i = bpf_map_lookup_elem(&scope_places, &thread);
	}
	return i ? scope_place(*i) : 0;
}

/* An event, as the properties read it. */
struct scope_letters {
	__u8 of[SCOPE_LOCALS];
};

/* Returns the states after an event. */
static __always_inline __u64 scope_next(
	struct scope_automata *a, struct scope_letters *l, __u64 states)
{
	__u64 out = 0;

#pragma unroll
	for (int i = 0; i < SCOPE_LOCALS; i++) {
		__u64 state = states >> (8 * i) & 0xff, at;

		if (l->of[i]) {
			at = a->local[i].from + (state << (a->local[i].shift & 7)) + l->of[i];
			asm volatile("" : "+r"(at)); /* or the verifier does not see the bound */
			state = a->next[at & (SCOPE_TABLE - 1)];
		}
		out |= state << (8 * i);
	}
	return out;
}

/* Lets the properties read an event of a thread. */
__noinline int scope_step(struct scope_letters *l, __u64 thread)
{
	__u32 zero = 0;
	struct scope_automata *a = bpf_map_lookup_elem(&scope_tables, &zero);
	struct scope_thread *t = scope_thread_of(thread);

	if (!l)
		return 0;
	if (a && t) {
		t->events++;
		for (int i = 0; i < SCOPE_TRIES; i++) {
			__u64 region = *(volatile __u64 *)&scope_region;
			__u64 *word = &t->word[region & 1];
			__u64 was = *(volatile __u64 *)word, states = was << 16 >> 16;

			if (was >> SCOPE_REGION != (region & 0xffff))
				states = 0;
			states = scope_next(a, l, states) | in_word(region);
			if (__sync_val_compare_and_swap(word, was, states) == was)
				return 0;
		}
	}
	__sync_fetch_and_add(&scope_missed, 1);
	return 0;
}

enum {
	SCOPE_NOTHING,
	SCOPE_LOCAL, /* what was recorded is in the thread's state */
	SCOPE_ACTION,
};

/* Returns what the calls or the returns of a site are; null: nothing. */
static __always_inline struct scope_site *scope_site_of(__u32 site, __u32 returns)
{
	__u32 key = site << 1 | returns;

	return bpf_map_lookup_elem(&scope_sites, &key);
}

/* Returns whether what they are depends on conditions. */
static __always_inline bool scope_asks(__u32 site, __u32 returns)
{
	struct scope_site *s = scope_site_of(site, returns);

	return s && s->whens;
}

/* Returns whether a word has states of a region that are not the first ones. */
static __always_inline bool scope_has(__u64 word, __u64 region)
{
	return word >> SCOPE_REGION == (region & 0xffff) && word << 16;
}

/* Closes a region for the thread in a place, and adds the thread to the record if its state has changed. */
static __always_inline int scope_close_one(
	__u32 i, struct scope_record *r, struct scope_state *states, __u32 room)
{
	struct scope_thread *t = scope_place(i);
	__u64 region = r->region, was;
	__u32 n = r->count;

	if (!t)
		return 1;
	was = __sync_lock_test_and_set(&t->word[region & 1], in_word(region + 1));
	if (scope_has(was, region) && n < room) {
		states[n].tid = t->thread;
		states[n].ended = t->ended;
		states[n].word = was;
		r->count = n + 1;
	}
	__sync_fetch_and_and(&t->ended, ~(__u64)SCOPE_NAMED);
	if (t->ended && !scope_has(t->word[~region & 1], region + 1)) {
		__sync_fetch_and_add(&scope_events, t->events);
		t->events = t->ended = 0;
		t->thread = 0;
	}
	return 0;
}

struct scope_closing {
	void *record;
};
#define SCOPE_CLOSE(n)                                               \
	static int scope_close_##n(__u32 i, void *context)           \
	{                                                            \
		struct scope_closing *c = context;                   \
		struct scope_record_##n *r = c->record;              \
                                                                     \
		return scope_close_one(i, &r->action, r->states, n); \
	}
SCOPE_CLOSE(8)
SCOPE_CLOSE(64)
SCOPE_CLOSE(1024)

/* Closes the region for all threads. The record has its place among the others before that: what a thread does in the next
 * region comes after it. */
#define SCOPE_SEND(n)                                                               \
	do {                                                                        \
		struct scope_record_##n *r = reserve(thread, sizeof(*r), false, 1); \
		struct scope_closing c = {.record = r};                             \
                                                                                    \
		if (!r)                                                             \
			break;                                                      \
		event->number = draw_number();                                      \
		r->action.count = 0;                                                \
		r->action.together = __sync_fetch_and_add(&scope_under_way, 1);     \
		r->action.region = __sync_fetch_and_add(&scope_region, 1);          \
		bpf_loop(scope_used < n ? scope_used : n, scope_close_##n, &c, 0);  \
		r->action.missed = scope_missed;                                    \
		r->action.together |= scope_used > n;                               \
		__sync_fetch_and_add(&scope_records, 1);                            \
		__sync_fetch_and_add(&scope_under_way, -1);                         \
		event->time = bpf_ktime_get_ns();                                   \
		r->action.head = *event;                                            \
		bpf_ringbuf_submit(r, wake_flags(false, sizeof(*r)));               \
	} while (0)

/* Ends the region by an action, and sends the action's record. If that is lost, the region goes on. */
__noinline int scope_action(struct record *event, __u64 thread)
{
	if (!event)
		return 0;
	mark_used(event->object);
	count_order(thread);
	fill_header(event, RECORD_SCOPE, thread, event->stack);
	if (scope_used <= 8)
		SCOPE_SEND(8);
	else if (scope_used <= 64)
		SCOPE_SEND(64);
	else
		SCOPE_SEND(1024);
	return 0;
}

/* Returns whether an operation on an object is a synchronising action. */
static __always_inline bool is_action(__u64 thread, __u32 op, __u64 object)
{
	struct scope_lock key = {.object = object, .tgid = thread >> 32, .op = op};

	return bpf_map_lookup_elem(&scope_locks, &key);
}

/* Returns whether an operation that begins is one. A wait for a condition releases its mutex, which is second. */
static __always_inline bool acts(__u64 thread, __u32 op, __u64 object, __u64 second)
{
	if (op == OP_WAIT)
		return is_action(thread, OP_RELEASE, second);
	return is_action(thread, op, object);
}

/* Returns whether an operation that is over is one. A wait for a condition has acquired its mutex, whatever it returns. */
static __always_inline bool has_acted(__u64 thread, struct record *event)
{
	if (event->op == OP_WAIT)
		return is_action(thread, OP_ACQUIRE, event->value);
	return !(event->flags & REC_FAILED) && is_action(thread, event->op, event->object);
}

/* Sends an event that may be a synchronising action. */
static __always_inline void send_acting(__u64 thread, struct record event)
{
	if (scoped && has_acted(thread, &event))
		scope_action(&event, thread);
	else
		send(thread, event);
}

/* Ends a thread. */
static __always_inline void scope_leave(__u64 thread)
{
	__u32 *i = bpf_map_lookup_elem(&scope_places, &thread);
	struct scope_thread *t = i ? scope_place(*i) : 0;

	if (!t)
		return;
	bpf_map_delete_elem(&scope_places, &thread);
	__sync_fetch_and_or(&t->ended, SCOPE_ENDED);
}

/* Notes that a thread gets a name: which types it has follows from that, and its events before do not count. */
static __always_inline void scope_named(__u64 thread)
{
	__u32 *i = bpf_map_lookup_elem(&scope_places, &thread);
	struct scope_thread *t = i ? scope_place(*i) : 0;
	__u64 region = *(volatile __u64 *)&scope_region;

	if (t && scope_has(t->word[region & 1], region))
		__sync_fetch_and_or(&t->ended, SCOPE_NAMED);
}

#endif
