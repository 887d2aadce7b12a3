// Two threads may build the same entry, and neither reads what the other built under a lock, but an entry is written before the compare-exchange that publishes it and the loser frees its own, which nobody has seen.
// watch: answer of struct entry
#include "turns.h"
#include <stdatomic.h>

struct entry { int key; long answer; };
static struct entry *_Atomic cache[4];

static long lookup(int key) {
	struct entry *e = atomic_load(&cache[key]);
	if (!e) {
		struct entry *mine = malloc(sizeof *mine), *seen = NULL;
		mine->key = key;
		mine->answer = 100 + key;
		if (atomic_compare_exchange_strong(&cache[key], &seen, mine)) {
			e = mine;
		} else {
			free(mine);
			e = seen;
		}
	}
	return e->answer;
}

static void *uses(void *unused) {
	for (int i = 0; i < 8; i++) {
		need(lookup(i % 4) == 100 + i % 4, "answer");
		rest(1);
	}
	return unused;
}

int main(void) {
	both(uses, uses);
	for (int i = 0; i < 4; i++)
		free(cache[i]);
	return 0;
}
