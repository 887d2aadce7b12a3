// A thread waits until another one has made a system call whose effect no message announces: the first writes
// `before`, makes the call, and writes `after` a while later; the second waits, and writes both. The argument
// selects how it waits. What the call orders, other schedules probably keep; what else happens, they need not.
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int before, after;
static const char *how;
static char folder[] = "/tmp/asks-XXXXXX", name[64], log_name[64];
static int fd, log_fd, to[2], from[2];
static pid_t child;

static void rest(long ms) {
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};
	nanosleep(&t, NULL);
}

static int is(const char *mode) { return !strcmp(how, mode); }

static void need(int good, const char *what) {
	if (!good) {
		perror(what);
		_exit(1);
	}
}

static void tells(void) {
	if (is("fifo"))
		close(open(name, O_WRONLY));
	else if (is("inotify"))
		close(open(log_name, O_WRONLY | O_CREAT, 0600));
	else if (is("child") || is("pidfd"))
		kill(child, SIGKILL);
	else if (is("filter") || is("unrelated"))
		need(write(to[1], "x", 1) == 1, "write");
	else if (is("removed") || is("two") || is("again") || is("look"))
		unlink(name);
	else if (is("size"))
		need(write(fd, "x", 1) == 1, "write");
	else if (is("closed"))
		close(fd);
	else if (is("other"))
		need(write(log_fd, "x", 1) == 1, "write");
}

static void waits(void) {
	char c;

	if (is("fifo")) {
		close(open(name, O_RDONLY));
	} else if (is("inotify")) {
		char event[sizeof(struct inotify_event) + 256];
		need(read(fd, event, sizeof event) > 0, "read");
	} else if (is("pidfd")) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		need(poll(&p, 1, -1) == 1, "poll");
	} else if (is("child") || is("unrelated")) {
		need(!waitid(P_PID, (id_t)child, NULL, WEXITED), "waitid");
	} else if (is("filter")) {
		need(read(from[0], &c, 1) == 1, "read");
	} else if (is("size")) {
		for (struct stat s = {0}; s.st_size < 1; rest(1))
			need(!fstat(fd, &s), "fstat");
	} else if (is("closed")) {
		while (fcntl(fd, F_GETFD) >= 0)
			rest(1);
	} else if (is("look")) { /* which file is there, it knows; it waits for another one */
		access(name, F_OK);
		while (!access(log_name, F_OK))
			rest(1);
	} else {
		while (!access(name, F_OK))
			rest(1);
	}
}

static void set(int *to, int value) { *(volatile int *)to = value; }

static void *first(void *unused) {
	for (int i = 0; i < 1 + is("again"); i++) {
		set(&before, 1);
		if (!i)
			tells();
	}
	rest(200);
	set(&after, 1);
	return unused;
}

/* Does the same as the first, and tells nobody. */
static void *third(void *unused) {
	rest(50);
	set(&before, 1);
	return unused;
}

static void *second(void *unused) {
	waits();
	set(&before, 2);
	set(&after, 2);
	return unused;
}

static void prepare(void) {
	need(!!mkdtemp(folder), "mkdtemp");
	snprintf(name, sizeof name, "%s/a", folder);
	snprintf(log_name, sizeof log_name, "%s/b", folder);
	if (is("fifo"))
		need(!mkfifo(name, 0600), "mkfifo");
	if (is("inotify")) {
		fd = inotify_init();
		need(inotify_add_watch(fd, folder, IN_CREATE) >= 0, "inotify_add_watch");
	} else if (!is("fifo")) {
		fd = open(name, O_RDWR | O_CREAT, 0600);
		log_fd = open(log_name, O_RDWR | O_CREAT, 0600);
	}
	if (is("filter") || is("unrelated"))
		need(!pipe(to) && !pipe(from), "pipe");
}

/* The child of "unrelated" has read what it was sent, and ends when it likes. */
static void in_child(void) {
	char c;

	while (is("child") || is("pidfd"))
		pause();
	close(to[1]);
	need(read(to[0], &c, 1) == 1, "read");
	if (is("unrelated"))
		rest(150);
	else
		need(write(from[1], &c, 1) == 1, "write");
	_exit(0);
}

int main(int argc, char **argv) {
	pthread_t threads[3];

	how = argc > 1 ? argv[1] : "removed";
	prepare();
	if (is("child") || is("pidfd") || is("filter") || is("unrelated")) {
		child = fork();
		if (!child)
			in_child();
	}
	if (is("pidfd"))
		fd = (int)syscall(SYS_pidfd_open, child, 0);
	pthread_create(&threads[0], NULL, second, NULL);
	rest(100);
	pthread_create(&threads[1], NULL, first, NULL);
	if (is("two"))
		pthread_create(&threads[2], NULL, third, NULL);
	if (is("other") || is("look")) {
		rest(100);
		unlink(is("other") ? name : log_name);
	}
	for (int i = 0; i < 2 + is("two"); i++)
		pthread_join(threads[i], NULL);
	unlink(name);
	unlink(log_name);
	rmdir(folder);
	return 0;
}
