/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * How much memory a library function accesses where memory says it: texts, and vectors of buffers.
 */
#ifndef TRACEPREDICT_MEASURE_H
#define TRACEPREDICT_MEASURE_H

#include "operand.h"

__u64 cut_ranges; /* calls of library functions that accessed more than was looked at */

/* A range of memory that a library function accesses. */
struct range {
	__u64 begin, size;
};

#define MAX_TEXT 4096 /* bytes of a text that are looked at */

/* Where texts are copied to, since only so the kernel says how long they are. Nobody reads it. */
struct text {
	char bytes[MAX_TEXT];
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct text);
} texts SEC(".maps");

/* Returns the bytes of a text with the zero that ends it, at most MAX_TEXT; 0 if it cannot be read, as if it
 * lies in memory that was swapped out. */
static __always_inline __u64 text_size(__u64 at)
{
	__u32 first = 0;
	struct text *t = bpf_map_lookup_elem(&texts, &first);
	long n = t ? bpf_probe_read_user_str(t->bytes, MAX_TEXT, (void *)at) : 0;

	if (n <= 0 || n >= MAX_TEXT)
		__sync_fetch_and_add(&cut_ranges, 1);
	return n > 0 ? n : 0;
}

/* Bounds a range by the text at an address: of one that cannot be read, the first byte is sure. */
static __always_inline void bound_by_text(struct range *r, __u64 at)
{
	__u64 n = text_size(at) ?: 1;

	if (r->size > n)
		r->size = n;
}

/* Moves a range behind the text at its beginning; there is none if the text's end is not known. */
static __always_inline void put_behind_text(struct range *r)
{
	__u64 n = text_size(r->begin);

	if (!n || n >= MAX_TEXT)
		r->size = 0;
	else
		r->begin += n - 1;
}

#define MAX_VECTOR 5      /* buffers of a vector that are looked at */
#define MESSAGE_VECTOR 16 /* where struct msghdr has its vector, and the number of its buffers */

#define REQUEST 2 /* access_site.index_reg: struct aiocb, which has its only buffer there */

/* Two words that lie side by side, as the address and the size of a buffer (struct iovec). */
struct word_pair {
	__u64 first, second;
};

/* Returns the buffer of a vector for which a site is, of the first bytes of all its buffers. Object is the vector,
 * or a message that has one. */
static __always_inline struct range buffer_of(
	struct access_site *a, __u64 object, __u64 count, __u64 bytes)
{
	struct word_pair pair = {object, count};
	struct range r = {};
	__u64 at;

	if (a->index_reg &&
		bpf_probe_read_user(&pair, sizeof(pair), (void *)(object + MESSAGE_VECTOR)))
		return r;
	if (a->index_reg == REQUEST) {
		r.begin = pair.first;
		r.size = pair.second;
		return r;
	}
	at = pair.first;
	count = pair.second;
	if (a->scale == MAX_VECTOR && count > MAX_VECTOR)
		__sync_fetch_and_add(&cut_ranges, 1);
	for (int i = 1; i <= MAX_VECTOR; i++) {
		if (i > count || bpf_probe_read_user(&pair, sizeof(pair), (void *)at))
			return r;
		if (i == a->scale) {
			r.begin = pair.first;
			r.size = pair.second < bytes ? pair.second : bytes;
			return r;
		}
		if (pair.second >= bytes)
			return r;
		bytes -= pair.second;
		at += sizeof(pair);
	}
	return r;
}

#endif
