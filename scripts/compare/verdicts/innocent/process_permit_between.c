// Parent and child take two shared semaphores in opposite orders, but each has a permit for both, so that nobody ever waits for the other.
// args: --follow
#include "turns.h"
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void use(sem_t *a, sem_t *b) {
	while (sem_wait(a))
		;
	while (sem_wait(b))
		;
	rest(5);
	sem_post(b);
	sem_post(a);
}

static void *idle(void *unused) { return unused; }

int main(void) {
	sem_t *s = mmap(NULL, 2 * sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	sem_init(&s[0], 1, 2);
	sem_init(&s[1], 1, 2);
	pid_t child = fork();
	if (!child) {
		use(&s[1], &s[0]);
		_exit(0);
	}
	pthread_join(start(idle, NULL), NULL);
	use(&s[0], &s[1]);
	int status;
	waitpid(child, &status, 0);
	return status != 0;
}
