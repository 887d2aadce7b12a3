// A pool of two workers fills futures on the heap, and whoever gets a result destroys the future's lock and frees it at once, but it does so only after it has seen `done` under that lock, which the worker no longer touches.
// watch: value of struct future
#include "turns.h"

struct future {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	int done;
	long value, input;
	struct future *next;
};

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_filled = PTHREAD_COND_INITIALIZER;
static struct future *queue;
static int closing;

static void *worker(void *unused) {
	for (;;) {
		pthread_mutex_lock(&queue_lock);
		while (!queue && !closing)
			pthread_cond_wait(&queue_filled, &queue_lock);
		struct future *f = queue;
		if (f)
			queue = f->next;
		pthread_mutex_unlock(&queue_lock);
		if (!f)
			return unused;
		long v = f->input * f->input;
		pthread_mutex_lock(&f->lock);
		f->value = v;
		f->done = 1;
		pthread_cond_signal(&f->filled);
		pthread_mutex_unlock(&f->lock);
	}
}

static struct future *submit(long n) {
	struct future *f = calloc(1, sizeof *f);
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->filled, NULL);
	f->input = n;
	pthread_mutex_lock(&queue_lock);
	f->next = queue;
	queue = f;
	pthread_mutex_unlock(&queue_lock);
	pthread_cond_signal(&queue_filled);
	return f;
}

static long get(struct future *f) {
	pthread_mutex_lock(&f->lock);
	while (!f->done)
		pthread_cond_wait(&f->filled, &f->lock);
	pthread_mutex_unlock(&f->lock);
	long v = f->value;
	pthread_cond_destroy(&f->filled);
	pthread_mutex_destroy(&f->lock);
	free(f);
	return v;
}

int main(void) {
	pthread_t t = start(worker, NULL), u = start(worker, NULL);
	long sum = 0;
	for (long i = 0; i < 6; i++) {
		struct future *a = submit(i), *b = submit(i + 1);
		sum += get(b) + get(a);
	}
	pthread_mutex_lock(&queue_lock);
	closing = 1;
	pthread_cond_broadcast(&queue_filled);
	pthread_mutex_unlock(&queue_lock);
	pthread_join(t, NULL);
	pthread_join(u, NULL);
	need(sum == 146, "sum");
	return 0;
}
