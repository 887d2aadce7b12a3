/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Which place a hit is at, included by tracepredict.bpf.c.
 *
 * Site, caller and depth of the stack are at hand, and nearly always tell calling chains
 * apart. Not where a function that takes a lock for others is called by two whose frames
 * are of one size. So when these three come for the first time, what looks like return
 * addresses is looked for further up the stack, and where they lie is kept. Whoever
 * comes next is at the same place only if he has the same there; else the chain is
 * another, and gets a place of its own.
 *
 * What looks like a return address may be one that an earlier call left behind. Then
 * one chain has several places, which user space finds out: their chains are equal.
 */
#ifndef TRACEPREDICT_PLACE_H
#define TRACEPREDICT_PLACE_H

#define OUTER_SEARCHED 128 /* words of the stack */
#define MAX_OTHERS 64	   /* chains of one site, caller and depth are told apart */
#define SEVERAL 2	   /* key.outer of those beyond, together */
#define SURE_HITS 64	   /* with equal words; then those further out are read at each eighth */

#if defined(__TARGET_ARCH_x86)
/* ff /2, as the n-th and the next byte before an address. */
#define IS_INDIRECT(code, n) \
	(((code) >> (64 - 8 * (n)) & 0xff) == 0xff && ((code) >> (75 - 8 * (n)) & 7) == 2)

/* Whether a call ends at an address (Intel's manual, volume 2, CALL). */
static __always_inline bool after_call(__u64 addr)
{
	__u64 code;

	if (bpf_probe_read_user(&code, sizeof(code), (void *)(addr - sizeof(code))))
		return false;
	return (code >> 24 & 0xff) == 0xe8 || IS_INDIRECT(code, 2) || IS_INDIRECT(code, 3) ||
	       IS_INDIRECT(code, 4) || IS_INDIRECT(code, 6) || IS_INDIRECT(code, 7);
}
#define USER_END (1ULL << 47)
#elif defined(__TARGET_ARCH_arm64)
/* bl and blr, in Arm's manual, C6.2. */
static __always_inline bool after_call(__u64 addr)
{
	__u32 code;

	if (addr & 3 || bpf_probe_read_user(&code, sizeof(code), (void *)(addr - sizeof(code))))
		return false;
	return (code & 0xfc000000) == 0x94000000 || (code & 0xfffffc1f) == 0xd63f0000;
}
#define USER_END (1ULL << 48)
#endif

/* Whether a word of the stack may be a return address. */
static __noinline int leads_out(__u64 word)
{
	return word >= 1 << 16 && word < USER_END && after_call(word);
}

struct outer_search {
	struct known_place *k;
	__u64 caller, sp;
	__u32 n;
};

/* Looks at the i-th word of the stack. 1 ends the search. */
static int look_outer(__u64 i, struct outer_search *s)
{
	__u64 word;
	__u32 n = s->n;

	if (n >= OUTER_WORDS || bpf_probe_read_user(&word, sizeof(word), (void *)(s->sp + 8 * i)))
		return 1;
	if (word == s->caller || word - s->sp < OUTER_SEARCHED * 8 || !leads_out(word))
		return 0;
	s->k->at[n & (OUTER_WORDS - 1)] = 8 * i;
	s->k->word[n & (OUTER_WORDS - 1)] = word;
	s->n = n + 1;
	return 0;
}

/* Finds where on the stack the return addresses further out are. By bpf_loop: the verifier
 * takes more than a second for a loop that it has to follow through. */
static __always_inline void find_outer(struct known_place *k, __u64 caller, __u64 sp)
{
	struct outer_search s = {.k = k, .caller = caller, .sp = sp};

	bpf_loop(OUTER_SEARCHED, look_outer, &s, 0);
	k->words = s.n;
}

/* Reads the words; returns whether they are as they were. */
static __noinline int read_outer(struct known_place *k, __u64 sp)
{
	int same = 1;
	__u64 word;

	for (int i = 0; i < OUTER_WORDS; i++) {
		if (i >= k->words)
			break;
		word = 0;
		bpf_probe_read_user(&word, sizeof(word), (void *)(sp + k->at[i]));
		if (word == k->word[i])
			continue;
		same = 0;
		k->word[i] = word;
	}
	return same;
}

