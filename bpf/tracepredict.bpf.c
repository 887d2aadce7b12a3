//go:build ignore

// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/*
 * What runs in the kernel. Two kinds of program: probes, which turn the hit of a site into a
 * record, and tracepoints for the life of threads and for system calls. All records go through
 * one ring buffer, whose order of reservation is the order of the run, so each program
 * reserves as late, or as early, as its operation demands, and does all else before.
 *
 * There is one compilation unit, and one object: the programs share maps, and one that is not
 * needed is replaced before loading, so that the verifier never sees it.
 *
 *   record.h, site.h       shared with Go: what the programs send, and what they are told
 *   kernel.h, regs.h       types of the kernel, registers by architecture
 *   thread.h, ringbuf.h    what is kept of a thread; reserving, filling and submitting records
 *   stackcopy.h, stackid.h call stacks: what they are found from, which one a hit has
 *   probe.h                what the programs of probes share
 *   sync.h, access.h       on_probe, on_return: synchronisation calls, variables by name
 *   shared.h               on_shared: variables that nobody named
 *   allocation.h           where blocks of memory were allocated
 *   pointer.h              on_pointer: memory that is reached through pointers
 *   function.h             on_call: functions that the user asked for
 *   heap.h                 on_heap, on_heap_return: lifetimes of memory
 *   unseen.h               on_unseen: instructions that synchronise unobserved
 *   sched.h                on_fork, on_exit, on_exec, list_tasks: the life of threads
 *   watch.h                on_watch and its helpers: hardware watchpoints
 *   io.h                   on_call_in, on_call_out: messages through the kernel
 *   notice.h               on_signal_sent, on_signal_came: signals, and what else orders threads
 *   asks.h                 loops that wait by asking
 *   waking.h               on_waking: who wakes a thread
 *   tracing.h              on_ptrace: programs that trace
 *   sleeper.h              list_sleepers: what threads are doing
 */
#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "record.h"
#include "site.h"
#include "kernel.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Counters, read by user space. */
__u64 lost_records;    /* all of them */
__u64 lost_lives;      /* of these, of the life of threads and libraries */
__u64 lost_stacks;     /* call stacks that could not be sent */
__u64 cut_stacks;      /* call stacks that were sent with less of the stack than was to be */
__u64 lost_pending;    /* operations whose return will not be recognised */
__u64 untabled_stacks; /* events whose call stack had no room in the table */
__u64 lost_blocks;     /* of the heap, beyond the table: their end will not be recorded */

__u32 last_stack;   /* the last call stack ID */
__u32 any_lost;     /* a line of lost has records */
__u32 any_far;      /* far_calls may hold something */
__u32 tight;        /* more than ring_limit may be unread */
__u64 unseen_alone; /* hits of on_unseen before there was a second thread */
__u32 crowded;      /* some observed process has had a second thread; set by user space too */

/* Set before loading. */
const volatile __u64 pidns_dev; /* the tool's PID namespace, 0 in the initial one */
const volatile __u64 pidns_ino = 0xEFFFFFFC;
const volatile __u32 wake_bytes = 1 << 18; /* wake the reader when so much is unread */
/* Beyond so much unread only the records of the life of threads and of libraries find room: to
 * lose one of these breaks more than an event. */
const volatile __u32 ring_limit = 60 << 20;
const volatile bool want_stacks = true;
const volatile __u32 stack_bytes =
	32 << 10; /* of the stack are sent of each new call stack, at most */
const volatile __u32 stack_limit =
	32 << 20;                     /* and none while so much is unread: the rest is for events */
const volatile bool follow;           /* forked processes are observed too */
const volatile bool unnamed;          /* variables that nobody named are watched (on_shared) */
const volatile bool through_pointers; /* accesses through pointers are observed */
const volatile bool all_pointers;     /* not only those of atomic code */
const volatile __u32 word_bits = 20;  /* there are so many words, as a power of two */
const volatile __u64 enough; /* so many accesses of the elements of an array are recorded; 0: all */

#include "regs.h"
#include "thread.h"
#include "ringbuf.h"
#include "stackcopy.h"
#include "stackid.h"
#include "probe.h"
#include "sync.h"
#include "access.h"
#include "shared.h"
#include "allocation.h"
#include "pointer.h"
#include "function.h"
#include "heap.h"
#include "unseen.h"
#include "sched.h"
#include "watch.h"
#include "io.h"
#include "tracing.h"
#include "sleeper.h"

/* Types that no map names, for the generator. */
struct watched_line *unused_watched_line __attribute__((unused));
struct record *unused_record __attribute__((unused));
struct stack_record *unused_stack_record __attribute__((unused));
struct stack_part *unused_stack_part __attribute__((unused));
struct task_line *unused_task_line __attribute__((unused));
struct lost_line *unused_lost_line __attribute__((unused));
struct call_record *unused_call_record __attribute__((unused));
struct sleeper *unused_sleeper __attribute__((unused));
struct tally *unused_tally __attribute__((unused));
