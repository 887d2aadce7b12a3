/* Locks, an atomic, a raw system call and a static function: what the tests of
   package binary look for. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
#include <sys/syscall.h>

int shared;
__thread int own;
static int hidden = 3;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static int scale(int x) { return x * hidden + shared; }

__attribute__((noinline)) int atomic_part(int *p) { return __atomic_fetch_add(p, 1, __ATOMIC_SEQ_CST); }

__attribute__((noinline)) long by_library(void) { return syscall(SYS_gettid) + 1; }

__attribute__((noinline)) long by_hand(void) {
	long r;
#ifdef __x86_64__
	__asm__ volatile("syscall" : "=a"(r) : "a"(39) : "rcx", "r11", "memory");
#else
	register long nr __asm__("x8") = 172;
	register long out __asm__("x0");
	__asm__ volatile("svc 0" : "=r"(out) : "r"(nr) : "memory");
	r = out;
#endif
	return r;
}

static void *work(void *arg) {
	pthread_mutex_lock(&m);
	own = shared = scale(*(int *)arg);
	pthread_mutex_unlock(&m);
	return NULL;
}

int main(int argc, char **argv) {
	(void)argv;
	pthread_t t;
	pthread_create(&t, NULL, work, &argc);
	pthread_join(t, NULL);
	printf("%d %d %ld %ld\n", shared, atomic_part(&shared), by_library() - by_library(), by_hand() - by_hand());
	return 0;
}
