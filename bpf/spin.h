/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Loops that wait for a value: what they read again and again is recorded once.
 */
#ifndef TRACEPREDICT_SPIN_H
#define TRACEPREDICT_SPIN_H

#include "record.h"
#include "site.h"
#include "slot.h"

/* Returns whether an access says again what one of the thread's last records said: it waits for
 * another thread, and turns round without doing anything else that is recorded. */
static __always_inline bool spins(
	struct slot *slot, struct site *site, __u32 index, __u64 second, __u64 extra)
{
	bool may = site->flags & SITE_SPIN && (site->op == OP_READ || second == extra);
	__u64 n;

	if (!slot)
		return false;
	n = slot->spun;
	for (int i = 0; i < NEAR_SPINS && may; i++) {
		struct spin *x = &slot->spins[i];

		if (i >= n)
			break;
		if (x->site != index || x->extra != extra)
			continue;
		if (x->value == second)
			return true;
		n = 0; /* it goes on: all that it read before may be read again */
		break;
	}
	if (n >= NEAR_SPINS)
		n = 0;
	if (may)
		slot->spins[n & (NEAR_SPINS - 1)] = (struct spin){second, extra, index};
	slot->spun = may ? n + 1 : 0;
	return false;
}

#endif
