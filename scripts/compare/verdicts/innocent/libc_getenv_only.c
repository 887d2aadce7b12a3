// Variables are added to the environment before there are threads and after they are joined; the threads look them up, and add none.
#include "turns.h"

static void *looks(void *unused) {
	for (int i = 0; i < 20; i++)
		need(getenv("ADDED") != NULL, "getenv");
	rest(50);
	return unused;
}

int main(void) {
	setenv("ADDED", "yes", 1);
	both(looks, looks);
	setenv("ADDED", "no", 1);
	return 0;
}
