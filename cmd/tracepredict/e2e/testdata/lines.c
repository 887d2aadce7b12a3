// Lines of a function are entered and left in each way that C has: by loops, goto, a return, a tail call, recursion,
// longjmp inside of the function and beyond it, and the end of the thread. The program counts both itself.
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

static __thread int depth;
static __thread jmp_buf above;
static long entries, departures;

#define IN() (entries++, depth++)
#define OUT() (departures++, depth--)

__attribute__((noinline)) static int nested(int n)
{
	return n > 0 ? nested(n - 1) + 1 : 0;
}

__attribute__((noinline)) static void jump(int n)
{
	if (n) {
		OUT();
		longjmp(above, n);
	}
}

__attribute__((noinline)) static int work(int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++) {
		if (i == 3)
			continue;
		IN();
		sum += nested(i); // work: first
		if (i == 5) {
			OUT();
			break;
		}
		if (i == 7) {
			OUT();
			return sum;
		}
		jump(n == 100 && i == 4);
		if (n == 50) {
			OUT();
			goto out;
		}
		OUT(); // work: last
		sum++;
	}
out:
	return sum;
}

__attribute__((noinline)) static int recurse(int n)
{
	int below = 0;

	IN();
	if (n > 0) // recurse: first
		below = recurse(n - 1);
	if (n == 2) {
		OUT();
		return below;
	}
	OUT(); // recurse: last
	return below + 1;
}

__attribute__((noinline)) static int again(int n)
{
	jmp_buf here;
	volatile int times = 0;

	if (setjmp(here) < n) {
		IN();
		times++; // again: first
		if (times < n) {
			OUT();
			longjmp(here, times);
		}
		OUT(); // again: last
	}
	return times;
}

__attribute__((noinline)) static int choose(int n)
{
	int r = 0;

	switch (n) {
	case 0: r = 10; break;
	case 1: r = 11; break;
	case 2:
		IN();
		r = 12; // choose: first
		/* fall through */
	case 3:
		if (n == 3)
			IN();
		r += 13;
		OUT(); // choose: last
		break;
	case 4: r = 14; break;
	case 5: r = 15; break;
	default: r = 16;
	}
	return r;
}

int early, middle, late;

/* What is accessed before the lines is recorded before their entry, and what behind them after their departure. */
__attribute__((noinline)) static void ordered(int n)
{
	early = n;
	IN();
	middle = early; // ordered: first
	middle = middle + n; // ordered: last
	late = middle;
	OUT();
}

static void *ends(void *unused)
{
	IN();
	nested(3); // ends: first
	OUT();
	pthread_exit(unused); // ends: last
}

int main(void)
{
	long s = 0;
	pthread_t t;

	for (int n = 0; n < 10; n++)
		s += work(n) + choose(n);
	s += work(50);
	if (!setjmp(above))
		s += work(100);
	s += recurse(5) + recurse(70);
	s += again(4);
	for (int n = 1; n < 4; n++)
		ordered(n);
	pthread_create(&t, NULL, ends, NULL);
	pthread_join(t, NULL);
	printf("counts %ld %ld\nsum %ld\n", entries, departures, s);
	return 0;
}
