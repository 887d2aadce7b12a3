// A connection is counted: who uses it holds a reference, and the last one to drop its reference ends it. The reader uses
// the connection without a reference of its own, and only the speed of the threads makes that come before the owner's
// drop. Each connection has its own count: the second one is right.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct conn {
	pthread_mutex_t lock;
	int refs;
	int out;
};

// As if these were in a library: the compiler does not look into them where they are called.
#define KEEP __attribute__((noipa))

KEEP struct conn *conn_new(void)
{
	struct conn *c = calloc(1, sizeof(*c));

	if (!c)
		exit(1);
	pthread_mutex_init(&c->lock, NULL);
	c->refs = 1;
	c->out = open("/dev/null", O_WRONLY);
	return c;
}

KEEP ssize_t conn_use(struct conn *c) { return write(c->out, "hello", 5); }

KEEP void conn_drop(struct conn *c)
{
	pthread_mutex_lock(&c->lock);
	c->refs--;
	pthread_mutex_unlock(&c->lock);
}

static void *reader(void *c)
{
	conn_use(c);
	return NULL;
}

int main(void)
{
	struct conn *first = conn_new(), *second = conn_new();
	pthread_t thread;

	conn_use(second);
	conn_drop(second);
	if (pthread_create(&thread, NULL, reader, first))
		return 1;
	usleep(200000);
	conn_drop(first);
	pthread_join(thread, NULL);
	puts("both connections are unused now");
	return first->refs + second->refs;
}
