/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * The registers of the probed thread, by architecture.
 */
#ifndef TRACEPREDICT_REGS_H
#define TRACEPREDICT_REGS_H

#include "base.h"

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8;
	unsigned long ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
};
#define REG_SP(ctx) ((ctx)->sp)
#define SYSCALL_NUMBER(user) ((__s64)(user)->orig_ax)
#define REG_IP(ctx) ((ctx)->ip)
#define REG_RESULT(ctx) ((ctx)->ax)

/* A context may not be read at a variable offset. */
#define REG_CASE(n, field)                                                           \
	case n:                                                                      \
		asm volatile("%0 = *(u64 *)(%1 + %2)"                                \
			: "=r"(v)                                                    \
			: "r"(ctx), "i"(__builtin_offsetof(struct pt_regs, field))); \
		break;

static __always_inline __u64 reg(struct pt_regs *ctx, __u8 number)
{
	__u64 v = 0;

	if (number == 7) /* rdi, the first argument, before all others */
		return ctx->di;
	switch (number) {
		REG_CASE(0, ax)
		REG_CASE(1, cx)
		REG_CASE(2, dx)
		REG_CASE(3, bx)
		REG_CASE(4, sp)
		REG_CASE(5, bp)
		REG_CASE(6, si)
		REG_CASE(8, r8)
		REG_CASE(9, r9)
		REG_CASE(10, r10)
		REG_CASE(11, r11)
		REG_CASE(12, r12)
		REG_CASE(13, r13)
		REG_CASE(14, r14)
		REG_CASE(15, r15)
	}
	return v;
}

/* What a call pushes: a frame begins that much above the stack pointer at the entry of a function. */
#define RETURN_ADDRESS_BYTES 8

static __always_inline __u64 return_address(struct pt_regs *ctx, __u64 sp)
{
	__u64 address = 0;

	bpf_probe_read_user(&address, sizeof(address), (void *)sp);
	return address;
}

/* Returns whether the processor's flags meet condition n of the jcc opcodes: o, b, z, be, s,
 * p, l and le, each followed by its opposite (Intel's manual, volume 2, appendix B). */
static __always_inline bool condition(struct pt_regs *ctx, __u8 n)
{
	__u64 f = ctx->flags;
	bool less = !(f & 1 << 7) != !(f & 1 << 11); /* SF, OF */
	bool holds;

	switch (n >> 1) {
	case 0:
		holds = f & 1 << 11;
		break;
	case 1:
		holds = f & 1 << 0;
		break;
	case 2:
		holds = f & 1 << 6;
		break;
	case 3:
		holds = f & (1 << 0 | 1 << 6);
		break;
	case 4:
		holds = f & 1 << 7;
		break;
	case 5:
		holds = f & 1 << 2;
		break;
	case 6:
		holds = less;
		break;
	default:
		holds = less || f & 1 << 6;
	}
	return holds != (n & 1);
}

/* The call pushed the return address, the return popped it. */
#define ENTRY_SP_AT_RETURN(ctx) (REG_SP(ctx) - 8)
#elif defined(__TARGET_ARCH_arm64)
/* The verifier knows a context by this name, where a function that is not static takes
 * one. */
#define pt_regs user_pt_regs
struct pt_regs {
	__u64 regs[31];
	__u64 sp, pc, pstate;
};
#define REG_SP(ctx) ((ctx)->sp)
#define SYSCALL_NUMBER(user) ((__s64)(user)->regs[8])
#define REG_IP(ctx) ((ctx)->pc)
#define REG_RESULT(ctx) ((ctx)->regs[0])

static __always_inline __u64 reg(struct pt_regs *ctx, __u8 number)
{
	__u64 v = 0;

	if (number == 31)
		return ctx->sp;
	bpf_probe_read_kernel(&v, sizeof(v), &ctx->regs[number & 31]);
	return v;
}

#define RETURN_ADDRESS_BYTES 0

static __always_inline __u64 return_address(struct pt_regs *ctx, __u64 sp)
{
	return ctx->regs[30];
}
#define ENTRY_SP_AT_RETURN(ctx) (REG_SP(ctx))

static __always_inline bool condition(struct pt_regs *ctx, __u8 n)
{
	return true;
}
#endif

#endif
