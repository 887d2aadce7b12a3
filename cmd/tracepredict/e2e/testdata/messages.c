// Hands a variable over from one thread to another, by what the argument says.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <pthread.h>
#include <pty.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static int shared;
static int from, to;
static int word;
static void (*send_it)(void);
static void (*receive_it)(void);

static void must(int ok, const char *what) {
	if (!ok) {
		perror(what);
		exit(1);
	}
}

static void write_byte(void) { must(write(to, "x", 1) == 1, "write"); }
static void read_byte(void) {
	char c;
	must(read(from, &c, 1) == 1, "read");
}
static void write_vector(void) {
	struct iovec v[2] = {{"a", 1}, {"b", 1}};
	must(writev(to, v, 2) == 2, "writev");
}
static void read_vector(void) {
	char a, b;
	struct iovec v[2] = {{&a, 1}, {&b, 1}};
	must(readv(from, v, 2) == 2, "readv");
}
static void send_message(void) { must(send(to, "x", 1, 0) == 1, "send"); }
static void receive_message(void) {
	char c;
	must(recv(from, &c, 1, 0) == 1, "recv");
}
static void add(void) {
	uint64_t one = 1;
	must(write(to, &one, sizeof one) == sizeof one, "write eventfd");
}
static void take(void) {
	uint64_t n;
	must(read(from, &n, sizeof n) == sizeof n, "read eventfd");
}
static void start_timer(void) {
	struct itimerspec t = {.it_value = {0, 1000000}};
	must(timerfd_settime(to, 0, &t, NULL) == 0, "timerfd_settime");
}
static void close_it(void) { must(close(to) == 0, "close"); }
static void read_end(void) {
	char c;
	must(read(from, &c, 1) == 0, "read the end");
}
// Wakes until somebody slept, who has no other way to know.
static void wake(void) {
	while (syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) == 0)
		usleep(1000);
}
static void sleep_on(void) { must(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0) == 0, "futex"); }
static void close_by_dup(void) { must(dup2(open("/dev/null", O_RDONLY), to) == to, "dup2"); }
static void close_range_of_it(void) { must(syscall(SYS_close_range, to, to, 0) == 0, "close_range"); }
static void close_reader(void) { must(close(from) == 0, "close"); }
static void write_refused(void) {
	while (write(to, "x", 1) == 1)
		usleep(1000);
	must(errno == EPIPE, "write that is refused");
}
// Moves on what comes.
static int between[2];
static void *splices(void *unused) {
	must(splice(between[0], NULL, to, NULL, 1, 0) == 1, "splice");
	return unused;
}
static void write_between(void) { must(write(between[1], "x", 1) == 1, "write"); }
static void read_line(void) {
	char line[8];
	must(read(from, line, sizeof line) == 2, "read line");
}
static void write_line(void) { must(write(to, "x\n", 2) == 2, "write line"); }
static int nested(int in) {
	struct epoll_event e = {.events = EPOLLIN};
	int set = epoll_create1(0);
	must(epoll_ctl(set, EPOLL_CTL_ADD, in, &e) == 0, "epoll_ctl");
	return set;
}
static void wait_nested(void) {
	struct epoll_event e;
	must(epoll_wait(from, &e, 1, -1) == 1, "epoll_wait");
}
static void count(void) {
	for (int n = 0; n == 0; usleep(1000))
		must(ioctl(from, FIONREAD, &n) == 0, "ioctl");
}
static void send_signal(void) { kill(getpid(), SIGUSR1); }
static void pending(void) {
	sigset_t s;
	do
		must(usleep(1000) == 0 && sigpending(&s) == 0, "sigpending");
	while (!sigismember(&s, SIGUSR1));
}
static void answer(int in, int out) {
	char c;
	if (fork() == 0)
		_exit(read(in, &c, 1) != 1 || write(out, &c, 1) != 1);
}

