// A reader-writer lock and a mutex are nested in opposite orders, but the lock is only read then; its one writer comes when both threads were joined.
#include "turns.h"

static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t row = PTHREAD_MUTEX_INITIALIZER;
static int rows;

static void *forth(void *unused) {
	pthread_rwlock_rdlock(&table);
	pthread_mutex_lock(&row);
	rows++;
	pthread_mutex_unlock(&row);
	pthread_rwlock_unlock(&table);
	return unused;
}

static void *back(void *unused) {
	rest(15);
	pthread_mutex_lock(&row);
	pthread_rwlock_rdlock(&table);
	rows++;
	pthread_rwlock_unlock(&table);
	pthread_mutex_unlock(&row);
	return unused;
}

int main(void) {
	both(forth, back);
	pthread_rwlock_wrlock(&table);
	rows++;
	pthread_rwlock_unlock(&table);
	return rows != 3;
}
