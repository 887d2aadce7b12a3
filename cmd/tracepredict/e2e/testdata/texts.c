/*
 * Functions of the C library read texts that their arguments are or that their format says. Two threads do, the second
 * one later, and what orders them in this run is a lock that is held elsewhere, so that another schedule swaps them. The
 * argument says what they do:
 *
 *	scanned  a text is read by sscanf, and a plain store into its first byte
 *	printed  a text is printed by %s, and a plain store into its first byte
 *	noted    likewise, into a buffer
 *
 * These are no races:
 *
 *	locked   as printed, under a lock
 *	behind   as printed, and a plain store behind the text
 *	number   the address of the text is printed
 *	nothing  no byte of the text is printed
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct letter {
	char text[16], rest[16];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, guard = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local volatile int seen;
static FILE *out;

static const char *way;
static __attribute__((noipa)) int is(const char *name) { return !strcmp(way, name); }

static void pass_lock(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

static __attribute__((noipa)) void scan(struct letter *p)
{
	int n = 0;

	seen = sscanf(p->text, "%d", &n) + n;
}
static __attribute__((noipa)) void print(struct letter *p, int n) { seen = fprintf(out, "%d %g %s\n", n, 0.5, p->text); }
static __attribute__((noipa)) void note(struct letter *p, int n)
{
	char buffer[64];

	seen = snprintf(buffer, sizeof(buffer), "%d: %-10.3s", n, p->text);
}
static __attribute__((noipa)) void print_address(struct letter *p) { seen = fprintf(out, "%% %p\n", p->text); }
static __attribute__((noipa)) void print_nothing(struct letter *p) { seen = fprintf(out, "%.0s\n", p->text); }
static __attribute__((noipa)) void change(char *p, int at) { p[at] = '1'; }

static void *first(void *arg)
{
	struct letter *p = arg;

	if (is("scanned")) {
		scan(p);
	} else if (is("printed") || is("behind")) {
		print(p, 3);
	} else if (is("noted")) {
		note(p, 3);
	} else if (is("number")) {
		print_address(p);
	} else if (is("nothing")) {
		print_nothing(p);
	} else if (is("locked")) {
		pthread_mutex_lock(&guard);
		print(p, 3);
		pthread_mutex_unlock(&guard);
	}
	pass_lock();
	return 0;
}

static void *second(void *arg)
{
	struct letter *p = arg;

	usleep(50000); /* the first thread comes first */
	pass_lock();
	if (is("locked"))
		pthread_mutex_lock(&guard);
	change(is("behind") ? p->rest : p->text, 0);
	if (is("locked"))
		pthread_mutex_unlock(&guard);
	return 0;
}

int main(int argc, char **argv)
{
	struct letter *p = calloc(1, sizeof(*p));
	pthread_t a, b;

	way = argc > 1 ? argv[1] : "scanned";
	strcpy(p->text, "1234");
	out = fopen("/dev/null", "w");
	if (!out)
		return 1;
	pthread_create(&a, 0, first, p);
	pthread_create(&b, 0, second, p);
	pthread_join(a, 0);
	pthread_join(b, 0);
	free(p);
	return 0;
}
