#include "say.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <thread>

/* The C++ library's own: each is one of pthread's. A static's guard is the
 * variable that name_is gets from the debugger's name for it. */

static std::mutex m, m2;
static std::recursive_mutex rec;
static std::timed_mutex timed;
static std::shared_mutex shared;
static std::condition_variable c;
static std::once_flag flag;
static bool ready;
static volatile int step, built;

struct Costly {
	Costly() { built = built + 1; }
	~Costly() {}
};

extern "C" char guard_of_costly __asm__("_ZGVZL6costlyvE6object");

static Costly &costly()
{
	static Costly object;
	return object;
}

struct Failing {
	Failing()
	{
		if (built++ < 2)
			throw std::runtime_error("not yet");
	}
	~Failing() {}
};

extern "C" char guard_of_failing __asm__("_ZGVZL7failingvE6object");

static Failing &failing()
{
	static Failing object;
	return object;
}

static void guards()
{
	say("acquire m");
	say("release m");
	{
		std::lock_guard<std::mutex> l(m);
	}
	{
		std::unique_lock<std::mutex> l(m, std::try_to_lock);
		MUST(l.owns_lock());
		say("acquire m try");
		say("release m");
	}
	{
		std::scoped_lock both(m, m2); /* std::lock: one locked, the other tried */
		say("acquire m");
		say("acquire m2 try");
	}
	say("release m");
	say("release m2");
	{
		std::lock_guard<std::recursive_mutex> a(rec), b(rec);
		say("acquire rec");
		say("release rec");
	}
	MUST(timed.try_lock_for(std::chrono::seconds(100)));
	say("acquire timed timed");
	say("release timed");
	timed.unlock();
}

static void statics()
{
	built = 0;
	say("once-enter guard1");
	say("once-done guard1");
	costly();
	costly(); /* found done without a call */
	MUST(built == 1);
}

static void *reader(void *)
{
	i_am("T1");
	std::shared_lock<std::shared_mutex> l(shared);
	say("acquire-read shared");
	tell(&step, 1);
	await(&step, 2);
	say("release shared");
	return nullptr;
}

static void readers()
{
	pthread_t t = start(reader, "T1", nullptr);

	await(&step, 1);
	MUST(!shared.try_lock());
	say("acquire-failed shared try");
	{
		std::shared_lock<std::shared_mutex> l(shared);
		say("acquire-read shared");
		say("release shared");
	}
	tell(&step, 2);
	join(t, "T1");
	std::unique_lock<std::shared_mutex> l(shared);
	say("acquire shared");
	say("release shared");
}

static void waiter()
{
	i_am("T2");
	std::unique_lock<std::mutex> l(m);
	say("acquire m");
	tell(&step, 3);
	while (!ready) {
		say("release m in-wait");
		say("wait c m");
		c.wait(l);
		say("wake c m");
		say("acquire m in-wait");
	}
	say("release m");
}

static void conditions()
{
	say("fork T2");
	std::thread t(waiter);
	await(&step, 3);
	m.lock();
	say("acquire m");
	ready = true;
	say("signal c");
	c.notify_one();
	say("release m");
	m.unlock();
	t.join();
	say("join T2");
	std::unique_lock<std::mutex> l(m);
	say("acquire m");
	for (std::cv_status s = std::cv_status::no_timeout; s != std::cv_status::timeout;) {
		say("release m in-wait");
		say("wait c m timed");
		s = c.wait_for(l, std::chrono::milliseconds(5));
		say(s == std::cv_status::timeout ? "wake c m timed-out" : "wake c m");
		say("acquire m in-wait");
	}
	say("broadcast c");
	c.notify_all();
	say("release m");
}

static void once()
{
	int calls = 0;

	/* An initialiser that throws has not been: the next caller's turn. */
	for (int i = 0; i < 3; i++) {
		say("once-enter flag");
		try {
			std::call_once(flag, [&] {
				if (calls++ < 1)
					throw std::runtime_error("not yet");
			});
			say(i == 1 ? "once-done flag" : "once-leave flag");
		} catch (std::runtime_error &) {
			MUST(i == 0);
			say("once-done flag inferred"); /* left, so that the next one begins after it */
		}
	}
	MUST(calls == 2);
}

static void failures()
{
	built = 0;
	for (int i = 0; i < 3; i++) {
		say("once-enter guard2");
		try {
			failing();
			say("once-done guard2");
			MUST(i == 2);
		} catch (std::runtime_error &) {
			say("once-done guard2 inferred");
		}
	}
}

int main()
{
	name_is(&m, "m");
	name_is(&m2, "m2");
	name_is(&rec, "rec");
	name_is(&timed, "timed");
	name_is(&shared, "shared");
	name_is(&c, "c");
	name_is(&flag, "flag");
	name_is(&guard_of_costly, "guard1");
	name_is(&guard_of_failing, "guard2");
	guards();
	statics();
	readers();
	conditions();
	once();
	failures();
	say("destroy c"); /* the one destructor here that calls pthread's */
	return 0;
}
