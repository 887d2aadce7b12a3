/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * A formula on what threads know of one another, evaluated in the thread that is observed. It is the algorithm of
 * analysis/knowledge, with vectors in maps, for a few threads. What the formula means is data (struct formula), but for
 * its expressions, whose code user space puts in place of on_matched and on_body (monitor.h).
 *
 * Two threads that use an object at the same time have no order here. So one claims it, and if the other does not get
 * it, the object is given up. Whoever has used it, uses it later, or learns something from these threads is unsure, and
 * no verdict falls in its states: the mark goes where knowledge goes, and stays. If something happens of which it is not
 * known whom it concerns, the formula is given up: no verdict falls any more. User space goes on.
 */
#ifndef TRACEPREDICT_KNOWLEDGE_H
#define TRACEPREDICT_KNOWLEDGE_H

#include "doubt.h"
#include "globals.h"
#include "monitor.h"
#include "record.h"
#include "ringbuf.h"

struct known_object {
	__u64 claim; /* the thread that uses it now; 0: none does */
	/* The last thread that used it, the version of what that knew, and how. */
	__u64 last, version;
	__u32 wrote, exclusive;
	__u64 value; /* that was written last */
	__u32 valued;
	__u32 given_up;
	__u64 users; /* the slots of the threads that have used it, a bit for each */
	struct known_vector access, write;
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, struct known_object);
} known_objects SEC(".maps");

/* What a new object is made of: the stack has no room for it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct known_object);
} new_object SEC(".maps");

/* Makes what learns from a vector unsure if that is. No mark is ever taken back, so that two threads can do so at the same
 * time. */
static __always_inline void pass_mark(struct known_vector *to, struct known_vector *from)
{
	if (from->unsure)
		to->unsure = 1;
}

/* Takes into a vector what another one knows that is newer. Returns whether there was any. */
static __noinline int take(struct known_vector *to, struct known_vector *from)
{
	int news = 0;

	if (!to || !from)
		return 0;
	pass_mark(to, from);
	if (from->ended & ~to->ended) {
		to->ended |= from->ended;
		news = 1;
	}
	for (int i = 0; i < KNOWN_ENTRIES; i++) {
		if (i >= evaluated.entries)
			break;
		if (from->at[i].seq > to->at[i].seq) {
			to->at[i] = from->at[i];
			news = 1;
		}
	}
	return news;
}

static __noinline int copy(struct known_vector *to, struct known_vector *from)
{
	if (!to || !from)
		return 0;
	pass_mark(to, from);
	to->ended = from->ended;
	for (int i = 0; i < KNOWN_ENTRIES; i++) {
		if (i >= evaluated.entries)
			break;
		to->at[i] = from->at[i];
	}
	return 0;
}

/* The slots of the threads of a formula, by number, four bits each. */
#define NOBODY 15
static __always_inline __u32 slot_in(__u32 env, __u32 number)
{
	return env >> (4 * (number & 3)) & NOBODY;
}

static __always_inline __u32 with_slot(__u32 env, __u32 number, __u32 slot)
{
	__u32 shift = 4 * (number & 3);

	return (env & ~(NOBODY << shift)) | slot << shift;
}

/* Returns a body. The numbers are those of the formula; the verifier does not know that. */
static __always_inline const volatile struct formula_body *body_of(__u32 number)
{
	return &evaluated.body[number & (FORMULA_BODIES - 1)];
}

/* Returns the index of the entry of a remote expression with threads in place of those that it names. */
static __always_inline __u32 entry_index(const volatile struct formula_body *b, __u32 env)
{
	__u32 at = 0;

	for (__u32 n = 0; n < KNOWN_NUMBERS; n++)
		if (b->names & 1 << n)
			at = at * KNOWN_THREADS + slot_in(env, n);
	return (b->base + at) & (KNOWN_ENTRIES - 1);
}

