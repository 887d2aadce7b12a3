// Threads that block in one system call each, over and over, woken by tickers,
// and two that lock at full speed, so that a slow observer makes the program wait. No call is
// told to go on after EINTR: each EINTR is counted, and any other odd result too. It ends
// after the turns during which its input ends.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <linux/futex.h>
#include <time.h>
#include <unistd.h>

static atomic_long interrupted, odd, rounds;
static atomic_int stop;

static void check(const char *what, long result, long want)
{
	if (result == want)
		return;
	if (result < 0 && errno == EINTR)
		atomic_fetch_add(&interrupted, 1);
	else
		atomic_fetch_add(&odd, 1);
	fprintf(stderr, "%s gave %ld, want %ld: %s\n", what, result, want, strerror(errno));
}

/* Each kind of wait: how a ticker wakes it, how it waits. */
struct wait {
	const char *what;
	void (*make)(struct wait *);
	void (*wake)(struct wait *);
	void (*wait)(struct wait *);
	int fd[2], other;
	atomic_int word;
};

static void make_pipe(struct wait *w) { check("pipe", pipe(w->fd), 0); }
static void wake_pipe(struct wait *w) { check("write", write(w->fd[1], "x", 1), 1); }
static void take_byte(struct wait *w)
{
	char c;
	check("read", read(w->fd[0], &c, 1), 1);
}
static void wait_poll(struct wait *w)
{
	struct pollfd p = {.fd = w->fd[0], .events = POLLIN};
	check("poll", poll(&p, 1, 30000), 1);
	take_byte(w);
}
static void wait_select(struct wait *w)
{
	fd_set s;
	FD_ZERO(&s);
	FD_SET(w->fd[0], &s);
	check("select", select(w->fd[0] + 1, &s, NULL, NULL, NULL), 1);
	take_byte(w);
}
static void make_epoll(struct wait *w)
{
	struct epoll_event e = {.events = EPOLLIN};
	make_pipe(w);
	w->other = epoll_create1(0);
	check("epoll_ctl", epoll_ctl(w->other, EPOLL_CTL_ADD, w->fd[0], &e), 0);
}
static void wait_epoll(struct wait *w)
{
	struct epoll_event e;
	check("epoll_wait", epoll_wait(w->other, &e, 1, -1), 1);
	take_byte(w);
}
static void make_event(struct wait *w) { w->fd[0] = w->fd[1] = eventfd(0, EFD_SEMAPHORE); }
static void wake_event(struct wait *w)
{
	long one = 1;
	check("write eventfd", write(w->fd[1], &one, 8), 8);
}
static void wait_event(struct wait *w)
{
	long n;
	check("read eventfd", read(w->fd[0], &n, 8), 8);
}
static void make_sem(struct wait *w) { w->other = semget(IPC_PRIVATE, 1, 0600); }
static void wake_sem(struct wait *w)
{
	struct sembuf up = {.sem_op = 1};
	check("semop up", semop(w->other, &up, 1), 0);
}
static void wait_sem(struct wait *w)
{
	struct sembuf down = {.sem_op = -1};
	check("semop", semop(w->other, &down, 1), 0);
}
static void make_queue(struct wait *w) { w->other = msgget(IPC_PRIVATE, 0600); }
static void wake_queue(struct wait *w)
{
	struct { long type; char c; } m = {1, 'x'};
	check("msgsnd", msgsnd(w->other, &m, 1, 0), 0);
}
static void wait_queue(struct wait *w)
{
	struct { long type; char c; } m;
	check("msgrcv", msgrcv(w->other, &m, 1, 0, 0), 1);
}
static void make_socket(struct wait *w)
{
	struct timeval limit = {.tv_sec = 30};
	check("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, w->fd), 0);
	check("setsockopt", setsockopt(w->fd[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
}
static void wait_socket(struct wait *w)
{
	char c;
	check("recv with a limit", recv(w->fd[0], &c, 1, 0), 1);
}
static void make_nothing(struct wait *w) { (void)w; }
static void wake_futex(struct wait *w)
{
	atomic_fetch_add(&w->word, 1);
	syscall(SYS_futex, &w->word, FUTEX_WAKE, 1, NULL, NULL, 0);
}
static void wait_futex(struct wait *w)
{
	int seen;
	while ((seen = atomic_load(&w->word)) == 0) {
		if (syscall(SYS_futex, &w->word, FUTEX_WAIT, 0, NULL, NULL, 0) && errno != EAGAIN)
			check("futex", -1, 0);
	}
	atomic_fetch_sub(&w->word, 1);
}
static void wait_sleep(struct wait *w)
{
	struct timespec t = {.tv_nsec = 50000};
	(void)w;
	check("nanosleep", nanosleep(&t, NULL), 0);
}
static void wait_signal(struct wait *w)
{
	sigset_t none;
	struct timespec t = {.tv_nsec = 50000};
	(void)w;
	sigemptyset(&none);
	sigaddset(&none, SIGUSR2);
	if (sigtimedwait(&none, NULL, &t) != -1 || errno != EAGAIN)
		check("sigtimedwait", -1, 0);
}

static struct wait waits[] = {
	{"read", make_pipe, wake_pipe, take_byte},	 {"poll", make_pipe, wake_pipe, wait_poll},
	{"select", make_pipe, wake_pipe, wait_select},	 {"epoll", make_epoll, wake_pipe, wait_epoll},
	{"eventfd", make_event, wake_event, wait_event}, {"semop", make_sem, wake_sem, wait_sem},
	{"msgrcv", make_queue, wake_queue, wait_queue},	 {"recv", make_socket, wake_pipe, wait_socket},
	{"futex", make_nothing, wake_futex, wait_futex}, {"nanosleep", make_nothing, make_nothing, wait_sleep},
	{"sigtimedwait", make_nothing, make_nothing, wait_signal},
};
#define KINDS ((int)(sizeof(waits) / sizeof(waits[0])))

static long turns;

static void *waiter(void *p)
{
	struct wait *w = p;
	for (long i = 0; i < turns; i++) {
		w->wait(w);
		atomic_fetch_add(&rounds, 1);
	}
	return NULL;
}

static void *ticker(void *p)
{
	for (long i = 0; i < turns; i++)
		((struct wait *)p)->wake(p);
	return NULL;
}

static pthread_mutex_t lock[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

static void *locker(void *p)
{
	while (!stop) {
		pthread_mutex_lock(p);
		pthread_mutex_unlock(p);
	}
	return NULL;
}

static int input_ended(void)
{
	struct pollfd p = {.fd = 0, .events = POLLIN};
	char c;

	return poll(&p, 1, 0) == 1 && read(0, &c, 1) == 0;
}

int main(int argc, char **argv)
{
	pthread_t wait[KINDS], tick[KINDS], locking[2];
	long wanted = 0;

	turns = argc > 1 ? atol(argv[1]) : 1000;
	signal(SIGCHLD, SIG_DFL);
	printf("pid %d\n", getpid());
	fflush(stdout);
	if (argc > 2)
		getchar();
	for (int i = 0; i < 2; i++)
		pthread_create(&locking[i], NULL, locker, &lock[i]);
	for (int i = 0; i < KINDS; i++)
		waits[i].make(&waits[i]);
	do {
		for (int i = 0; i < KINDS; i++) {
			pthread_create(&wait[i], NULL, waiter, &waits[i]);
			pthread_create(&tick[i], NULL, ticker, &waits[i]);
		}
		for (int i = 0; i < KINDS; i++) {
			pthread_join(tick[i], NULL);
			pthread_join(wait[i], NULL);
		}
		wanted += turns * KINDS;
	} while (!input_ended());
	stop = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(locking[i], NULL);
	semctl(waits[5].other, 0, IPC_RMID);
	msgctl(waits[6].other, IPC_RMID, NULL);
	printf("rounds %ld of %ld, interrupted %ld, odd %ld\n", atomic_load(&rounds), wanted, atomic_load(&interrupted), atomic_load(&odd));
	fflush(stdout);
	return 0;
}
