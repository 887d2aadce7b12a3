// Two threads hold two read-write locks in opposite orders, but only for reading while both live: what writes has finished before they start and begins after they end.
// watch: routes, hosts
#include "turns.h"

static pthread_rwlock_t r = PTHREAD_RWLOCK_INITIALIZER, h = PTHREAD_RWLOCK_INITIALIZER;
static int routes, hosts;

static void load(int n) {
	pthread_rwlock_wrlock(&r);
	pthread_rwlock_wrlock(&h);
	routes = hosts = n;
	pthread_rwlock_unlock(&h);
	pthread_rwlock_unlock(&r);
}

static void *route_of_host(void *unused) {
	pthread_rwlock_rdlock(&h);
	pthread_rwlock_rdlock(&r);
	need(routes == hosts, "equal");
	pthread_rwlock_unlock(&r);
	pthread_rwlock_unlock(&h);
	return unused;
}

static void *hosts_of_route(void *unused) {
	rest(3);
	pthread_rwlock_rdlock(&r);
	pthread_rwlock_rdlock(&h);
	need(routes == hosts, "equal");
	pthread_rwlock_unlock(&h);
	pthread_rwlock_unlock(&r);
	return unused;
}

int main(void) {
	load(1);
	both(route_of_host, hosts_of_route);
	load(2);
	return 0;
}
