// Two modules each initialise the shared table once, but each with its own once object.
//
// expect: race table
#include "threads.h"

static pthread_once_t ours = PTHREAD_ONCE_INIT, theirs = PTHREAD_ONCE_INIT;
static int table;

static void make(void) {
	table = 1;
}

static void *use_ours(void *unused) {
	pthread_once(&ours, make);
	return unused;
}

static void *use_theirs(void *unused) {
	later(1);
	pthread_once(&theirs, make);
	return unused;
}

int main(void) {
	RUN(use_ours, use_theirs);
	return table != 1;
}
