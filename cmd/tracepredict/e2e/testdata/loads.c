/*
 * loads LIBRARY [HOW]: a thread calls a function of a library at once when it has been loaded, and another thread later.
 *
 * blocked  SIGURG is blocked meanwhile
 * handled  it has a handler, and the program prints how often that ran
 * each     each thread loads the library itself before
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static long (*call)(void);
static const char *library;
static volatile sig_atomic_t came;

static void on_urgent(int signal) { came += signal == SIGURG; }

static int load(void)
{
	void *loaded = dlopen(library, RTLD_NOW);

	if (!loaded)
		return puts(dlerror()), 0;
	call = (long (*)(void))dlsym(loaded, "hidden_call");
	return 1;
}

static void *first(void *each)
{
	if (each)
		load();
	for (int i = 0; i < 5; i++)
		call();
	return 0;
}

static void *second(void *each)
{
	usleep(300000);
	if (each)
		load();
	call();
	return 0;
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[2] : "";
	struct sigaction action = {.sa_handler = on_urgent};
	pthread_t t[2];
	sigset_t urgent;
	int each = !strcmp(how, "each");

	sigemptyset(&urgent);
	sigaddset(&urgent, SIGURG);
	if (!strcmp(how, "blocked"))
		pthread_sigmask(SIG_BLOCK, &urgent, 0);
	if (!strcmp(how, "handled"))
		sigaction(SIGURG, &action, 0);
	library = argv[1];
	if (!each && !load())
		return 1;
	pthread_create(&t[0], 0, first, each ? &each : 0);
	pthread_create(&t[1], 0, second, each ? &each : 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	raise(SIGURG);
	printf("urgent %d\n", (int)came);
	return 0;
}
