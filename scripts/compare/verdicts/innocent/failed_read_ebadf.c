// One thread fills a buffer under no lock, while another gives it to calls that fail before they look at it: read and fstat of a descriptor that was never open (EBADF).
#include "turns.h"
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char buffer[64];
static struct stat state;

static void *fills(void *unused) {
	memset(buffer, 'x', sizeof buffer);
	state.st_size = 64;
	return unused;
}

static void *fails(void *unused) {
	rest(200);
	need(read(900, buffer, sizeof buffer) < 0, "read");
	need(write(900, buffer, sizeof buffer) < 0, "write");
	need(fstat(900, &state) < 0, "fstat");
	return unused;
}

int main(void) {
	both(fills, fails);
	return buffer[63] != 'x' || state.st_size != 64;
}
