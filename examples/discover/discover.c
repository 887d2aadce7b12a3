// A workshop with three benches, each with its own tools and tallies: of some
// thirty variables only three belong to more than one bench. The orders and the
// stock have a lock; that the visitors are counted without one, nobody thought of.
// exec finds them without being told any name.
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static pthread_mutex_t counter = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t shelf = PTHREAD_MUTEX_INITIALIZER;

// Shared by the benches.
static volatile int orders, stock = 100, visitors;

// Of the wood bench alone.
static volatile int planks, boards, beams, nails, glue, saws, cuts, joints, chairs, tables;
// Of the metal bench alone.
static volatile int sheets, rods, tubes, bolts, rivets, files, welds, hinges, locks, keys;
// Of the paint bench alone, which stirs for long.
static volatile int red, green, blue, brushes, rollers, coats, drops, tins, stirs;
static struct {
	volatile int thin, thick;
	volatile long strokes[2];
} paint;

static void milliseconds(long n) {
	struct timespec t = {n / 1000, n % 1000 * 1000000};
	nanosleep(&t, NULL);
}

__attribute__((noinline)) static void order(int pieces) {
	pthread_mutex_lock(&counter);
	orders += 1;
	pthread_mutex_unlock(&counter);
	pthread_mutex_lock(&shelf);
	stock -= pieces;
	pthread_mutex_unlock(&shelf);
}

__attribute__((noinline)) static void greet(void) {
	visitors++;
}

static void *wood(void *unused) {
	for (int i = 0; i < 5; i++) {
		planks++, boards += 2, beams++, nails += 9, glue++, saws++, cuts += 4, joints += 2, chairs++, tables++;
		order(1);
		greet();
	}
	return unused;
}

static void *metal(void *unused) {
	milliseconds(100); // visitors come here later
	for (int i = 0; i < 5; i++) {
		sheets++, rods += 2, tubes++, bolts += 9, rivets++, files++, welds += 4, hinges += 2, locks++, keys++;
		order(2);
		greet();
	}
	return unused;
}

static void *colour(void *unused) {
	for (int i = 0; i < 2000000; i++)
		stirs++;
	red++, green++, blue++, brushes++, rollers++, coats += 2, drops += 9, tins++;
	paint.thin++, paint.thick += 2, paint.strokes[1] += 7;
	order(3);
	return unused;
}

int main(void) {
	pthread_t a, b, c;
	if (pthread_create(&a, NULL, wood, NULL) || pthread_create(&b, NULL, metal, NULL) || pthread_create(&c, NULL, colour, NULL))
		return 1;
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	pthread_join(c, NULL);
	printf("%d orders, %d left, %d visitors, %d stirs\n", orders, stock, visitors, stirs);
	return 0;
}
