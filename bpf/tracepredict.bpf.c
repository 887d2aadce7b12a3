//go:build ignore

// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/*
 * What runs in the kernel. Two kinds of program: probes, which turn the hit of a site into a
 * record, and tracepoints for the life of threads and for system calls. All records go through
 * the ring buffers, and their numbers are the order of the run, so each program draws the number of
 * its record as late, or as early, as its operation demands, and does all else before.
 *
 * There is one compilation unit, and one object: the programs share maps, and one that is not
 * needed is replaced before loading, so that the verifier never sees it.
 *
 * Each header includes what it needs, and is one idea (header_test.go):
 *
 *   base.h, globals.h      the interface of BPF; counters, and settings before loading
 *   record.h, site.h       shared with Go: what the programs send, and what they are told
 *   kernel.h, regs.h       types of the kernel, registers by architecture
 *   thread.h, slot.h       who a thread is, and what is kept of each
 *   pending.h, held.h      calls under way, locks held
 *   used.h, ringbuf.h      where there are objects; reserving, filling and submitting records
 *   stackcopy.h, stackid.h call stacks: what they are found from, which one a hit has
 *   probe.h, operand.h     what the programs of probes share; where operands are
 *   monitor.h              what monitors in the kernel replace
 *   knowledge.h, doubt.h   formulas on what threads know, evaluated here; of which threads that is not certain
 *   scope.h                scopes of which threads keep the states of their properties
 *   cost.h, spin.h         what probes cost a thread; loops that wait for a value
 *   on_probe.h             on_probe, on_return: synchronisation calls (sync.h), variables by name (access.h)
 *   lines.h                lines that the user chose: entries and departures
 *   shared.h               on_shared: variables that nobody named
 *   pointer.h              on_pointer: memory that is reached through pointers, by words (one_word.h),
 *                          ranges (range.h), and texts and vectors (measure.h);
 *                          the words that stand for descriptors (number.h)
 *   word.h, wordtables.h   the words of memory, and the tables where they are
 *   sharing.h              which accesses of a word are recorded
 *   allocation.h, forget.h where blocks of memory were allocated; memory that ends
 *   function.h             on_call: functions that the user asked for
 *   heap.h                 on_heap, on_heap_return: lifetimes of memory
 *   unseen.h               on_unseen: instructions that synchronise unobserved
 *   futex.h, futexop.h     on_futex: waits in the kernel for futexes, and who ends them
 *   sched.h                on_fork, on_exit, on_exec, list_tasks: the life of threads
 *   watch.h                on_watch and its helpers: hardware watchpoints
 *   io.h                   on_call_in, on_call_out: what orders threads through the kernel
 *   syscall.h, channel.h   system calls, and what is behind a descriptor (file.h)
 *   message.h              messages through channels and futexes
 *   notices.h, notice.h    what carries no bytes: ready.h, connection.h, semaphore.h, filelock.h,
 *                          descriptor.h, child.h
 *   asks.h                 loops that wait by asking
 *   waking.h               on_waking: who wakes a thread
 *   pause.h                threads that sleep until a signal handler has run
 *   callstack.h            call stacks of threads in system calls
 *   signal.h               on_signal_sent, on_signal_came: signals
 *   tracing.h              on_ptrace: programs that trace
 *   hold.h                 holding a thread for its tracer, the tool
 *   sleeper.h              list_sleepers: what threads are doing
 */
#include "on_probe.h"
#include "shared.h"
#include "pointer.h"
#include "function.h"
#include "heap.h"
#include "unseen.h"
#include "futex.h"
#include "sched.h"
#include "watch.h"
#include "io.h"
#include "signal.h"
#include "tracing.h"
#include "sleeper.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Types that no map names, for the generator. */
struct watched_line *unused_watched_line __attribute__((unused));
struct record *unused_record __attribute__((unused));
struct stack_record *unused_stack_record __attribute__((unused));
struct stack_part *unused_stack_part __attribute__((unused));
struct task_line *unused_task_line __attribute__((unused));
struct lost_line *unused_lost_line __attribute__((unused));
struct call_record *unused_call_record __attribute__((unused));
struct sleeper *unused_sleeper __attribute__((unused));
struct scope_record *unused_scope_record __attribute__((unused));
struct scope_state *unused_scope_state __attribute__((unused));
struct tally *unused_tally __attribute__((unused));
