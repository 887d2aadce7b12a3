#!/bin/bash
# A tracer with one thread for each program that it traces waits in each with
# wait4(-1, ..., __WALL | __WNOTHREAD), which ptrace(2) suggests: the stops of the thread's own
# tracees. But if a thread has also *started* a process that another thread of the same
# program traces, this wait takes that process's stops too (the kernel reports the stop of a child
# that the parent's own thread group traces as if the parent traced it), and the other tracer waits
# for ever. Run-times that start processes from any thread, as Go's does, meet it by chance.
# With __WCLONE instead of __WALL, tracees are waited for all the same, and ordinary children,
# which end with SIGCHLD, are not.
#
# Seen: Linux 6.18, x86-64, glibc 2.36, gcc 12.2.0, 2026-11-27: "__WALL: the starter got the stop",
# "__WCLONE: the tracer got the stop". Needs gcc. Fails if it is otherwise.
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat >"$dir/who.c" <<'C'
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_barrier_t met;
static pid_t child;
static int flags, starter_got, tracer_got;

/* Starts the child, and waits once for whatever the flags let it have. */
static void *starter(void *unused)
{
	int status;

	child = fork();
	if (child == 0) {
		for (;;)
			pause();
	}
	pthread_barrier_wait(&met); /* it is there */
	pthread_barrier_wait(&met); /* it is traced, and has stopped */
	starter_got = waitpid(-1, &status, flags | __WNOTHREAD | WNOHANG) == child;
	pthread_barrier_wait(&met); /* the starter has looked */
	return unused;
}

static void *tracer(void *unused)
{
	siginfo_t info;
	int status;

	pthread_barrier_wait(&met);
	if (ptrace(PTRACE_SEIZE, child, 0, 0) || ptrace(PTRACE_INTERRUPT, child, 0, 0))
		perror("ptrace");
	/* Look at the stop, and leave it there. */
	while (waitid(P_PID, child, &info, WSTOPPED | WNOWAIT | __WALL) && errno == EINTR)
		;
	pthread_barrier_wait(&met);
	pthread_barrier_wait(&met);
	tracer_got = waitpid(child, &status, __WALL | WNOHANG) == child;
	kill(child, SIGKILL);
	while (waitpid(child, &status, __WALL) == child && !WIFSIGNALED(status))
		;
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t a, b;

	flags = argc > 1 && strcmp(argv[1], "__WCLONE") == 0 ? __WCLONE : __WALL;
	pthread_barrier_init(&met, NULL, 2);
	pthread_create(&a, NULL, starter, NULL);
	pthread_create(&b, NULL, tracer, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("%s: the %s got the stop\n", flags == __WCLONE ? "__WCLONE" : "__WALL",
		starter_got ? "starter" : tracer_got ? "tracer" : "nobody");
	return 0;
}
C
gcc -O1 -Wall -pthread -o "$dir/who" "$dir/who.c"
uname -sr
for flag in __WALL __WCLONE; do timeout 20 "$dir/who" "$flag"; done | tee "$dir/seen"
diff "$dir/seen" - <<'SEEN'
__WALL: the starter got the stop
__WCLONE: the tracer got the stop
SEEN
echo "as before"
