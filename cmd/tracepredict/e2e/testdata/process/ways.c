// Does one thing that is hard on an observer, says what came of it, and waits
// for the end of input. What it says is always the same. Arguments: which, and
// a library for "dlopen".
#include "twist.h"
#include <dlfcn.h>
#include <grp.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

static char *self, *library;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long sum;
static volatile int stop;

static long count(long n) {
	for (long i = 0; i < n; i++) {
		pthread_mutex_lock(&lock);
		sum++;
		pthread_mutex_unlock(&lock);
	}
	return n;
}

static void *counter(void *unused) {
	long n = 0;
	while (!stop)
		n += count(10);
	return (void *)n;
}

#define BESIDE 3
static pthread_t beside[BESIDE];

// Others lock and count while the first thread does what it does.
static void begin_counting(void) {
	sum = 0;
	for (int i = 0; i < BESIDE; i++)
		pthread_create(&beside[i], NULL, counter, NULL);
}

static void end_counting(long own) {
	long total = own;
	stop = 1;
	for (int i = 0; i < BESIDE; i++) {
		void *n;
		pthread_join(beside[i], &n);
		total += (long)n;
	}
	printf("sum %s\n", total == sum ? "right" : "wrong");
}

static int ended(pid_t p) {
	int status = 0;
	if (waitpid(p, &status, 0) != p)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

// A child has the one thread that forked, and works with a lock of its own.
static int in_child(int n) {
	pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
	int sum = 0;
	for (int i = 0; i < 100; i++) {
		pthread_mutex_lock(&own);
		sum += n;
		pthread_mutex_unlock(&own);
	}
	stop = 0;
	twist(); // threads of its own, and an order that is its own affair
	return sum == 100 * n ? n : 99;
}

static void forks(void) {
	begin_counting();
	for (int n = 1; n <= 20; n++) {
		pid_t p = fork();
		if (p == 0)
			_exit(in_child(n));
		printf("child %d\n", ended(p));
	}
	pthread_mutex_lock(&lock); // held across: the child's copy is held too
	pid_t p = fork();
	if (p == 0) {
		pthread_mutex_unlock(&lock);
		_exit(pthread_mutex_trylock(&lock) == 0 ? 50 : 51);
	}
	pthread_mutex_unlock(&lock);
	printf("holding %d\n", ended(p));
	end_counting(0);
}

static void vforks(void) {
	begin_counting();
	for (int n = 1; n <= 20; n++) {
		char text[32];
		snprintf(text, sizeof text, "exit %d", n);
		pid_t p = vfork();
		if (p == 0) {
			execl("/bin/sh", "sh", "-c", text, NULL);
			_exit(99);
		}
		printf("child %d\n", ended(p));
	}
	for (int n = 1; n <= 5; n++) { // without an execve, and with locks, which are the parent's
		pid_t p = vfork();
		if (p == 0) {
			count(10);
			_exit(n);
		}
		printf("borrower %d\n", ended(p));
	}
	end_counting(50);
}

static void spawns(void) {
	begin_counting();
	for (int n = 1; n <= 20; n++) {
		char text[32], *args[] = {"sh", "-c", text, NULL};
		pid_t p;
		snprintf(text, sizeof text, "exit %d", n);
		if (posix_spawn(&p, "/bin/sh", NULL, NULL, args, environ) == 0)
			printf("child %d\n", ended(p));
	}
	end_counting(0);
}

static void *become(void *unused) {
	execl(self, self, "became", NULL);
	abort();
	return unused;
}

static void became(void) {
	begin_counting();
	end_counting(count(1000));
}

static void exec_by_thread(void) {
	pthread_t t;
	begin_counting();
	pthread_create(&t, NULL, become, NULL);
	for (;;)
		pause();
}

static void *one_step(void *unused) {
	count(1);
	return unused;
}

static void storm(void) {
	sum = 0;
	for (int i = 0; i < 10000 / 20; i++) {
		pthread_t t[20];
		for (int j = 0; j < 20; j++)
			if (pthread_create(&t[j], NULL, one_step, NULL))
				abort();
		for (int j = 0; j < 20; j++)
			pthread_join(t[j], NULL);
	}
	printf("threads %ld\n", sum);
}

static void libraries(void) {
	int taken = 0;
	begin_counting();
	for (int i = 0; i < 300; i++) {
		void *lib = dlopen(library, RTLD_NOW);
		if (!lib) {
			printf("%s\n", dlerror());
			return;
		}
		int (*take)(int *) = (int (*)(int *))dlsym(lib, "own_take");
		int (*give)(int *) = (int (*)(int *))dlsym(lib, "own_give");
		int l = 0;
		for (int j = 0; j < 10; j++) {
			take(&l);
			taken += l;
			give(&l);
			taken += l;
		}
		if (dlclose(lib))
			abort();
	}
	printf("taken %d\n", taken);
	end_counting(0);
}

// The C library has every thread change its ids, by a signal to each.
static void other_user(void) {
	begin_counting();
	if (getuid() == 0 && (setgroups(0, NULL) || setgid(65534) || setuid(65534)))
		abort();
	printf("ids %d %d\n", getuid(), getgid());
	end_counting(count(1000));
}

static void finish(void) {
	say("finished");
	while (getchar() != EOF)
		;
	exit(0);
}

static pthread_t first;

static void *rest(void *unused) {
	printf("first thread %d\n", pthread_join(first, NULL));
	end_counting(count(1000));
	finish();
	return unused;
}

static void leave(void) {
	pthread_t t;
	begin_counting();
	first = pthread_self();
	pthread_create(&t, NULL, rest, NULL);
	pthread_exit(NULL);
}

int main(int argc, char **argv) {
	const struct {
		const char *name;
		void (*run)(void);
	} ways[] = {
		{"fork", forks}, {"vfork", vforks}, {"spawn", spawns}, {"became", became}, {"exec-leader", NULL},
		{"exec-thread", exec_by_thread}, {"storm", storm}, {"dlopen", libraries}, {"setuid", other_user}, {"leave", leave},
	};
	char line[16];
	self = argv[0];
	library = argc > 2 ? argv[2] : NULL;
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++) {
		if (argc < 2 || strcmp(argv[1], ways[i].name))
			continue;
		if (ways[i].run != became) {
			printf("ready %d\n", getpid());
			if (!fgets(line, sizeof line, stdin))
				return 1;
		}
		if (!ways[i].run)
			become(NULL);
		ways[i].run();
		finish();
	}
	return 2;
}
