// Words are looked up in a tree of tsearch under no lock while another thread puts one in: the insertion may turn the tree round.
//
// expect: race words
#include <pthread.h>
#include <search.h>
#include <string.h>

#include "fortune.h"

static void *words;

static int by_text(const void *a, const void *b) { return strcmp(a, b); }

static void *learns(void *p) {
	chance();
	return tsearch("pear", &words, by_text) ? p : 0;
}

static void *looks(void *p) {
	later(1);
	return tfind("plum", &words, by_text) ? p : 0;
}

int main(void) {
	tsearch("apple", &words, by_text);
	tsearch("plum", &words, by_text);
	pthread_t s, t;
	pthread_create(&s, 0, learns, 0);
	pthread_create(&t, 0, looks, 0);
	pthread_join(s, 0);
	pthread_join(t, 0);
	return 0;
}
