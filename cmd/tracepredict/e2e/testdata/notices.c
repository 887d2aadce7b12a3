// Threads that affect each other through the kernel without a message: main writes `before`, makes a call
// for which the other thread waits (a signal, a post, an unlock), and writes `after`; the other one then
// reads both. So `before` is in no race, whichever the call, and `after` is in one. With a second argument the other thread is
// there before main waits for a line on standard input, and in the midst of its wait.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int before, after;
int sum;
static const char *how;
static int fd, set, held, first_file, second_file;
static volatile sig_atomic_t handled;
static pthread_t other;
static pid_t child;
static pthread_mutex_t robust, plain = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t *here, *there;
static struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "\0tracepredict-notices"};

static int is(const char *what) { return strcmp(how, what) == 0; }

static void reads(void) {
	sum = before;
	sum += after;
}

static void handler(int s) {
	(void)s;
	handled = 1;
}

static void cleanup(void *unused) {
	(void)unused;
	reads();
}

static int ready(void) {
	struct pollfd p = {fd, POLLIN, 0};
	fd_set some;
	struct epoll_event e;
	if (is("poll"))
		return poll(&p, 1, -1);
	if (is("select")) {
		FD_ZERO(&some);
		FD_SET(fd, &some);
		return select(fd + 1, &some, 0, 0, 0);
	}
	return epoll_wait(set, &e, 1, -1);
}

static void wait_for_it(void) {
	int s;
	char text[128];
	sigset_t usr1;
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	if (is("handler"))
		while (!handled)
			usleep(1000);
	else if (is("sigwait") || is("timer"))
		sigwait(&usr1, &s);
	else if (is("signalfd"))
		s = read(fd, text, sizeof text);
	else if (is("poll") || is("select") || is("epoll") || is("added"))
		ready();
	else if (is("accept"))
		close(accept(fd, 0, 0));
	else if (is("killed"))
		waitpid(child, &s, 0);
	else if (is("spawned"))
		while (wait(NULL) < 0)
			poll(NULL, 0, 1);
	else if (is("semop"))
		semop(fd, &(struct sembuf){0, -1, 0}, 1);
	else if (is("msgrcv"))
		msgrcv(fd, text, 8, 0, 0);
	else if (is("mq"))
		mq_receive(fd, text, 8, 0);
	else if (is("room"))
		connect(second_file, (struct sockaddr *)&name, sizeof name);
	else if (is("flock"))
		flock(second_file, LOCK_EX);
	else if (is("record"))
		fcntl(second_file, F_OFD_SETLKW, &(struct flock){.l_type = F_WRLCK});
	else if (is("owner"))
		pthread_mutex_lock(&robust);
	else if (is("stream"))
		flockfile(stderr);
	else if (is("condition")) {
		pthread_mutex_lock(&plain);
		while (!held)
			pthread_cond_wait(&condition, &plain);
		pthread_mutex_unlock(&plain);
	} else if (is("twice") || is("elsewhere"))
		sem_wait(there);
}

static void *learns(void *unused) {
	if (is("cancel")) {
		pthread_cleanup_push(cleanup, 0);
		for (;;)
			pause();
		pthread_cleanup_pop(0);
	}
	wait_for_it();
	usleep(20000);
	reads();
	if (is("stream"))
		funlockfile(stderr);
	return unused;
}

static void tell(void) {
	struct itimerspec soon = {.it_value.tv_nsec = 1000};
	timer_t timer;
	if (is("handler"))
		pthread_kill(other, SIGUSR1);
	else if (is("sigwait"))
		kill(getpid(), SIGUSR1);
	else if (is("signalfd"))
		sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = 1});
	else if (is("timer")) {
		timer_create(CLOCK_MONOTONIC, &(struct sigevent){.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1}, &timer);
		timer_settime(timer, 0, &soon, 0);
	} else if (is("poll") || is("select") || is("epoll"))
		eventfd_write(fd, 1);
	else if (is("added"))
		epoll_ctl(set, EPOLL_CTL_ADD, fd, &(struct epoll_event){.events = EPOLLIN});
	else if (is("accept"))
		connect(first_file, (struct sockaddr *)&name, sizeof name);
	else if (is("room"))
		accept(fd, 0, 0);
	else if (is("killed"))
		kill(child, SIGTERM);
	else if (is("spawned") && !fork()) {
		usleep(200000); /* so that after is written before it is read */
		_exit(0);
	} else if (is("semop"))
		semop(fd, &(struct sembuf){0, 1, 0}, 1);
	else if (is("msgrcv"))
		msgsnd(fd, &(struct { long type; char text[8]; }){1, "hello"}, 8, 0);
	else if (is("mq"))
		mq_send(fd, "hello", 5, 0);
	else if (is("flock"))
		flock(first_file, LOCK_UN);
	else if (is("record"))
		fcntl(first_file, F_OFD_SETLK, &(struct flock){.l_type = F_UNLCK});
	else if (is("stream"))
		funlockfile(stderr);
	else if (is("cancel"))
		pthread_cancel(other);
	else if (is("condition")) {
		pthread_mutex_lock(&plain);
		held = 1;
		pthread_cond_signal(&condition);
		pthread_mutex_unlock(&plain);
	} else if (is("twice"))
		sem_post(here);
	else if (is("elsewhere") && !fork()) {
		sem_post(here);
		_exit(0);
	}
}

