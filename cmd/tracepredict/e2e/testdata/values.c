/* Two threads write a variable of each type, one after the other. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

enum mode { SHUT = -1, IDLE, OPEN = 5 };
struct node { struct node *next; };

struct {
	bool ready;
	char letter;
	int8_t small;
	uint8_t octet;
	enum mode mode;
	long balance;
	float ratio;
	double mean;
	struct node *head;
	unsigned low : 3;
	int middle : 5;
	enum mode field : 4;
	unsigned long wide : 40;
} all;

/* Time keeps the order, which any other schedule may miss. (A flag would order the threads.) */
static void pause_for(long milliseconds) {
	struct timespec t = {0, milliseconds * 1000000};
	nanosleep(&t, NULL);
}

__attribute__((noinline)) static void set(bool b, char c, int n, enum mode m, double d, struct node *p) {
	all.ready = b;
	all.letter = c;
	all.small = n;
	all.octet = n;
	all.mode = m;
	all.balance = n;
	all.ratio = d;
	all.mean = d;
	all.head = p;
	all.low = n;
	all.middle = n;
	all.field = m;
	all.wide = n;
}

static void *first(void *unused) {
	set(true, 'a', -3, OPEN, 0.5, (struct node *)0x1000);
	pause_for(150);
	return unused;
}

static void *second(void *unused) {
	pause_for(50);
	set(false, '\n', 6, SHUT, -2.25, NULL);
	return unused;
}

int main(void) {
	pthread_t a, b;
	if (pthread_create(&a, NULL, first, NULL) || pthread_create(&b, NULL, second, NULL))
		return 1;
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("%d\n", all.middle);
	return 0;
}
