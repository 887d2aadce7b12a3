#include "say.h"

/* The field `label`, which a class has from a base class that is not its first. */

#define KEEP(value) __asm__ volatile("" : : "r"(value) : "memory")
#define NOINLINE __attribute__((noinline))

namespace ns
{

struct Nothing {
};

struct Shape {
	virtual ~Shape() {}
	long corners;
};

struct Labelled {
	long serial;
	int label; /* nobody initialises it */
	NOINLINE void relabel();
};

void Labelled::relabel()
{
	label = 5;
	KEEP(this);
	say("write relabelled");
}

template <class T> struct Queue : Nothing, Shape, Labelled {
	T items[3];
	NOINLINE void mark()
	{
		label = 6;
		KEEP(this);
		say("write own");
	}
};

} // namespace ns

static NOINLINE void by_pointer(ns::Queue<int> *q)
{
	KEEP(q->label);
	say("read own");
}

int main()
{
	i_am("main");
	auto *own = new ns::Queue<int>, *relabelled = new ns::Queue<int>;
	/* Reports name the object of the type that was asked for. */
	name_is(own, "own");
	name_is(static_cast<ns::Labelled *>(own), "own");
	name_is(static_cast<ns::Labelled *>(relabelled), "relabelled");
	own->mark();
	by_pointer(own);
	relabelled->relabel();
	delete own;
	delete relabelled;
	return 0;
}
