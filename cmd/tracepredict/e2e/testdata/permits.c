/* Two threads nest two locks that are permits of the kernel, in opposite orders; with a second argument in the same one.
   The first argument selects what they are: "semaphore" an eventfd that is one, "plain" an eventfd that is none, "set" two
   semaphores of one set of System V, "made" an eventfd that becomes 1 only later. The rest is innocent: of "many" there
   are two permits each, so that both threads can have one; "back" takes the second without waiting, and otherwise gives
   back the first; "hands" hands over: who takes a permit is not who gives it, so that it orders the two threads. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <unistd.h>

static int a, b, set = -1, back, hands, done;

static int take(int lock)
{
	uint64_t v;

	return read(lock, &v, sizeof(v)) == sizeof(v);
}

static void give(int lock)
{
	uint64_t one = 1;

	if (write(lock, &one, sizeof(one)) != sizeof(one))
		_exit(9);
}

static void nest(int first, int second)
{
	take(first);
	take(second);
	done++;
	give(second);
	give(first);
}

static void change(int lock, int by)
{
	struct sembuf s = {.sem_num = lock, .sem_op = by};

	if (semop(set, &s, 1))
		_exit(9);
}

static void nest_in_set(int first, int second)
{
	change(first, -1);
	change(second, -1);
	done++;
	change(second, 1);
	change(first, 1);
}

/* Both are without waiting here. */
static void nest_or_back(int first, int second)
{
	while (!take(first))
		usleep(1000);
	while (!take(second)) {
		give(first);
		usleep(1000);
		while (!take(first))
			usleep(1000);
	}
	done++;
	give(second);
	give(first);
}

static void *one(void *x)
{
	if (hands) {
		done++;
		give(a);
		return x;
	}
	if (back)
		nest_or_back(a, b);
	else if (set >= 0)
		nest_in_set(a, b);
	else
		nest(a, b);
	return x;
}

static void *two(void *same)
{
	usleep(60000);
	if (hands) {
		take(a);
		done++;
	} else if (back) {
		nest_or_back(b, a);
	} else if (set >= 0) {
		nest_in_set(same ? a : b, same ? b : a);
	} else if (same) {
		nest(a, b);
	} else {
		nest(b, a);
	}
	return same;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "semaphore";
	int flags = strcmp(what, "plain") ? EFD_SEMAPHORE : 0;
	union {
		int val;
	} is = {1};
	pthread_t x, y;

	hands = !strcmp(what, "hands");
	back = !strcmp(what, "back");
	if (!strcmp(what, "set")) {
		set = semget(IPC_PRIVATE, 2, 0600);
		a = 0, b = 1;
		semctl(set, a, SETVAL, is);
		semctl(set, b, SETVAL, is);
	} else {
		int value = !strcmp(what, "many") ? 2 : !hands && strcmp(what, "made");

		a = eventfd(value, flags | (back ? EFD_NONBLOCK : 0));
		b = eventfd(value, flags | (back ? EFD_NONBLOCK : 0));
		if (!strcmp(what, "made"))
			give(a), give(b);
	}
	pthread_create(&x, NULL, one, NULL);
	pthread_create(&y, NULL, two, argc > 2 ? argv[2] : NULL);
	pthread_join(x, NULL);
	pthread_join(y, NULL);
	if (set >= 0)
		semctl(set, 0, IPC_RMID);
	printf("%d\n", done);
	return 0;
}