/* Computes a body in the present state of the thread in a slot, into the thread's out. */
__noinline int known_value(__u32 slot, __u32 number, __u32 env, __u32 other)
{
	struct known_vector *v = bpf_map_lookup_elem(&known_vectors, &slot);
	struct known_thread *t = bpf_map_lookup_elem(&known, &slot);
	const volatile struct formula_body *b, *of;

	if (!t || !v)
		return 0;
	b = body_of(number);
	for (__u32 k = 0; k < FORMULA_INPUTS; k++) {
		__u64 x = 0;
		__u32 index, at;

		if (k >= b->inputs)
			break;
		index = b->input[k].index;
		switch (b->input[k].kind) {
		case INPUT_LOCAL:
			x = t->locals[index & (KNOWN_LOCALS - 1)];
			break;
		case INPUT_HAPPENED:
			x = t->matched >> (index & 63) & 1;
			break;
		case INPUT_REMOTE:
			of = body_of(index);
			at = entry_index(of, env);
			x = v->at[at].seq ? v->at[at].value : of->initial;
			break;
		case INPUT_PAST:
			x = t->holds[index & (FORMULA_BODIES - 1)] >> (other & 31) & 1;
			break;
		}
		t->in[k] = x;
	}
	on_body(t, number);
	return 0;
}

/* Evaluates a remote expression in the present state of its thread. */
static __always_inline int known_remote(__u32 slot, __u32 number, __u32 env, __u32 other)
{
	struct known_vector *v = bpf_map_lookup_elem(&known_vectors, &slot);
	struct known_thread *t = bpf_map_lookup_elem(&known, &slot);
	const volatile struct formula_body *b;
	__u64 was;
	__u32 at;

	if (!t || !v)
		return 0;
	b = body_of(number);
	known_value(slot, number, env, other);
	at = entry_index(b, env);
	was = v->at[at].seq ? v->at[at].value : b->initial;
	if (t->out != was) {
		v->at[at].seq++;
		v->at[at].value = t->out;
		t->version++;
	}
	return 0;
}

static __always_inline void put_bit(__u32 *bits, __u32 bit, bool value)
{
	if (value)
		*bits |= bit;
	else
		*bits &= ~bit;
}

/* Returns whether a body names a thread besides that of its states. */
static __always_inline bool names_other(__u32 number)
{
	const volatile struct formula_body *b = body_of(number);

	return b->names & ~(1 << b->thread);
}

/* Evaluates a formula in the present state of its thread. It becomes false at most once until it is true again. */
static __always_inline int known_verdict(__u32 slot, __u32 number, __u32 env, __u32 other)
{
	struct known_thread *t = bpf_map_lookup_elem(&known, &slot);
	__u32 bit = 1U << (other & 31), *violated;

	if (!t)
		return 0;
	known_value(slot, number, env, other);
	violated = &t->violated[number & (FORMULA_BODIES - 1)];
	if (!t->out && !(*violated & bit)) {
		t->verdict = 1 + number;
		t->verdict_other = names_other(number) ? other : KNOWN_THREADS;
	}
	put_bit(violated, bit, !t->out);
	return 0;
}

/* Evaluates an operand of an operator that looks at the past. */
static __always_inline int known_part(__u32 slot, __u32 number, __u32 env, __u32 other)
{
	struct known_thread *t = bpf_map_lookup_elem(&known, &slot);

	if (!t)
		return 0;
	known_value(slot, number, env, other);
	put_bit(&t->holds[number & (FORMULA_BODIES - 1)], 1U << (other & 31), t->out);
	return 0;
}

static __always_inline __u32 operand_holds(
	struct known_thread *t, const volatile struct formula_body *b, __u32 n, __u32 other)
{
	return n < b->inputs ? t->holds[b->input[n].index & (FORMULA_BODIES - 1)] >> other & 1 : 0;
}

/* Evaluates an operator that looks at the past, after its operands. */
static __always_inline int known_past(__u32 slot, __u32 number, __u32 other)
{
	struct known_thread *t = bpf_map_lookup_elem(&known, &slot);
	const volatile struct formula_body *b = body_of(number);
	__u32 bit = 1U << (other & 31), at = number & (FORMULA_BODIES - 1), is;

	if (!t)
		return 0;
	other &= 31;
	is = operand_holds(t, b, 0, other) | operand_holds(t, b, 1, other) << 1;
	is |= (t->keeps[at] >> other & 1) << 2;
	if (!(t->begun[b->root & (FORMULA_BODIES - 1)] & bit))
		is |= 8;
	put_bit(&t->holds[at], bit, b->holds >> is & 1);
	put_bit(&t->keeps[at], bit, b->keeps >> is & 1);
	return 0;
}

