/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Who executed instructions that synchronise unobserved. The first hits of an instruction are
 * sent, each. From then on user space is asked to remove the probe, which it cannot do at
 * once.
 */
#ifndef TRACEPREDICT_UNSEEN_H
#define TRACEPREDICT_UNSEEN_H

#define MAX_UNSEEN 8192 /* number 0 is none */
#define UNSEEN_HITS 16
#define UNSEEN_EARLY (1 << 16) /* of a cookie: counts while a process has one thread, too */
#define UNSEEN_ALONE 65536     /* of all instructions together, before there is a second thread */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_UNSEEN);
	__type(key, __u32);
	__type(value, __u32);
} unseen_hits SEC(".maps");

SEC("uprobe.multi")
int on_unseen(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);
	__u64 thread = current_thread();
	__u32 number = cookie & (MAX_UNSEEN - 1), n;
	bool early = cookie & UNSEEN_EARLY;
	__u32 *hits;

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
		n & (n - 1)) /* asked again at powers of 2: a record may have been lost */
		return 0;
	send_now(thread,
		(struct record){.op = OP_UNSEEN,
			.object = number,
			.value = early,
			.result = n >= UNSEEN_HITS},
		false, n == UNSEEN_HITS);
	return 0;
}

#endif
