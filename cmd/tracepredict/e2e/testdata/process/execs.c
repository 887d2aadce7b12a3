// Becomes another image of itself: by its first thread, or by a second one;
// the image takes two locks in opposite orders.
#include "twist.h"

static char *self;

static void *become(void *unused) {
	pthread_mutex_lock(&left_lock); // held across: the new image knows nothing of it
	execl(self, self, "twist", NULL);
	abort();
	return unused;
}

int main(int argc, char **argv) {
	self = argv[0];
	const char *mode = argc > 1 ? argv[1] : "";
	if (strcmp(mode, "twist") == 0) {
		twist();
		say("twisted");
		return 0;
	}
	if (strcmp(mode, "wait") == 0) { // until told to by a line
		say("ready");
		char line[16];
		if (!fgets(line, sizeof line, stdin))
			return 1;
		become(NULL);
	}
	if (strcmp(mode, "leader") == 0)
		become(NULL);
	pthread_t t;
	pthread_create(&t, NULL, become, NULL);
	for (;;)
		pause();
}
