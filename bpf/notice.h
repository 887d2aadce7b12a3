/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * What orders threads through the kernel and carries no bytes. The records are OP_SEND and OP_RECEIVE, as of
 * messages; their kind says what their operands are (record.h).
 */
#ifndef TRACEPREDICT_NOTICE_H
#define TRACEPREDICT_NOTICE_H

#include "ringbuf.h"

/* Sends the record of a notice; what is the operation and, times 256, the flags. */
__noinline int notice(__u64 thread, __u64 object, __u64 value, __u32 what, __s32 kind)
{
	send(thread, (struct record){.op = what,
			     .flags = what >> 8,
			     .object = object,
			     .value = value,
			     .result = kind});
	return 0;
}

#define CAME (REC_LEAVE << 8 | OP_RECEIVE)

/* Reports that an order of an unseen kind has reached the thread. */
static __always_inline void doubt(__u64 thread, __u64 why)
{
	notice(thread, why, 0, CAME, CHANNEL_DOUBT);
}

#endif
