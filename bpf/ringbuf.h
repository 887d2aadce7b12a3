/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * The ring buffers: room for records, their headers, waking the reader, and what was lost.
 * Each CPU has one, or shares one with a few others: all would wait for the lock of one alone. The records'
 * numbers have the order of the run.
 */
#ifndef TRACEPREDICT_RINGBUF_H
#define TRACEPREDICT_RINGBUF_H

#include "doubt.h"
#include "globals.h"
#include "record.h"
#include "slot.h"
#include "used.h"

struct ring_buffer {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 16);
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, MAX_RINGS);
	__type(key, __u32);
	__type(value, __u32);
	__array(values, struct ring_buffer);
} ring_buffers SEC(".maps");

/* Returns which ring buffer is that of this CPU: a program stays there until it ends. */
static __always_inline __u32 own_ring(void)
{
	return bpf_get_smp_processor_id() & (rings - 1) & (MAX_RINGS - 1);
}

static __always_inline void *ring_buffer(void)
{
	__u32 ring = own_ring();

	return bpf_map_lookup_elem(&ring_buffers, &ring);
}

/* Returns how many bytes are unread in the ring buffer of this CPU. */
static __always_inline __u64 unread(void)
{
	void *buffer = ring_buffer();

	return buffer ? bpf_ringbuf_query(buffer, BPF_RB_AVAIL_DATA) : 0;
}

/* Returns memory for a record in the ring buffer of this CPU; 0 if it is full. */
#define RESERVE(size)                                                        \
	({                                                                   \
		void *_buffer = ring_buffer();                               \
                                                                             \
		_buffer ? bpf_ringbuf_reserve(_buffer, size, 0) : (void *)0; \
	})

/* Records that were lost and not yet reported, by thread. Only the thread itself writes to
 * its line. */
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

/* How every record begins. It may alias all of them. */
struct header {
	__u8 kind;
	__u8 own[3]; /* of the kind of record */
	__u32 tid, tgid;
	__u32 stack;
	__u64 number;
} __attribute__((may_alias));

#define HAS_HEADER(record)                                                                         \
	_Static_assert(offsetof(struct record, tid) == offsetof(struct header, tid) &&             \
			       offsetof(struct record, tgid) == offsetof(struct header, tgid) &&   \
			       offsetof(struct record, stack) == offsetof(struct header, stack) && \
			       offsetof(struct record, number) == offsetof(struct header, number), \
		#record " begins with a header")
HAS_HEADER(record);
HAS_HEADER(stack_record);
HAS_HEADER(stack_part);

/* Fills the header of a record, but for its number. */
static __always_inline void fill_header(
	void *record, enum record_kind kind, __u64 thread, __u32 stack)
{
	struct header *h = record;

	h->kind = kind;
	h->tid = thread;
	h->tgid = thread >> 32;
	h->stack = stack;
}

/* Returns the flags with which a record of a size is submitted. now: the reader shall have
 * it at once. */
static __always_inline __u64 wake_flags(bool now, __u64 size)
{
	__u64 bytes = unread();

	if (bytes >= ring_limit)
		tight[own_ring()] = 1;
	if (now)
		return BPF_RB_FORCE_WAKEUP;
	/* Once, when the mark is crossed: a wake-up costs more than a record. */
	if (bytes >= wake_bytes && bytes - wake_bytes <= size + 8)
		return BPF_RB_FORCE_WAKEUP;
	return BPF_RB_NO_WAKEUP;
}

/* Draws the number of a record, which says where in the run it is. The record must have been reserved, and be submitted:
 * the reader waits for each number. */
static __always_inline __u64 draw_number(void)
{
	return __sync_fetch_and_add(&numbers.next, 1);
}

/* Submits a record that has been reserved and has all but its number. That is drawn last, since the reader cannot go on
 * while it is in no record. */
static __always_inline void submit_reserved(void *record, __u64 size, bool now)
{
	__u64 flags = wake_flags(now, size);

	((struct header *)record)->number = draw_number();
	bpf_ringbuf_submit(record, flags);
}

/* Fills a record that has been reserved with an event, and submits it. */
static __always_inline void submit(struct record *r, __u64 thread, struct record event, bool now)
{
	fill_header(&event, RECORD_EVENT, thread, event.stack);
	event.time = bpf_ktime_get_ns();
	*r = event;
	submit_reserved(r, sizeof(*r), now);
}

static __noinline int count_lost(__u64 thread)
{
	__u32 tid = thread;
	struct lost_line *line = bpf_map_lookup_elem(&lost, &tid);
	struct lost_line first = {.records = 1, .tgid = thread >> 32};

	__sync_fetch_and_add(&lost_records, 1);
	if (line) {
		line->records++;
		line->tgid = thread >> 32;
	} else {
		bpf_map_update_elem(&lost, &tid, &first, BPF_ANY);
	}
	any_lost = 1;
	return 0;
}

/* Reports, by a record of its own, what the thread has lost. Returns 0 if there is no room
 * for that, so that no record of the thread may follow. */
static __noinline int report_lost(__u64 thread)
{
	__u32 tid = thread;
	struct lost_line *line = bpf_map_lookup_elem(&lost, &tid);
	struct record *r;

	if (!line || !line->records)
		return 1;
	r = RESERVE(sizeof(*r));
	if (!r)
		return 0;
	submit(r, thread, (struct record){.op = OP_HOLE, .value = line->records}, false);
	line->records = 0;
	return 1;
}

/* Reports whether there is room for records that are not of the life of threads. */
static __always_inline bool room(void)
{
	__u32 ring = own_ring();

	if (!tight[ring])
		return true;
	if (unread() >= ring_limit)
		return false;
	tight[ring] = 0;
	return true;
}

/* Reserves room for a record of a thread. It tries so many times: from some contexts the
 * kernel tries for the lock of the ring buffer only once, and another program may have it for a
 * moment. life: the record is of the life of threads or libraries. */
static __always_inline void *reserve(__u64 thread, __u64 size, bool life, int tries)
{
	void *r = 0;

	if ((life || room()) && (!any_lost || report_lost(thread))) {
		for (int i = 0; i < tries && !r; i++)
			r = RESERVE(size);
	}
	if (!r) {
		count_lost(thread);
		if (life)
			__sync_fetch_and_add(&lost_lives, 1);
	}
	return r;
}

/* Sends an event that cannot order the thread's accesses. */
static __always_inline void send_unordered(__u64 thread, struct record event)
{
	struct record *r = reserve(thread, sizeof(*r), false, 1);

	if (r)
		submit(r, thread, event, false);
}

/* Counts an event that may order the thread's accesses, so that the next ones are not
 * redundant. */
static __always_inline void count_order(__u64 thread)
{
	struct slot *slot = unnamed ? slot_of(thread) : 0;

	if (slot) {
		slot->events++;
		slot->outs++;
	}
}

/* Sends an event; life and now as for reserve and submit. */
static __always_inline void send_now(__u64 thread, struct record event, bool life, bool now)
{
	struct record *r;

	if (knows)
		doubt_operation(thread, event.op);
	count_order(thread);
	r = reserve(thread, sizeof(*r), life, 1);
	if (r)
		submit(r, thread, event, now);
}

/* Sends an event about an object. */
static __always_inline void send(__u64 thread, struct record event)
{
	mark_used(event.object);
	send_now(thread, event, false, false);
}

#endif
