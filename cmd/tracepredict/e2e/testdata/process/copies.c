// Executes copies of its own code: of all of it, at the same addresses, as programs do that want huge pages, or of one
// function. "own" executes breakpoints of its own. "later" has all of its code copied when it says so, and goes on after a
// line.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static int hits, traps;
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noipa)) static int bump(int *p) { return ++*p; }

static void *count(void *arg) {
	pthread_mutex_lock(&mu);
	for (int i = 0; i < 3; i++)
		bump(&hits);
	pthread_mutex_unlock(&mu);
	return arg;
}

static void twice(void) {
	pthread_t a, b;
	pthread_create(&a, NULL, count, NULL);
	pthread_create(&b, NULL, count, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
}

static void remap_text(void) {
	uintptr_t from = 0, to = 0;
	unsigned long a, b;
	char line[512], perm[8];
	FILE *f = fopen("/proc/self/maps", "r");
	while (fgets(line, sizeof line, f))
		if (sscanf(line, "%lx-%lx %7s", &a, &b, perm) == 3 && perm[2] == 'x' && a <= (uintptr_t)remap_text && (uintptr_t)remap_text < b)
			from = a, to = b;
	fclose(f);
	char *copy = mmap(NULL, to - from, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(copy, (void *)from, to - from);
	mprotect(copy, to - from, PROT_READ | PROT_EXEC);
	mremap(copy, to - from, to - from, MREMAP_MAYMOVE | MREMAP_FIXED, from);
}

static void trapped(int sig) { traps += sig == SIGTRAP; }

int main(int argc, char **argv) {
	if (argc < 2)
		return 2;
	if (strcmp(argv[1], "whole") == 0 || strcmp(argv[1], "later") == 0)
		remap_text();
	if (strcmp(argv[1], "later") == 0) {
		printf("ready\n");
		fflush(stdout);
		getchar();
	}
	twice();
	if (strcmp(argv[1], "function") == 0) {
		char *copy = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		memcpy(copy, (void *)bump, 64);
		for (int i = 0; i < 1000; i++)
			((int (*)(int *))copy)(&hits);
	}
	if (strcmp(argv[1], "own") == 0) {
		signal(SIGTRAP, trapped);
		for (int i = 0; i < 3; i++)
			__asm__ volatile("int3");
	}
	printf("%d hits, %d traps\n", hits, traps);
	return 0;
}
