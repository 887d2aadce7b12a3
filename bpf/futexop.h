/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * The operations of futex(2), and which of them wait or wake (include/uapi/linux/futex.h).
 */
#ifndef TRACEPREDICT_FUTEXOP_H
#define TRACEPREDICT_FUTEXOP_H

#include "base.h"

#define FUTEX_WAIT 0
#define FUTEX_WAKE 1
#define FUTEX_REQUEUE 3
#define FUTEX_CMP_REQUEUE 4
#define FUTEX_WAKE_OP 5
#define FUTEX_LOCK_PI 6
#define FUTEX_UNLOCK_PI 7
#define FUTEX_WAIT_BITSET 9
#define FUTEX_WAKE_BITSET 10
#define FUTEX_WAIT_REQUEUE_PI 11
#define FUTEX_CMP_REQUEUE_PI 12
#define FUTEX_LOCK_PI2 13
#define FUTEX_COMMAND 127

#define FUTEX_WAITS                                                      \
	(1 << FUTEX_WAIT | 1 << FUTEX_LOCK_PI | 1 << FUTEX_WAIT_BITSET | \
		1 << FUTEX_WAIT_REQUEUE_PI | 1 << FUTEX_LOCK_PI2)
#define FUTEX_WAKES                                                                           \
	(1 << FUTEX_WAKE | 1 << FUTEX_REQUEUE | 1 << FUTEX_CMP_REQUEUE | 1 << FUTEX_WAKE_OP | \
		1 << FUTEX_UNLOCK_PI | 1 << FUTEX_WAKE_BITSET | 1 << FUTEX_CMP_REQUEUE_PI)

/* Returns whether an operation is one of a set. */
static __always_inline bool futex_is(__u32 op, __u32 set)
{
	return (op & FUTEX_COMMAND) < 32 && set >> (op & 31) & 1;
}

#endif