/* Evaluates a body with another thread in place of the other one that is bound. */
static __always_inline int known_bound(__u32 slot, __u32 number, __u32 env, __u32 other)
{
	struct known_thread *t = bpf_map_lookup_elem(&known, &slot);

	switch (body_of(number)->kind) {
	case BODY_PART:
		return known_part(slot, number, env, other);
	case BODY_PAST:
		return known_past(slot, number, other);
	case BODY_TOP:
		known_verdict(slot, number, env, other);
		break;
	default:
		known_remote(slot, number, env, other);
	}
	if (t)
		t->begun[number & (FORMULA_BODIES - 1)] |= 1U << (other & 31);
	return 0;
}

/* Returns the slots of the threads that a body is not evaluated for. */
static __always_inline __u32 left_out(__u32 slot, __u32 number)
{
	struct known_thread *t = bpf_map_lookup_elem(&known, &slot);

	if (body_of(number)->kind != BODY_TOP)
		return known_dropped;
	return t ? *(volatile __u32 *)&t->gone : 0; /* else the compiler adds to a null pointer */
}

/* Evaluates a body for all threads in place of those that it names besides its own. */
__noinline int known_body(__u32 slot, __u32 number)
{
	const volatile struct formula_body *b;
	__u32 env, others = 0, other = 0, without = left_out(slot, number);

	b = body_of(number);
	env = with_slot(0xffff, b->thread, slot);
	for (__u32 n = 0; n < KNOWN_NUMBERS; n++) {
		if (b->names & 1 << n && n != b->thread) {
			others++;
			other = n;
		}
	}
	for (__u32 s = 0; s < KNOWN_THREADS; s++) {
		if (!others) {
			known_bound(slot, number, env, 0);
			break;
		}
		if (s >= known_threads || (s == slot && evaluated.differ) || without & 1U << s)
			continue;
		known_bound(slot, number, with_slot(env, other, s), s);
	}
	return 0;
}

/* Drops threads that have ended once all others that live know it. */
static __noinline int drop_ended(void)
{
	__u32 all = known_ended;

	for (__u32 i = 0; i < KNOWN_THREADS; i++) {
		__u32 key = i;
		struct known_thread *t = bpf_map_lookup_elem(&known, &key);

		if (t && t->thread && !(known_ended & 1U << i))
			all &= t->gone;
	}
	known_dropped = all;
	return 0;
}

/* Evaluates all that the formula says of the present state of a thread. Bodies come after those that they name. */
__noinline int known_state(__u32 slot)
{
	struct known_vector *v = bpf_map_lookup_elem(&known_vectors, &slot);
	struct known_thread *t = bpf_map_lookup_elem(&known, &slot);

	if (!v || !t || v->unsure)
		return 0;
	__sync_fetch_and_add(&known_states, 1);
	for (__u32 i = 0; i < FORMULA_BODIES; i++) {
		if (i >= evaluated.bodies)
			break;
		known_body(slot, i);
	}
	if (v->ended & ~t->gone) {
		t->gone |= v->ended;
		drop_ended();
	}
	return 0;
}

