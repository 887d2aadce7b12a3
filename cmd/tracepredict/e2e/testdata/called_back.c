/*
 * Two threads, one after the other, make the C library call functions of this program, which count.
 *
 * stream    the bytes that are read from one stream, so that its lock keeps the threads apart
 * streams   those of two streams, whose locks are two
 * outside   as stream, but the second thread also looks at the count by itself
 * printed   conversions on stdout, whose lock is held
 * text      conversions into texts of the threads' own, under no lock
 * sorted    comparisons of qsort, under no lock
 * opposite  as stream, and two mutexes are locked in opposite orders
 */
#define _GNU_SOURCE
#include <printf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct count { int calls; char last; };

static struct count *count;
static FILE *streams[2];
static const char *way;
static __thread int is_second;
static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;

static int is(const char *what) { return strcmp(way, what) == 0; }

__attribute__((noinline)) static void counts(int c)
{
	count->calls++;
	count->last = c;
}

static void both(pthread_mutex_t *outer, pthread_mutex_t *inner)
{
	pthread_mutex_lock(outer);
	pthread_mutex_lock(inner);
	counts('m');
	pthread_mutex_unlock(inner);
	pthread_mutex_unlock(outer);
}

static ssize_t reads(void *cookie, char *to, size_t n)
{
	(void)cookie, (void)n;
	if (!is("opposite"))
		counts('r');
	else if (is_second)
		both(&left, &right);
	else
		both(&right, &left);
	*to = 'x';
	return 1;
}

static int converts(FILE *f, const struct printf_info *i, const void *const *arguments)
{
	(void)i, (void)arguments;
	counts('p');
	return fprintf(f, "converted");
}

static int takes_int(const struct printf_info *i, size_t n, int *type, int *size)
{
	(void)i;
	if (n) {
		*type = PA_INT;
		*size = sizeof(int);
	}
	return 1;
}

static int compares(const void *a, const void *b)
{
	counts('c');
	return *(const char *)a - *(const char *)b;
}

static void *works(void *second)
{
	char text[] = "some text to sort";
	if (is("printed"))
		printf("%W\n", 1);
	else if (is("text"))
		snprintf(text, sizeof text, "%W", 1);
	else if (is("sorted"))
		qsort(text, 9, 1, compares);
	else
		fgetc(streams[is("streams") && second]);
	if (is("outside") && second)
		return (void *)(long)count->calls;
	return 0;
}

static void *later(void *unused)
{
	(void)unused;
	usleep(50000);
	is_second = 1;
	return works(&streams);
}

int main(int argc, char **argv)
{
	pthread_t first, second;

	way = argc > 1 ? argv[1] : "";
	count = calloc(1, sizeof *count);
	register_printf_specifier('W', converts, takes_int);
	for (int i = 0; i < 2; i++) {
		streams[i] = fopencookie(0, "r", (cookie_io_functions_t){.read = reads});
		setvbuf(streams[i], 0, _IONBF, 0);
	}
	pthread_create(&first, 0, works, 0);
	pthread_create(&second, 0, later, 0);
	pthread_join(first, 0);
	pthread_join(second, 0);
	return count->calls < 2;
}
