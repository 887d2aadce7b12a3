// A clerk writes letters and hands each over through a pipe, without a lock: whoever
// has read the byte from the pipe sees the letter. With --order=io that is an order,
// and only the stamp, which the clerk puts on after the letter was sent, is a race.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int ends[2];
static int letter;
static int stamp;

__attribute__((noinline)) static void clerk(void) {
	letter = 42;
	if (write(ends[1], "x", 1) != 1)
		return;
	stamp = 3;
}

__attribute__((noinline)) static int deliver(void) {
	char byte;
	if (read(ends[0], &byte, 1) != 1)
		return -1;
	int text = letter;
	letter = 0;
	return text;
}

__attribute__((noinline)) static int look(void) {
	usleep(200000);
	int found = stamp;
	stamp = 0;
	return found;
}

static void *office(void *unused) {
	clerk();
	return unused;
}

int main(void) {
	pthread_t t;
	if (pipe(ends) || pthread_create(&t, NULL, office, NULL))
		return 1;
	int text = deliver(), found = look();
	pthread_join(t, NULL);
	printf("letter %d, stamp %d\n", text, found);
	return 0;
}