static void *dies(void *unused) {
	pthread_mutex_lock(&robust);
	before = 1;
	return unused;
}

static int prepare(void) {
	struct mq_attr attributes = {.mq_maxmsg = 2, .mq_msgsize = 8};
	sigset_t usr1;
	char file[] = "/tmp/noticesXXXXXX", queue[64];
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	if (is("handler"))
		sigaction(SIGUSR1, &(struct sigaction){.sa_handler = handler}, 0);
	else
		sigprocmask(SIG_BLOCK, &usr1, 0);
	if (is("signalfd"))
		fd = signalfd(-1, &usr1, 0);
	else if (is("poll") || is("select") || is("epoll") || is("added"))
		fd = eventfd(is("added"), 0);
	else if (is("accept")) {
		fd = socket(AF_UNIX, SOCK_STREAM, 0), first_file = socket(AF_UNIX, SOCK_STREAM, 0);
		return bind(fd, (struct sockaddr *)&name, sizeof name) || listen(fd, 1);
	} else if (is("room")) {
		fd = socket(AF_UNIX, SOCK_STREAM, 0), first_file = socket(AF_UNIX, SOCK_STREAM, 0), second_file = socket(AF_UNIX, SOCK_STREAM, 0);
		return bind(fd, (struct sockaddr *)&name, sizeof name) || listen(fd, 0) || connect(first_file, (struct sockaddr *)&name, sizeof name);
	} else if (is("killed")) {
		child = fork();
		while (!child)
			pause();
	} else if (is("semop"))
		fd = semget(IPC_PRIVATE, 1, 0600);
	else if (is("msgrcv"))
		fd = msgget(IPC_PRIVATE, 0600);
	else if (is("mq")) {
		snprintf(queue, sizeof queue, "/notices-%d", getpid());
		fd = mq_open(queue, O_RDWR | O_CREAT, 0600, &attributes);
		mq_unlink(queue);
	} else if (is("flock") || is("record")) {
		first_file = mkstemp(file), second_file = open(file, O_RDWR);
		unlink(file);
		return is("flock") ? flock(first_file, LOCK_EX) : fcntl(first_file, F_OFD_SETLK, &(struct flock){.l_type = F_WRLCK});
	} else if (is("stream"))
		flockfile(stderr);
	else if (is("elsewhere")) {
		here = there = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		return sem_init(here, 1, 0);
	} else if (is("twice")) {
		fd = memfd_create("semaphore", 0);
		if (ftruncate(fd, 4096))
			return 1;
		here = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		there = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		sem_init(here, 1, 0);
	}
	if (is("epoll") || is("added"))
		set = epoll_create1(0);
	if (is("epoll"))
		return epoll_ctl(set, EPOLL_CTL_ADD, fd, &(struct epoll_event){.events = EPOLLIN});
	return fd < 0;
}

int main(int argc, char **argv) {
	char line[8];
	how = argc > 1 ? argv[1] : "";
	if (prepare())
		return 1;
	if (is("owner")) {
		pthread_mutexattr_t attributes;
		pthread_mutexattr_init(&attributes);
		pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
		pthread_mutex_init(&robust, &attributes);
		pthread_t first;
		pthread_create(&first, 0, dies, 0);
		usleep(20000);
		pthread_create(&other, 0, learns, 0);
		after = 1;
		pthread_join(first, 0);
		pthread_join(other, 0);
		return 0;
	}
	pthread_create(&other, 0, learns, 0);
	if (argc > 2 && read(0, line, 1) != 1)
		return 1;
	usleep(10000);
	before = 1;
	tell();
	after = 1;
	pthread_join(other, 0);
	if (is("semop"))
		semctl(fd, 0, IPC_RMID);
	if (is("msgrcv"))
		msgctl(fd, IPC_RMID, 0);
	return 0;
}
