// A writer uses a connection and then writes to a pipe. Main reads the pipe before it closes the connection, so that the
// close comes last in every schedule. A tool that does not look at pipes believes that only speed made it so.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct conn {
	int written;
};

int closed;

// As if these were in a library: the compiler does not look into them where they are called.
#define KEEP __attribute__((noipa))

KEEP struct conn *conn_new(void)
{
	struct conn *c = calloc(1, sizeof(*c));

	if (!c)
		exit(1);
	return c;
}

KEEP void conn_write(struct conn *c) { c->written++; }

KEEP void conn_close(struct conn *c)
{
	closed = 1;
	free(c);
}

static int told[2];

static void *writer(void *c)
{
	conn_write(c);
	return (void *)(write(told[1], "w", 1) - 1);
}

int main(void)
{
	struct conn *c = conn_new();
	pthread_t t;
	char byte;

	if (pipe(told) || pthread_create(&t, NULL, writer, c) || read(told[0], &byte, 1) != 1)
		return 1;
	conn_close(c);
	pthread_join(t, NULL);
	puts("closed");
	return 0;
}
