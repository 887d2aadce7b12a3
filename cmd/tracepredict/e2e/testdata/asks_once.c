/*
 * Two threads nest locks in opposite orders; the second one does so only if the kernel says that something is there, which
 * it asks for once.
 *
 * there   the first thread makes the file after its section
 * named   it gives a socket a name
 * own     the second thread has made the file itself
 * before  main has made the file before the threads began
 * shared  both open the file with O_CREAT, which succeeds in any case
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static pthread_mutex_t p = PTHREAD_MUTEX_INITIALIZER, q = PTHREAD_MUTEX_INITIALIZER;
static char folder[] = "/tmp/asks-once-XXXXXX", name[64];
static const char *way;
static int n, s;

static int is(const char *which) { return !strcmp(way, which); }

static void nest(pthread_mutex_t *outer, pthread_mutex_t *inner)
{
	pthread_mutex_lock(outer);
	pthread_mutex_lock(inner);
	n++;
	pthread_mutex_unlock(inner);
	pthread_mutex_unlock(outer);
}

/* The descriptor stays open: who got its number again would come after. */
static int make(void) { return open(name, O_CREAT | O_WRONLY, 0600); }

static void tell(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	if (is("there") || is("shared"))
		make();
	if (is("named"))
		bind(s, (void *)&a, sizeof a.sun_family);
}

static int asks(void)
{
	struct sockaddr_un a;
	socklen_t length = sizeof a;

	if (is("named"))
		return !getsockname(s, (void *)&a, &length) && length > sizeof a.sun_family;
	if (is("shared")) {
		make();
		return 1;
	}
	if (is("own"))
		make();
	return !access(name, F_OK);
}

static void *first(void *unused)
{
	nest(&p, &q);
	tell();
	return unused;
}

static void *second(void *unused)
{
	usleep(60000);
	if (asks())
		nest(&q, &p);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t x, y;

	way = argc > 1 ? argv[1] : "there";
	if (!mkdtemp(folder))
		return 1;
	snprintf(name, sizeof name, "%s/file", folder);
	s = socket(AF_UNIX, SOCK_STREAM, 0);
	if (is("before"))
		make();
	pthread_create(&x, 0, first, 0);
	pthread_create(&y, 0, second, 0);
	pthread_join(x, 0);
	pthread_join(y, 0);
	unlink(name);
	rmdir(folder);
	return n != 2;
}
