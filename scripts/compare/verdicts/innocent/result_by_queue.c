// Who submits a job allocates it, and reads its result once the job is in the queue of finished ones: the worker, which wrote the result first, put it there after that.
// watch: result of struct job
#include "turns.h"

struct job {
	struct job *next;
	long input, result;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct job *waiting, *finished;

static void push(struct job **list, struct job *j) {
	pthread_mutex_lock(&lock);
	j->next = *list;
	*list = j;
	pthread_mutex_unlock(&lock);
}

static struct job *pop(struct job **list) {
	for (;;) {
		pthread_mutex_lock(&lock);
		struct job *j = *list;
		if (j)
			*list = j->next;
		pthread_mutex_unlock(&lock);
		if (j)
			return j;
		rest(1);
	}
}

static void *works(void *unused) {
	for (int i = 0; i < 3; i++) {
		struct job *j = pop(&waiting);
		j->result = j->input * j->input;
		push(&finished, j);
	}
	return unused;
}

int main(void) {
	pthread_t t = start(works, NULL);
	long sum = 0;
	for (long i = 1; i <= 3; i++) {
		struct job *j = malloc(sizeof *j);
		j->input = i;
		push(&waiting, j);
	}
	for (int i = 0; i < 3; i++) {
		struct job *j = pop(&finished);
		sum += j->result;
		free(j);
	}
	pthread_join(t, NULL);
	need(sum == 14, "sum");
	return 0;
}
