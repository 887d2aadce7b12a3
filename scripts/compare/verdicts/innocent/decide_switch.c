// A state that was read under a lock leads through a switch, and only the state that the first half sets when it is over leads to the second half.
// watch: data
// build: -O2
#include "halves.h"


static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static enum { NEW, OPENING, OPEN, BUSY, OVER, CLOSED } state;
static int seen[6];

static void publish(void) { state = OVER; }

static void *first(void *unused) {
	early();
	pthread_mutex_lock(&lock);
	publish();
	pthread_mutex_unlock(&lock);
	return unused;
}

static void *second(void *unused) {
	rest(20);
	pthread_mutex_lock(&lock);
	int s = state;
	pthread_mutex_unlock(&lock);
	switch (s) {
	case NEW: puts("new"); break;
	case OPENING: fputs("opening", stdout); break;
	case OPEN: putchar(10); break;
	case BUSY: perror("busy"); break;
	case OVER: late(); break;
	case CLOSED: rest(1); break;
	}
	seen[s] = 1;
	return unused;
}

int main(void) {
	both(first, second);
	return 0;
}
