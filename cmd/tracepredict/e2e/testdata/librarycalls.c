/*
 * Library functions access memory for their callers. Two threads do, the second one later, and what orders
 * them in this run is a lock that is held elsewhere, so that another schedule swaps them. The argument says
 * what they do:
 *
 *	copied    memcpy into a message, and a plain load of a part of it
 *	source    memcpy out of a message, and a plain store
 *	cleared   memset, and memcpy into the same
 *	moved     memmove, called last of a function
 *	first     strcpy into a message, and a plain load of its first byte
 *	printed   snprintf into a message, and a plain load of what it has written
 *	measured  strlen of a text, and a plain store into it
 *	large     memset of more than is looked at, and a plain store at its beginning
 *	received  read into a message, which returns late, and a plain load
 *	filed     fread into a message, and a plain load
 *	lined     fgets into a message, and a plain load of its first byte
 *	scanned   sscanf of two words into a message, and a plain load of the first byte of the first one
 *	timed     clock_gettime into a message, and a plain load
 *	sorted    qsort of a text, and a plain load of a byte
 *	sent      write out of a message, and a plain store
 *	stacked   memcpy into a message on the stack of main, and a plain load
 *
 * These are no races:
 *
 *	locked    as copied, under a lock
 *	handed    as copied, and a condition hands the message over
 *	piped     as received, and a message through a pipe says that it is there
 *	blocked   read waits for what never comes, of a pipe that is closed later; a plain store meanwhile
 *	beside    memcpy into neighbouring bytes of one word
 *	unscanned as scanned, but the text does not fit the format
 *	failed    clock_gettime of a clock that there is not, and a plain load
 *	short     snprintf of a short text into a large buffer, and a plain load behind the text
 *	private   each thread copies within a block of its own
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct message {
	char head[8];
	int number, size;
	char text[100];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready;
static int ends[2], news[2];
static FILE *file;
static volatile size_t length = 24, large = 100000; /* unknown to the compiler */
static _Thread_local volatile int seen;

static const char *way;
static __attribute__((noipa)) int is(const char *name) { return !strcmp(way, name); }

