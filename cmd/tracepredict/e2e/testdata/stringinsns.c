/*
 * String instructions access memory: compilers copy and clear structures by them. Two threads do, the second one
 * later, and what orders them in this run is a lock that is held elsewhere, so that another schedule swaps them. The
 * argument says what they do:
 *
 *	assigned  a structure is assigned to another one (rep movs), and a plain load of the last part of that one
 *	source    as assigned, and a plain store into the first part of the one that is copied
 *	cleared   a structure is cleared (rep stos), and a plain load of a part
 *	counted   bytes are copied, as many as an argument says, and a plain load of the last one
 *	shifted   words are copied, of which the number is computed, and a plain load of the last one
 *	moved     one word is copied (movs without a prefix), and a plain load
 *	searched  a byte is searched (repne scas) and found, and a plain store into it
 *	compared  bytes are compared (repe cmps) up to the first that differs, and a plain store into it
 *
 * These are no races:
 *
 *	locked    as assigned, under a lock
 *	joined    as cleared, and the second thread waits for the end of the first
 *	beside    neighbouring structures are assigned
 *	behind    bytes are copied, as many as an argument says, and a plain load of the next one
 *	further   words are copied, of which the number is computed, and a plain load of the next one
 *	nothing   no bytes are copied
 *	found     as searched, and a plain store into the byte behind the one that is found
 *	differing as compared, and a plain store into the byte behind the first that differs
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct part {
	long word[40];
};
struct pair {
	struct part one, other;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, guard = PTHREAD_MUTEX_INITIALIZER;
static volatile size_t length = 24; /* unknown to the compiler */
static _Thread_local volatile long seen;
static struct part model;
static pthread_t before;

static const char *way;
static __attribute__((noipa)) int is(const char *name) { return !strcmp(way, name); }

static void pass_lock(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

static __attribute__((noipa)) void assign(struct part *to, const struct part *from) { *to = *from; }
static __attribute__((noipa)) void clear(struct part *p) { memset(p, 0, sizeof(*p)); }
static __attribute__((noipa)) void copy(void *to, const void *from, size_t n)
{
	asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}
static __attribute__((noipa)) void copy_words(void *to, const void *from, size_t n)
{
	n >>= 3;
	asm volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}
static __attribute__((noipa)) void copy_one(void *to, const void *from)
{
	asm volatile("movsq" : "+D"(to), "+S"(from) : : "memory");
}
static __attribute__((noipa)) void search(const void *in, char byte)
{
	size_t n = -1;

	asm volatile("repne scasb" : "+D"(in), "+c"(n) : "a"(byte) : "memory", "cc");
	seen = n;
}
static __attribute__((noipa)) void compare(const void *a, const void *b, size_t n)
{
	asm volatile("repe cmpsb" : "+D"(a), "+S"(b), "+c"(n) : : "memory", "cc");
	seen = n;
}
static __attribute__((noipa)) void look(struct part *p, int at) { seen = p->word[at]; }
static __attribute__((noipa)) void look_byte(const char *p, int at) { seen = p[at]; }
static __attribute__((noipa)) void change(struct part *p, int at) { p->word[at] = 1; }
static __attribute__((noipa)) void change_byte(char *p, int at) { p[at] = 1; }

static void *first(void *arg)
{
	struct pair *p = arg;

	if (is("assigned") || is("beside")) {
		assign(&p->one, &model);
	} else if (is("source")) {
		struct part own;

		assign(&own, &p->one);
		seen = own.word[length];
	} else if (is("cleared") || is("joined")) {
		clear(&p->one);
	} else if (is("counted") || is("behind")) {
		copy(&p->one, &model, length);
	} else if (is("shifted") || is("further")) {
		copy_words(&p->one, &model, length);
	} else if (is("moved")) {
		copy_one(&p->one, &model);
	} else if (is("nothing")) {
		copy(&p->one, &model, 0);
	} else if (is("searched") || is("found")) {
		search(&p->one, 'x');
	} else if (is("compared") || is("differing")) {
		compare(&p->one, "abcdefghijklmnop", 17);
	} else if (is("locked")) {
		pthread_mutex_lock(&guard);
		assign(&p->one, &model);
		pthread_mutex_unlock(&guard);
	}
	pass_lock();
	return 0;
}

static void *second(void *arg)
{
	struct pair *p = arg;

	if (is("joined"))
		pthread_join(before, 0);
	usleep(50000); /* the first thread comes first */
	pass_lock();
	if (is("assigned") || is("cleared") || is("joined")) {
		look(&p->one, 39);
	} else if (is("source")) {
		change(&p->one, 0);
	} else if (is("beside")) {
		assign(&p->other, &model);
	} else if (is("counted")) {
		look_byte((char *)&p->one, length - 1);
	} else if (is("behind")) {
		look_byte((char *)&p->one, length);
	} else if (is("shifted")) {
		look(&p->one, 2);
	} else if (is("further")) {
		look(&p->one, 3);
	} else if (is("moved") || is("nothing")) {
		look(&p->one, 0);
	} else if (is("searched")) {
		change_byte((char *)&p->one, 12);
	} else if (is("found")) {
		change_byte((char *)&p->one, 13);
	} else if (is("compared")) {
		change_byte((char *)&p->one, 12);
	} else if (is("differing")) {
		change_byte((char *)&p->one, 13);
	} else if (is("locked")) {
		pthread_mutex_lock(&guard);
		look(&p->one, 39);
		pthread_mutex_unlock(&guard);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct pair *p = calloc(1, sizeof(*p));
	pthread_t after;

	way = argc > 1 ? argv[1] : "assigned";
	strcpy((char *)&p->one, "abcdefghijklxyz");
	pthread_create(&before, 0, first, p);
	pthread_create(&after, 0, second, p);
	pthread_join(after, 0);
	if (!is("joined"))
		pthread_join(before, 0);
	free(p);
	return 0;
}
