// Locks of Qt 5. The argument says how two threads, one after the other, use two of them, a and b.
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// As in qmutex.h and qreadwritelock.h, which need not be installed.
typedef struct { void *d; } Mutex;
void mutex_init(Mutex *, int) __asm__("_ZN6QMutexC1ENS_13RecursionModeE");
void mutex_end(Mutex *) __asm__("_ZN6QMutexD1Ev");
void lock(Mutex *) __asm__("_ZN6QMutex4lockEv");
_Bool try_lock(Mutex *, int) __asm__("_ZN6QMutex7tryLockEi");
void unlock(Mutex *) __asm__("_ZN6QMutex6unlockEv");

typedef struct { void *d; } Table;
void table_init(Table *, int) __asm__("_ZN14QReadWriteLockC1ENS_13RecursionModeE");
void read_lock(Table *) __asm__("_ZN14QReadWriteLock11lockForReadEv");
void write_lock(Table *) __asm__("_ZN14QReadWriteLock12lockForWriteEv");
void table_unlock(Table *) __asm__("_ZN14QReadWriteLock6unlockEv");

typedef struct { void *d; } Condition;
void condition_init(Condition *) __asm__("_ZN14QWaitConditionC1Ev");
_Bool condition_wait(Condition *, Mutex *, unsigned long) __asm__("_ZN14QWaitCondition4waitEP6QMutexm");
void wake_one(Condition *) __asm__("_ZN14QWaitCondition7wakeOneEv");

static Mutex a, b;
static Table x, y;
static Condition c;
static long total;
static int open;

static void both(Mutex *first, Mutex *second) {
	lock(first);
	lock(second);
	total++;
	unlock(second);
	unlock(first);
}

static void *ab(void *unused) { both(&a, &b); return NULL; }
static void *ba(void *unused) { both(&b, &a); return NULL; }

static void *tries(void *unused) {
	lock(&b);
	if (try_lock(&a, 0)) {
		total++;
		unlock(&a);
	}
	unlock(&b);
	return NULL;
}

static void tables(Table *first, Table *second, void (*enter)(Table *)) {
	read_lock(first);
	enter(second);
	table_unlock(second);
	table_unlock(first);
}

static void *xy(void *unused) { tables(&x, &y, write_lock); return NULL; }
static void *yx(void *unused) { tables(&y, &x, write_lock); return NULL; }
static void *reads_xy(void *unused) { tables(&x, &y, read_lock); return NULL; }
static void *reads_yx(void *unused) { tables(&y, &x, read_lock); return NULL; }

static void *waits(void *unused) { // what it does then comes after what opens does before
	lock(&a);
	while (!open) condition_wait(&c, &a, -1ul);
	unlock(&a);
	total++;
	return NULL;
}

static void *opens(void *unused) {
	usleep(100000);
	total++;
	lock(&a);
	open = 1;
	wake_one(&c);
	unlock(&a);
	return NULL;
}

static void run(void *(*one)(void *), void *(*two)(void *)) {
	pthread_t t, u;
	pthread_create(&t, NULL, one, NULL);
	usleep(100000);
	pthread_create(&u, NULL, two, NULL);
	pthread_join(t, NULL);
	pthread_join(u, NULL);
}

int main(int argc, char **argv) {
	mutex_init(&a, 0);
	mutex_init(&b, 0);
	table_init(&x, 0);
	table_init(&y, 0);
	condition_init(&c);
	if (!strcmp(argv[1], "opposite")) run(ab, ba);
	if (!strcmp(argv[1], "same")) run(ab, ab);
	if (!strcmp(argv[1], "tried")) run(ab, tries);
	if (!strcmp(argv[1], "tables")) run(xy, yx);
	if (!strcmp(argv[1], "same tables")) run(xy, xy);
	if (!strcmp(argv[1], "read")) run(reads_xy, reads_yx);
	if (!strcmp(argv[1], "waited")) run(waits, opens);
	mutex_end(&b);
	mutex_end(&a);
	printf("%ld\n", total);
	return 0;
}