static void pass_lock(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

static __attribute__((noipa)) void fill(struct message *m, const void *from) { memcpy(m->text, from, length); }
static __attribute__((noipa)) void take(struct message *m, void *to) { memcpy(to, m->text, length); }
static __attribute__((noipa)) void clear(struct message *m, size_t n) { memset(m->text, 0, n); }
static __attribute__((noipa)) void *move(struct message *m, const void *from) { return memmove(m->text, from, length); }
static __attribute__((noipa)) void name(struct message *m, const char *from) { strcpy(m->text, from); }
static __attribute__((noipa)) void print(struct message *m, int n) { seen = snprintf(m->text, length, "%d", n); }
static __attribute__((noipa)) int measure(struct message *m) { return strlen(m->text) + 1; }
static __attribute__((noipa)) void receive(struct message *m, int fd) { seen = read(fd, m->text, length); }
static __attribute__((noipa)) void load(struct message *m) { seen = fread(m->text, 2, length / 2, file); }
static __attribute__((noipa)) void line(struct message *m) { seen = fgets(m->text, length, file) != 0; }
static __attribute__((noipa)) void scan(struct message *m, const char *from) { seen = sscanf(from, "%*d %9s %9s", m->text, m->text + 40); }
static __attribute__((noipa)) void look_at_clock(struct message *m, int clock) { seen = clock_gettime(clock, (void *)m->text); }
static int order(const void *a, const void *b) { return 0; }
static __attribute__((noipa)) void sort(struct message *m) { qsort(m->text, length / 2, 2, order); }
static __attribute__((noipa)) void dispatch(struct message *m) { seen = write(is("closed") ? -1 : ends[1], m->text, length); }
static __attribute__((noipa)) void half(char *to, const char *from, int n) { memcpy(to, from, n); }
static __attribute__((noipa)) void look(struct message *m, int at) { seen = m->text[at]; }
static __attribute__((noipa)) void change(struct message *m, int at) { m->text[at] = 'x'; }

static void *first(void *arg)
{
	struct message *m = arg, own;

	memset(&own, 'a', sizeof(own));
	if (is("copied") || is("stacked")) {
		fill(m, own.text);
	} else if (is("source")) {
		take(m, own.text);
	} else if (is("cleared")) {
		clear(m, length);
	} else if (is("moved")) {
		move(m, own.text);
	} else if (is("first")) {
		name(m, "abc");
	} else if (is("printed") || is("short")) {
		print(m, 12345678);
	} else if (is("measured")) {
		seen = measure(m);
	} else if (is("large")) {
		clear(m, large);
	} else if (is("received")) {
		receive(m, ends[0]);
	} else if (is("filed")) {
		load(m);
	} else if (is("lined")) {
		line(m);
	} else if (is("scanned")) {
		scan(m, "12 abc de");
	} else if (is("unscanned")) {
		scan(m, "12 ");
	} else if (is("failed")) {
		look_at_clock(m, 1000);
	} else if (is("timed")) {
		look_at_clock(m, CLOCK_MONOTONIC);
	} else if (is("sorted")) {
		sort(m);
	} else if (is("sent") || is("closed")) {
		dispatch(m);
	} else if (is("locked")) {
		pthread_mutex_lock(&guard);
		fill(m, own.text);
		pthread_mutex_unlock(&guard);
	} else if (is("handed")) {
		fill(m, own.text);
		pthread_mutex_lock(&guard);
		ready = 1;
		pthread_cond_signal(&changed);
		pthread_mutex_unlock(&guard);
	} else if (is("piped")) {
		receive(m, ends[0]);
		seen = write(news[1], "x", 1);
	} else if (is("blocked")) {
		seen = write(news[1], "x", 1);
		receive(m, ends[0]);
		return 0;
	} else if (is("beside")) {
		half(m->head, own.text, length / 6);
	} else if (is("private")) {
		struct message *mine = calloc(1, sizeof(*mine));

		fill(mine, own.text);
		clear(mine, length);
		free(mine);
	}
	pass_lock();
	return 0;
}

static void *second(void *arg)
{
	struct message *m = arg, own;
	char byte;

	if (is("piped") || is("blocked"))
		seen = read(news[0], &byte, 1);
	if (!is("piped"))
		usleep(50000); /* the first thread comes first */
	pass_lock();
	if (is("copied") || is("stacked") || is("sorted") || is("moved") || is("received") || is("filed") || is("piped")) {
		look(m, 9);
	} else if (is("source") || is("sent") || is("closed") || is("measured")) {
		change(m, 3);
	} else if (is("cleared")) {
		memset(&own, 'b', sizeof(own));
		fill(m, own.text);
	} else if (is("first") || is("lined") || is("scanned") || is("unscanned") || is("failed") || is("timed")) {
		look(m, 0);
	} else if (is("printed")) {
		look(m, 8);
	} else if (is("short")) {
		look(m, 16);
	} else if (is("large")) {
		change(m, 3);
	} else if (is("locked")) {
		pthread_mutex_lock(&guard);
		look(m, 9);
		pthread_mutex_unlock(&guard);
	} else if (is("handed")) {
		pthread_mutex_lock(&guard);
		while (!ready)
			pthread_cond_wait(&changed, &guard);
		pthread_mutex_unlock(&guard);
		look(m, 9);
	} else if (is("blocked")) {
		change(m, 3);
		close(ends[1]);
	} else if (is("beside")) {
		memset(&own, 'b', sizeof(own));
		half(m->head + 4, own.text, length / 6);
	} else if (is("private")) {
		struct message *mine = calloc(1, sizeof(*mine));

		memset(&own, 'b', sizeof(own));
		fill(mine, own.text);
		clear(mine, length);
		free(mine);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct message local, *m;
	pthread_t a, b;

	way = argc > 1 ? argv[1] : "copied";
	memset(&local, 0, sizeof(local));
	m = is("stacked") ? &local : calloc(1, sizeof(*m) + large);
	strcpy(m->text, "abcdef");
	if (pipe(ends) || pipe(news))
		return 1;
	if (is("received") || is("piped"))
		seen = write(ends[1], "0123456789abcdef", 16);
	if ((is("filed") || is("lined")) && (!(file = tmpfile()) || fputs("0123456789abcdef", file) < 0))
		return 1;
	if (file)
		rewind(file);
	pthread_create(&a, 0, first, m);
	pthread_create(&b, 0, second, m);
	pthread_join(a, 0);
	pthread_join(b, 0);
	return 0;
}
