#include "say.h"
#include <initializer_list>
#include <new>

/* Objects that are made again and again in the same memory, without any allocation:
 * each is a new one. The constructor's last access and the destructor's are next to
 * the ends of the functions. */

#define KEEP(value) __asm__ volatile("" : : "r"(value) : "memory")
#define NOINLINE __attribute__((noinline))

struct Named {
	const char *name;
	NOINLINE Named(const char *name) : name(name) { name_is(this, name); }
};

class Task : public Named
{
      public:
	NOINLINE Task(const char *name) : Named(name), state(1) { KEEP(this); }
	NOINLINE Task() : Task("delegated") { state = 2; }
	NOINLINE ~Task()
	{
		state++;
		KEEP(this);
	}
	NOINLINE void work() { state = 3; }
	int state;
};

static NOINLINE void on_the_stack(const char *name)
{
	Task t(name);
	say("write %s", name);
	t.work();
	say("write %s", name);
	KEEP(&t);
	t.~Task();
	say("update %s", name);
	new (&t) Task("again"); /* ended by the block's end */
	say("write again");
	say("update again");
}

int main()
{
	alignas(Task) static char pool[sizeof(Task)];
	void *memory = pool;

	i_am("main");
	for (const char *name : {"first", "second"}) {
		Task *t = new (memory) Task(name);
		say("write %s", name);
		t->work();
		say("write %s", name);
		t->~Task();
		say("update %s", name);
	}
	for (int i = 0; i < 2; i++) { /* nobody ends the one */
		new (memory) Task(i ? "fourth" : "third");
		say("write %s", i ? "fourth" : "third");
	}
	new (memory) Task;
	say("write delegated");
	say("write delegated");
	on_the_stack("local");
	on_the_stack("later");
	return 0;
}
