/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Where words are: in tables of one size, of which user space adds one when those that are there fill up, and in the
 * end replaces the oldest one by an empty one. Words are made in the newest table, and looked for in all. While it
 * changes, a word may be made twice, in two tables: then the later one counts.
 */
#ifndef TRACEPREDICT_WORDTABLES_H
#define TRACEPREDICT_WORDTABLES_H

#include "globals.h"

#define WORD_TABLES 4
__u32 word_tables = 1;          /* so many are there */
__u32 newest_table;             /* in it words are made */
__u64 word_counts[WORD_TABLES]; /* the words in each */

/* The last access of a part of a word. */
struct past {
	__u64 when; /* time and bytes, see moment; 0: none */
	__u32 site;
	__s32 from; /* how far from the beginning of the range, see struct word_access */
};

/* A word of eight bytes of a process. */
struct word {
	__u64 key;   /* see word_key; WORD_UNUSED, or WORD_FORGOTTEN */
	__u64 owner; /* the one thread that has accessed it, or WORD_SHARED; 0: none */
	/* Of the owner. The first of each pair is of the lower half, and of the upper one too if its bytes
	 * say so and the second is older or none: neighbouring numbers of four bytes are two variables. */
	struct past wrote[2], read[2];
	__u64 named; /* the one thread that has accessed it by the name of a variable, or WORD_SHARED */
	__u64 last;   /* of a shared word: see word_redundant */
	__u32 atomic; /* its bytes, a bit for each, that atomic code has accessed */
	__u32 table;  /* in which it is */
};
#define WORD_SHARED (1ULL << 32)

/* Keys of places that have no word. No word was made behind one that was never used, so that a search ends there. */
#define WORD_UNUSED 0
#define WORD_FORGOTTEN 1

struct word_table {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_INNER_MAP); /* others have more entries */
	__uint(key_size, sizeof(__u32)); /* in a map of maps, clang does not describe structures */
	__uint(value_size, sizeof(struct word));
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, WORD_TABLES);
	__type(key, __u32);
	__type(value, __u32);
	__array(values, struct word_table);
} words SEC(".maps");

/* By site: accesses that were not looked at, for want of room. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} unseen_words SEC(".maps");

#ifndef WORDS_OF_PROCESS /* an ordinary process has tables of its own */
/* Returns a table; null if it is not there. */
static __always_inline void *words_of(__u32 table)
{
	return bpf_map_lookup_elem(&words, &table);
}

/* Returns a place of a table. */
static __always_inline struct word *word_in(void *table, __u32 index)
{
	return bpf_map_lookup_elem(table, &index);
}
#endif

#endif
