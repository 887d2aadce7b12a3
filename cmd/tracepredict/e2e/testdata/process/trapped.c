// A thread gets SIGTRAP, each time for another reason; each line of input is served, and answered
// when done.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

long shared;
static long *volatile where = &shared;

// A debug exception for which the kernel found no cause.
static void unexplained(int code)
{
	siginfo_t info = {.si_signo = SIGTRAP, .si_code = code};

	syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGTRAP, &info);
}

int main(void)
{
	char line[100];

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("ready %d\n", (int)getpid());
	while (fgets(line, sizeof line, stdin)) {
		line[strcspn(line, "\n")] = 0;
		*where = *where + 1;
		if (!strcmp(line, "unexplained"))
			unexplained(1); // TRAP_BRKPT
		else if (!strcmp(line, "raise"))
			raise(SIGTRAP);
		else if (!strcmp(line, "int1"))
			__asm__ volatile(".byte 0xf1");
		else if (!strcmp(line, "int3"))
			__asm__ volatile("int3");
		else if (!strcmp(line, "step")) // by the program's own flag
			__asm__ volatile("pushf; orl $0x100, (%%rsp); popf; nop" ::: "memory", "cc");
		else if (!strcmp(line, "quit"))
			break;
		printf("done %s\n", line);
	}
	return 0;
}
