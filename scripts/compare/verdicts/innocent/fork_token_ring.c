// A parent and its child change a page that they share and nest its locks in opposite orders, but a token that goes to and fro by two pipes lets only one of them do so at a time.
// args: --follow
// watch: turns of struct page
#include "turns.h"
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct page { pthread_mutex_t a, b; long turns; };
static struct page *page;

static void take_turns(int in, int out, int begins, int child) {
	char c = 't';
	if (begins)
		need(write(out, &c, 1) == 1, "write");
	for (int i = 0; i < 3; i++) {
		need(read(in, &c, 1) == 1, "read");
		page->turns++;
		if (child)
			nest(&page->a, &page->b);
		else
			nest(&page->b, &page->a);
		if (!begins || i < 2)
			need(write(out, &c, 1) == 1, "write");
	}
}

int main(void) {
	int to[2], from[2];
	need(!pipe(to) && !pipe(from), "pipe");
	page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	need(page != MAP_FAILED, "mmap");
	pthread_mutexattr_t s;
	pthread_mutexattr_init(&s);
	pthread_mutexattr_setpshared(&s, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&page->a, &s);
	pthread_mutex_init(&page->b, &s);
	pid_t p = fork();
	if (!p) {
		take_turns(to[0], from[1], 0, 1);
		_exit(0);
	}
	take_turns(from[0], to[1], 1, 0);
	int status;
	waitpid(p, &status, 0);
	return status || page->turns != 6;
}
