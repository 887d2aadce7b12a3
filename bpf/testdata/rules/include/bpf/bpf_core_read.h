/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* Accesses of structures of the kernel that need no relocation: they are those of rules.c. */
#ifndef RULES_BPF_CORE_READ_H
#define RULES_BPF_CORE_READ_H

#define READ_1(from, a) (from)->a
#define READ_2(from, a, b) (from)->a->b
#define READ_COUNT(a, b, name, ...) name
#define BPF_CORE_READ(from, ...) READ_COUNT(__VA_ARGS__, READ_2, READ_1, )(from, __VA_ARGS__)
#define bpf_core_field_offset(field) 0
#define bpf_core_type_size(type) sizeof(type)

#endif
