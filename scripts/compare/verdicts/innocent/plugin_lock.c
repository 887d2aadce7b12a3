// The plugin's lock lies in a library that is unloaded and loaded again, and in the second life it is nested the other way round, but no thread of the first life is left then.
// build: -rdynamic -ldl -DSELF
// watch: calls
#include "turns.h"
#include <dlfcn.h>

static pthread_mutex_t host = PTHREAD_MUTEX_INITIALIZER;
static long calls;

static pthread_mutex_t *plugin_lock;
static int second_life;

static void *uses(void *unused) {
	if (second_life)
		nest(plugin_lock, &host);
	else
		nest(&host, plugin_lock);
	pthread_mutex_lock(&host);
	calls++;
	pthread_mutex_unlock(&host);
	return unused;
}

int main(void) {
	for (second_life = 0; second_life < 2; second_life++) {
		void *library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
		need(library && dlsym(library, "cos"), "dlopen");
		plugin_lock = malloc(sizeof *plugin_lock);
		pthread_mutex_init(plugin_lock, NULL);
		both(uses, uses);
		pthread_mutex_destroy(plugin_lock);
		free(plugin_lock);
		dlclose(library);
	}
	return calls != 4;
}
