/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Which call stack a hit has.
 *
 * Site, caller and depth of the stack pointer are at hand, and nearly always tell call stacks
 * apart. They do not where a function that locks for others is called by two whose frames are
 * of one size. So when these three come for the first time, words that look like return
 * addresses are searched for further up the stack, and their positions are kept. A later hit
 * has the same call stack only if it has the same words there; else its call stack is another,
 * and gets an ID of its own.
 *
 * A word that looks like a return address may have been left behind by an earlier call. Then
 * one call stack has several IDs, which user space finds out: their frames are equal.
 */
#ifndef TRACEPREDICT_STACKID_H
#define TRACEPREDICT_STACKID_H

#include "stackcopy.h"

#define OUTER_SEARCHED 128 /* words of the stack */
#define MAX_OTHERS 64      /* call stacks of one site, caller and depth are told apart */
#define SEVERAL 2          /* key.outer of those beyond, together */
#define SURE_HITS 64       /* with equal words; then those further out are read at each eighth */

#if defined(__TARGET_ARCH_x86)
/* Returns whether the n-th byte before an address is a byte of code, or a probe that has taken its
 * place: int3. */
#define IS_CODE(code, n, byte) \
	(((code) >> (64 - 8 * (n)) & 0xff) == (byte) || ((code) >> (64 - 8 * (n)) & 0xff) == 0xcc)
/* ff /2, as the n-th and the next byte before an address. */
#define IS_INDIRECT(code, n) (IS_CODE(code, n, 0xff) && ((code) >> (75 - 8 * (n)) & 7) == 2)

/* Returns whether a call ends at an address (Intel's manual, volume 2, CALL). */
static __always_inline bool after_call(__u64 addr)
{
	__u64 code;

	if (bpf_probe_read_user(&code, sizeof(code), (void *)(addr - sizeof(code))))
		return false;
	return IS_CODE(code, 5, 0xe8) || IS_INDIRECT(code, 2) || IS_INDIRECT(code, 3) ||
	       IS_INDIRECT(code, 4) || IS_INDIRECT(code, 6) || IS_INDIRECT(code, 7);
}
#define USER_END (1ULL << 47)
#elif defined(__TARGET_ARCH_arm64)
#define UPROBE_BRK 0xd42000a0 /* brk #5 in the place of an instruction */

/* bl and blr, in Arm's manual, C6.2. */
static __always_inline bool after_call(__u64 addr)
{
	__u32 code;

	if (addr & 3 || bpf_probe_read_user(&code, sizeof(code), (void *)(addr - sizeof(code))))
		return false;
	return (code & 0xfc000000) == 0x94000000 || (code & 0xfffffc1f) == 0xd63f0000 ||
	       code == UPROBE_BRK;
}
#define USER_END (1ULL << 48)
#endif

/* Returns whether a word of the stack may be a return address. */
static __noinline int leads_out(__u64 word)
{
	return word >= 1 << 16 && word < USER_END && after_call(word);
}

struct outer_search {
	struct known_stack *k;
	__u64 caller, sp;
	__u32 n;
};

/* Looks at the i-th word of the stack. Returns 1 to end the search. */
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

/* Finds where on the stack the return addresses further out are, by bpf_loop: the verifier
 * takes more than a second for a loop that it has to follow through. */
static __always_inline void find_outer(struct known_stack *k, __u64 caller, __u64 sp)
{
	struct outer_search s = {.k = k, .caller = caller, .sp = sp};

	bpf_loop(OUTER_SEARCHED, look_outer, &s, 0);
	k->words = s.n;
}

/* Reads the words. Returns whether they are unchanged. */
static __noinline int read_outer(struct known_stack *k, __u64 sp)
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

/* Returns a number for the words that may be return addresses; never 0. */
static __noinline __u64 outer_of(struct known_stack *k)
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

/* Makes a new ID for the key of a line, and keeps it. Returns 0 if another thread was
 * faster, perhaps with another call stack. */
