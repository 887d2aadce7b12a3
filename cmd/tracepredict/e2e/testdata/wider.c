/* One thread reads one member of a structure, and another one writes its neighbour. The compiler joins loads of the two,
 * or loads whole vectors, so that the instruction reads what the source does not. The argument says how:
 *   joined    asks whether kind is 3 and arg is 4; kind never is 3, so that arg is not read. A thread writes arg.
 *   second    asks whether arg is 4 and kind is 3; arg never is 4. A thread writes kind, 200 ms later.
 *   static    as joined, of a static structure, by its name
 *   bits      as joined, of a bit-field and its neighbour
 *   vector    adds the x of all points; a thread writes their y
 *   array     as vector, of a static array, by its name
 *   locked    as vector; one lock guards x, and another one y
 * With a second argument the first thread reads what the other one writes. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct task {
	char kind, arg;
	int rest;
};

struct packet {
	unsigned version : 3, flags : 5;
	char data;
	int rest;
};

struct point {
	int x, y;
};

enum { POINTS = 64, ROUNDS = 3 };

struct shape {
	pthread_mutex_t xs, ys;
	struct point points[POINTS];
};

static struct task only = {.kind = 1};
static struct point fixed[POINTS];
static struct task *task;
static struct packet *packet;
static struct shape *shape;
static int locked;

static void later(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
}

__attribute__((noinline)) static int wanted(struct task *t)
{
	return t->kind == 3 && t->arg == 4;
}

__attribute__((noinline)) static int wanted_second(struct task *t)
{
	return t->arg == 4 && t->kind == 3;
}

__attribute__((noinline)) static int wanted_only(void)
{
	return only.kind == 3 && only.arg == 4;
}

__attribute__((noinline)) static int wanted_packet(struct packet *p)
{
	return p->version == 3 && p->data == 4;
}

__attribute__((noinline)) static int width(const struct point *p)
{
	int sum = 0;

	for (int i = 0; i < POINTS; i++)
		sum += p[i].x;
	return sum;
}

__attribute__((noinline)) static int arg_of(struct task *t)
{
	return t->arg == 4;
}

__attribute__((noinline)) static int kind_of(struct task *t)
{
	return t->kind == 3;
}

__attribute__((noinline)) static int arg_of_only(void)
{
	return only.arg == 4;
}

__attribute__((noinline)) static int data_of(struct packet *p)
{
	return p->data == 4;
}

__attribute__((noinline)) static int one_y(const struct point *p)
{
	return p[1].y;
}

__attribute__((noinline)) static int width_of_fixed(int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		sum += fixed[i].x;
	return sum;
}

__attribute__((noinline)) static int y_of_fixed(int i)
{
	return fixed[i].y;
}

static void *adds_fixed(void *p) { return width_of_fixed(locked ? 1 : POINTS) < 0 ? p : NULL; }
static void *adds_y_of_fixed(void *p) { return y_of_fixed(locked ? 2 : 1) < 0 ? p : NULL; }
static void *asks(void *p) { return wanted(task) ? p : NULL; }
static void *asks_arg(void *p) { return arg_of(task) ? p : NULL; }
static void *asks_second(void *p) { return wanted_second(task) ? p : NULL; }
static void *asks_kind(void *p) { return kind_of(task) ? p : NULL; }
static void *asks_only(void *p) { return wanted_only() ? p : NULL; }
static void *asks_arg_of_only(void *p) { return arg_of_only() ? p : NULL; }
static void *asks_packet(void *p) { return wanted_packet(packet) ? p : NULL; }
static void *asks_data(void *p) { return data_of(packet) ? p : NULL; }

static void *adds(void *p)
{
	for (int i = 0; i < ROUNDS; i++) {
		if (locked)
			pthread_mutex_lock(&shape->xs);
		if (width(shape->points) < 0)
			abort();
		if (locked)
			pthread_mutex_unlock(&shape->xs);
	}
	return p;
}

static void *adds_y(void *p)
{
	if (locked)
		pthread_mutex_lock(&shape->xs);
	if (one_y(shape->points) < 0)
		abort();
	if (locked)
		pthread_mutex_unlock(&shape->xs);
	return p;
}

static void *sets_arg(void *p)
{
	task->arg = 7;
	return p;
}

static void *sets_kind(void *p)
{
	later();
	task->kind = 7;
	return p;
}

static void *sets_only(void *p)
{
	only.arg = 7;
	return p;
}

static void *sets_data(void *p)
{
	packet->data = 7;
	return p;
}

static void *moves(void *p)
{
	if (locked)
		pthread_mutex_lock(&shape->ys);
	for (int i = 0; i < POINTS; i++) {
		shape->points[i].y = i;
		__asm__ volatile("" ::: "memory");
	}
	if (locked)
		pthread_mutex_unlock(&shape->ys);
	return p;
}

static void *moves_fixed(void *p)
{
	fixed[locked ? 2 : 1].y = 7;
	return p;
}

static const struct way {
	const char *name;
	void *(*reads)(void *), *(*reads_it)(void *), *(*writes)(void *);
} ways[] = {
	{"joined", asks, asks_arg, sets_arg},
	{"second", asks_second, asks_kind, sets_kind},
	{"static", asks_only, asks_arg_of_only, sets_only},
	{"bits", asks_packet, asks_data, sets_data},
	{"vector", adds, adds_y, moves},
	{"locked", adds, adds_y, moves},
	{"array", adds_fixed, adds_y_of_fixed, moves_fixed},
};

int main(int argc, char **argv)
{
	const struct way *way = ways;
	pthread_t reader, writer;

	if (argc < 2)
		return 2;
	while (strcmp(way->name, argv[1]))
		if (++way == ways + sizeof ways / sizeof *ways)
			return 2;
	locked = !strcmp(argv[1], "locked");
	task = calloc(1, sizeof *task);
	packet = calloc(1, sizeof *packet);
	shape = calloc(1, sizeof *shape);
	if (!task || !packet || !shape)
		return 1;
	pthread_mutex_init(&shape->xs, NULL);
	pthread_mutex_init(&shape->ys, NULL);
	pthread_create(&reader, NULL, argc > 2 ? way->reads_it : way->reads, NULL);
	pthread_create(&writer, NULL, way->writes, NULL);
	pthread_join(reader, NULL);
	pthread_join(writer, NULL);
	printf("%d %d %d %d\n", task->arg, only.arg, packet->data, shape->points[1].y);
	free(task);
	free(packet);
	free(shape);
	return 0;
}
