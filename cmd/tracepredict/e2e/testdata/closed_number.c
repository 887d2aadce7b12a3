/*
 * One thread closes a descriptor and another one uses it, before that in time. The argument says how:
 *
 *	exchanged  the number is taken out of an atomic variable and closed, and loaded from it and written to
 *	waited     the other one waits by poll, and then receives
 *	vector     the other one writes by writev
 *
 * These are no races:
 *
 *	locked     a lock is held from the load to the end of the write, and from the exchange to the end of the close
 *	replaced   dup2 puts another file in the place of the one that is written to, which is never without one
 *	reopened   the thread that closes it says so by a pipe, and the other one opens a file that gets the number
 *	standard   the number is that of standard input
 *	twice      close, of what is not open any more
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

static _Atomic int number;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ends[2], news[2];
static _Thread_local volatile int seen;

static const char *way;
static __attribute__((noipa)) int is(const char *name) { return !strcmp(way, name); }

static void use(void)
{
	struct iovec v = {"y", 1};
	char byte;
	int fd = atomic_load(&number);

	if (is("waited")) {
		struct pollfd p = {.fd = fd, .events = POLLIN};

		seen = poll(&p, 1, 1000) == 1 && recv(fd, &byte, 1, 0) == 1;
	} else if (is("vector")) {
		seen = writev(fd, &v, 1);
	} else if (is("standard")) {
		seen = read(0, &byte, 0);
	} else {
		seen = write(fd, "x", 1);
	}
}

static void *first(void *arg)
{
	char byte;

	if (is("locked"))
		pthread_mutex_lock(&lock);
	if (is("reopened")) {
		seen = read(news[0], &byte, 1);
		int fd = open("/dev/null", O_WRONLY);
		seen = write(fd, "x", 1);
		seen = close(fd);
	} else if (!is("twice")) {
		use();
	}
	if (is("locked"))
		pthread_mutex_unlock(&lock);
	return arg;
}

static void *second(void *arg)
{
	if (!is("reopened"))
		usleep(300000); /* the first thread comes first */
	if (is("locked"))
		pthread_mutex_lock(&lock);
	if (is("replaced")) {
		seen = dup2(ends[1], atomic_load(&number));
	} else if (is("standard")) {
		seen = close(0);
	} else {
		int fd = atomic_exchange(&number, -1);

		seen = close(fd);
		if (is("twice"))
			seen = close(fd);
	}
	if (is("locked"))
		pthread_mutex_unlock(&lock);
	if (is("reopened"))
		seen = write(news[1], "x", 1);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t a, b;

	way = argc > 1 ? argv[1] : "exchanged";
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) || pipe(news))
		return 1;
	seen = write(ends[1], "x", 1);
	number = ends[0];
	pthread_create(&a, 0, first, 0);
	pthread_create(&b, 0, second, 0);
	pthread_join(a, 0);
	pthread_join(b, 0);
	return 0;
}
