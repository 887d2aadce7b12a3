// Two eventfds serve as locks, taken by reads and given back by writes, in the same order by both threads; the data under both is plain.
#include "turns.h"
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int tape, disk;
static long blocks;

static void *copies(void *unused) {
	uint64_t token;
	for (int i = 0; i < 3; i++) {
		need(read(tape, &token, sizeof token) > 0, "read");
		need(read(disk, &token, sizeof token) > 0, "read");
		blocks++;
		need(write(disk, &token, sizeof token) > 0, "write");
		need(write(tape, &token, sizeof token) > 0, "write");
		rest(30);
	}
	return unused;
}

int main(void) {
	tape = eventfd(1, 0);
	disk = eventfd(1, 0);
	both(copies, copies);
	return blocks != 6;
}
