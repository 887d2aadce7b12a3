/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Connections: who listens at a port, connects to it, and accepts.
 */
#ifndef TRACEPREDICT_CONNECTION_H
#define TRACEPREDICT_CONNECTION_H

#include "channel.h"
#include "notice.h"

#define LISTENS (1ULL << 40) /* of a key: that the socket listens, and not that it is connected */

/* Returns the key of the listener at an address; 0 if there can be none. */
static __always_inline __u64 listener_at(__u64 address)
{
	__u16 head[2] = {}; /* of struct sockaddr: the family, and the port */

	bpf_probe_read_user(head, sizeof(head), (void *)address);
	return listener_key(head[0], __builtin_bswap16(head[1]));
}

#define EAGAIN 11
#define EINTR 4
#define ECONNREFUSED 111
#define ERESTARTSYS 512 /* and the next ones: the call is begun again */

/* Returns whether a wait was ended by what it waited for, be it an error. */
static __always_inline bool ended(__s64 result)
{
	return result >= 0 || (result != -EAGAIN && result != -EINTR && result > -ERESTARTSYS);
}

static __always_inline void accepted(__u64 thread, struct io_args *a)
{
	struct channel c = {};

	find_channel(&c, a->arg[0], false);
	if (c.kind != CHANNEL_LISTENER)
		return;
	if (c.key >> 16 == TCP_LISTENERS)
		mark_accepting(c.key);
	notice(thread, c.key, 0, CAME, CHANNEL_LISTENER | CHANNEL_FAR);
}

#endif
