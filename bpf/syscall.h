/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * System calls: their numbers by architecture, and the arguments of one that a thread is in.
 */
#ifndef TRACEPREDICT_SYSCALL_H
#define TRACEPREDICT_SYSCALL_H

#include "kernel.h"
#include "regs.h"

/* The system calls, by their numbers. */
#if defined(__TARGET_ARCH_x86)
#define IO_CALL(x86, arm) x86
#elif defined(__TARGET_ARCH_arm64)
#define IO_CALL(x86, arm) arm
#endif
#define CALL_READ IO_CALL(0, 63)
#define CALL_WRITE IO_CALL(1, 64)
#define CALL_READV IO_CALL(19, 65)
#define CALL_WRITEV IO_CALL(20, 66)
#define CALL_PREADV2 IO_CALL(327, 286)
#define CALL_PWRITEV2 IO_CALL(328, 287)
#define CALL_SENDFILE IO_CALL(40, 71)
#define CALL_VMSPLICE IO_CALL(278, 75)
#define CALL_SPLICE IO_CALL(275, 76)
#define CALL_TEE IO_CALL(276, 77)
#define CALL_SENDTO IO_CALL(44, 206)
#define CALL_RECVFROM IO_CALL(45, 207)
#define CALL_SENDMSG IO_CALL(46, 211)
#define CALL_RECVMSG IO_CALL(47, 212)
#define CALL_SENDMMSG IO_CALL(307, 269)
#define CALL_RECVMMSG IO_CALL(299, 243)
#define CALL_CLOSE IO_CALL(3, 57)
#define CALL_SHUTDOWN IO_CALL(48, 210)
#define CALL_DUP2 IO_CALL(33, NO_CALL + 33)
#define CALL_DUP3 IO_CALL(292, 24)
#define CALL_CLOSE_RANGE 436
#define CALL_IOCTL IO_CALL(16, 29)
#define CALL_RT_SIGPENDING IO_CALL(127, 136)
#define CALL_TIMERFD_SETTIME IO_CALL(286, 86)
#define CALL_FUTEX IO_CALL(202, 98)
#define CALL_IO_URING_SETUP 425
#define CALL_MQ_TIMEDSEND IO_CALL(242, 182)
#define CALL_MQ_TIMEDRECEIVE IO_CALL(243, 183)
#define CALL_MSGSND IO_CALL(69, 189)
#define CALL_MSGRCV IO_CALL(70, 188)
#define CALL_MSGCTL IO_CALL(71, 187)
#define CALL_TIMER_SETTIME IO_CALL(223, 110)
#define CALL_SETITIMER IO_CALL(38, 103)
#define CALL_ALARM IO_CALL(37, NO_CALL + 37)
#define CALL_RT_SIGTIMEDWAIT IO_CALL(128, 137)
#define CALL_POLL IO_CALL(7, NO_CALL + 7)
#define CALL_PPOLL IO_CALL(271, 73)
#define CALL_SELECT IO_CALL(23, NO_CALL + 23)
#define CALL_PSELECT6 IO_CALL(270, 72)
#define CALL_EPOLL_CTL IO_CALL(233, 21)
#define CALL_EPOLL_WAIT IO_CALL(232, NO_CALL + 232)
#define CALL_EPOLL_PWAIT IO_CALL(281, 22)
#define CALL_EPOLL_PWAIT2 441
#define CALL_CONNECT IO_CALL(42, 203)
#define CALL_LISTEN IO_CALL(50, 201)
#define CALL_ACCEPT IO_CALL(43, 202)
#define CALL_ACCEPT4 IO_CALL(288, 242)
#define CALL_SEMOP IO_CALL(65, 193)
#define CALL_SEMTIMEDOP IO_CALL(220, 192)
#define CALL_SEMCTL IO_CALL(66, 191)
#define CALL_FLOCK IO_CALL(73, 32)
#define CALL_KILL IO_CALL(62, 129)
#define CALL_TKILL IO_CALL(200, 130)
#define CALL_TGKILL IO_CALL(234, 131)
#define CALL_RT_SIGQUEUEINFO IO_CALL(129, 138)
#define CALL_RT_TGSIGQUEUEINFO IO_CALL(297, 240)
#define CALL_PIDFD_SEND_SIGNAL 424
#define CALL_FCNTL IO_CALL(72, 25)
#define CALL_WAIT4 IO_CALL(61, 260)
#define CALL_WAITID IO_CALL(247, 95)
#define CALL_NANOSLEEP IO_CALL(35, 101)
#define CALL_CLOCK_NANOSLEEP IO_CALL(230, 115)
#define CALL_RT_SIGRETURN IO_CALL(15, 139)
#define CALL_RT_SIGSUSPEND IO_CALL(130, 133)
#define CALL_PAUSE IO_CALL(34, NO_CALL + 34)
#define CALL_OPEN IO_CALL(2, NO_CALL + 2)
#define CALL_OPENAT IO_CALL(257, 56)
#define CALL_OPENAT2 437
#define CALL_CREAT IO_CALL(85, NO_CALL + 85)
#define CALL_DUP IO_CALL(32, 23)
#define CALL_SOCKET IO_CALL(41, 198)
#define CALL_SOCKETPAIR IO_CALL(53, 199)
#define CALL_PIPE IO_CALL(22, NO_CALL + 22)
#define CALL_PIPE2 IO_CALL(293, 59)
#define CALL_EVENTFD IO_CALL(284, NO_CALL + 284)
#define CALL_EVENTFD2 IO_CALL(290, 19)
#define CALL_EPOLL_CREATE IO_CALL(213, NO_CALL + 213)
#define CALL_EPOLL_CREATE1 IO_CALL(291, 20)
#define CALL_TIMERFD_CREATE IO_CALL(283, 85)
#define CALL_SIGNALFD IO_CALL(282, NO_CALL + 282)
#define CALL_SIGNALFD4 IO_CALL(289, 74)
#define CALL_INOTIFY_INIT IO_CALL(253, NO_CALL + 253)
#define CALL_INOTIFY_INIT1 IO_CALL(294, 26)
#define CALL_MEMFD_CREATE IO_CALL(319, 279)
#define CALL_MQ_OPEN IO_CALL(240, 180)
#define CALL_PIDFD_OPEN 434
#define NO_CALL 100000 /* and more: this architecture has none */

