// Its first thread ends by pthread_exit; another one goes on, takes locks in
// opposite orders, loads a library and calls its functions too; with -leave it
// then leaves a third one alone.
#include "twist.h"
#include <dlfcn.h>

static int leader_is_dead(void) {
	char name[64], text[512];
	snprintf(name, sizeof name, "/proc/self/task/%d/stat", getpid());
	FILE *f = fopen(name, "r");
	if (!f)
		return 1;
	size_t n = fread(text, 1, sizeof text - 1, f);
	fclose(f);
	text[n] = 0;
	char *state = strrchr(text, ')');
	return state && state[2] == 'Z';
}

static char *library;

static void *last(void *unused) {
	char line[16];
	nap();
	say("left");
	exit(!fgets(line, sizeof line, stdin));
}

static void *rest(void *unused) {
	while (!leader_is_dead())
		nap();
	char line[16];
	say("leaderless");
	if (!fgets(line, sizeof line, stdin))
		exit(1);
	twist();
	if (library && !strcmp(library, "-leave")) {
		pthread_t t;
		pthread_create(&t, NULL, last, NULL);
		return unused;
	}
	if (library) {
		void *lib = dlopen(library, RTLD_NOW);
		if (!lib) {
			fprintf(stderr, "%s\n", dlerror());
			exit(1);
		}
		say("loaded");
		void (*call)(void) = (void (*)(void))dlsym(lib, "lib_twist");
		if (!fgets(line, sizeof line, stdin))
			exit(1);
		call();
	}
	say("done");
	exit(0);
	return unused;
}

int main(int argc, char **argv) {
	pthread_t t;
	library = argc > 1 ? argv[1] : NULL;
	pthread_create(&t, NULL, rest, NULL);
	pthread_exit(NULL);
}
