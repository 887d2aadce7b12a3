#include "say.h"
#include <memory>
#include <utility>
#include <vector>

/* The field `state` of a class template's instances, accessed through all that
 * C++ makes of a pointer. Another instance of the template has a field of that
 * name, which is not to be seen. */

#define KEEP(value) __asm__ volatile("" : : "r"(value) : "memory")
#define NOINLINE __attribute__((noinline))

namespace ns
{

struct Shape {
	virtual ~Shape() {}
	virtual void draw() = 0;
	long corners = 4;
};

struct Labelled {
	long serial = 1;
	int label = 0;
};

struct Nothing {
};

template <class T> class Queue : Nothing, public Shape, public Labelled
{
      public:
	NOINLINE Queue(const char *name) : name(name), state(1)
	{
		KEEP(this);
		if (name) {
			name_is(this, name);
			say("write %s", name);
		}
	}

	NOINLINE Queue(const Queue &from) : name("copy"), state(from.state)
	{
		KEEP(this);
		say("read %s", from.name);
		name_is(this, name);
		say("write %s", name);
	}

	NOINLINE ~Queue()
	{
		state = 0;
		KEEP(this);
		if (name)
			say("write %s", name);
	}

	NOINLINE void put(T value)
	{
		items[0] = value;
		state = 2;
		KEEP(this);
		say("write %s", name);
	}

	NOINLINE int get() const
	{
		int now = state;
		KEEP(now);
		say("read %s", name);
		return now;
	}

	void inlined()
	{
		state = 3;
		KEEP(this);
		say("write %s", name);
	}

	NOINLINE void draw() override
	{
		KEEP(state);
		say("read %s", name);
	}

	NOINLINE Queue &chained()
	{
		KEEP(state);
		say("read %s", name);
		return *this;
	}

	const char *name;
	T items[3] = {};
	int state;
	Queue *next = nullptr;
};

} // namespace ns

using ints = ns::Queue<int>;

template <class T> struct Holder : ns::Nothing {
	T *held;
};

static ints *global_pointer;

static NOINLINE void by_pointer(ints *q)
{
	q->state = 4;
	KEEP(q);
	say("write %s", q->name);
}

static NOINLINE void by_reference(const ints &q)
{
	KEEP(q.state);
	say("read %s", q.name);
}

static NOINLINE void by_value(ints q)
{
	q.state = 13;
	KEEP(&q);
	say("write %s", q.name);
}

static NOINLINE void by_chain(ints *q)
{
	q->chained().state = 5;
	KEEP(q);
	say("write %s", q->name);
}

static NOINLINE void by_unique(std::unique_ptr<ints> &q)
{
	q->state = 6;
	KEEP(q.get());
	say("write %s", q->name);
}

static NOINLINE void by_owned(std::unique_ptr<ints> q)
{
	KEEP(q->state);
	say("read %s", q->name);
}

static NOINLINE void by_shared(const std::shared_ptr<ints> &q)
{
	q->state = 7;
	KEEP(q.get());
	say("write %s", q->name);
}

static NOINLINE void by_vector(std::vector<std::unique_ptr<ints>> &all)
{
	for (auto &q : all) {
		KEEP(q->state);
		say("read %s", q->name);
	}
}

static NOINLINE void by_list(ints *head)
{
	for (ints *q = head; q; q = q->next) {
		q->state = 8;
		KEEP(q);
		say("write %s", q->name);
	}
}

static NOINLINE void by_holder(Holder<ints> *h)
{
	KEEP(h->held->state);
	say("read %s", h->held->name);
}

template <class F> static NOINLINE void apply(F f) { f(); }

static NOINLINE void by_lambda(ints &q)
{
	apply([&q] {
		q.state = 9;
		KEEP(&q);
		say("write %s", q.name);
	});
}

static NOINLINE void by_base(ns::Shape *s) { s->draw(); }

static NOINLINE void by_cast(ns::Shape *s)
{
	ints *q = static_cast<ints *>(s);
	q->state = 10;
	KEEP(q);
	say("write %s", q->name);
}

static NOINLINE void by_second_base(ns::Labelled *l)
{
	ints *q = static_cast<ints *>(l);
	q->state = 11;
	KEEP(q);
	say("write %s", q->name);
}

static NOINLINE void by_global()
{
	KEEP(global_pointer->state);
	say("read %s", global_pointer->name);
}

static NOINLINE void another(ns::Queue<long> *q)
{
	q->state = 3;
	KEEP(q);
}

static void *in_thread(void *arg)
{
	auto *q = static_cast<ints *>(arg);

	i_am("T1");
	q->put(3);
	return nullptr;
}

static NOINLINE void all_ways(ints *q)
{
	global_pointer = q;
	q->put(1);
	q->get();
	q->inlined();
	by_pointer(q);
	by_reference(*q);
	by_chain(q);
	by_lambda(*q);
	by_base(q);
	by_cast(q);
	by_second_base(q);
	by_global();
	Holder<ints> h;
	h.held = q;
	by_holder(&h);
}

int main()
{
	i_am("main");

	/* delete ends an object: what new makes at its place is another. */
	for (const char *name : {"first", "second"}) {
		ints *q = new ints(name);
		all_ways(q);
		delete q;
	}

	{
		ints local("local");
		all_ways(&local);
		by_value(local);
		pthread_t other = start(in_thread, "T1", &local);
		join(other, "T1");
	}

	auto unique = std::make_unique<ints>("unique");
	by_unique(unique);
	by_owned(std::move(unique));

	{
		auto shared = std::make_shared<ints>("shared");
		by_shared(shared);
	}

	{
		std::vector<std::unique_ptr<ints>> all;
		all.push_back(std::make_unique<ints>("v0"));
		all.push_back(std::make_unique<ints>("v1"));
		by_vector(all);
		all[0]->next = all[1].get();
		by_list(all[0].get());
	}

	ns::Queue<long> other(nullptr);
	another(&other);
	return 0;
}
