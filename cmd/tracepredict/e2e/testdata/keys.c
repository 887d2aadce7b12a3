// Main and another thread count in `uses`, which belongs to a key of thread-specific data, under no lock. With "again"
// main counts while it has the key, and the other thread when it was given the key again, which main has deleted in
// between; "c11" is the same with tss_t. With "late" main counts after it has deleted the key, and with "other" the two
// threads have different keys.
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

static int uses;
static const char *how;
static unsigned key;

static int is(const char *what) { return strcmp(how, what) == 0; }

static unsigned created(void) {
	pthread_key_t k;
	if (is("c11") ? tss_create(&k, NULL) != thrd_success : pthread_key_create(&k, NULL) != 0)
		exit(1);
	return k;
}

static void deleted(unsigned k) {
	if (is("c11"))
		tss_delete(k);
	else
		pthread_key_delete(k);
}

static void *follows(void *unused) {
	unsigned k = created();
	while (k != key && !is("other")) {
		deleted(k);
		sched_yield();
		k = created();
	}
	uses++;
	deleted(k);
	return unused;
}

int main(int count, char **arguments) {
	pthread_t other;
	how = count > 1 ? arguments[1] : "again";
	key = created();
	if (pthread_create(&other, NULL, follows, NULL))
		return 1;
	if (!is("late"))
		uses++;
	if (!is("other"))
		deleted(key);
	if (is("late"))
		uses++;
	pthread_join(other, NULL);
	return uses != 2;
}
