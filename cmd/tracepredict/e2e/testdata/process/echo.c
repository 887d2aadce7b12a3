// Says how it was started, copies standard input to standard output, says a
// word to standard error, and ends with the status of its first argument.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
	char dir[4096];
	for (int i = 0; i < argc; i++)
		printf("arg %d <%s>\n", i, argv[i]);
	printf("dir %s\n", getcwd(dir, sizeof dir));
	printf("mark %s\n", getenv("E2E_MARK") ? getenv("E2E_MARK") : "none");
	for (int c; (c = getchar()) != EOF;)
		putchar(c);
	fprintf(stderr, "a word from the program\n");
	return argc > 1 ? atoi(argv[1]) : 0;
}
