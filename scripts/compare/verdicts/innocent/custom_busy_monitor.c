// A file's fields are changed under no lock and two files are claimed in both orders, but a file is used only by who set its `busy` under the lock, and both are claimed at once or not at all.
// watch: shared
#include "turns.h"

static struct file { int busy; long size; pthread_mutex_t io; } files[2] = {{0, 0, PTHREAD_MUTEX_INITIALIZER}, {0, 0, PTHREAD_MUTEX_INITIALIZER}};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t freed = PTHREAD_COND_INITIALIZER;

static void claim(struct file *a, struct file *b) {
	pthread_mutex_lock(&lock);
	while (a->busy || b->busy)
		pthread_cond_wait(&freed, &lock);
	a->busy = b->busy = 1;
	pthread_mutex_unlock(&lock);
}

static void release(struct file *a, struct file *b) {
	pthread_mutex_lock(&lock);
	a->busy = b->busy = 0;
	pthread_cond_broadcast(&freed);
	pthread_mutex_unlock(&lock);
}

static void append(struct file *to, struct file *from) {
	claim(to, from);
	pthread_mutex_lock(&to->io);
	pthread_mutex_lock(&from->io);
	to->size += from->size + 1;
	pthread_mutex_unlock(&from->io);
	pthread_mutex_unlock(&to->io);
	release(to, from);
}

static void *forth(void *unused) {
	for (int i = 0; i < 4; i++, rest(1))
		append(&files[0], &files[1]);
	return unused;
}

static void *back(void *unused) {
	for (int i = 0; i < 4; i++, rest(1))
		append(&files[1], &files[0]);
	return unused;
}

int main(void) {
	both(forth, back);
	return files[0].size < 4;
}
