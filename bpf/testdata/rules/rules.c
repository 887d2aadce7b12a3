// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/*
 * The rules of the BPF programs by which an access or a call becomes a record, as an ordinary process.
 * It reads operations, one a line, and answers each with the records that it makes and a line "done".
 * rules_test.go compares these with a model.
 *
 *   site INDEX BYTES                                    what a probe observes: a struct site
 *   hit PROGRAM TGID TID COOKIE SP R0 R1 R2 R3          a probe of a program is hit
 *   free TGID ADDR SIZE BY                              memory ends, by a thread or 0
 *   exit TGID TID LIVE POINTER                          a thread ends: LIVE others, its thread pointer
 *   exec TGID TID                                       a process executes another program
 *   tally INDEX                                         what is kept of a variable
 *   second                                              a process has a second thread
 *   table NUMBER FRESH                                  a table of words is the newest, empty if it is fresh
 *
 * The number of a line is the time at which it happens.
 */
#include <stdio.h>

/* Of the two architectures, this one has registers that are plain memory. */
#define __TARGET_ARCH_arm64
#define SETTING /* main makes them */
#include "../../base.h"

/* The C library has these names, too. */
#define sigset_t kernel_sigset_t
#define on_exit on_exit_program

static struct task_struct *bpf_get_current_task_btf(void);

#include "../../slot.h"

/* Stands for the maps of wordtables.h. */
#define WORDS_OF_PROCESS
static void *words_of(__u32 table);
static struct word *word_in(void *table, __u32 index);

/* Stands for stackid.h: the call stack is that of the site. */
#define TRACEPREDICT_STACKID_H
static __u32 stack_at(__u64 caller, __u32 site, __u64 sp, __u64 thread, struct slot *slot)
{
	return 1000 + site;
}

/* Stands for function.h. */
int calls_unwound(__u64 sp, __u64 thread)
{
	return 0;
}

#include "../../on_probe.h"
#include "../../shared.h"
#include "../../pointer.h"
#include "../../sched.h"

static struct word *word_table[WORD_TABLES];

static void *words_of(__u32 table)
{
	return word_table[table];
}

static struct word *word_in(void *table, __u32 index)
{
	return (struct word *)table + index;
}

/* User space makes a table the newest, and has it empty if it is new or fresh. */
static void use_table(__u32 table, bool fresh)
{
	if (!word_table[table] || fresh) {
		free(word_table[table]);
		word_table[table] = calloc(1 << word_bits, sizeof(struct word));
		word_counts[table] = 0;
	}
	if (word_tables <= table)
		word_tables = table + 1;
	newest_table = table;
}

static struct signal_struct current_signal;
static struct task_struct current_task = {.signal = &current_signal};

static struct task_struct *bpf_get_current_task_btf(void)
{
	return &current_task;
}

static void print_record(const void *record)
{
	const unsigned char *bytes = record;

	printf("record ");
	for (size_t i = 0; i < sizeof(struct record); i++)
		printf("%02x", bytes[i]);
	printf("\n");
}

static void fail(const char *line)
{
	fprintf(stderr, "no operation: %s", line);
	exit(1);
}

/* Reads bytes, two digits each. */
static bool read_bytes(const char *text, void *to, size_t size)
{
	unsigned char *bytes = to;
	unsigned int byte;

	for (size_t i = 0; i < size; i++) {
		if (sscanf(text + 2 * i, "%2x", &byte) != 1)
			return false;
		bytes[i] = byte;
	}
	return true;
}

static void set_site(const char *line)
{
	char text[4 * sizeof(struct site)];
	struct site site;
	__u32 index;

	if (sscanf(line, "site %u %255s", &index, text) != 2 ||
		!read_bytes(text, &site, sizeof(site)))
		fail(line);
	bpf_map_update_elem(&sites, &index, &site, BPF_ANY);
}

static void hit_probe(const char *line)
{
	struct pt_regs regs = {};
	unsigned long long sp, r[4], with;
	__u32 tgid, tid;
	char program;

	if (sscanf(line, "hit %c %u %u %llu %llu %llu %llu %llu %llu", &program, &tgid, &tid, &with,
		    &sp, &r[0], &r[1], &r[2], &r[3]) != 9)
		fail(line);
	current = (__u64)tgid << 32 | tid;
	cookie = with;
	regs.sp = sp;
	for (int i = 0; i < 4; i++)
		regs.regs[i] = r[i];
	switch (program) {
	case 'p':
		on_pointer(&regs);
		return;
	case 's':
		on_shared(&regs);
		return;
	case 'n':
		on_probe(&regs);
		return;
	case 'r':
		on_return(&regs);
		return;
	}
	fail(line);
}

