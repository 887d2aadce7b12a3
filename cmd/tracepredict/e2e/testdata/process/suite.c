// A test of a suite: with "both", its threads take two locks in opposite orders; with "left" or "right", in that one alone.
#include "twist.h"

int main(int argc, char **argv) {
	const char *mode = argc > 1 ? argv[1] : "";
	if (strcmp(mode, "both") == 0) {
		twist();
		return 0;
	}
	pthread_t t;
	if (pthread_create(&t, NULL, strcmp(mode, "left") == 0 ? left_first : right_first, NULL))
		abort();
	return pthread_join(t, NULL);
}
