// Hands a variable over from one thread to another, by what the argument says.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
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
