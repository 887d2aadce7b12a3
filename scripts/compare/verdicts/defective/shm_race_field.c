// A parent and its child count in a page that they share, under no lock at all.
//
// expect: race turns
// watch: turns of struct page
// args: --follow
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fortune.h"

struct page {
	long turns;
};

static struct page *page;

int main(void) {
	page = mmap(0, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t p = fork();
	if (!p) {
		page->turns++;
		_exit(0);
	}
	later(1);
	page->turns++;
	int status;
	waitpid(p, &status, 0);
	return page->turns != 2;
}
