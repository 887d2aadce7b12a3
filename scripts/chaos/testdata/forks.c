/* forks SOCKET: a server of several processes. The first keeps some workers, which accept connections, answer lines
 * with a number by twice the number plus 1, and end after some connections; then it forks others. The workers count
 * what they did in memory that they share, under a robust mutex, since any of them may be killed. SIGTERM ends all. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORKERS 3
#define CONNECTIONS 100 /* of a worker */
#define REQUESTS 20	/* of a connection */

static struct {
	pthread_mutex_t lock;
	long served;
} *shared;

static void count(void)
{
	if (pthread_mutex_lock(&shared->lock) == EOWNERDEAD)
		pthread_mutex_consistent(&shared->lock);
	shared->served++;
	pthread_mutex_unlock(&shared->lock);
}

static void serve(int fd)
{
	FILE *in = fdopen(fd, "r");
	char line[64];

	for (int i = 0; i < REQUESTS && fgets(line, sizeof line, in); i++) {
		count();
		if (dprintf(fd, "%ld\n", 2 * atol(line) + 1) < 0)
			break;
	}
	fclose(in);
}

static void work(int listening, pid_t first)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != first) /* it ended before */
		_exit(0);
	for (int i = 0; i < CONNECTIONS; i++) {
		int fd = accept(listening, NULL, NULL);
		if (fd >= 0)
			serve(fd);
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int listening = socket(AF_UNIX, SOCK_STREAM, 0);
	pthread_mutexattr_t robust;
	pid_t first = getpid();

	signal(SIGPIPE, SIG_IGN);
	strncpy(at.sun_path, argc > 1 ? argv[1] : "", sizeof at.sun_path - 1);
	if (bind(listening, (struct sockaddr *)&at, sizeof at) || listen(listening, 64)) {
		perror(at.sun_path);
		return 1;
	}
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_init(&robust);
	pthread_mutexattr_setpshared(&robust, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&shared->lock, &robust);
	for (int workers = 0;;) {
		for (; workers < WORKERS; workers++)
			if (fork() == 0)
				work(listening, first);
		if (wait(NULL) > 0)
			workers--;
	}
}
