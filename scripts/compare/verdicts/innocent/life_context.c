// Two coroutines (ucontext) nest locks in opposite orders, and one is left in the middle by swapcontext, but it holds none then, and both run in one thread.
#include "turns.h"
#include <ucontext.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static ucontext_t back_to, one, two;
static char stacks[2][1 << 16];

static void forth(void) {
	nest(&a, &b);
	swapcontext(&one, &two);
	nest(&a, &b);
}

static void back(void) {
	nest(&b, &a);
	swapcontext(&two, &one);
}

static void *runs(void *unused) {
	getcontext(&one);
	one.uc_stack.ss_sp = stacks[0];
	one.uc_stack.ss_size = sizeof stacks[0];
	one.uc_link = &back_to;
	makecontext(&one, forth, 0);
	getcontext(&two);
	two.uc_stack.ss_sp = stacks[1];
	two.uc_stack.ss_size = sizeof stacks[1];
	two.uc_link = &back_to;
	makecontext(&two, back, 0);
	swapcontext(&back_to, &one);
	return unused;
}

int main(void) {
	pthread_join(start(runs, NULL), NULL);
	return 0;
}
