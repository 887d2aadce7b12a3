// rare KIND: comes to a stop in one of the ways below, for certain, and says "ready PID" before the last of its
// threads does.
#include <condition_variable>
#include <cstdio>
#include <ctime>
#include <future>
#include <mutex>
#include <pthread.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

static pthread_mutex_t a, b;
static pthread_barrier_t met;

static void ready() {
	std::printf("ready %d\n", getpid());
	std::fflush(stdout);
}

// A thread that goes on, so that the others are a hang only if they block each other.
static void sleeps() {
	for (;;)
		usleep(100000);
}

static void init(int protocol) {
	pthread_mutexattr_t kind;
	pthread_mutexattr_init(&kind);
	pthread_mutexattr_setprotocol(&kind, protocol);
	pthread_mutex_init(&a, &kind);
	pthread_mutex_init(&b, &kind);
}

static int (*lock_second)(pthread_mutex_t *) = pthread_mutex_lock;
static int for_an_hour(pthread_mutex_t *mutex) {
	timespec until{time(nullptr) + 3600, 0};
	return pthread_mutex_timedlock(mutex, &until);
}

static void *a_then_b(void *) {
	pthread_mutex_lock(&a);
	pthread_barrier_wait(&met);
	lock_second(&b);
	return nullptr;
}
static void *b_then_a(void *) {
	pthread_mutex_lock(&b);
	pthread_barrier_wait(&met);
	lock_second(&a);
	return nullptr;
}
static void opposite() {
	pthread_t one, two;
	pthread_create(&one, nullptr, a_then_b, nullptr);
	pthread_create(&two, nullptr, b_then_a, nullptr);
	ready();
}

// Each waits for what the other one promises.
static void futures() {
	std::promise<int> one, two;
	std::thread other([&] {
		two.get_future().get();
		one.set_value(1);
	});
	ready();
	one.get_future().get();
	two.set_value(2);
	other.join();
}

// The initialisation of a static variable waits for a thread that needs the variable.
struct Table {
	Table();
};
static Table &table() {
	static Table made;
	return made;
}
Table::Table() {
	std::thread reader([] { table(); });
	ready();
	reader.join();
}

// Two threads wait for the end of a third one; glibc wakes one of them.
static pthread_t worker;
static void *works(void *) {
	usleep(300000); // until both wait, on any machine that is not very slow: otherwise pthread_join returns an error
	return nullptr;
}
static void *joins(void *) {
	pthread_join(worker, nullptr);
	return nullptr;
}
static void twice() {
	pthread_t one, two;
	pthread_create(&worker, nullptr, works, nullptr);
	pthread_create(&one, nullptr, joins, nullptr);
	pthread_create(&two, nullptr, joins, nullptr);
	ready();
	pthread_join(one, nullptr);
	pthread_join(two, nullptr);
}

// A condition is destroyed while a thread waits that nobody will wake.
static void destroyed() {
	std::mutex mu;
	std::thread other;
	{
		std::condition_variable work;
		other = std::thread([&] {
			std::unique_lock<std::mutex> hold(mu);
			pthread_barrier_wait(&met);
			work.wait(hold);
		});
		pthread_barrier_wait(&met);
		std::lock_guard<std::mutex> waits(mu);
		ready();
	}
	other.join();
}

// All threads wait at a word that another process may see, and change.
static void shared() {
	auto *word = static_cast<int *>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	std::thread other([=] { syscall(SYS_futex, word, 0 /* FUTEX_WAIT */, 0, nullptr, nullptr, 0); });
	ready();
	syscall(SYS_futex, word, 0, 0, nullptr, nullptr, 0);
	other.join();
}

int main(int argc, char **argv) {
	std::string_view kind = argc > 1 ? argv[1] : "";
	alarm(120);
	pthread_barrier_init(&met, nullptr, 2);
	init(kind == "inherit" ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE);
	if (kind == "future")
		futures();
	else if (kind == "guard")
		table();
	else if (kind == "twice")
		twice();
	else if (kind == "destroyed")
		destroyed();
	else if (kind == "shared")
		shared();
	else if (kind == "leader") {
		opposite();
		pthread_exit(nullptr);
	} else { // inherit, timed
		if (kind == "timed")
			lock_second = for_an_hour;
		opposite();
		sleeps();
	}
}