static int end_memory(const char *line)
{
	unsigned long long addr, size;
	__u32 tgid, by;

	if (sscanf(line, "free %u %llu %llu %u", &tgid, &addr, &size, &by) != 4)
		fail(line);
	return forget_words(addr, size, tgid, by);
}

/* Makes a process one whose threads are observed, and a thread of it the current one. */
static void observe(__u32 tgid, __u32 tid)
{
	__u64 never = 0;

	bpf_map_update_elem(&targets, &tgid, &never, BPF_ANY);
	current = (__u64)tgid << 32 | tid;
}

static void end_thread(const char *line)
{
	unsigned long long pointer;
	__u32 tgid, tid, live;

	if (sscanf(line, "exit %u %u %u %llu", &tgid, &tid, &live, &pointer) != 4)
		fail(line);
	observe(tgid, tid);
	current_signal.live.counter = live;
	current_task.thread.uw.tp_value = pointer;
	on_exit(0);
}

static void execute(const char *line)
{
	__u32 tgid, tid;
	__u64 args[2] = {};

	if (sscanf(line, "exec %u %u", &tgid, &tid) != 2)
		fail(line);
	observe(tgid, tid);
	args[1] = tid;
	on_exec(args);
}

static void change_table(const char *line)
{
	__u32 table;
	int fresh;

	if (sscanf(line, "table %u %d", &table, &fresh) != 2 || table >= WORD_TABLES)
		fail(line);
	use_table(table, fresh);
}

static void print_tally(const char *line)
{
	struct tally *v;
	__u32 index;

	if (sscanf(line, "tally %u", &index) != 1)
		fail(line);
	v = bpf_map_lookup_elem(&watched, &index);
	printf("tally %llu %llu %u %u %u\n", v->hits, v->crowd, v->owner, v->shared, v->recorded);
}

static void limit_hits(const char *line)
{
	__u32 index, limit;
	__u8 value;

	if (sscanf(line, "limit %u %u", &index, &limit) != 2)
		fail(line);
	value = limit;
	bpf_map_update_elem(&hits_limit, &index, &value, BPF_ANY);
}

/* Does what a line says. Returns what the program returns, where that matters. */
static int operation(const char *line)
{
	if (!strncmp(line, "site ", 5))
		set_site(line);
	else if (!strncmp(line, "hit ", 4))
		hit_probe(line);
	else if (!strncmp(line, "free ", 5))
		return end_memory(line);
	else if (!strncmp(line, "exit ", 5))
		end_thread(line);
	else if (!strncmp(line, "exec ", 5))
		execute(line);
	else if (!strncmp(line, "tally ", 6))
		print_tally(line);
	else if (!strncmp(line, "limit ", 6))
		limit_hits(line);
	else if (!strncmp(line, "table ", 6))
		change_table(line);
	else if (!strcmp(line, "second\n"))
		crowded = 1;
	else
		fail(line);
	return 0;
}

#define VARIABLES 64

int main(int argc, char **argv)
{
	char line[512];
	int result;

	if (argc != 3) {
		fprintf(stderr, "usage: rules WORD_BITS ENOUGH\n");
		return 2;
	}
	unnamed = through_pointers = all_pointers = true;
	word_bits = atoi(argv[1]);
	enough = atoi(argv[2]);
	use_table(0, true);
	SIZED_MAP(&word_pages, 1 << (PAGE_BITS - 6));
	SIZED_MAP(&watched, VARIABLES);
	SIZED_MAP(&hits_limit, VARIABLES);
	SIZED_MAP(&readings, SLOTS);
	SIZED_MAP(&site_hits, 1 << 10);
	SIZED_MAP(&thread_costs, SLOTS);
	while (fgets(line, sizeof(line), stdin)) {
		now++;
		result = operation(line);
		printf("done %d %llu %llu %u %u\n", result, own_words, full_words, joined_words,
			mixed_words);
	}
	return 0;
}
