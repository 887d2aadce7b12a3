// Two cooks and two tools, with C11's own threads: one takes the knife, then
// the board, the other the board, then the knife, at different times.
#include <stdio.h>
#include <threads.h>
#include <time.h>

mtx_t knife, board;
cnd_t ready;
static int plates;

static void milliseconds(long n) {
	struct timespec t = {n / 1000, n % 1000 * 1000000};
	thrd_sleep(&t, NULL);
}

__attribute__((noinline)) static void chop(void) {
	mtx_lock(&knife);
	mtx_lock(&board);
	plates++;
	cnd_signal(&ready);
	mtx_unlock(&board);
	mtx_unlock(&knife);
}

__attribute__((noinline)) static void clean(void) {
	mtx_lock(&board);
	mtx_lock(&knife);
	plates--;
	mtx_unlock(&knife);
	mtx_unlock(&board);
}

static int cook(void *unused) {
	chop();
	milliseconds(300);
	return unused != NULL;
}

static int helper(void *unused) {
	milliseconds(150);
	clean();
	return unused != NULL;
}

int main(void) {
	thrd_t c, h;
	if (mtx_init(&knife, mtx_plain) || mtx_init(&board, mtx_plain) || cnd_init(&ready))
		return 1;
	if (thrd_create(&c, cook, NULL) || thrd_create(&h, helper, NULL))
		return 1;
	thrd_join(c, NULL);
	thrd_join(h, NULL);
	printf("%d plates\n", plates);
	cnd_destroy(&ready);
	mtx_destroy(&board);
	mtx_destroy(&knife);
	return 0;
}