/* Returns an object, which is made if there is none; 0 if there is no room. */
static __noinline struct known_object *object_at(__u64 at)
{
	struct known_object *o = bpf_map_lookup_elem(&known_objects, &at), *fresh;
	__u32 zero = 0;

	if (o)
		return o;
	fresh = bpf_map_lookup_elem(&new_object, &zero);
	if (!fresh)
		return 0;
	bpf_map_update_elem(&known_objects, &at, fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(&known_objects, &at);
}

#define CLAIM_TRIES 64

static __always_inline bool claim(struct known_object *o, __u64 thread)
{
	for (int i = 0; i < CLAIM_TRIES; i++)
		if (!__sync_val_compare_and_swap(&o->claim, 0, thread))
			return true;
	return false;
}

/* Gives an object up. What its users know was perhaps not all that it had to pass on. */
static __noinline int give_up_object(struct known_object *o, __u32 why)
{
	if (!o)
		return 0;
	o->access.unsure = o->write.unsure = 1;
	if (__sync_lock_test_and_set(&o->given_up, 1))
		return 0;
	count_doubt(why);
	for (__u32 i = 0; i < KNOWN_THREADS; i++) {
		__u32 key = i;
		struct known_vector *v = bpf_map_lookup_elem(&known_vectors, &key);

		if (v && o->users & 1ULL << i)
			v->unsure = 1;
	}
	return 0;
}

/* How a thread uses an object, and the value that it accesses. */
enum {
	KNOWN_READ = 1,
	KNOWN_WRITE = 2,
	KNOWN_VALUED = 4,
	KNOWN_CHECKED = 8,
	KNOWN_ACQUIRED = 16,
	KNOWN_SHARED = 32,
	KNOWN_RELEASED = 64,
	KNOWN_FAILED = 128
};

/* Compares the value that a thread is about to read or replace with what was written last, and keeps what it writes.
 * Returns false if they contradict each other: between an access and its probe another one has come. */
static __always_inline bool agrees(struct known_object *o, __u32 use, __u64 value)
{
	if (use & KNOWN_CHECKED && o->valued && o->value != value)
		return false;
	if (use & KNOWN_VALUED) {
		o->value = value;
		o->valued = 1;
	} else if (use & KNOWN_WRITE) {
		o->valued = 0;
	}
	return true;
}

/* Returns whether a thread is or becomes unsure when it uses an object. The object is so for others then. */
static __always_inline bool uses_unsure(struct known_vector *v, struct known_object *o, __u32 use)
{
	pass_mark(v, use & KNOWN_WRITE ? &o->access : &o->write);
	if (!v->unsure)
		return false;
	o->access.unsure = 1;
	if (use & KNOWN_WRITE)
		o->write.unsure = 1;
	return true;
}

/* Lets a thread know what an object passes on that it has claimed, and the object what the thread knows then. */
static __always_inline void exchange(struct known_object *o, struct known_thread *t,
	struct known_vector *v, __u32 slot, __u32 use)
{
	if (o->last == t->thread && o->version == t->version && (!(use & KNOWN_WRITE) || o->wrote))
		return;
	if (take(v, use & KNOWN_WRITE ? &o->access : &o->write)) {
		t->version++;
		t->matched = 0;
		known_state(slot);
	}
	if (use & KNOWN_WRITE) {
		copy(&o->access, v);
		copy(&o->write, v);
	} else {
		take(&o->access, v);
	}
	o->last = t->thread;
	o->version = t->version;
	o->wrote = !!(use & KNOWN_WRITE);
}

/* Lets a thread know what an object passes on, and the object what the thread knows then. */
__noinline int known_use(__u64 thread, __u64 at, __u32 use, __u64 value)
{
	__u32 slot = known_slot(thread, true);
	struct known_vector *v = bpf_map_lookup_elem(&known_vectors, &slot);
	struct known_thread *t = bpf_map_lookup_elem(&known, &slot);
	struct known_object *o;

	if (!t || !v || given_up)
		return 0;
	o = object_at(at);
	if (!o) {
		v->unsure = 1;
		count_doubt(GIVEN_UP_OBJECTS);
		return 0;
	}
	if (use & KNOWN_FAILED)
		use |= o->exclusive ? KNOWN_READ : KNOWN_WRITE;
	if (use & KNOWN_RELEASED)
		use |= o->exclusive ? KNOWN_WRITE : KNOWN_READ;
	if (use & (KNOWN_ACQUIRED | KNOWN_SHARED))
		o->exclusive = !!(use & KNOWN_ACQUIRED);
	if (uses_unsure(v, o, use))
		return 0;
	if (!claim(o, thread)) {
		give_up_object(o, GIVEN_UP_CLAIM);
		v->unsure = 1;
		return 0;
	}
	o->users |= 1ULL << (slot & 63);
	if (agrees(o, use, value))
		exchange(o, t, v, slot, use);
	else
		give_up_object(o, GIVEN_UP_VALUES);
	__sync_lock_test_and_set(&o->claim, 0);
	return t->verdict;
}

/* Handles an access of a variable by which threads order themselves, in ways that are not known here. */
static __noinline int known_atomic(__u64 thread, __u32 op, __u64 object)
{
	struct known_object *o;

	if (given_up)
		return 0;
	o = object_at(object);
	if (o)
		o->access.unsure = o->write.unsure = 1;
	return doubt_thread(thread, GIVEN_UP_OPERATION, op);
}

/* Handles an event of a thread that the formula may mention: a bit for each of its events. */
__noinline int known_event(__u64 thread, __u64 events)
{
	__u32 slot = known_slot(thread, true);
	struct known_vector *v = bpf_map_lookup_elem(&known_vectors, &slot);
	struct known_thread *t = bpf_map_lookup_elem(&known, &slot);

	if (!t || !v || v->unsure || given_up)
		return 0;
	t->matched = events;
	on_matched(t);
	if (t->matched & evaluated.mentioned)
		known_state(slot);
	return t->verdict;
}

/* Lets a thread that begins know what its creator does. A verdict on its first state comes with its next event. */
static __noinline int known_fork(__u64 thread, __u64 child, __u64 pointer)
{
	__u32 slot = known_slot(thread, true), begins = known_slot(child, true);
	struct known_vector *from = bpf_map_lookup_elem(&known_vectors, &slot);
	struct known_vector *to = bpf_map_lookup_elem(&known_vectors, &begins);
	struct known_thread *t = bpf_map_lookup_elem(&known, &begins);

	if (!t || !from || !to || given_up)
		return 0;
	t->pointer = pointer;
	take(to, from);
	known_state(begins);
	return 0;
}

/* Ends the thread in a slot. */
static __noinline int known_end(__u32 slot)
{
	struct known_vector *v = bpf_map_lookup_elem(&known_vectors, &slot);
	struct known_thread *t = bpf_map_lookup_elem(&known, &slot);
	__u32 bit = 1U << (slot & 31);

	if (!v || !t || known_ended & bit)
		return 0;
	v->ended |= bit;
	t->version++;
	__sync_fetch_and_or(&known_ended, bit);
	drop_ended();
	return 0;
}

/* Lets a thread know what one knew that it has joined, by the thread pointer of that. */
__noinline int known_join(__u64 thread, __u64 pointer)
{
	__u32 slot = known_slot(thread, true), found = KNOWN_THREADS;
	struct known_vector *to = bpf_map_lookup_elem(&known_vectors, &slot), *from;
	struct known_thread *t = bpf_map_lookup_elem(&known, &slot);

	for (__u32 i = 0; i < KNOWN_THREADS; i++) {
		__u32 key = i;
		struct known_thread *ended = bpf_map_lookup_elem(&known, &key);

		if (ended && ended->thread && ended->pointer == pointer)
			found = i;
	}
	from = bpf_map_lookup_elem(&known_vectors, &found);
	if (!t || !to || given_up)
		return 0;
	if (!from) {
		to->unsure = 1;
		count_doubt(GIVEN_UP_JOIN);
		return 0;
	}
	known_end(found); /* the kernel may come to that only now */
	if (take(to, from)) {
		t->version++;
		t->matched = 0;
		known_state(slot);
	}
	return t->verdict;
}

/* Handles an operation that orders threads. */
__noinline int known_sync(__u64 thread, __u32 op, __u32 flags, __u64 object, __u64 second)
{
	int verdict = 0;

	switch (op) {
	case OP_ACQUIRE:
		return known_use(thread, object,
			flags & REC_FAILED ? KNOWN_FAILED : KNOWN_WRITE | KNOWN_ACQUIRED, 0);
	case OP_ACQUIRE_READ:
		return known_use(thread, object,
			flags & REC_FAILED ? KNOWN_FAILED : KNOWN_READ | KNOWN_SHARED, 0);
	case OP_RELEASE:
		return known_use(thread, object, KNOWN_RELEASED, 0);
	case OP_SIGNAL:
	case OP_BROADCAST:
	case OP_INIT:
		return known_use(thread, object, KNOWN_WRITE, 0);
	case OP_DESTROY: /* another one may begin at its address */
		verdict = known_use(thread, object, KNOWN_WRITE, 0);
		bpf_map_delete_elem(&known_objects, &object);
		return verdict;
	case OP_WAIT:
		if (!(flags & REC_LEAVE)) {
			verdict = known_use(thread, second, KNOWN_RELEASED, 0);
			return known_use(thread, object, KNOWN_READ, 0) ?: verdict;
		}
		if (!(flags & REC_FAILED))
			verdict = known_use(thread, object, KNOWN_WRITE, 0);
		return known_use(thread, second, KNOWN_WRITE | KNOWN_ACQUIRED, 0) ?: verdict;
	case OP_JOIN:
		return flags & REC_FAILED ? 0 : known_join(thread, object);
	}
	return 0;
}

/* Delivers the verdict that the last event of a thread has caused. The record of that event comes before. */
static __noinline int send_verdict(__u64 thread)
{
	__u32 slot = known_slot(thread, false), other;
	struct known_thread *t = bpf_map_lookup_elem(&known, &slot), *of;

	if (!t || !t->verdict)
		return 0;
	other = t->verdict_other;
	of = bpf_map_lookup_elem(&known, &other);
	__sync_fetch_and_add(&known_violations, 1);
	t->told = bpf_ktime_get_ns();
	if (violation_signal)
		bpf_send_signal_thread(violation_signal);
	if (alone)
		send_unordered(thread, (struct record){.op = OP_VERDICT,
					       .value = t->verdict - 1,
					       .extra = of ? (__u32)of->thread : 0});
	t->verdict = 0;
	return 0;
}

/* Handles an operation that orders threads, and delivers the verdict that it causes. */
static __always_inline void knows_sync(
	__u64 thread, __u32 op, __u32 flags, __u64 object, __u64 second)
{
	if (!given_up && known_sync(thread, op, flags, object, second))
		send_verdict(thread);
}

/* Handles an access of a variable that is observed. Returns whether it causes a verdict. */
static __always_inline bool known_access(
	__u64 thread, __u32 op, __u32 flags, __u64 object, __u64 value)
{
	__u32 use = op == OP_READ ? KNOWN_READ : KNOWN_WRITE;

	if (given_up)
		return false;
	if (flags & REC_VALUE)
		use |= op == OP_READ ? KNOWN_CHECKED : KNOWN_VALUED;
	return known_use(thread, object, use, value);
}

/* Likewise an event that the formula mentions, a bit for each. */
static __always_inline bool knows_event(__u64 thread, __u64 events)
{
	return events && !given_up && known_event(thread, events);
}

/* An event for on_step. */
struct known_step {
	__u64 thread;
	__u64 object; /* or the thread that begins, or the thread pointer of the one that is joined */
	__u64 second;
	__u64 events; /* of the formula, a bit for each */
	__u64 value;  /* that is read or written, with REC_VALUE */
	__u32 op, flags;
};

/* Evaluates the formula after one event, for tests. Returns one more than the number of the body that became false; 0: none
 * did. */
SEC("syscall")
int on_step(struct known_step *s)
{
	__u64 thread = s->thread;
	__u32 slot = known_slot(thread, true);
	struct known_thread *t;
	int verdict;

	doubt_operation(thread, s->op);
	switch (s->op) {
	case OP_FORK:
		known_fork(thread, s->object, s->object);
		break;
	case OP_EXIT:
		known_end(slot);
		break;
	case OP_CALL:
	case OP_RETURN:
		known_event(thread, s->events);
		break;
	case OP_READ:
	case OP_WRITE:
		known_access(thread, s->op, s->flags, s->object, s->value);
		break;
	default:
		known_sync(thread, s->op, s->flags, s->object, s->second);
	}
	t = bpf_map_lookup_elem(&known, &slot);
	if (!t)
		return 0;
	verdict = t->verdict;
	t->verdict = 0;
	return verdict;
}

#endif
