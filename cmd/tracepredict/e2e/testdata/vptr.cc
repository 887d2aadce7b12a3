/*
 * Constructors and destructors store the pointer to their class's table of virtual functions, and a virtual call
 * reads it. The argument says what threads do:
 *
 *	destroyed  one thread calls a virtual function, and another one destroys the object, without a lock
 *	built      one thread publishes an object before it has built it, and another one calls a virtual function
 *
 * These are no races:
 *
 *	locked     as destroyed, under a lock
 *	joined     the object is destroyed when the thread that calls has ended
 */
#include <new>
#include <cstring>
#include <pthread.h>
#include <unistd.h>

struct Base {
	Base();
	virtual ~Base();
	virtual int value();
};
struct Derived : Base {
	Derived();
	~Derived() override;
	int value() override;
};
__attribute__((noipa)) Base::Base() {}
__attribute__((noipa)) Base::~Base() {}
__attribute__((noipa)) int Base::value() { return 1; }
__attribute__((noipa)) Derived::Derived() {}
__attribute__((noipa)) Derived::~Derived() {}
__attribute__((noipa)) int Derived::value() { return 2; }

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, guard = PTHREAD_MUTEX_INITIALIZER;
static char *block;
static thread_local volatile int seen;
static const char *way;
static bool is(const char *name) { return !strcmp(way, name); }

static void pass_lock()
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

__attribute__((noipa)) static void call(Base *b) { seen = b->value(); }

static void *caller(void *arg)
{
	Base *b = static_cast<Base *>(arg);

	if (is("built"))
		usleep(50000); /* the other thread comes first */
	if (is("built"))
		pass_lock();
	if (is("locked"))
		pthread_mutex_lock(&guard);
	call(b);
	if (is("locked"))
		pthread_mutex_unlock(&guard);
	if (!is("built"))
		pass_lock();
	return nullptr;
}

int main(int argc, char **argv)
{
	pthread_t t;
	Base *b;

	way = argc > 1 ? argv[1] : "destroyed";
	block = new char[sizeof(Derived)]();
	b = reinterpret_cast<Base *>(block);
	if (!is("built"))
		b = new (block) Derived;
	pthread_create(&t, nullptr, caller, b);
	if (is("built")) {
		b = new (block) Derived;
		pass_lock();
	} else if (is("joined")) {
		pthread_join(t, nullptr);
		b->~Base();
	} else {
		usleep(50000); /* the other thread comes first */
		pass_lock();
		if (is("locked"))
			pthread_mutex_lock(&guard);
		b->~Base();
		if (is("locked"))
			pthread_mutex_unlock(&guard);
	}
	if (!is("joined"))
		pthread_join(t, nullptr);
	delete[] block;
	return 0;
}
