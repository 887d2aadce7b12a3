// Locks of GLib. The argument says how two threads, one after the other, use two of them, a and b.
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// As in glib.h, which need not be installed.
typedef struct { void *p; } GMutex;
typedef struct { void *p; unsigned i[2]; } GCond;
void g_mutex_init(GMutex *);
void g_mutex_clear(GMutex *);
void g_mutex_lock(GMutex *);
int g_mutex_trylock(GMutex *);
void g_mutex_unlock(GMutex *);
void g_cond_wait(GCond *, GMutex *);
void g_cond_signal(GCond *);

static GMutex a, b;
static GCond c;
static long total;
static int open;

static void both(GMutex *x, GMutex *y) {
	g_mutex_lock(x);
	g_mutex_lock(y);
	total++;
	g_mutex_unlock(y);
	g_mutex_unlock(x);
}

static void *opposite(void *unused) { both(&b, &a); return NULL; }
static void *same(void *unused) { both(&a, &b); return NULL; }

static void *tries(void *unused) {
	g_mutex_lock(&b);
	if (g_mutex_trylock(&a)) {
		total++;
		g_mutex_unlock(&a);
	}
	g_mutex_unlock(&b);
	return NULL;
}

static void *first(void *unused) { both(&a, &b); return NULL; }

static void *waits(void *unused) { // what it does then comes after what opens does before
	g_mutex_lock(&a);
	while (!open) g_cond_wait(&c, &a);
	g_mutex_unlock(&a);
	total++;
	return NULL;
}

static void *opens(void *unused) {
	usleep(100000);
	total++;
	g_mutex_lock(&a);
	open = 1;
	g_cond_signal(&c);
	g_mutex_unlock(&a);
	return NULL;
}

static void run(void *(*one)(void *), void *(*two)(void *)) {
	pthread_t t, u;
	pthread_create(&t, NULL, one, NULL);
	usleep(100000);
	pthread_create(&u, NULL, two, NULL);
	pthread_join(t, NULL);
	pthread_join(u, NULL);
}

int main(int argc, char **argv) {
	g_mutex_init(&a);
	g_mutex_init(&b);
	if (!strcmp(argv[1], "opposite")) run(first, opposite);
	if (!strcmp(argv[1], "same")) run(first, same);
	if (!strcmp(argv[1], "tried")) run(first, tries);
	if (!strcmp(argv[1], "waited")) run(waits, opens);
	g_mutex_clear(&b);
	g_mutex_clear(&a);
	printf("%ld\n", total);
	return 0;
}
