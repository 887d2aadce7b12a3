/* Accesses of one variable that only a hardware watchpoint sees: through
 * pointers, by string instructions, by the C library and by the kernel. Each
 * thread says what it does, with values. */
#include "say.h"

long shared;
static long *volatile where = &shared;
static void (*volatile nothing)(void);

static void step(volatile long *p)
{
	long v = *p;

	say("read %ld", v);
	*p = v + 1;
	say("write %ld", v + 1);
}

static void *count(void *name)
{
	i_am(name);
	for (int i = 0; i < 20; i++)
		step(where);
	return NULL;
}

static void *chain(void *name)
{
	pthread_t t;

	i_am(name);
	step(where);
	MUST(pthread_create(&t, NULL, count, "grandchild") == 0);
	MUST(pthread_join(t, NULL) == 0);
	step(where);
	return NULL;
}

static void strings(long *p)
{
	long copy = 0x1122334455667788, *from = &copy, n = sizeof copy;

	__asm__ volatile("rep movsb" : "+S"(from), "+D"(p), "+c"(n) : : "memory");
	say("write %ld", copy);
	p = where;
	n = 1;
	__asm__ volatile("rep stosq" : "+D"(p), "+c"(n) : "a"(5L) : "memory");
	say("write 5");
	from = where, p = &copy, n = sizeof copy;
	__asm__ volatile("rep movsb" : "+S"(from), "+D"(p), "+c"(n) : : "memory");
	say("read 5");
}

static void instructions(volatile long *p)
{
	long v = 9;

	__asm__ volatile("incq %0" : "+m"(*p));
	say("update 6");
	__asm__ volatile("lock xaddq %1, %0" : "+m"(*p), "+r"(v));
	say("update 15 atomic");
	__asm__ volatile("movq %0, %%xmm0" : : "m"(*p) : "xmm0");
	say("read 15");
	__asm__ volatile("cmpq $15, %0; jne 1f; nop; 1:" : : "m"(*p) : "cc");
	say("read 15");
	__asm__ volatile("cmpq %1, %0; je 1f; nop; 1:" : : "m"(*p), "r"(15L) : "cc");
	say("read 15");
	__asm__ volatile("testq %1, %0; je 1f; nop; 1:" : : "m"(*p), "r"(15L) : "cc");
	say("read 15");
	__asm__ volatile("push %0; pop %%rax" : : "m"(*p) : "rax");
	say("read 15");
}

static void leave(void) {}

static void calls(void (*volatile *p)(void))
{
	*p = leave;
	say("write %ld", (long)leave);
	(*p)();
	say("read %ld", (long)leave);
}

static void kernel(long *p, int rounds)
{
	int fd[2];
	long v = 7;

	MUST(pipe(fd) == 0);
	for (int i = 0; i < rounds; i++, v++) {
		MUST(write(fd[1], &v, sizeof v) == sizeof v);
		MUST(read(fd[0], p, sizeof *p) == sizeof *p);
		say("write %ld by read(2)", v);
		MUST(write(fd[1], p, sizeof *p) == sizeof *p);
		say("read %ld by write(2)", v);
		MUST(read(fd[0], &v, sizeof v) == sizeof v);
	}
}

int main(void)
{
	pthread_t t;

	i_am("main");
	step(where);
	MUST(pthread_create(&t, NULL, chain, "child") == 0);
	MUST(pthread_join(t, NULL) == 0);
	MUST(pthread_create(&t, NULL, count, "second") == 0);
	MUST(pthread_join(t, NULL) == 0);
	strings(where);
	instructions(where);
	calls((void *)where);
	kernel(where, 3);
	/* The C library chooses its memset by the processor, and some write eight bytes by two
	 * instructions, each an access: one byte they all write by one. The others are 0. */
	memset(where, 0, 1);
	say("write 0");
	if (nothing)
		nothing();
	return 0;
}
