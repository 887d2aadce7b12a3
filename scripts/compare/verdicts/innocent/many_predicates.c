// Three threads wait on one condition for three different things and each change could wake the wrong one, but every change is broadcast under the lock and everyone looks again.
// watch: temperature, pressure
#include "turns.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int temperature, pressure, alarms;

static void *hot(void *unused) {
	pthread_mutex_lock(&lock);
	while (temperature < 3)
		pthread_cond_wait(&changed, &lock);
	alarms++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return unused;
}

static void *tight(void *unused) {
	pthread_mutex_lock(&lock);
	while (pressure < 2)
		pthread_cond_wait(&changed, &lock);
	alarms++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return unused;
}

static void *siren(void *unused) {
	pthread_mutex_lock(&lock);
	while (alarms < 2)
		pthread_cond_wait(&changed, &lock);
	temperature = pressure = 0;
	pthread_mutex_unlock(&lock);
	return unused;
}

int main(void) {
	pthread_t t[3] = {start(hot, NULL), start(tight, NULL), start(siren, NULL)};
	for (int i = 0; i < 3; i++) {
		rest(3);
		pthread_mutex_lock(&lock);
		temperature++;
		if (i)
			pressure++;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
	}
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	return temperature + pressure;
}
