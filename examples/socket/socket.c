// The socket of PRETEX (Joshi and Sen 2008): one thread writes, the first one reads and closes. Only the speed of the
// threads makes the writing come before the closing.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct conn {
	int ends[2];
};

// As if these were in a library: the compiler does not look into them where they are called.
#define KEEP __attribute__((noipa))

KEEP struct conn *conn_new(void)
{
	struct conn *c = malloc(sizeof(*c));

	if (c)
		c->ends[0] = c->ends[1] = -1;
	return c;
}

KEEP int conn_connect(struct conn *c)
{
	c->ends[0] = open("/dev/zero", O_RDONLY);
	c->ends[1] = open("/dev/null", O_WRONLY);
	return c->ends[0] < 0 || c->ends[1] < 0;
}

KEEP ssize_t conn_write(struct conn *c, const char *text, size_t n) { return write(c->ends[1], text, n); }

KEEP ssize_t conn_read(struct conn *c, char *text, size_t n) { return read(c->ends[0], text, n); }

KEEP void conn_close(struct conn *c)
{
	close(c->ends[0]);
	close(c->ends[1]);
}

static void *says_goodbye(void *c)
{
	conn_write(c, "goodbye", 7);
	return NULL;
}

int main(void)
{
	struct conn *c = conn_new();
	pthread_t writer;
	char text[8];

	if (!c || conn_connect(c))
		return 1;
	conn_write(c, "hello", 5);
	if (pthread_create(&writer, NULL, says_goodbye, c))
		return 1;
	if (conn_read(c, text, 5) != 5)
		return 1;
#ifdef JOIN_FIRST
	pthread_join(writer, NULL);
	conn_close(c);
#else
	usleep(200000); // time enough for a word
	conn_close(c);
	pthread_join(writer, NULL);
#endif
	free(c);
	puts("closed");
	return 0;
}
