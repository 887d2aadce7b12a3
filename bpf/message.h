/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Messages through channels and futexes: what a system call sends and receives.
 */
#ifndef TRACEPREDICT_MESSAGE_H
#define TRACEPREDICT_MESSAGE_H

#include "callstack.h"
#include "channel.h"
#include "futexop.h"
#include "ringbuf.h"

#define UNBOUNDED (~0ULL)
#define SYSTEM_V (1ULL << 44) /* of the key of a queue of messages: the rest is its identifier */

/* A call between its entry and its return. */
struct io_call {
	struct channel send, receive;
	__u64 ip, caller; /* of a futex call; of an eventfd, ip is extra of its record */
	__s32 to, from;   /* the descriptors that it sends to and receives from */
	__u32 copies;     /* what it receives stays where it is */
	__u32 shuts;      /* it ends what comes in at its own end, for other threads there */
	__u32 stack;      /* call stack ID, of a call on an eventfd */
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 14);
	__type(key, __u32);
	__type(value, struct io_call);
} io_calls SEC(".maps");

/* Finds the channels of a futex call: the futex's address in the process. */
static __always_inline void futex_channels(struct io_call *call, struct io_args *a)
{
	struct channel c = {.key = a->arg[0], .kind = CHANNEL_FUTEX};

	if (futex_is(a->arg[1], FUTEX_WAITS))
		call->receive = c;
	else if (futex_is(a->arg[1], FUTEX_WAKES))
		call->send = c;
	else
		return;
	call->ip = a->ip;
#if defined(__TARGET_ARCH_x86)
	bpf_probe_read_user(&call->caller, sizeof(call->caller), (void *)a->sp);
#else
	call->caller = a->link;
#endif
}

/* Returns whether a call moves pages, each of which takes a slot of a pipe, however few bytes
 * it has. */
static __always_inline bool splices(__u64 nr)
{
	return nr == CALL_SENDFILE || nr == CALL_VMSPLICE || nr == CALL_SPLICE || nr == CALL_TEE;
}

#define O_ACCMODE 3
#define FILE_NONBLOCK 04000
#define STDERR 2
#define SHUT_WR 1

static __always_inline bool is_written(__s32 fd)
{
	struct file *f = file_of(fd);

	return f && BPF_CORE_READ(f, f_flags) & O_ACCMODE;
}

/* Finds what a system call sends to and receives from; false if nothing. To close a
 * descriptor may tell the other end of it. */
static __always_inline bool io_call_of(struct io_call *call, struct io_args *a)
{
	__s32 to = -1, from = -1;

	switch (a->nr) {
	case CALL_READ:
	case CALL_READV:
	case CALL_PREADV2:
	case CALL_RECVFROM:
	case CALL_RECVMSG:
	case CALL_RECVMMSG:
	case CALL_MQ_TIMEDRECEIVE:
		from = a->arg[0];
		break;
	case CALL_WRITE:
	case CALL_WRITEV:
	case CALL_PWRITEV2:
	case CALL_SENDTO:
	case CALL_SENDMSG:
	case CALL_SENDMMSG:
	case CALL_TIMERFD_SETTIME:
	case CALL_CLOSE:
	case CALL_SHUTDOWN:
	case CALL_MQ_TIMEDSEND:
		to = a->arg[0];
		break;
	case CALL_VMSPLICE: /* the way for which the pipe is open */
		if (is_written(a->arg[0]))
			to = a->arg[0];
		else
			from = a->arg[0];
		break;
	case CALL_SENDFILE:
		to = a->arg[0];
		from = a->arg[1];
		break;
	case CALL_SPLICE:
		from = a->arg[0];
		to = a->arg[2];
		break;
	case CALL_TEE:
		from = a->arg[0];
		to = a->arg[1];
		call->copies = 1;
		break;
	case CALL_FUTEX:
		futex_channels(call, a);
		return call->send.key || call->receive.key;
	case CALL_MSGCTL:
		if (a->arg[1])
			return false;
	case CALL_MSGSND: /* or IPC_RMID, which ends all waits */
		call->send = (struct channel){.key = SYSTEM_V | a->arg[0], .kind = CHANNEL_QUEUE};
		return true;
	case CALL_MSGRCV:
		call->receive =
			(struct channel){.key = SYSTEM_V | a->arg[0], .kind = CHANNEL_QUEUE};
		return true;
	default:
		return false;
	}
	if (to >= 0) {
		find_channel(&call->send, to, true);
		if (call->send.kind >= CHANNEL_SIGNAL && call->send.kind != CHANNEL_LISTENER &&
			(call->send.kind & ~CHANNEL_TIGHT) != CHANNEL_QUEUE &&
			call->send.kind < CHANNEL_TIGHT)
			call->send.key = 0; /* closed, which tells nobody */
		call->to = to;
		call->shuts = a->nr == CALL_SHUTDOWN && a->arg[1] != SHUT_WR;
		if (to && to <= STDERR)
			call->send.kind |= CHANNEL_FAR;
		if (splices(a->nr))
			call->send.kind |= CHANNEL_TIGHT;
	}
	if (from >= 0) {
		find_channel(&call->receive, from, false);
		call->from = from;
	}
	return call->send.key || call->receive.key;
}

