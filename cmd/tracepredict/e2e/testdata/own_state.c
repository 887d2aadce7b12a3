/*
 * Two threads call functions of the C library that share data which no argument points to, one after the other in time.
 *
 * environment  one reads it, the other one changes it
 * zone         one has mktime read it, the other one changes it
 * strtok, drand48, hsearch, setlocale  both go on from what the library keeps
 * locked       as environment, strtok and drand48, while they hold a lock
 * read         they only read
 */
#define _GNU_SOURCE
#include <locale.h>
#include <pthread.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *way;

static int is(const char *which) { return !strcmp(way, which); }

static int words(void)
{
	char text[] = "one two";
	int n = 0;

	for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
		n++;
	return n;
}

static int zone(void)
{
	struct tm day = {.tm_year = 126, .tm_mday = 1};

	return mktime(&day) > 0;
}

static int change(void)
{
	return setenv("TZ", "UTC", 1);
}

static int one(void)
{
	if (is("environment"))
		return getenv("SHOP") != NULL;
	if (is("zone"))
		return zone();
	if (is("strtok"))
		return words();
	if (is("drand48"))
		return drand48() > 0.5;
	if (is("hsearch"))
		return hsearch((ENTRY){"key", "value"}, ENTER) != NULL;
	if (is("setlocale"))
		return setlocale(LC_TIME, "C") != NULL;
	if (is("locked"))
		return (getenv("SHOP") != NULL) + zone() + words() + (drand48() > 0.5);
	return (getenv("SHOP") != NULL) + zone() + (setlocale(LC_ALL, NULL) != NULL) +
	       (hsearch((ENTRY){"none", NULL}, FIND) != NULL);
}

static int other(void)
{
	if (is("environment") || is("zone"))
		return change();
	if (is("locked"))
		return change() + words() + (drand48() > 0.5);
	return one();
}

static void *first(void *unused)
{
	if (is("locked"))
		pthread_mutex_lock(&lock);
	int n = one();
	if (is("locked"))
		pthread_mutex_unlock(&lock);
	return n < 0 ? &lock : unused;
}

static void *second(void *unused)
{
	usleep(100000);
	if (is("locked"))
		pthread_mutex_lock(&lock);
	int n = other();
	if (is("locked"))
		pthread_mutex_unlock(&lock);
	return n < 0 ? &lock : unused;
}

int main(int argc, char **argv)
{
	pthread_t a, b;

	way = argc > 1 ? argv[1] : "environment";
	setlocale(LC_ALL, "C");
	if (!hcreate(8) || pthread_create(&a, NULL, first, NULL) || pthread_create(&b, NULL, second, NULL))
		return 1;
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	hdestroy();
	puts("done");
	return 0;
}
