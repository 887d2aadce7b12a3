/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * on_call_in, on_call_out: messages between threads through the kernel, and what else orders them there.
 * There is a record when a system call that sends or receives is entered, and one when it has
 * returned. The programs are loaded and attached only where messages are asked for: each
 * system call of the machine pays for looking whose it is.
 */
#ifndef TRACEPREDICT_IO_H
#define TRACEPREDICT_IO_H

#include "asks.h"
#include "message.h"
#include "notices.h"
#include "pause.h"
#include "thread.h"
#include "waking.h"

/* Returns whether calls that are not seen may receive from now on: an io_uring is set up, or a
 * descriptor is handed over. */
static __always_inline bool hands_over(struct io_args *a)
{
	__u64 control = 0;

	if (a->nr == CALL_SENDMSG) /* msg_controllen of struct user_msghdr */
		bpf_probe_read_user(&control, sizeof(control), (void *)(a->arg[1] + 40));
	return a->nr == CALL_IO_URING_SETUP || control;
}

SEC("raw_tp/sys_enter")
int on_call_in(struct raw_args *ctx)
{
	__u64 thread = current_thread();
	struct io_call call = {};
	struct io_args a = {};
	__u32 tid = thread;

	if (!is_target(thread)) {
		if (is_kin(thread))
			kin_sends(ctx->args[0]);
		return 0;
	}
	if (!calls_seen)
		calls_seen = 1;
	read_call(&a, ctx->args[0], true);
	a.nr = ctx->args[1];
	if (hands_over(&a)) {
		call.send.kind = CHANNEL_UNSEEN;
		io_record(&call, thread, 0, OP_SEND);
	}
	pause_entered(thread, &a);
	notice_entered(thread, &a);
	if (asking)
		change_entered(thread, &a);
	if (!io_call_of(&call, &a))
		return 0;
	if (is_eventfd(&call.receive))
		call.ip = (__u64)(call.from + 1) << EVENTFD_NUMBER;
	if (call.receive.key)
		io_record(&call, thread, most(&a), OP_RECEIVE);
	if (is_eventfd(&call.send))
		on_eventfd(&call, &a, thread, true);
	if (call.send.key) {
		io_record(&call, thread, most(&a), OP_SEND);
		if (any_kin)
			sends_to_kin(thread, a.nr, &call.send);
	}
	if (call.shuts)
		shut(call.to, thread, OP_SEND);
	bpf_map_update_elem(&io_calls, &tid, &call, BPF_ANY);
	return 0;
}

SEC("raw_tp/sys_exit")
int on_call_out(struct raw_args *ctx)
{
	__u64 thread = current_thread();
	__s64 result = ctx->args[1];
	struct io_call call = {}, *begun;
	struct io_args a = {};
	__u32 flags = REC_LEAVE, tid = thread;

	if (!is_target(thread)) {
		if (is_kin(thread) && result >= 0)
			kin_receives(ctx->args[0]);
		return 0;
	}
	begun = bpf_map_lookup_elem(&io_calls, &tid);
	if (begun) {
		call = *begun;
		bpf_map_delete_elem(&io_calls, &tid);
	} else {
		/* Otherwise under way when observation began, if anything. */
		read_call(&a, ctx->args[0], false);
		if (asking)
			ask_left(thread, &a, result);
		if (notice_left(thread, &a, result) || !io_call_of(&call, &a))
			return 0;
	}
	if (result < 0)
		flags |= REC_FAILED;
	if (call.receive.key && any_kin && result >= 0)
		receives_from_kin(thread, &call.receive);
	if (is_eventfd(&call.receive)) {
		read_call(&a, ctx->args[0], false);
		on_eventfd(&call, &a, thread, false);
	}
	if (call.receive.key)
		io_record(&call, thread, call.copies && result > 0 ? 0 : result,
			flags << 8 | OP_RECEIVE);
	if (call.send.key)
		io_record(&call, thread, result, flags << 8 | OP_SEND);
	if (call.shuts)
		shut(call.to, thread, flags << 8 | OP_SEND);
	if (call.send.key && call.send.kind != CHANNEL_FUTEX &&
		(result == -EPIPE || result == -ECONNRESET))
		refused(thread, call.to);
	return 0;
}

#endif
