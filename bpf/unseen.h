/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Who was at places that synchronise unobserved, included by tracepredict.bpf.c. The
 * first hits of a place are told, each; from then on user space is asked to remove
 * the probe, which it cannot do at once.
 */
#ifndef TRACEPREDICT_UNSEEN_H
#define TRACEPREDICT_UNSEEN_H

#define MAX_PLACES 8192 /* number 0 is none */
#define PLACE_HITS 16

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_PLACES);
	__type(key, __u32);
	__type(value, __u32);
} place_hits SEC(".maps");

SEC("uprobe.multi")
int on_unseen(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);
	struct who w = current_thread();
	__u32 number = cookie, n;
	__u32 *hits;
	struct record *r;

	if (cookie & COOKIE_FILTER && !bpf_map_lookup_elem(&targets, &w.tgid))
		return 0;
	hits = bpf_map_lookup_elem(&place_hits, &number);
	if (!hits)
		return 0;
	n = __sync_fetch_and_add(hits, 1) + 1;
	if (n > PLACE_HITS && n & (n - 1)) /* asked again at powers of 2: a record may have been lost */
		return 0;
	r = reserve(&w, false);
	if (!r)
		return 0;
	r->time = bpf_ktime_get_ns();
	r->object = number;
	r->value = 0;
	r->sp = 0;
	r->entered = 0;
	r->tid = w.tid;
	r->tgid = w.tgid;
	r->site = 0;
	r->place = 0;
	r->op = OP_UNSEEN;
	r->flags = 0;
	r->pad = 0;
	r->result = n >= PLACE_HITS;
	submit(r, n == PLACE_HITS);
	return 0;
}

#endif