// Fills the pipe: it is through only when somebody has received.
static char big[1 << 20];
static void receive_all(void) {
	size_t n = 0;
	while (n < sizeof big) {
		ssize_t k = read(from, big + n, sizeof big - n);
		must(k > 0, "read");
		n += k;
	}
}
static void write_all(void) { must(write(to, big, sizeof big) == sizeof big, "write all"); }

static void tcp(void) {
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof a;
	int l = socket(AF_INET, SOCK_STREAM, 0);
	must(l >= 0 && bind(l, (void *)&a, n) == 0 && listen(l, 1) == 0 && getsockname(l, (void *)&a, &n) == 0, "listen");
	to = socket(AF_INET, SOCK_STREAM, 0);
	must(connect(to, (void *)&a, n) == 0, "connect");
	from = accept(l, NULL, NULL);
	must(from >= 0, "accept");
}

static void use(const char *how) {
	int p[2];
	send_it = write_byte, receive_it = read_byte;
	if (!strcmp(how, "socketpair") || !strcmp(how, "datagram") || !strcmp(how, "packet")) {
		int type = how[0] == 's' ? SOCK_STREAM : how[0] == 'd' ? SOCK_DGRAM : SOCK_SEQPACKET;
		must(socketpair(AF_UNIX, type, 0, p) == 0, "socketpair");
		send_it = send_message, receive_it = receive_message;
	} else if (!strcmp(how, "eventfd")) {
		p[0] = p[1] = eventfd(0, 0);
		send_it = add, receive_it = take;
	} else if (!strcmp(how, "timer")) {
		p[0] = p[1] = timerfd_create(CLOCK_MONOTONIC, 0);
		send_it = start_timer, receive_it = take;
	} else {
		must(pipe(p) == 0, "pipe");
	}
	from = p[0], to = p[1];
	if (!strcmp(how, "vector"))
		send_it = write_vector, receive_it = read_vector;
	if (!strcmp(how, "tcp"))
		tcp();
	if (!strcmp(how, "end"))
		send_it = close_it, receive_it = read_end;
	if (!strcmp(how, "futex"))
		send_it = wake, receive_it = sleep_on;
	if (!strcmp(how, "room"))
		send_it = receive_all, receive_it = write_all;
	if (!strcmp(how, "replaced"))
		send_it = close_by_dup, receive_it = read_end;
	if (!strcmp(how, "range"))
		send_it = close_range_of_it, receive_it = read_end;
	if (!strcmp(how, "refused")) {
		signal(SIGPIPE, SIG_IGN);
		send_it = close_reader, receive_it = write_refused;
	}
	if (!strcmp(how, "spliced")) {
		pthread_t m;
		must(pipe(between) == 0 && pthread_create(&m, NULL, splices, NULL) == 0 && pthread_detach(m) == 0, "splicer");
		send_it = write_between;
	}
	if (!strcmp(how, "terminal")) {
		must(openpty(&to, &from, NULL, NULL, NULL) == 0, "openpty");
		send_it = write_line, receive_it = read_line;
	}
	if (!strcmp(how, "nested"))
		from = nested(nested(from)), receive_it = wait_nested;
	if (!strcmp(how, "counted"))
		receive_it = count;
	if (!strcmp(how, "pending")) {
		sigset_t s;
		sigemptyset(&s);
		sigaddset(&s, SIGUSR1);
		pthread_sigmask(SIG_BLOCK, &s, NULL);
		send_it = send_signal, receive_it = pending;
	}
	if (!strcmp(how, "answered")) {
		must(pipe(between) == 0, "pipe");
		answer(between[0], to);
		send_it = write_between;
	}
	if (!strcmp(how, "forked") && fork() == 0)
		_exit(0);
}

static void *other(void *unused) {
	shared = 1;
	send_it();
	return unused;
}

int main(int argc, char **argv) {
	pthread_t t;
	if (argc > 2) // to be attached to
		read_byte();
	use(argv[1]);
	must(pthread_create(&t, NULL, other, NULL) == 0, "pthread_create");
	receive_it();
	shared = 2;
	pthread_join(t, NULL);
	if (!strcmp(argv[1], "forked"))
		wait(NULL);
	return shared != 2;
}
