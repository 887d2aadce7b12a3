// Functions that store what they make at addresses that they get, and say what they have stored.
#include <stdio.h>
#include <stdlib.h>

#define KEEP __attribute__((noipa))

struct box {
	int number;
};

static struct box boxes[8];

// Nothing is stored for a number that is odd.
KEEP int box_make(int number, struct box **out)
{
	if (number & 1)
		return -1;
	*out = &boxes[number];
	return 0;
}

KEEP void pair_make(int ends[2], int n)
{
	ends[0] = -n;
	ends[1] = n + 1;
}

KEEP void small_make(unsigned char *out, int n) { *out = 250 + n; }

int main(void)
{
	long made = 0, sum = 0, first = 0, second = 0, small = 0;

	for (int i = 0; i < 6; i++) {
		struct box *b = NULL;
		int ends[2];
		unsigned char c;

		if (!box_make(i, &b)) {
			made++;
			sum += (long)b;
		}
		pair_make(ends, i);
		first += ends[0];
		second += ends[1];
		small_make(&c, i);
		small += c;
	}
	printf("stored %ld %ld %ld %ld %ld\n", made, sum, first, second, small);
	return 0;
}
