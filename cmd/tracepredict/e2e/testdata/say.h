/*
 * How a fixture says what it does. Each line goes out in one write, so that
 * those of several threads do not mix; no lock is taken for it.
 *
 *   i_am("T1")         the calling thread's name, before anything it says
 *   name_is(&m, "m")   the name of the object at an address, from now on: an
 *                      object made anew there gets its own name
 *   say("acquire m")   what the thread has done, as the events spell it
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static __thread const char *me;

static void put(const char *head, const char *name, const char *format, va_list args)
{
	char line[300];
	int n = snprintf(line, sizeof line, "%s %s ", head, name);

	n += vsnprintf(line + n, sizeof line - n - 1, format, args);
	line[n++] = '\n';
	if (write(1, line, n) != n)
		_exit(99);
}

static void line(const char *head, const char *name, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	put(head, name, format, args);
	va_end(args);
}

static void i_am(const char *name)
{
	char *kept = (char *)malloc(strlen(name) + 1); /* the caller's may be on its stack */

	me = strcpy(kept, name);
	line("thread", me, "%d", (int)syscall(SYS_gettid));
}

static void say(const char *format, ...)
{
	va_list args;

	if (!me)
		i_am("main");
	va_start(args, format);
	put("=", me, format, args);
	va_end(args);
}

static void name_is(const volatile void *object, const char *name)
{
	line("name", name, "%p", (void *)object);
}

/* A fixture that goes wrong ends with its line, and one that hangs ends too. */
#define MUST(x)                                                         \
	do {                                                            \
		if (!(x)) {                                             \
			line("failed", #x, "line %d, errno %d", __LINE__, errno); \
			_exit(98);                                      \
		}                                                       \
	} while (0)

__attribute__((constructor(101))) static void set_alarm(void) { alarm(120); }

static pthread_t start(void *(*f)(void *), const char *name, void *arg)
{
	pthread_t t;

	MUST(pthread_create(&t, NULL, f, arg) == 0);
	say("fork %s", name);
	return t;
}

static void join(pthread_t t, const char *name)
{
	MUST(pthread_join(t, NULL) == 0);
	say("join %s", name);
}

/* Waiting for another thread without any synchronisation call. */
static void await(volatile int *flag, int value)
{
	while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != value)
		sched_yield();
}

static void tell(volatile int *flag, int value) { __atomic_store_n(flag, value, __ATOMIC_RELEASE); }

/* A point of time that many milliseconds from now. */
static struct timespec from_now(clockid_t clock, long ms)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_nsec += ms % 1000 * 1000000;
	t.tv_sec += ms / 1000 + t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

/* Waits until the thread of that id sleeps in the kernel. */
static void await_asleep(int tid)
{
	char path[60], text[300], state = 0;

	sprintf(path, "/proc/self/task/%d/stat", tid);
	while (state != 'S') {
		FILE *f = fopen(path, "r");
		size_t n;

		MUST(f);
		n = fread(text, 1, sizeof text - 1, f);
		fclose(f);
		text[n] = 0;
		MUST(strrchr(text, ')'));
		state = strrchr(text, ')')[2];
		sched_yield();
	}
}
