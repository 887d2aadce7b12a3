/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * The table of the memory that is accessed through pointers: of each word of eight bytes, who has accessed
 * it, and how. Nearly all memory is used by one thread at a time.
 */
#ifndef TRACEPREDICT_WORD_H
#define TRACEPREDICT_WORD_H

#include "globals.h"
#include "used.h"
#include "wordtables.h"

#define HASH_FACTOR 0x9e3779b97f4a7c15ULL /* of Knuth's multiplicative hashing */
#define MIX_FACTOR 0xbf58476d1ce4e5b9ULL  /* of the finaliser of SplitMix64 (Steele et al., 2014) */

__u64 full_words; /* accesses that were not looked at, since the table was full */

#define WORD_TRIES 8

/* User addresses have 47 bits: without the low three they leave 20 for the process. */
#define PROCESS_BITS 20
static __always_inline __u64 word_key(__u64 at, __u32 tgid)
{
	return (at >> 3) << PROCESS_BITS | (tgid & ((1 << PROCESS_BITS) - 1));
}

static __always_inline __u64 moment(__u8 bytes)
{
	return bpf_ktime_get_ns() << 8 | bytes;
}

/* Where a word may be: first, and then each step further. The eight words of a line of 64 bytes of memory
 * are together, since they are accessed together; which word is first there depends on the line, so that
 * the first words of many lines have all places. Lines are mixed well: arrays, and the heaps of threads,
 * lie at distances that a mere multiplication maps to few places. */
struct word_places {
	__u32 first, step;
};
#define WORDS_OF_LINE 8

static __always_inline struct word_places places_of(__u64 key)
{
	__u64 word = key >> PROCESS_BITS & (WORDS_OF_LINE - 1);
	__u64 hash = key ^ word << PROCESS_BITS;

	hash = (hash ^ hash >> 32) * HASH_FACTOR;
	hash = (hash ^ hash >> 29) * MIX_FACTOR;
	return (struct word_places){.first = hash >> (64 - word_bits) ^ word,
		.step = (hash & 0xffff) * 2 * WORDS_OF_LINE + WORDS_OF_LINE};
}

/* Finds a word in a table. If there is no gap yet, it becomes the first place where the word may be made. */
static __always_inline struct word *word_of(
	__u32 table, __u64 key, struct word_places places, struct word **gap)
{
	void *words_there = words_of(table);

	if (!words_there)
		return 0;
	for (int i = 0; i < WORD_TRIES; i++) {
		__u32 index = (places.first + i * places.step) & ((1 << word_bits) - 1);
		struct word *w = word_in(words_there, index);

		if (!w)
			return 0;
		if (w->key == key)
			return w;
		if (w->key > WORD_FORGOTTEN)
			continue;
		if (!*gap)
			*gap = w;
		if (w->key == WORD_UNUSED)
			return 0;
	}
	return 0;
}

/* Makes a word in a place of a table; null if another word was made there just now. */
static __always_inline struct word *make_word(struct word *gap, __u64 key, __u32 table)
{
	__u64 was = gap->key;

	if (was > WORD_FORGOTTEN || __sync_val_compare_and_swap(&gap->key, was, key) != was)
		return gap->key == key ? gap : 0;
	gap->table = table;
	__sync_fetch_and_add(&word_counts[table], 1);
	return gap;
}

static __always_inline void leave_out(__u32 site)
{
	__u64 *n = bpf_map_lookup_elem(&unseen_words, &site);

	if (n)
		__sync_fetch_and_add(n, 1);
}

/* Finds a word, or makes it where asked to, in the newest table if there is room; null if it is not there, or if there is
 * no room. */
static __always_inline struct word *word_at(__u64 key, bool make)
{
	__u32 newest = newest_table & (WORD_TABLES - 1), where = newest;
	struct word_places places = places_of(key);
	struct word *gap = 0, *w;

	w = word_of(newest, key, places, &gap);
	if (w)
		return w;
	for (__u32 back = 1; back < WORD_TABLES; back++) {
		__u32 table = (newest - back) & (WORD_TABLES - 1);

		if (table >= word_tables)
			continue;
		if (!gap)
			where = table;
		w = word_of(table, key, places, &gap);
		if (w)
			return w;
	}
	if (!make)
		return 0;
	w = gap ? make_word(gap, key, where & (WORD_TABLES - 1)) : 0;
	if (!w)
		__sync_fetch_and_add(&full_words, 1);
	return w;
}

/* A bit for each page of a process, by a hash: it may have words. */
#define PAGE_BITS 22
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} word_pages SEC(".maps");

static __always_inline __u64 *page_bits(__u64 page, __u32 tgid, __u64 *bit)
{
	__u64 hash = (page << PROCESS_BITS | (tgid & ((1 << PROCESS_BITS) - 1))) * HASH_FACTOR >>
		     (64 - PAGE_BITS);
	__u32 index = hash >> 6;

	*bit = 1ULL << (hash & 63);
	return bpf_map_lookup_elem(&word_pages, &index);
}

static __always_inline void mark_page(__u64 at, __u32 tgid)
{
	__u64 bit, *bits = page_bits(at >> PAGE_SHIFT, tgid, &bit);

	if (bits && !(*bits & bit))
		__sync_fetch_and_or(bits, bit);
}

#endif
