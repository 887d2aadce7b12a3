/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * The parts of kernel types that several programs use. The loader relocates the accesses
 * (CO-RE), so that only names and types matter here, neither order nor offsets.
 */
#ifndef TRACEPREDICT_KERNEL_H
#define TRACEPREDICT_KERNEL_H

#include "base.h"

#define CORE __attribute__((preserve_access_index))

struct ns_common {
	unsigned int inum;
} CORE;
struct pid_namespace {
	struct ns_common ns;
} CORE;
struct upid {
	int nr;
	struct pid_namespace *ns;
} CORE;
struct pid {
	unsigned int level;
	struct upid numbers[];
} CORE;
#if defined(__TARGET_ARCH_x86)
struct thread_struct {
	unsigned long fsbase;
} CORE;
#define THREAD_POINTER(task) BPF_CORE_READ(task, thread.fsbase)
#define CURRENT_THREAD_POINTER(task) ((task)->thread.fsbase)
#elif defined(__TARGET_ARCH_arm64)
struct thread_struct {
	struct {
		unsigned long tp_value;
	} uw;
} CORE;
#define THREAD_POINTER(task) BPF_CORE_READ(task, thread.uw.tp_value)
#define CURRENT_THREAD_POINTER(task) ((task)->thread.uw.tp_value)
#endif
struct signal_struct {
	struct {
		int counter;
	} live; /* threads of the process */
	unsigned int flags;
	int group_exit_code;
} CORE;
struct return_instance {
	unsigned long stack;
	unsigned long orig_ret_vaddr;
	struct return_instance *next;
} CORE;
struct uprobe;
struct uprobe_task {
	unsigned long vaddr;
	struct uprobe *active_uprobe;
	unsigned long xol_vaddr;
	struct return_instance *return_instances;
} CORE;
struct files_struct;
struct perf_event_context;
struct sched_entity {
	__u64 sum_exec_runtime;
} CORE;
typedef struct {
	unsigned long sig[1];
} sigset_t;
struct task_struct {
	unsigned int flags;
	unsigned int __state;
	int exit_state;
	int pid;
	int tgid;
	unsigned long nvcsw, nivcsw;
	struct signal_struct *signal;
	struct pid *thread_pid;
	struct task_struct *group_leader, *real_parent, *parent;
	unsigned int ptrace;
	sigset_t blocked;
	struct thread_struct thread;
	struct uprobe_task *utask;
	struct files_struct *files;
	struct perf_event_context *perf_event_ctxp;
	struct sched_entity se;
} CORE;

struct seq_file;
struct bpf_iter_meta {
	struct seq_file *seq;
	__u64 session_id;
	__u64 seq_num;
} CORE;
struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
} CORE;

#endif
