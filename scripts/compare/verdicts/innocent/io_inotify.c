// The second thread waits for a file to appear (inotify), and the first creates it after its half.
// watch: data
#include "halves.h"
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

static int watcher;
static char folder[64] = "/tmp/innocent-XXXXXX", name[96];

static void *first(void *unused) {
	early();
	rest(15);
	close(open(name, O_WRONLY | O_CREAT, 0600));
	return unused;
}

static void *second(void *unused) {
	char event[sizeof(struct inotify_event) + 256];
	if (read(watcher, event, sizeof event) > 0)
		late();
	return unused;
}

int main(void) {
	need(mkdtemp(folder) != NULL, "mkdtemp");
	snprintf(name, sizeof name, "%s/ready", folder);
	watcher = inotify_init();
	need(inotify_add_watch(watcher, folder, IN_CREATE) >= 0, "inotify_add_watch");
	both(first, second);
	unlink(name);
	rmdir(folder);
	return data != 42;
}
