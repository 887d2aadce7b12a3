// What the programs of this folder share: threads that begin together, the time that they take, and a monitor that is part
// of the program, compiled in one of four ways:
//
//   (none)  no monitor: plain, or observed from outside
//   GLOBAL  each event goes through one locked monitor, as the global monitor of Soueidi, El-Hokayem and Falcone (FASE 2023)
//   HELD    each event goes through one locked monitor in another process, and its thread waits until that has judged it
//   LOCAL   each thread keeps its own results, and only synchronising actions look at those of all: opportunistic
//
// With BROKEN, a program violates its property.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// As if these were in a library: the compiler does not look into them where they are called.
#define KEEP __attribute__((noipa))

#ifdef BROKEN
static const bool broken = true;
#else
static const bool broken = false;
#endif

#if defined GLOBAL || defined HELD || defined LOCAL

#define MAX_THREADS 4096

// slots have what each thread has seen, a bit each, in the region with that number.
static struct slot {
	_Atomic unsigned long region;
	_Atomic unsigned seen;
	_Atomic int type; // 0: no thread
	_Atomic unsigned long gone; // the region after that in which it ended; 0: it has not
} __attribute__((aligned(64))) slots[MAX_THREADS];

static _Atomic int used;
static _Atomic unsigned long region;
static unsigned long violations;
static _Thread_local int self;

// region_holds judges the region that ends. Each program defines it.
static bool region_holds(void);

static bool counts(int i, int type) { return slots[i].type == type && (slots[i].gone == 0 || slots[i].gone > region); }

// count returns how many threads of a type have seen something in this region.
static int count(int type, unsigned what)
{
	int n = 0;
	for (int i = 0; i < used; i++)
		n += counts(i, type) && slots[i].region == region && (slots[i].seen & what);
	return n;
}

// size returns how many threads of a type there are.
__attribute__((unused)) static int size(int type)
{
	int n = 0;
	for (int i = 0; i < used; i++)
		n += counts(i, type);
	return n;
}

enum kind { BEGINS, ENDS, SEES, SYNCHRONISES, RESULT };

// judge is the monitor: everything comes to it.
static void judge(enum kind kind, int thread, unsigned what)
{
	struct slot *s = &slots[thread];
	switch (kind) {
	case BEGINS:
		s->type = what;
		break;
	case ENDS:
		s->gone = region + 1;
		break;
	case SEES:
		s->seen = (s->region == region ? s->seen : 0) | what;
		s->region = region;
		break;
	case SYNCHRONISES:
		violations += !region_holds();
		region++;
		break;
	case RESULT:
		break;
	}
}

#ifdef HELD

static struct {
	sem_t asked, answered;
	enum kind kind;
	int thread, used;
	unsigned what;
	unsigned long violations;
} *held;

static pid_t judging;

// start_monitor starts the process that judges until it is asked for the result.
static void start_monitor(void)
{
	held = mmap(NULL, sizeof *held, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (held == MAP_FAILED || sem_init(&held->asked, 1, 0) || sem_init(&held->answered, 1, 0) || (judging = fork()) < 0)
		abort();
	while (judging == 0) {
		sem_wait(&held->asked);
		enum kind kind = held->kind; // the next question may come as soon as this one is answered
		used = held->used;
		judge(kind, held->thread, held->what);
		held->violations = violations;
		sem_post(&held->answered);
		if (kind == RESULT)
			_exit(0);
	}
}

static void ask(enum kind kind, unsigned what)
{
	held->kind = kind, held->thread = self, held->what = what, held->used = used;
	sem_post(&held->asked);
	while (sem_wait(&held->answered))
		;
	violations = held->violations;
}

#else

static void start_monitor(void) {}
static void ask(enum kind kind, unsigned what) { judge(kind, self, what); }

#endif

#ifdef LOCAL

#define monitored(statement) statement

#else

static pthread_mutex_t monitor_lock = PTHREAD_MUTEX_INITIALIZER;

#define monitored(statement) \
	do { \
		pthread_mutex_lock(&monitor_lock); \
		statement; \
		pthread_mutex_unlock(&monitor_lock); \
	} while (0)

#endif

static void begins(int type)
{
	if ((self = used++) >= MAX_THREADS)
		abort();
	monitored(ask(BEGINS, type));
}

static void ends(void) { monitored(ask(ENDS, 0)); }

static void sees(unsigned what) { monitored(ask(SEES, what)); }

static void synchronises(void) { monitored(ask(SYNCHRONISES, 0)); }

static void end_monitor(void)
{
	monitored(ask(RESULT, 0));
#ifdef HELD
	waitpid(judging, NULL, 0);
#endif
}

#else

static const unsigned long violations = 0;
static void start_monitor(void) {}
static void end_monitor(void) {}
static void begins(int type) { (void)type; }
static void ends(void) {}
static void sees(unsigned what) { (void)what; }
static void synchronises(void) {}
#define monitored(statement) statement

#endif

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static pthread_barrier_t begun;

// run starts threads, the first so many of each with its own start routine, and prints how long they took from when all had
// begun. Each begins with joins_in, and its argument is its number among those of its routine.
struct routine {
	void *(*start)(void *);
	int threads;
};

static void joins_in(int type)
{
	begins(type);
	pthread_barrier_wait(&begun);
}

__attribute__((unused)) static int number_of(void *arg) { return (intptr_t)arg; }

static void run(const struct routine *routines, int n, unsigned long events, unsigned long regions)
{
	int all = 0, t = 0;
	for (int i = 0; i < n; i++)
		all += routines[i].threads;
	pthread_t *threads = calloc(all, sizeof *threads);
	start_monitor();
	pthread_barrier_init(&begun, NULL, all + 1);
	for (int i = 0; i < n; i++)
		for (int j = 0; j < routines[i].threads; j++)
			if (pthread_create(&threads[t++], NULL, routines[i].start, (void *)(intptr_t)j))
				abort();
	double from = now();
	pthread_barrier_wait(&begun);
	for (int i = 0; i < all; i++)
		pthread_join(threads[i], NULL);
	double seconds = now() - from;
	free(threads);
	end_monitor();
	printf("{\"seconds\": %.6f, \"events\": %lu, \"regions\": %lu, \"violations\": %lu}\n", seconds, events, regions, violations);
}

static int argument(int argc, char **argv, int i, int otherwise) { return i < argc ? atoi(argv[i]) : otherwise; }
