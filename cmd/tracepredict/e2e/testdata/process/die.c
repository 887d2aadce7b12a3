// Ends by the signal of its argument, or by a null pointer.
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

int main(int argc, char **argv) {
	struct rlimit none = {0, 0};
	setrlimit(RLIMIT_CORE, &none);
	if (argc > 1 && strcmp(argv[1], "null") == 0)
		*(volatile int *)0 = 1;
	if (argc > 1)
		kill(getpid(), atoi(argv[1]));
	for (;;)
		pause();
}
