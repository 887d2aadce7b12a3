/* Two halves change data under no lock. An atomic flag orders them, or not, as the argument says.
 * The flag is looked at once, by a plain load, and a pause keeps the halves apart. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#ifdef UNTYPED /* where the flag is accessed, its type is not known to be atomic */
typedef int number;
#else
typedef atomic_int number;
#endif

struct api {
	void (*put)(void *);
	int (*get)(void *);
};
struct row {
	int first;
	struct cell {
		long plain;
		atomic_int set;
	} cells[4];
};
struct wide_row {
	int first;
	struct cell cells[10];
};

static long data;
static atomic_int direct, passed, called, listed, handed;
static struct row rows[3];
#ifdef WIDE
static struct wide_row wide[10];
#endif
static volatile int i = 2, j = 3;
#ifdef LISTED
static number *volatile list[] = {(number *)&listed};
#endif
static number *volatile given;
static const char *mode;

__attribute__((noipa)) static int is_set(number *flag)
{
	return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

static void put(void *flag)
{
	__atomic_store_n((number *)flag, 1, __ATOMIC_RELEASE);
}

static int get(void *flag)
{
	return __atomic_load_n((number *)flag, __ATOMIC_ACQUIRE);
}

static struct api *volatile api = &(struct api){put, get};

static int is(const char *name)
{
	return !strcmp(mode, name);
}

static void *first(void *unused)
{
	data = 41;
	if (is("called"))
		api->put(&called);
	atomic_store_explicit(&direct, 1, memory_order_release);
	atomic_store_explicit(&passed, 1, memory_order_release);
	atomic_store_explicit(&listed, 1, memory_order_release);
	atomic_store_explicit(&handed, 1, memory_order_release);
	atomic_store_explicit(&rows[i].cells[j].set, 1, memory_order_release);
#ifdef WIDE
	atomic_store_explicit(&wide[i].cells[j].set, 1, memory_order_release);
#endif
	return unused;
}

static int may_go(void)
{
	if (is("passed"))
		return is_set((number *)&passed);
	if (is("called"))
		return api->get(&called);
#ifdef LISTED
	return __atomic_load_n(list[0], __ATOMIC_ACQUIRE);
#endif
#ifdef WIDE
	return atomic_load_explicit(&wide[i].cells[j].set, memory_order_acquire);
#endif
	if (is("handed"))
		return __atomic_load_n(given, __ATOMIC_ACQUIRE);
	if (is("nested"))
		return atomic_load_explicit(&rows[i].cells[j].set, memory_order_acquire);
	if (is("other"))
		return !atomic_load_explicit(&rows[i].cells[j - 1].set, memory_order_acquire);
	if (is("direct"))
		return atomic_load_explicit(&direct, memory_order_acquire);
	return 1;
}

static void *second(void *unused)
{
	nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
	if (may_go())
		data++;
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t t[2];

	mode = argc > 1 ? argv[1] : "";
	if (is("handed"))
		given = (number *)&handed;
	pthread_create(&t[0], NULL, first, NULL);
	pthread_create(&t[1], NULL, second, NULL);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	printf("data %ld\n", data);
	return 0;
}
