/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Readiness: which descriptors poll, select, epoll and FIONREAD have found ready.
 */
#ifndef TRACEPREDICT_READY_H
#define TRACEPREDICT_READY_H

#include "channel.h"
#include "notice.h"

#define POLLIN 1
#define POLLOUT 4
#define POLLIN_ANY 0x20db /* IN, PRI, ERR, HUP, NVAL, RDNORM, RDBAND, RDHUP */
#define POLLOUT_ANY 0x304 /* OUT, WRNORM, WRBAND */
#define ENDED_ANY 0x2018  /* ERR, HUP, RDHUP */
#define MOST_READY 16

struct polled_fd {
	__s32 fd;
	__s16 events, revents;
};

/* Reports which of the events a descriptor is ready for. */
__noinline int ready(__u64 thread, __s32 fd, __u32 events)
{
	struct channel c = {};

	if (events & POLLIN_ANY && find_channel(&c, fd, false) && c.key)
		send(thread, (struct record){.op = OP_RECEIVE,
				     .flags = REC_LEAVE,
				     .object = c.key,
				     .ended = events & ENDED_ANY,
				     .result = c.kind | CHANNEL_READY});
	if (events & POLLOUT_ANY && find_channel(&c, fd, true) && c.key)
		notice(thread, c.key, 0, REC_LEAVE << 8 | OP_SEND, c.kind | CHANNEL_READY);
	return 0;
}

static __always_inline void polled(__u64 thread, __u64 at, __u64 n)
{
	for (int i = 0; i < MOST_READY; i++) {
		struct polled_fd p = {};

		if (i >= n)
			return;
		bpf_probe_read_user(&p, sizeof(p), (void *)(at + i * sizeof(p)));
		if (p.revents)
			ready(thread, p.fd, (__u16)p.revents);
	}
	if (n > MOST_READY)
		doubt(thread, DOUBT_POLL);
}

struct selection {
	__u64 thread, at;
	__u64 word; /* that is being looked at */
	__u32 left; /* descriptors that may still be reported */
	bool in;
};

static long select_one(__u32 fd, struct selection *s)
{
	if (fd % 64 == 0) {
		s->word = 0;
		bpf_probe_read_user(&s->word, sizeof(s->word), (void *)(s->at + fd / 8));
	}
	if (!(s->word >> fd % 64 & 1))
		return 0;
	if (!s->left) {
		doubt(s->thread, DOUBT_POLL);
		return 1;
	}
	s->left--;
	ready(s->thread, fd, s->in ? POLLIN : POLLOUT);
	return 0;
}

/* Reports the descriptors of a set that select has returned, n of which it has looked at. */
static __always_inline void selected(__u64 thread, __u64 at, __u64 n, bool in)
{
	struct selection s = {.thread = thread, .at = at, .left = MOST_READY, .in = in};

	if (at)
		bpf_loop(n < 1024 ? n : 1024, select_one, &s, 0);
}

#if defined(__TARGET_ARCH_x86)
#define EPOLL_SIZE 12 /* of struct epoll_event, and where its data is */
#define EPOLL_DATA 4
#else
#define EPOLL_SIZE 16
#define EPOLL_DATA 8
#endif
#define EPOLL_CTL_DEL 2

static __always_inline void epoll_changed(__u64 thread, struct io_args *a)
{
	struct channel set = {}, c = {};
	__u64 data = 0;

	if ((__u32)a->arg[1] == EPOLL_CTL_DEL)
		return;
	find_channel(&set, a->arg[0], false);
	if (set.kind != CHANNEL_EPOLL)
		return;
	bpf_probe_read_user(&data, sizeof(data), (void *)(a->arg[3] + EPOLL_DATA));
	find_channel(&c, a->arg[2], false);
	send(thread, (struct record){.op = OP_SEND,
			     .object = set.key,
			     .value = data,
			     .channel = c.key,
			     .result = CHANNEL_EPOLL | c.kind << CHANNEL_OF_FD});
}

__noinline int epoll_one(__u64 thread, __u64 set, __u64 data, __u32 events)
{
	send(thread, (struct record){.op = OP_RECEIVE,
			     .flags = REC_LEAVE,
			     .object = set,
			     .value = data,
			     .ended = events & ENDED_ANY,
			     .result = CHANNEL_EPOLL});
	return 0;
}

static __always_inline void epoll_came(__u64 thread, struct io_args *a, __s64 n)
{
	struct channel set = {};
	__u32 events;
	__u64 data;

	find_channel(&set, a->arg[0], false);
	if (set.kind != CHANNEL_EPOLL)
		return;
	for (int i = 0; i < MOST_READY; i++) {
		if (i >= n)
			return;
		data = 0;
		events = 0;
		bpf_probe_read_user(
			&data, sizeof(data), (void *)(a->arg[1] + i * EPOLL_SIZE + EPOLL_DATA));
		bpf_probe_read_user(&events, sizeof(events), (void *)(a->arg[1] + i * EPOLL_SIZE));
		epoll_one(thread, set.key, data, events);
	}
	if (n > MOST_READY) /* all that it has */
		notice(thread, set.key, 0, CAME, CHANNEL_EPOLL | CHANNEL_READY);
}

#define FIONREAD 0x541b

/* Reports that a descriptor has something to read, if a call has said so. */
static __always_inline void counted(__u64 thread, struct io_args *a)
{
	__s32 bytes = 0;

	if ((__u32)a->arg[1] != FIONREAD)
		return;
	bpf_probe_read_user(&bytes, sizeof(bytes), (void *)a->arg[2]);
	if (bytes > 0)
		ready(thread, a->arg[0], POLLIN);
}

#endif
