// A job on the heap is written by one thread and freed by another, under no lock, but its address went from the one to the other through a pipe, as the answer did.
// watch: cost of struct job
#include "turns.h"
#include <unistd.h>

struct job { long cost; int answer[2]; };
static int requests[2];

static void *server(void *unused) {
	struct job *j;
	while (read(requests[0], &j, sizeof j) == sizeof j) {
		j->cost *= 2;
		need(write(j->answer[1], "!", 1) == 1, "write");
	}
	return unused;
}

static void *client(void *unused) {
	int answer[2];
	need(!pipe(answer), "pipe");
	for (long i = 1; i < 4; i++) {
		struct job *j = malloc(sizeof *j);
		j->cost = i;
		j->answer[1] = answer[1];
		char c;
		need(write(requests[1], &j, sizeof j) == sizeof j, "write");
		need(read(answer[0], &c, 1) == 1 && j->cost == 2 * i, "answer");
		free(j);
	}
	return unused;
}

int main(void) {
	need(!pipe(requests), "pipe");
	pthread_t s = start(server, NULL);
	both(client, client);
	close(requests[1]);
	pthread_join(s, NULL);
	return 0;
}
