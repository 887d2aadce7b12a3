/*
 * A thread hands the address of a thread-local variable to another one, which accesses the variable through the
 * pointer, while the owner accesses it by its name. The argument says what they do:
 *
 *	counted  the owner counts in the variable after it has handed its address over, and the other one, too
 *	looked   the owner looks at it, and the other one counts
 *	element  the owner changes an element of a thread-local array, and the other one looks at it
 *
 * These are no races:
 *
 *	locked   as counted, under a lock
 *	before   the owner counts only before it hands the address over
 *	joined   the owner counts when the other one has ended
 *	beside   the owner counts in another thread-local variable
 *	own      both count in variables of their own, of the same name
 */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static _Thread_local int handed, kept;
static _Thread_local int table[8];
static int *box;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER, lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local volatile int seen;

static const char *way;
static __attribute__((noipa)) int is(const char *name) { return !strcmp(way, name); }

static __attribute__((noipa)) void count(void) { handed++; }
static __attribute__((noipa)) void look(void) { seen = handed; }
static __attribute__((noipa)) void fill(int i) { table[i] = 7; }
static __attribute__((noipa)) void count_kept(void) { kept++; }
static __attribute__((noipa)) void add(int *p) { (*p)++; }
static __attribute__((noipa)) void look_at(int *p) { seen = *p; }
static __attribute__((noipa)) int *address(void) { return is("element") ? &table[3] : &handed; }

static void *other(void *arg)
{
	int *p;

	usleep(50000); /* the owner comes first */
	pthread_mutex_lock(&guard);
	p = box;
	pthread_mutex_unlock(&guard);
	if (is("locked")) {
		pthread_mutex_lock(&lock);
		add(p);
		pthread_mutex_unlock(&lock);
	} else if (is("element")) {
		look_at(p);
	} else if (is("own")) {
		count();
	} else {
		add(p);
	}
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t t;

	way = argc > 1 ? argv[1] : "counted";
	pthread_create(&t, 0, other, 0);
	if (is("before"))
		count();
	pthread_mutex_lock(&guard);
	box = address();
	pthread_mutex_unlock(&guard);
	if (is("counted") || is("own")) {
		count();
	} else if (is("looked")) {
		look();
	} else if (is("element")) {
		fill(3);
	} else if (is("locked")) {
		pthread_mutex_lock(&lock);
		count();
		pthread_mutex_unlock(&lock);
	} else if (is("beside")) {
		count_kept();
	}
	pthread_join(t, 0);
	if (is("joined"))
		count();
	return 0;
}
