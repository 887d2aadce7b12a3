// A program that traps (int3) in places that are hard to unwind from; the test
// knows who called whom. The argument says where.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline, noclone))

static volatile int sink;

static APART void trap(void)
{
	__asm__ volatile("int3");
	sink++;
}

static APART int compare(const void *a, const void *b)
{
	static int once;
	if (!once++)
		trap();
	sink++;
	return *(const int *)a - *(const int *)b;
}

static APART void sorts(void)
{
	int v[] = {3, 1, 2, 5, 4};
	qsort(v, 5, sizeof v[0], compare);
	sink += v[0];
}

static APART void handler(int sig)
{
	trap();
	sink += sig;
}

// The stack is realigned, so that the frame is found by an expression.
static APART void aligned(int n)
{
	char room[64 + n] __attribute__((aligned(64)));
	memset(room, n, sizeof room);
	sink += room[n];
	raise(SIGUSR1);
	sink += room[0];
}

static APART void *thread(void *arg)
{
	trap();
	sink++;
	return arg;
}

static APART void signals(int flags)
{
	static char room[1 << 16];
	stack_t alternate = {.ss_sp = room, .ss_size = sizeof room};
	struct sigaction act = {.sa_handler = handler, .sa_flags = flags};
	sigaltstack(&alternate, NULL);
	sigaction(SIGUSR1, &act, NULL);
	aligned(17);
	sink++;
}

// Its calls go through stubs that look their targets up when first called.
static APART void steps(void)
{
	char line[64];
	trap();
	snprintf(line, sizeof line, "%d %s %p %.3f", 42, "text", (void *)line, 2.5);
	sink += atoi(line);
	sorts();
	sink++;
}

int main(int argc, char **argv)
{
	const char *where = argc > 1 ? argv[1] : "";
	pthread_t t;
	switch (where[0]) {
	case 'q':
		sorts();
		break;
	case 's':
		signals(0);
		break;
	case 'a':
		signals(SA_ONSTACK);
		break;
	case 't':
		pthread_create(&t, NULL, thread, NULL);
		pthread_join(t, NULL);
		break;
	case 'p':
		steps();
		break;
	}
	sink++;
	return 0;
}
