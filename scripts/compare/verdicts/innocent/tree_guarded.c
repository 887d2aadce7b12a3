// Words are put into a tree of tsearch, found and deleted by two threads under a read-write lock, for reading where they are only looked up.
#include "turns.h"
#include <search.h>
#include <string.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static void *words;

static int by_text(const void *a, const void *b) { return strcmp(a, b); }

static void learn(const char *word) {
	pthread_rwlock_wrlock(&lock);
	need(tsearch(word, &words, by_text) != NULL, "tsearch");
	pthread_rwlock_unlock(&lock);
}

static int known(const char *word) {
	pthread_rwlock_rdlock(&lock);
	int found = tfind(word, &words, by_text) != NULL;
	pthread_rwlock_unlock(&lock);
	return found;
}

static void *one(void *unused) {
	learn("pear");
	known("plum");
	return unused;
}

static void *other(void *unused) {
	rest(40);
	if (known("pear")) {
		pthread_rwlock_wrlock(&lock);
		tdelete("pear", &words, by_text);
		pthread_rwlock_unlock(&lock);
	}
	return unused;
}

int main(void) {
	learn("apple");
	both(one, other);
	return 0;
}
