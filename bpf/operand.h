/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Where the operands of sites are: in registers, in memory, or at a distance from the probe.
 */
#ifndef TRACEPREDICT_OPERAND_H
#define TRACEPREDICT_OPERAND_H

#include "base.h"
#include "regs.h"
#include "site.h"

static __always_inline __u64 operand(
	struct pt_regs *ctx, __u8 from, __u8 number, __s64 disp, __u64 imm)
{
	switch (from) {
	case FROM_REG:
		return reg(ctx, number) + disp;
	case FROM_FIXED:
		return REG_IP(ctx) + disp;
	case FROM_IMM:
		return imm;
	}
	return 0;
}

/* Returns the operand that is a site's object. */
static __always_inline __u64 object_of(struct pt_regs *ctx, struct site *site)
{
	return operand(
		ctx, site->object_from, site->object_reg, site->object_disp, site->object_disp);
}

/* Returns an operand of a call that is under way; sp is that at its entry. */
static __always_inline __u64 kept(struct pt_regs *ctx, __u8 from, __u8 number, __s64 disp, __u64 sp)
{
	__u64 v = 0;

	if (from != FROM_STACK)
		return operand(ctx, from, number, disp, 0);
	bpf_probe_read_user(&v, sizeof(v), (void *)(sp + disp));
	return v;
}

static __always_inline bool is_access(struct site *site)
{
	return site->op >= OP_READ && site->op <= OP_UPDATE;
}

/* Gets a variable's value, cut to its width, from a register or memory. Returns whether it
 * could. */
static __always_inline bool value(
	struct pt_regs *ctx, struct access_site *a, __u64 object, __u64 *v)
{
	__u64 x = 0;
	__u8 width = a->width;

	switch (a->value_from) {
	case FROM_NOWHERE:
		return false;
	case FROM_MEMORY:
		if (width > 8 || bpf_probe_read_user(&x, width & 15 ?: 1, (void *)object))
			return false;
		break;
	default:
		x = operand(ctx, a->value_from, a->value_reg, 0, a->imm);
	}
	if (width < 8)
		x &= (1ULL << (width * 8)) - 1;
	*v = x;
	return true;
}

/* Returns the register that a site wants recorded too. */
static __always_inline __u64 extra_of(struct pt_regs *ctx, struct access_site *a)
{
	return a->extra ? reg(ctx, a->extra - 1) : 0;
}

/* Returns how far from the base an instruction with an index touches memory. */
static __always_inline __u64 indexed(struct pt_regs *ctx, struct access_site *a)
{
	__s64 index;

	if (!a->scale)
		return 0;
	index = reg(ctx, a->index_reg);
	if (a->scale == SCALE_BITS32)
		return (__s64)(__s32)index >> 3;
	if (a->scale == SCALE_BITS)
		return index >> 3;
	return index * a->scale;
}

#endif