/* A number for the words that may be return addresses; never 0. */
static __noinline __u64 outer_of(struct known_place *k)
{
	__u64 h = 1;

	for (int i = 0; i < OUTER_WORDS; i++) {
		if (i >= k->words)
			break;
		h = (h ^ (leads_out(k->word[i]) ? k->word[i] : 0)) * 0x9e3779b97f4a7c15ULL;
		h ^= h >> 29;
	}
	return h | 1; /* SEVERAL is even */
}

/* Makes a place, with the number that its chain has among its likes, and what the line
 * says of it. */
static __always_inline __u32 add_place(struct place_line *line, __u64 id, __u32 several)
{
	struct known_place *other;

	line->known.place = new_place(&line->key, id, several);
	if (!line->known.place || !bpf_map_update_elem(&places, &line->key, &line->known, BPF_NOEXIST))
		return line->known.place;
	other = bpf_map_lookup_elem(&places, &line->key);
	if (!other) {
		__sync_fetch_and_add(&lost_places, 1);
		return line->known.place;
	}
	return line->key.outer ? other->place : 0; /* else somebody was faster, perhaps with another chain */
}

/* Finds the place of a key, or makes one, for a line; null if the thread has none. Not
 * static, so that the verifier judges it once. */
__noinline __u32 find_place(struct place_key *key, struct place_line *line, __u64 id, __u64 sp)
{
	struct known_place *first, *other;
	struct place_line own = {};
	__u32 place, several;

	if (!key)
		return 0;
	if (!line)
		line = &own;
	line->key = *key;
	line->known.others = 0;
	line->known.hits = 0;
	first = bpf_map_lookup_elem(&places, &line->key);
	if (!first) {
		find_outer(&line->known, line->key.caller, sp);
		place = add_place(line, id, 0);
		if (place)
			return place;
		first = bpf_map_lookup_elem(&places, &line->key);
		if (!first)
			return 0;
	}
	line->known = *first;
	if (read_outer(&line->known, sp))
		return first->place;
	line->key.outer = outer_of(&line->known);
	other = bpf_map_lookup_elem(&places, &line->key);
	if (other) {
		place = other->place;
	} else {
		several = first->others >= MAX_OTHERS;
		if (several) {
			line->key.outer = SEVERAL;
			other = bpf_map_lookup_elem(&places, &line->key);
		}
		place = other ? other->place : add_place(line, id, several);
		if (!other && place)
			__sync_fetch_and_add(&first->others, 1);
	}
	line->key.outer = 0;
	line->known.others = 1;
	line->known.place = place;
	return place;
}

/* Whether a hit with the key of a line is at the line's place. The nearest word is read
 * each time; what it misses is rare, and so are the others read once it has been
 * right for long. Not static, so that the verifier judges it once. */
__noinline int same_outer(struct known_place *k, __u64 sp)
{
	__u64 word;

	if (!k)
		return 0;
	if (k->hits < 0xffff)
		k->hits++;
	else
		k->hits = SURE_HITS;
	for (int i = 0; i < OUTER_WORDS; i++) {
		if (i >= k->words)
			break;
		if (i > 0 && !k->others && k->hits > SURE_HITS && k->hits & 7)
			break;
		word = 0;
		bpf_probe_read_user(&word, sizeof(word), (void *)(sp + k->at[i]));
		if (word != k->word[i])
			return 0;
	}
	return 1;
}

/* The place of what happens at a site with the stack pointer sp. */
static __always_inline __u32 place_at(__u64 caller, __u32 index, __u64 sp, struct who *w, struct slot *slot)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct place_key key = {};
	struct place_line *line = 0;

	key.caller = caller;
	key.depth = CURRENT_THREAD_POINTER(task) - sp;
	key.site = (__u64)w->tgid << 32 | index; /* another program may be at the same addresses */
	if (slot) {
		line = &slot->places[index & (NEAR_PLACES - 1)];
		if (line->known.place && line->key.caller == key.caller && line->key.depth == key.depth &&
		    line->key.site == key.site && (!line->known.words || same_outer(&line->known, sp)))
			return line->known.place;
	}
	return find_place(&key, line, (__u64)w->tgid << 32 | w->tid, sp);
}

#endif
