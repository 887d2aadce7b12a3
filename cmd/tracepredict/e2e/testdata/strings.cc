/*
 * Functions of std::string that are not inlined change a string on the heap. Two threads use it, the second one later,
 * and what orders them in this run is a lock that is held elsewhere, so that another schedule swaps them. The argument
 * says what they do:
 *
 *	appended  one thread appends to the string, and another one asks for its size
 *	replaced  one thread assigns a text to it, and another one asks for its size
 *	assigned  one thread assigns another string to it, and another one asks for its size
 *	source    one thread assigns the string to its own, and another one clears it
 *
 * These are no races:
 *
 *	locked    as appended, under a lock
 *	both      both threads assign the string to strings of their own
 */
#include <cstring>
#include <pthread.h>
#include <string>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, guard = PTHREAD_MUTEX_INITIALIZER;
static thread_local volatile size_t seen;
static const char *way;
static __attribute__((noipa)) bool is(const char *name) { return !strcmp(way, name); }

static void pass_lock()
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

static __attribute__((noipa)) void append(std::string *s) { *s += "and more"; }
static __attribute__((noipa)) void replace(std::string *s) { *s = "another text"; }
static __attribute__((noipa)) void assign(std::string *s, const std::string *from) { *s = *from; }
static __attribute__((noipa)) void look(const std::string *s) { seen = s->size(); }
static __attribute__((noipa)) void clear(std::string *s) { s->clear(); }

static void *first(void *arg)
{
	std::string *s = static_cast<std::string *>(arg), own = "my own";

	if (is("locked"))
		pthread_mutex_lock(&guard);
	if (is("appended") || is("locked"))
		append(s);
	else if (is("replaced"))
		replace(s);
	else if (is("assigned"))
		assign(s, &own);
	else
		assign(&own, s);
	if (is("locked"))
		pthread_mutex_unlock(&guard);
	pass_lock();
	return nullptr;
}

static void *second(void *arg)
{
	std::string *s = static_cast<std::string *>(arg), own = "my own, too";

	usleep(50000); /* the first thread comes first */
	pass_lock();
	if (is("locked"))
		pthread_mutex_lock(&guard);
	if (is("source"))
		clear(s);
	else if (is("both"))
		assign(&own, s);
	else
		look(s);
	if (is("locked"))
		pthread_mutex_unlock(&guard);
	return nullptr;
}

int main(int argc, char **argv)
{
	pthread_t a, b;
	std::string *s = new std::string("some text");

	way = argc > 1 ? argv[1] : "appended";
	pthread_create(&a, nullptr, first, s);
	pthread_create(&b, nullptr, second, s);
	pthread_join(a, nullptr);
	pthread_join(b, nullptr);
	delete s;
	return 0;
}