/* Returns how many bytes a call moves at most, where it says so. */
static __always_inline __u64 most(struct io_args *a)
{
	switch (a->nr) {
	case CALL_READ:
	case CALL_WRITE:
	case CALL_SENDTO:
	case CALL_RECVFROM:
	case CALL_TEE:
		return a->arg[2];
	case CALL_SENDFILE:
		return a->arg[3];
	case CALL_SPLICE:
		return a->arg[4];
	case CALL_CLOSE:
	case CALL_SHUTDOWN:
		return 0;
	}
	return UNBOUNDED;
}

struct eventfd_ctx {
	__u64 count;
} CORE;

/* Adds to a call on an eventfd what its record has. sends: it is about to add; otherwise it has taken. Not static, so
 * that the verifier judges it once. */
__noinline int on_eventfd(struct io_call *call, struct io_args *a, __u64 thread, bool sends)
{
	struct eventfd_ctx *ctx;
	struct file *f;
	__u64 moved = 0;
	__s32 fd;

	if (!call || !a)
		return 0;
	fd = sends ? call->to : call->from;
	call->stack = call_stack(thread);
	call->ip = (__u64)(fd + 1) << EVENTFD_NUMBER;
	if (a->nr != (sends ? CALL_WRITE : CALL_READ))
		return 0;
	f = file_of(fd);
	if (!f || !bpf_core_type_exists(struct eventfd_ctx) ||
		BPF_CORE_READ(f, f_flags) & FILE_NONBLOCK)
		return 0;
	ctx = BPF_CORE_READ(f, private_data);
	bpf_probe_read_user(&moved, sizeof(moved), (void *)a->arg[1]);
	if (moved == 1 && !BPF_CORE_READ(ctx, count))
		call->ip |= EVENTFD_TOKEN;
	return 0;
}

static __always_inline bool is_eventfd(struct channel *c)
{
	return c->key && c->kind == CHANNEL_EVENTFD;
}

static __noinline int io_record(struct io_call *call, __u64 thread, __u64 bytes, __u32 what)
{
	struct channel *c;

	if (!call)
		return 0;
	c = (what & 0xff) == OP_SEND ? &call->send : &call->receive;
	send(thread, (struct record){.op = what,
			     .flags = what >> 8,
			     .stack = call->stack,
			     .object = c->key,
			     .value = c->kind == CHANNEL_FUTEX ? call->caller : bytes,
			     .ip = call->ip,
			     .result = c->kind});
	return 0;
}

/* Reports that a call ends what comes in at its own end of a socket: a thread that waits there
 * receives the end. */
static __noinline int shut(__s32 fd, __u64 thread, __u32 what)
{
	struct io_call own = {};

	if (find_channel(&own.send, fd, false) && own.send.key)
		io_record(&own, thread, 0, what);
	return 0;
}

#define EPIPE 32
#define ECONNRESET 104

/* Reports, of a send that failed since the other end was closed, that it has received the end of
 * what comes from there. */
__noinline int refused(__u64 thread, __s32 fd)
{
	struct io_call call = {};

	if (find_channel(&call.receive, fd, false) && call.receive.key)
		io_record(&call, thread, 0, REC_LEAVE << 8 | OP_RECEIVE);
	return 0;
}

#endif
