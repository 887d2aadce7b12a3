// Counts what it is sent, and says the counts and ends when told to by a line.
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static volatile sig_atomic_t counts[65];

static void count(int sig) {
	counts[sig] = counts[sig] + 1;
	char line[] = "got 00\n";
	line[4] = '0' + sig / 10;
	line[5] = '0' + sig % 10;
	(void)!write(1, line, sizeof line - 1);
}

int main(void) {
	int watched[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCONT};
	for (unsigned i = 0; i < sizeof watched / sizeof *watched; i++) {
		struct sigaction a = {.sa_handler = count, .sa_flags = SA_RESTART};
		sigaction(watched[i], &a, NULL);
	}
	printf("ready %d\n", getpid());
	fflush(stdout);
	char line[64];
	if (!fgets(line, sizeof line, stdin))
		return 1;
	for (unsigned i = 0; i < sizeof watched / sizeof *watched; i++)
		printf("signal %d: %d\n", watched[i], (int)counts[watched[i]]);
	return 0;
}
