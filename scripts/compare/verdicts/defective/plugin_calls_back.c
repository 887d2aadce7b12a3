// A host calls its plugin with the host's lock held, and the plugin's thread calls the host with the plugin's lock held.
//
// expect: deadlock
// build: -O1 -fPIC -g0
#include <dlfcn.h>
#include <pthread.h>

#include "fortune.h"

struct host_api {
	void (*log)(const char *);
};

static pthread_mutex_t host_lock = PTHREAD_MUTEX_INITIALIZER;
static int logged;

static void host_log(const char *s) {
	pthread_mutex_lock(&host_lock);
	logged += *s != 0;
	pthread_mutex_unlock(&host_lock);
}

static const struct host_api api = {host_log};

/* what the plugin has */
static pthread_mutex_t plugin_lock = PTHREAD_MUTEX_INITIALIZER;
static int handled;

static void plugin_event(const struct host_api *host, int quiet) {
	pthread_mutex_lock(&plugin_lock);
	handled++;
	chance();
	if (!quiet)
		host->log("event");
	pthread_mutex_unlock(&plugin_lock);
}

static void *plugin_thread(void *unused) {
	plugin_event(&api, 0);
	return unused;
}

static void *dispatcher(void *unused) {
	later(1);
	pthread_mutex_lock(&host_lock);
	chance();
	plugin_event(&api, 1);
	pthread_mutex_unlock(&host_lock);
	return unused;
}

int main(void) {
	pthread_t t, u;
	pthread_create(&t, 0, plugin_thread, 0);
	pthread_create(&u, 0, dispatcher, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return handled != 2;
}
