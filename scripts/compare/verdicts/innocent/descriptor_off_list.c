// A socket is used only under the lock of the list that it is on, and closed under that lock when it is taken off; the next thread that opens a file is given its number, and closes that under no lock.
#include "turns.h"
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

struct peer {
	struct peer *next;
	int fd;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct peer *peers;

static void *tells(void *unused) {
	pthread_mutex_lock(&lock);
	for (struct peer *p = peers; p; p = p->next)
		need(write(p->fd, "x", 1) == 1, "write");
	pthread_mutex_unlock(&lock);
	return unused;
}

static void *drops(void *unused) {
	rest(30);
	pthread_mutex_lock(&lock);
	struct peer *p = peers;
	peers = p->next;
	close(p->fd);
	pthread_mutex_unlock(&lock);
	free(p);
	return unused;
}

static void *opens(void *unused) {
	rest(60);
	int fd = open("/dev/null", O_RDONLY);
	lseek(fd, 0, SEEK_SET);
	close(fd);
	return unused;
}

int main(void) {
	int ends[2];
	need(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "socketpair");
	for (int i = 0; i < 2; i++) {
		struct peer *p = malloc(sizeof *p);
		*p = (struct peer){peers, dup(ends[0])};
		peers = p;
	}
	pthread_t s = start(tells, NULL), t = start(drops, NULL), u = start(opens, NULL);
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	pthread_join(u, NULL);
	return 0;
}
