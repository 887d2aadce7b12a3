/*
 * loads LIBRARY [HOW]: a thread calls a function of a library at once when it has been loaded, and another thread later.
 *
 * blocked  SIGURG is blocked meanwhile
 * handled  it has a handler, and the program prints how often that ran
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static long (*call)(void);
static volatile sig_atomic_t came;

static void on_urgent(int signal) { came += signal == SIGURG; }

static void *first(void *unused)
{
	for (int i = 0; i < 5; i++)
		call();
	return unused;
}

static void *second(void *unused)
{
	usleep(300000);
	call();
	return unused;
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[2] : "";
	struct sigaction action = {.sa_handler = on_urgent};
	pthread_t t[2];
	sigset_t urgent;
	void *library;

	sigemptyset(&urgent);
	sigaddset(&urgent, SIGURG);
	if (!strcmp(how, "blocked"))
		pthread_sigmask(SIG_BLOCK, &urgent, 0);
	if (!strcmp(how, "handled"))
		sigaction(SIGURG, &action, 0);
	library = dlopen(argv[1], RTLD_NOW);
	if (!library)
		return puts(dlerror()), 1;
	call = (long (*)(void))dlsym(library, "hidden_call");
	pthread_create(&t[0], 0, first, 0);
	pthread_create(&t[1], 0, second, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	raise(SIGURG);
	printf("urgent %d\n", (int)came);
	return 0;
}
