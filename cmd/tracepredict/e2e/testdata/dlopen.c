#include "say.h"

#include <dlfcn.h>

/* Loads the libraries named as arguments, one after the other, and works with
 * each in two threads as soon as it is observed. */

static void (*work)(void);
static volatile int loaded;

/* The observer comes to know of a library a moment after it was loaded: when
 * its code in memory is no longer that of the file. */
static void await_probe(const void *function, const char *path)
{
	char in_file[16];
	Dl_info info;
	FILE *f = fopen(path, "r");

	MUST(f && dladdr(function, &info));
	MUST(fseek(f, (const char *)function - (const char *)info.dli_fbase, SEEK_SET) == 0);
	MUST(fread(in_file, sizeof in_file, 1, f) == 1);
	fclose(f);
	while (memcmp((const void *)function, in_file, sizeof in_file) == 0)
		sched_yield();
}

static void did(void)
{
	say("acquire word");
	say("acquire mutex");
	say("release mutex");
	say("release word");
}

static void *body(void *libraries)
{
	i_am("T1");
	for (int i = 1; i <= *(int *)libraries; i++) {
		await(&loaded, i);
		for (int j = 0; j < 3; j++) {
			work();
			did();
		}
		tell(&loaded, -i);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int libraries = argc - 1;
	pthread_t t = start(body, "T1", &libraries);

	for (int i = 1; i <= libraries; i++) {
		void *library = dlopen(argv[i], RTLD_NOW);
		void *word, *mutex;

		MUST(library);
		await_probe(dlsym(library, "plugin_unlock"), argv[i]);
		MUST((word = dlsym(library, "plugin_word")));
		MUST((mutex = dlsym(library, "plugin_mutex")));
		name_is(word, "word");
		name_is(mutex, "mutex");
		MUST((work = (void (*)(void))dlsym(library, "plugin_work")));
		tell(&loaded, i);
		await(&loaded, -i);
		work();
		did();
	}
	join(t, "T1");
	return 0;
}
