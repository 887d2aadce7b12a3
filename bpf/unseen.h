/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Who executed instructions that synchronise unobserved. The first hits of an instruction are
 * sent, each. Once there are many, user space is asked to remove the probe.
 */
#ifndef TRACEPREDICT_UNSEEN_H
#define TRACEPREDICT_UNSEEN_H

#include "probe.h"
#include "ringbuf.h"

#define MAX_UNSEEN 8192 /* number 0 is none */
#define UNSEEN_HITS 16
#define UNSEEN_COSTS 512       /* hits that cost about as much as it does to remove the probe */
#define UNSEEN_REMOVE 2        /* in a record: UNSEEN_COSTS are reached */
#define UNSEEN_EARLY (1 << 16) /* of a cookie: counts while a process has one thread, too */
#define UNSEEN_ASKS (1 << 17)  /* of a cookie: a loop that waits by asking is left */
#define UNSEEN_ALONE 65536     /* of all instructions together, before there is a second thread */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_UNSEEN);
	__type(key, __u32);
	__type(value, __u32);
} unseen_hits SEC(".maps");

/* What a thread has asked for by its last system call that asks (asks.h). */
struct asker {
	__u64 key[2];      /* 0: nothing */
	__u64 known[2];    /* of the last answers that were recorded */
	__u32 version[2];  /* likewise: the changes then */
	__u32 pauses, pad; /* since then */
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1 << 12);
	__type(key, __u32);
	__type(value, struct asker);
} askers SEC(".maps");

SEC("uprobe.multi")
int on_unseen(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);
	__u64 thread = current_thread();
	__u32 number = cookie & (MAX_UNSEEN - 1), n;
	bool early = cookie & UNSEEN_EARLY;
	__u32 *hits, tid = thread;
	struct asker *a = 0;
	__u64 one = 0, other = 0;

	if (!is_observed(cookie, thread))
		return 0;
	hits = bpf_map_lookup_elem(&unseen_hits, &number);
	if (!hits)
		return 0;
	/* The only thread of a process orders nothing; but its hits cost, too. A pointer that it
	 * hands out is there for the others. */
	if (!early && !crowded && !follow && __sync_fetch_and_add(&unseen_alone, 1) < UNSEEN_ALONE)
		return 0;
	n = __sync_fetch_and_add(hits, 1) + 1;
	if (n > UNSEEN_HITS &&
		n & (n - 1)) /* said again at powers of 2: a record may have been lost */
		return 0;
	if (cookie & UNSEEN_ASKS)
		a = bpf_map_lookup_elem(&askers, &tid);
	if (a && a->pauses <= 1) { /* asked for in the last iteration */
		one = a->key[0];
		other = a->key[1];
	}
	send_now(thread,
		(struct record){.op = OP_UNSEEN,
			.object = number,
			.value = early,
			.asked = one,
			.sp = other,
			.result = n >= UNSEEN_COSTS ? UNSEEN_REMOVE : n >= UNSEEN_HITS},
		false, n == UNSEEN_HITS);
	return 0;
}

#endif
