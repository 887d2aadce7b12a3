/* A manager approves a loan, and a clerk pays it, who knows of that only with "told". The threads have one start routine, and
 * names: "self" each gives itself one, "creator" main does, "renamed" they have got another one before, "none" nobody does. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/prctl.h>

#define KEEP __attribute__((noipa))

static const char *how;
static sem_t named;

KEEP void approve(void)
{
}

KEEP void pay(void)
{
}

static void *work(void *arg)
{
	const char *name = arg;

	if (!strcmp(how, "renamed"))
		prctl(PR_SET_NAME, "idle");
	if (!strcmp(how, "creator"))
		sem_wait(&named);
	else if (strcmp(how, "none"))
		prctl(PR_SET_NAME, name);
	if (!strcmp(name, "manager"))
		approve();
	else
		pay();
	return NULL;
}

static pthread_t start(const char *name)
{
	pthread_t thread;

	pthread_create(&thread, NULL, work, (void *)name);
	if (!strcmp(how, "creator")) {
		pthread_setname_np(thread, name);
		sem_post(&named);
	}
	return thread;
}

int main(int argc, char **argv)
{
	int told = argc > 2 && !strcmp(argv[2], "told");
	pthread_t manager, clerk;

	how = argc > 1 ? argv[1] : "self";
	sem_init(&named, 0, 0);
	manager = start("manager");
	if (told)
		pthread_join(manager, NULL);
	clerk = start("clerk-1");
	if (!told)
		pthread_join(manager, NULL);
	pthread_join(clerk, NULL);
	return 0;
}
