/* A variable that lies across words, so that it takes two watchpoints: an access
 * of it is one, whichever of them sees it. */
#include "say.h"

static struct __attribute__((packed)) {
	short before;
	int value;
	short behind;
} packed;
static void *volatile where;

__attribute__((noipa)) static int load(void *p) { return *(volatile int *)p; }
__attribute__((noipa)) static void store(void *p, int v) { *(volatile int *)p = v; }
__attribute__((noipa)) static void store_half(void *p, short v) { *(volatile short *)p = v; }

int main(void)
{
	int fd[2], v = 0x0a0b0c0d;

	i_am("main");
	where = &packed.value;
	packed.before = 1;
	packed.behind = 2;
	for (int i = 0; i < 3; i++) {
		store(where, i + 7);
		say("write %d", i + 7);
		MUST(load(where) == i + 7);
		say("read %d", i + 7);
	}
	store_half((char *)where + 2, 1);
	say("write %d", 9 + 65536);
	MUST(pipe(fd) == 0);
	for (int i = 0; i < 2; i++) {
		MUST(write(fd[1], &v, sizeof v) == sizeof v && read(fd[0], where, sizeof v) == sizeof v);
		say("write %d by read(2)", v++);
	}
	return 0;
}
