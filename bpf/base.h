/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * What all headers stand on: the types of the kernel's interface, and the helpers and maps of BPF.
 */
#ifndef TRACEPREDICT_BASE_H
#define TRACEPREDICT_BASE_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#endif
