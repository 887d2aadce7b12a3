/* Two threads, one after the other, nest locks of libraries in opposite orders. The arguments are how,
 * and two libraries, which nest their own locks in opposite orders:
 *   apart     each thread loads one of the libraries, and unloads it when it has nested its locks
 *   together  both libraries are loaded, and the threads nest a lock of each
 *   again     the first library is unloaded and loaded again, and then the threads nest its locks
 * What the program prints is whether a library was loaded where another one had been. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct library {
	void *handle;
	pthread_mutex_t *first, *second;
	void (*use)(void);
};

static pthread_mutex_t *one, *other;

static struct library load(const char *path)
{
	struct library l = {.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)};

	if (!l.handle) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	l.first = dlsym(l.handle, "first");
	l.second = dlsym(l.handle, "second");
	l.use = (void (*)(void))dlsym(l.handle, "use");
	return l;
}

static void unload(struct library *l)
{
	if (dlclose(l->handle))
		exit(2);
}

static void *apart(void *path)
{
	struct library l = load(path);
	pthread_mutex_t *before = one;

	l.use();
	one = l.first;
	unload(&l);
	if (before)
		puts(before == one ? "same" : "other");
	return NULL;
}

static void nest(pthread_mutex_t *outer, pthread_mutex_t *inner)
{
	pthread_mutex_lock(outer);
	pthread_mutex_lock(inner);
	pthread_mutex_unlock(inner);
	pthread_mutex_unlock(outer);
}

static void *forth(void *unused)
{
	nest(one, other);
	return unused;
}

static void *back(void *unused)
{
	nest(other, one);
	return unused;
}

static void both(void *(*f)(void *), void *x, void *(*g)(void *), void *y)
{
	pthread_t t, u;

	pthread_create(&t, NULL, f, x);
	nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL); /* so that they do not block each other */
	pthread_create(&u, NULL, g, y);
	pthread_join(t, NULL);
	pthread_join(u, NULL);
}

int main(int argc, char **argv)
{
	struct library l, m;

	if (argc < 4)
		return 3;
	if (!strcmp(argv[1], "apart")) {
		both(apart, argv[2], apart, argv[3]);
		return 0;
	}
	l = load(argv[2]);
	m = l;
	if (!strcmp(argv[1], "together")) {
		m = load(argv[3]);
	} else {
		l.use();
		unload(&l);
		m = load(argv[2]);
		puts(m.first == l.first ? "same" : "other");
		l = m;
	}
	one = l.first;
	other = m.second;
	both(forth, NULL, back, NULL);
	if (m.handle != l.handle)
		unload(&m);
	unload(&l);
	return 0;
}
