/* System calls that touch two watched variables several times each, there and
 * back: of each variable that is one access of each call. So is that of an
 * instruction that copies all around them. */
#include "say.h"
#include <sys/socket.h>
#include <sys/uio.h>

static struct {
	char before[6000];
	int shared, neighbour;
	char after[6000];
} page;

#define ALL (sizeof page)
#define VECTOR(v) (v), sizeof(v) / sizeof(v)[0]

static char text[2 * ALL];
static int fd[2];

static void fill(int shared, int neighbour)
{
	int *p = (int *)(text + ((char *)&page.shared - (char *)&page));

	p[0] = shared;
	p[1] = neighbour;
}

static void copy(void *to, const void *from, size_t n)
{
#ifdef __x86_64__
	__asm__ volatile("rep movsb" : "+S"(from), "+D"(to), "+c"(n) : : "memory");
#else
	memcpy(to, from, n);
#endif
}

int main(void)
{
	int *volatile one = &page.shared, *volatile two = &page.neighbour, v[3] = {1, 2, 3};
	struct iovec there_and_back[] = {{one, 4}, {two, 4}, {one, 4}}, thrice[] = {{one, 4}, {one, 4}, {one, 4}};
	struct iovec from = {v, sizeof v}, bytes[] = {{(char *)one + 3, 1}, {(char *)one, 2}, {(char *)one + 2, 1}};
	int pair[2];

	i_am("main");
	MUST(pipe(fd) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	for (int i = 0; i < 3; i++) {
		MUST(write(fd[1], v, 12) == 12 && readv(fd[0], VECTOR(there_and_back)) == 12);
		say("write 3 by readv(2)");
	}
	MUST(writev(fd[1], VECTOR(thrice)) == 12 && read(fd[0], text, 12) == 12);
	say("read 3 by writev(2)");
	MUST(process_vm_readv(getpid(), VECTOR(thrice), &from, 1, 0) == 12);
	say("write 3 by process_vm_readv(2)");
	fill(50, 60);
	MUST(write(fd[1], text, ALL) == ALL && read(fd[0], &page, ALL) == ALL);
	say("write 50 by read(2)");
	MUST(write(fd[1], &page, ALL) == ALL && read(fd[0], text, ALL) == ALL);
	say("read 50 by write(2)");
	copy(&page, text, ALL);
	say("write 50");
	copy(text, &page, ALL);
	say("read 50");
	MUST(write(fd[1], "abcd", 4) == 4 && readv(fd[0], VECTOR(bytes)) == 4);
	say("write %d by readv(2)", 'a' << 24 | 'c' << 8 | 'b' | 'd' << 16);
	*one = sizeof *two;
	say("write 4");
	MUST(getsockopt(pair[0], SOL_SOCKET, SO_TYPE, two, (socklen_t *)one) == 0); /* a length in and out */
	say("update 4 by getsockopt(2)");
	MUST(*one == 4);
	say("read 4");
	return 0;
}
