/*
 * Library functions access texts as long as they are, and the buffers of vectors. Two threads do, the second one later,
 * and what orders them in this run is a lock that is held elsewhere, so that another schedule swaps them. The second one
 * accesses a byte near the end, not the first one. The argument says what the first one does:
 *
 *	copied     strcpy into a message
 *	source     strcpy out of a message
 *	appended   strcat to a message
 *	bounded    strncat to a message
 *	printed    fprintf of a message
 *	formatted  sprintf of a message into another text
 *	scanned    sscanf into a message
 *	lined      fgets into a message
 *	gathered   writev of three buffers, of which the message is the third
 *	scattered  readv of three buffers
 *	sent       sendmsg of two buffers, of which the message is the second
 *	received   recvmsg of two buffers
 *	tree       tsearch, and the second one tfind
 *
 * These are no races:
 *
 *	behind     strcpy of a short text into a message, and an access behind it
 *	before     strcat to a message, and a load of what was there
 *	precise    fprintf of the beginning of a message, and a change behind it
 *	short      readv of fewer bytes than there is room for, and an access behind them
 *	unopened   writev to no descriptor
 *	locked     as copied, under a lock
 *	looked     both tfind
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

struct letter {
	long number;
	char body[120];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, guard = PTHREAD_MUTEX_INITIALIZER;
static struct letter letter;
static void *words;
static int ends[2];
static FILE *file, *sink;
static _Thread_local volatile int seen;

static const char *way;
static __attribute__((noipa)) int is(const char *name) { return !strcmp(way, name); }

static void pass_lock(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

static int by_text(const void *a, const void *b) { return strcmp(a, b); }

#define LONG "a text of fifty bytes, which has no end for a while"

static __attribute__((noipa)) void copy(char *to, const char *from) { strcpy(to, from); }
static __attribute__((noipa)) void append(char *to, const char *from) { strcat(to, from); }
static __attribute__((noipa)) void bounded(char *to, const char *from, size_t n) { strncat(to, from, n); }
static __attribute__((noipa)) void print(const char *text) { seen = fprintf(sink, "%d: %s\n", 7, text); }
static __attribute__((noipa)) void precise(const char *text) { seen = fprintf(sink, "%d: %.8s\n", 7, text); }
static __attribute__((noipa)) void format(char *to, const char *text) { seen = sprintf(to, "[%s]", text); }
static __attribute__((noipa)) void scan(char *to, const char *from) { seen = sscanf(from, "%*s %100s", to); }
static __attribute__((noipa)) void line(char *to) { seen = fgets(to, 100, file) != 0; }
static __attribute__((noipa)) void gather(int fd, struct iovec *v, int n) { seen = writev(fd, v, n); }
static __attribute__((noipa)) void scatter(int fd, struct iovec *v, int n) { seen = readv(fd, v, n); }
static __attribute__((noipa)) void send_all(struct msghdr *m) { seen = sendmsg(ends[1], m, 0); }
static __attribute__((noipa)) void receive(struct msghdr *m) { seen = recvmsg(ends[0], m, 0); }
static __attribute__((noipa)) void insert(char *word) { seen = tsearch(word, &words, by_text) != 0; }
static __attribute__((noipa)) void find(char *word) { seen = tfind(word, &words, by_text) != 0; }
static __attribute__((noipa)) void look(int at) { seen = letter.body[at]; }
static __attribute__((noipa)) void change(int at) { letter.body[at] = 'x'; }

static void vectored(void)
{
	char head[8] = "12345678", tail[8];
	struct iovec v[3] = {{head, 8}, {tail, 8}, {letter.body, 100}};
	struct msghdr m = {.msg_iov = v + 1, .msg_iovlen = 2};

	if (is("gathered") || is("unopened"))
		gather(is("unopened") ? -1 : ends[1], v, 3);
	else if (is("scattered") || is("short"))
		scatter(ends[0], v, 3);
	else if (is("sent"))
		send_all(&m);
	else if (is("received"))
		receive(&m);
}

static void *first(void *arg)
{
	char own[200];

	if (is("copied") || is("behind")) {
		copy(letter.body, is("behind") ? "short" : LONG);
	} else if (is("source")) {
		copy(own, letter.body);
	} else if (is("appended") || is("before")) {
		append(letter.body, LONG);
	} else if (is("bounded")) {
		bounded(letter.body, LONG, 45);
	} else if (is("printed")) {
		print(letter.body);
	} else if (is("precise")) {
		precise(letter.body);
	} else if (is("formatted")) {
		format(own, letter.body);
	} else if (is("scanned")) {
		scan(letter.body, "one twothreefourfivesixseveneightnineteneleventwelvethirteen");
	} else if (is("lined")) {
		line(letter.body);
	} else if (is("tree")) {
		insert("tree");
	} else if (is("looked")) {
		find("tree");
	} else if (is("locked")) {
		pthread_mutex_lock(&guard);
		copy(letter.body, LONG);
		pthread_mutex_unlock(&guard);
	} else {
		vectored();
	}
	pass_lock();
	return arg;
}

static void *second(void *arg)
{
	usleep(50000); /* the first thread comes first */
	pass_lock();
	if (is("tree") || is("looked"))
		find("word");
	else if (is("source") || is("printed") || is("precise") || is("formatted") || is("gathered") || is("sent") || is("unopened"))
		change(40);
	else if (is("before"))
		look(12);
	else if (!is("locked"))
		look(40);
	if (is("locked")) {
		pthread_mutex_lock(&guard);
		look(40);
		pthread_mutex_unlock(&guard);
	}
	return arg;
}

int main(int argc, char **argv)
{
	char large[116];
	pthread_t a, b;

	way = argc > 1 ? argv[1] : "copied";
	memset(large, 'y', sizeof(large));
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) || !(file = tmpfile()) || !(sink = tmpfile()))
		return 1;
	if (is("source") || is("printed") || is("precise") || is("formatted"))
		memset(letter.body, 'z', 60);
	if (is("appended") || is("before") || is("bounded"))
		memset(letter.body, 'z', 16);
	if (is("scattered") || is("received"))
		seen = write(ends[1], large, sizeof(large));
	if (is("short"))
		seen = write(ends[1], large, 30);
	fputs(LONG LONG "\n", file);
	rewind(file);
	pthread_create(&a, 0, first, 0);
	pthread_create(&b, 0, second, 0);
	pthread_join(a, 0);
	pthread_join(b, 0);
	return 0;
}