static __always_inline __u32 add_stack(struct stack_line *line, __u64 thread, __u32 several)
{
	struct known_stack *other;

	line->known.stack = new_stack(&line->key, thread, several);
	if (!line->known.stack ||
		!bpf_map_update_elem(&stacks, &line->key, &line->known, BPF_NOEXIST))
		return line->known.stack;
	other = bpf_map_lookup_elem(&stacks, &line->key);
	if (!other) {
		__sync_fetch_and_add(&untabled_stacks, 1);
		return line->known.stack;
	}
	return line->key.outer ? other->stack : 0;
}

/* Returns the ID of the call stack of a key, a new one if need be, and fills the thread's
 * line (null if it has none). Not static, so that the verifier judges it once. */
__noinline __u32 find_stack(struct stack_key *key, struct stack_line *line, __u64 thread, __u64 sp)
{
	struct known_stack *first, *other;
	struct stack_line own = {};
	__u32 stack, several;

	if (!key)
		return 0;
	if (!line)
		line = &own;
	line->key = *key;
	line->known.others = 0;
	line->known.hits = 0;
	first = bpf_map_lookup_elem(&stacks, &line->key);
	if (!first) {
		if (unread() >= stack_limit)
			goto shared;
		find_outer(&line->known, line->key.caller, sp);
		stack = add_stack(line, thread, 0);
		if (stack)
			return stack;
		first = bpf_map_lookup_elem(&stacks, &line->key);
		if (!first)
			goto shared;
	}
	line->known = *first;
	if (read_outer(&line->known, sp))
		return first->stack;
	line->key.outer = outer_of(&line->known);
	other = bpf_map_lookup_elem(&stacks, &line->key);
	if (other) {
		stack = other->stack;
	} else {
		several = first->others >= MAX_OTHERS;
		if (!several && unread() >= stack_limit)
			goto shared;
		if (several) {
			line->key.outer = SEVERAL;
			other = bpf_map_lookup_elem(&stacks, &line->key);
		}
		stack = other ? other->stack : add_stack(line, thread, several);
		if (!other && stack)
			__sync_fetch_and_add(&first->others, 1);
	}
	line->key.outer = 0;
	line->known.others = 1;
	line->known.stack = stack;
	return stack;

	/* There is so much else to read that the call stack gets the ID that all of a site and caller share then. The next event
	 * here has another chance. */
shared:
	line->key.depth = 0;
	line->key.outer = SEVERAL;
	line->known.words = 0;
	other = bpf_map_lookup_elem(&stacks, &line->key);
	stack = other ? other->stack : add_stack(line, thread, 1);
	line->key.outer = 0;
	line->known.stack = 0;
	__sync_fetch_and_add(&untabled_stacks, 1);
	return stack;
}

/* Returns whether a hit with the key of a line has the line's call stack. The nearest word is
 * read at each hit. What it misses is rare, so that the others are read less often once it
 * has been right for long. Not static, so that the verifier judges it once. */
__noinline int same_outer(struct known_stack *k, __u64 sp)
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

/* Returns the ID of the call stack of a hit of a site with the stack pointer sp. */
static __always_inline __u32 stack_at(
	__u64 caller, __u32 index, __u64 sp, __u64 thread, struct slot *slot)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct stack_key key = {};
	struct stack_line *line = 0;

	key.caller = caller;
	key.depth = CURRENT_THREAD_POINTER(task) - sp;
	key.site =
		(thread & -1ULL << 32) | index; /* another program may be at the same addresses */
	if (slot) {
		line = &slot->stacks[index & (NEAR_STACKS - 1)];
		if (line->known.stack && line->key.caller == key.caller &&
			line->key.depth == key.depth && line->key.site == key.site &&
			(!line->known.words || same_outer(&line->known, sp)))
			return line->known.stack;
	}
	return find_stack(&key, line, thread, sp);
}

#endif
