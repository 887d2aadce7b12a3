#include "say.h"

/* Bit fields of objects. Each line says what the field named holds in the end. */

struct flags {
	unsigned kind : 3;
	unsigned open : 1;
	int level : 9;
	unsigned long long wide : 40;
	unsigned char after;
};

#define NOINLINE __attribute__((noinline))

static NOINLINE void set_kind(struct flags *f, unsigned to) { f->kind = to; }
static NOINLINE void set_level(struct flags *f, int to) { f->level = to; }
static NOINLINE void set_wide(struct flags *f, unsigned long long to) { f->wide = to; }
static NOINLINE void add_to_kind(struct flags *all, long i) { all[i].kind++; }

static volatile long two = 2;

int main(void)
{
	struct flags *f = calloc(4, sizeof *f);

	MUST(f);
	set_kind(f, 5);
	set_level(f, -200);
	set_wide(f, 0xfedcba9876ULL);
	set_kind(f + two, 6);
	add_to_kind(f, two);
	f[2].after = 1;
	printf("%u %d %llu %u\n", f->kind, f->level, (unsigned long long)f->wide, f[2].kind);
	fflush(stdout);
	return 0;
}