#define CALL_STAT IO_CALL(4, NO_CALL + 4)
#define CALL_FSTAT IO_CALL(5, 80)
#define CALL_LSTAT IO_CALL(6, NO_CALL + 6)
#define CALL_LSEEK IO_CALL(8, 62)
#define CALL_PREAD64 IO_CALL(17, 67)
#define CALL_PWRITE64 IO_CALL(18, 68)
#define CALL_ACCESS IO_CALL(21, NO_CALL + 21)
#define CALL_SCHED_YIELD IO_CALL(24, 124)
#define CALL_BIND IO_CALL(49, 200)
#define CALL_GETSOCKNAME IO_CALL(51, 204)
#define CALL_TRUNCATE IO_CALL(76, 45)
#define CALL_FTRUNCATE IO_CALL(77, 46)
#define CALL_RENAME IO_CALL(82, NO_CALL + 82)
#define CALL_MKDIR IO_CALL(83, NO_CALL + 83)
#define CALL_RMDIR IO_CALL(84, NO_CALL + 84)
#define CALL_LINK IO_CALL(86, NO_CALL + 86)
#define CALL_UNLINK IO_CALL(87, NO_CALL + 87)
#define CALL_SYMLINK IO_CALL(88, NO_CALL + 88)
#define CALL_READLINK IO_CALL(89, NO_CALL + 89)
#define CALL_MKDIRAT IO_CALL(258, 34)
#define CALL_NEWFSTATAT IO_CALL(262, 79)
#define CALL_UNLINKAT IO_CALL(263, 35)
#define CALL_RENAMEAT IO_CALL(264, 38)
#define CALL_LINKAT IO_CALL(265, 37)
#define CALL_SYMLINKAT IO_CALL(266, 36)
#define CALL_READLINKAT IO_CALL(267, 78)
#define CALL_FACCESSAT IO_CALL(269, 48)
#define CALL_FALLOCATE IO_CALL(285, 47)
#define CALL_PWRITEV IO_CALL(296, 70)
#define CALL_RENAMEAT2 IO_CALL(316, 276)
#define CALL_STATX IO_CALL(332, 291)
#define CALL_FACCESSAT2 439

struct io_args {
	__u64 nr, arg[6];
	__u64 ip, sp, link;
};

static __always_inline void read_call(struct io_args *a, __u64 regs_at, bool entry)
{
	struct pt_regs regs = {};

	bpf_probe_read_kernel(&regs, sizeof(regs), (void *)regs_at);
#if defined(__TARGET_ARCH_x86)
	a->nr = regs.orig_ax;
	a->arg[0] = regs.di;
	a->arg[1] = regs.si;
	a->arg[2] = regs.dx;
	a->arg[3] = regs.r10;
	a->arg[4] = regs.r8;
	a->arg[5] = regs.r9;
	a->ip = regs.ip;
	a->sp = regs.sp;
#elif defined(__TARGET_ARCH_arm64)
	a->nr = regs.regs[8];
	for (int i = 0; i < 6; i++)
		a->arg[i] = regs.regs[i];
	/* The result has taken the first argument's place: struct user_pt_regs is
	 * followed by the original. */
	if (!entry)
		bpf_probe_read_kernel(&a->arg[0], 8, (void *)(regs_at + sizeof(regs)));
	a->ip = regs.pc;
	a->sp = regs.sp;
	a->link = regs.regs[30];
#endif
}

struct raw_args {
	__u64 args[2];
};

#endif
