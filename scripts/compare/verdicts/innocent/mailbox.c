// An account is changed by whichever thread has the message that contains it, under no lock, but a message lies in one mailbox at a time.
// watch: amount of struct message
#include "turns.h"

struct message { long amount; };
struct mailbox {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	struct message *content;
};
static struct mailbox boxes[2] = {{PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL},
                                  {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL}};

static void put(struct mailbox *b, struct message *m) {
	pthread_mutex_lock(&b->lock);
	b->content = m;
	pthread_cond_signal(&b->filled);
	pthread_mutex_unlock(&b->lock);
}

static struct message *take(struct mailbox *b) {
	pthread_mutex_lock(&b->lock);
	while (!b->content)
		pthread_cond_wait(&b->filled, &b->lock);
	struct message *m = b->content;
	b->content = NULL;
	pthread_mutex_unlock(&b->lock);
	return m;
}

static void *plays(void *p) {
	long me = (long)p;
	for (int i = 0; i < 4; i++) {
		struct message *m = take(&boxes[me]);
		m->amount++;
		put(&boxes[!me], m);
	}
	return NULL;
}

int main(void) {
	struct message *m = calloc(1, sizeof *m);
	put(&boxes[0], m);
	pthread_t s = start(plays, (void *)0), t = start(plays, (void *)1);
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	long amount = m->amount;
	free(m);
	return amount != 8;
}
