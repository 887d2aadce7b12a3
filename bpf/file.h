/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * The open files of a process, by their descriptors.
 */
#ifndef TRACEPREDICT_FILE_H
#define TRACEPREDICT_FILE_H

#include "kernel.h"

struct file;
struct fdtable {
	unsigned int max_fds;
	struct file **fd;
} CORE;
struct files_struct {
	struct fdtable *fdt;
} CORE;

/* Returns the open file behind a descriptor of the current thread; null if there is none. */
static __always_inline struct file *file_of(__s32 fd)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file **files = BPF_CORE_READ(table, fd);
	struct file *f = 0;

	if (fd < 0 || fd >= BPF_CORE_READ(table, max_fds))
		return 0;
	bpf_probe_read_kernel(&f, sizeof(f), files + fd);
	return f;
}

#endif
