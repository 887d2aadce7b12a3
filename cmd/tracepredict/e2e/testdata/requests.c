// Requests that two threads answer, each half of them. With "all" each one is answered, with "most" the last of each thread is
// not, and is freed all the same; with "early" the first one is answered before it is taken.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEEP __attribute__((noipa))

struct request {
	long number;
	char text[56];
};

KEEP void request_take(struct request *r) { r->number++; }
KEEP void request_answer(struct request *r) { r->text[0] = 'a'; }
KEEP void request_free(struct request *r) { free(r); }

enum { EACH = 4 };
static struct request *requests[2 * EACH];
static const char *how;

static void *serve(void *first)
{
	for (long i = 0; i < EACH; i++) {
		long n = (long)first + i;

		if (n == 0 && !strcmp(how, "early"))
			request_answer(requests[n]);
		request_take(requests[n]);
		if (i + 1 < EACH || strcmp(how, "most"))
			request_answer(requests[n]);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	how = argc > 1 ? argv[1] : "all";
	for (long i = 0; i < 2 * EACH; i++)
		requests[i] = calloc(1, sizeof(struct request));
	for (long i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, serve, (void *)(i * EACH));
	for (long i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	for (long i = 0; i < EACH; i++)
		request_free(requests[i]);
	puts("served");
	return 0;
}
