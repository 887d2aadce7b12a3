/*
 * Vector instructions access memory, as compilers make them of loops. Two threads do, the second one later, and
 * what orders them in this run is a lock that is held elsewhere, so that another schedule swaps them. The argument
 * says what they do:
 *
 *	summed    a loop adds one row to another one (fused multiply and add), and a plain load of the sum
 *	factor    the same, and a plain store into the row that is read
 *	widened   a loop widens short numbers, and a plain store of the last of them
 *	shifted   a loop shifts by as many bits as a row says, and a plain store into that row
 *
 * These are no races:
 *
 *	locked    as summed, under a lock
 *	beside    loops over neighbouring rows
 *	behind    as widened, and a plain store behind the last short number
 *
 * And these execute an instruction of which no register says what it accesses:
 *
 *	gathered  a loop collects what a row selects, and a plain store to one of these: a race
 *	masked    some numbers of a row are replaced, and a plain store to one of these: a race
 *	decided   whether the second thread touches what the first has written, it collects under a lock: no race
 *	told      likewise, and the first thread says so by replacing some numbers under the lock: no race
 */
#include <immintrin.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N 64
struct row {
	float f[N];
	short s[N];
	int i[N];
};
struct rows {
	struct row one, other;
	int flags[N];
	struct row result;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, guard = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local volatile float seen;
static volatile int last = N - 1; /* unknown to the compiler */

static const char *way;
static __attribute__((noipa)) int is(const char *name) { return !strcmp(way, name); }

static void pass_lock(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

static __attribute__((noipa)) void sum(struct row *to, const struct row *from, float factor)
{
	for (int i = 0; i < N; i++)
		to->f[i] = factor * to->f[i] + from->f[i];
}
static __attribute__((noipa)) void widen(struct row *to, const struct row *from)
{
	for (int i = 0; i < N; i++)
		to->i[i] = from->s[i];
}
static __attribute__((noipa)) void shift(struct row *to, const struct row *by)
{
	for (int i = 0; i < N; i++)
		to->i[i] = to->i[i] << by->i[i];
}
static __attribute__((noipa)) void collect(struct row *to, const struct row *which, const int *from)
{
	for (int i = 0; i < N; i += 8) {
		__m256i at = _mm256_loadu_si256((const void *)&which->i[i]);

		_mm256_storeu_si256((void *)&to->i[i], _mm256_i32gather_epi32(from, at, 4));
	}
}
static __attribute__((noipa)) void replace(int *in, int by)
{
	_mm256_maskstore_epi32(in, _mm256_set_epi32(0, 0, 0, 0, 0, 0, 0, -1), _mm256_set1_epi32(by));
}
static __attribute__((noipa)) void look(struct row *p, int at) { seen = p->f[at]; }
static __attribute__((noipa)) void change(struct row *p, int at) { p->f[at] = 1; }
static __attribute__((noipa)) void change_short(struct row *p, int at) { p->s[at] = 1; }
static __attribute__((noipa)) void change_int(int *p, int at) { p[at] = 1; }

static void *first(void *arg)
{
	struct rows *p = arg;
	struct row *own = calloc(1, sizeof(*own));

	if (is("summed")) {
		sum(&p->one, own, 2);
	} else if (is("factor")) {
		sum(own, &p->one, 2);
	} else if (is("widened") || is("behind")) {
		widen(own, &p->one);
	} else if (is("shifted")) {
		shift(own, &p->one);
	} else if (is("beside")) {
		sum(&p->one, own, 2);
	} else if (is("locked")) {
		pthread_mutex_lock(&guard);
		sum(&p->one, own, 2);
		pthread_mutex_unlock(&guard);
	} else if (is("gathered")) {
		collect(own, &p->other, p->flags);
	} else if (is("masked")) {
		replace(p->flags, 1);
	} else if (is("decided") || is("told")) {
		change(&p->result, 3);
		pthread_mutex_lock(&guard);
		if (is("told"))
			replace(p->flags, 1);
		else
			change_int(p->flags, 0);
		pthread_mutex_unlock(&guard);
	}
	pass_lock();
	free(own);
	return 0;
}

static void *second(void *arg)
{
	struct rows *p = arg;
	struct row *own = calloc(1, sizeof(*own));

	usleep(50000); /* the first thread comes first */
	pass_lock();
	if (is("summed")) {
		look(&p->one, last);
	} else if (is("factor")) {
		change(&p->one, 5);
	} else if (is("widened")) {
		change_short(&p->one, last);
	} else if (is("behind")) {
		change_int(p->one.i, 0);
	} else if (is("shifted")) {
		change_int(p->one.i, last);
	} else if (is("beside")) {
		sum(&p->other, own, 2);
	} else if (is("locked")) {
		pthread_mutex_lock(&guard);
		look(&p->one, 3);
		pthread_mutex_unlock(&guard);
	} else if (is("gathered") || is("masked")) {
		change_int(p->flags, 0);
	} else if (is("decided") || is("told")) {
		int ready;

		pthread_mutex_lock(&guard);
		if (is("told")) {
			ready = p->flags[0];
		} else {
			collect(own, &p->other, p->flags);
			ready = own->i[last];
		}
		pthread_mutex_unlock(&guard);
		if (ready)
			look(&p->result, 3);
	}
	free(own);
	return 0;
}

int main(int argc, char **argv)
{
	struct rows *p = calloc(1, sizeof(*p));
	pthread_t a, b;

	way = argc > 1 ? argv[1] : "summed";
	pthread_create(&a, 0, first, p);
	pthread_create(&b, 0, second, p);
	pthread_join(a, 0);
	pthread_join(b, 0);
	free(p);
	return 0;
}
