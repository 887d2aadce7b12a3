// A parent and its child nest two mutexes in opposite orders at the same addresses, but these are two pairs: fork copies what is static, and private mappings.
// args: --follow
#include "turns.h"
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t in = PTHREAD_MUTEX_INITIALIZER, out = PTHREAD_MUTEX_INITIALIZER;

struct page {
	pthread_mutex_t in, out;
};

int main(void) {
	struct page *page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_mutex_init(&page->in, NULL);
	pthread_mutex_init(&page->out, NULL);
	pid_t child = fork();
	if (!child) {
		nest(&in, &out);
		nest(&page->in, &page->out);
		_exit(0);
	}
	rest(40);
	nest(&out, &in);
	nest(&page->out, &page->in);
	int status;
	waitpid(child, &status, 0);
	return status != 0;
}
