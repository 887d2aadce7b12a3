/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * What is one for the whole run: counters that user space reads, and settings that it makes before loading.
 */
#ifndef TRACEPREDICT_GLOBALS_H
#define TRACEPREDICT_GLOBALS_H

#include "base.h"

/* Counters, read by user space. */
__u64 lost_records;    /* all of them */
__u64 lost_lives;      /* of these, of the life of threads and libraries */
__u64 lost_stacks;     /* call stacks that could not be sent */
__u64 cut_stacks;      /* call stacks that were sent with less of the stack than was to be */
__u64 lost_pending;    /* operations whose return will not be recognised */
__u64 untabled_stacks; /* events whose new call stack is that of their site and caller alone */
__u64 lost_blocks;     /* of the heap, beyond the table: their end will not be recorded */

__u32 last_stack;   /* the last call stack ID */
__u32 any_lost;     /* a line of lost has records */
__u32 any_far;      /* far_calls may hold something */
__u64 unseen_alone; /* hits of on_unseen before there was a second thread */
__u32 crowded;      /* some observed process has had a second thread; set by user space too */

/* The ring buffers of all CPUs. */
#define MAX_RINGS 64
__u32 tight[MAX_RINGS]; /* more than ring_limit may be unread there */
/* The number of the next record. All CPUs change it, and none shall wait for anything else on its line. */
struct {
	__u64 next;
	__u64 pad[7];
} numbers __attribute__((aligned(64)));

/* Of a formula that is evaluated here. */
__u32 given_up;    /* enum given_up: why no verdict falls any more */
__u32 given_up_op; /* GIVEN_UP_OPERATION: the operation */
/* By enum given_up: how many objects were given up, and how often threads became unsure without one. */
#define GIVEN_UP_REASONS 8
__u32 doubts[GIVEN_UP_REASONS];
__u32 doubt_op;         /* GIVEN_UP_OPERATION: the first operation that made a thread unsure */
__u32 known_threads;    /* how many there have been */
__u32 known_ended;      /* the slots of those that have ended, a bit for each */
__u32 known_dropped;    /* of these, those that are bound to no thread any more */
__u64 known_states;     /* of threads, that were evaluated */
__u64 known_violations; /* verdicts that were sent */

/* Set before loading, and not changed after. Tests of the rules set them in an ordinary process. */
#ifndef SETTING
#define SETTING const volatile
#endif
SETTING __u64 pidns_dev; /* the tool's PID namespace, 0 in the initial one */
SETTING __u64 pidns_ino = 0xEFFFFFFC;
SETTING __u32 tool_tgid; /* the tool, in its PID namespace */
SETTING __u32 rings = 1; /* ring buffers: a power of two, MAX_RINGS at most */
/* Of each ring buffer. */
SETTING __u32 wake_bytes = 1 << 18; /* wake the reader when so much is unread */
/* Beyond so much unread only the records of the life of threads and of libraries find room: to
 * lose one of these breaks more than an event. */
SETTING __u32 ring_limit = 60 << 20;
SETTING bool want_stacks = true;
SETTING __u32 stack_bytes = 32 << 10; /* of the stack are sent of each new call stack, at most */
SETTING __u32 stack_limit = 16 << 20; /* and none while so much is unread: the rest is for events */
SETTING bool follow;                  /* forked processes are observed too */
SETTING bool unnamed;                 /* variables that nobody named are watched (on_shared) */
SETTING bool through_pointers;        /* accesses through pointers are observed */
SETTING bool all_pointers;            /* not only those of atomic code */
SETTING __u32 word_bits = 20;         /* a table has so many words, as a power of two */
SETTING bool monitored;               /* the functions of monitor.h do something */
SETTING bool knows;                   /* a formula is evaluated here (knowledge.h) */
SETTING bool alone;             /* what only the formula needs is no record, but for violations */
SETTING __u32 violation_signal; /* to the thread that violates it; 0: none */
SETTING bool scoped;            /* scope.h monitors a scope */
SETTING __u64 enough; /* so many accesses of the elements of an array are recorded; 0: all */

#endif
