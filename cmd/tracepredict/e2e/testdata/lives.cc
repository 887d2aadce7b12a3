#include "say.h"
#include <new>

/* Objects made and ended by all of C++'s operators, one in the memory of another. */

#define NOINLINE __attribute__((noinline))

template <int Align> struct alignas(Align) Conn {
	long id;
	int state;
	char rest[200];
};

using plain = Conn<16>;
using wide = Conn<64>;

static NOINLINE void *hide(void *p)
{
	__asm__ volatile("" : "+r"(p) : : "memory");
	return p;
}

template <class T> static NOINLINE void use(T *c, const char *name)
{
	name_is(c, name);
	for (int i = 0; i < 2; i++) {
		c->state = 1;
		say("write %s", name);
		__asm__ volatile("" : : : "memory");
	}
}

template <class T> static void all(const char *(*names)[2])
{
	for (int n = 0; n < 2; n++) {
		T *c = (T *)hide(new T);
		use(c, names[0][n]);
		delete c;
		c = (T *)hide(new T[2]);
		use(c, names[1][n]);
		delete[] c;
		c = (T *)hide(new (std::nothrow) T);
		use(c, names[2][n]);
		operator delete(c, sizeof *c, std::align_val_t(alignof(T)));
	}
}

int main()
{
	static const char *plains[][2] = {{"a0", "b0"}, {"a1", "b1"}, {"a2", "b2"}};
	static const char *wides[][2] = {{"c0", "d0"}, {"c1", "d1"}, {"c2", "d2"}};

	i_am("main");
	all<plain>(plains);
	all<wide>(wides);
	return 0;
}
