// Two libraries have their locks at one address and nest them in opposite orders, but the first was unloaded before the second was loaded there.
#include "turns.h"
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/innocent-XXXXXX";

static void build(const char *name, const char *outer, const char *inner) {
	char command[600];
	snprintf(command, sizeof command,
	         "printf '#include <pthread.h>\\npthread_mutex_t one, two; void use(void) {"
	         "pthread_mutex_lock(&%s); pthread_mutex_lock(&%s); pthread_mutex_unlock(&%s); pthread_mutex_unlock(&%s);}'"
	         " | gcc -x c -shared -fPIC -o %s/%s.so -",
	         outer, inner, inner, outer, folder, name);
	need(!system(command), "gcc");
}

static void *loads(void *name) {
	char path[64];
	if (!strcmp(name, "back"))
		rest(50);
	snprintf(path, sizeof path, "%s/%s.so", folder, (char *)name);
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	need(library != NULL, "dlopen");
	((void (*)(void))dlsym(library, "use"))();
	dlclose(library);
	unlink(path);
	return NULL;
}

int main(void) {
	need(mkdtemp(folder) != NULL, "mkdtemp");
	build("forth", "one", "two");
	build("back", "two", "one");
	pthread_t s = start(loads, "forth"), t = start(loads, "back");
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	rmdir(folder);
	return 0;
}
