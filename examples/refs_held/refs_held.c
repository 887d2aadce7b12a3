// The innocent twin of refs: the owner takes the reference of the reader before it creates that thread, so that no schedule
// uses a connection that nobody holds.
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

KEEP void conn_take(struct conn *c)
{
	pthread_mutex_lock(&c->lock);
	c->refs++;
	pthread_mutex_unlock(&c->lock);
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
	conn_drop(c);
	return NULL;
}

int main(void)
{
	struct conn *first = conn_new(), *second = conn_new();
	pthread_t thread;

	conn_use(second);
	conn_drop(second);
	conn_take(first);
	if (pthread_create(&thread, NULL, reader, first))
		return 1;
	usleep(200000);
	conn_drop(first);
	pthread_join(thread, NULL);
	puts("both connections are unused now");
	return first->refs + second->refs;
}
