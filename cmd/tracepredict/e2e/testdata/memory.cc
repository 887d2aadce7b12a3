// Memory that ends and is used again. Each step locks a mutex that no call initialises, at an address
// where another mutex was, and says what it made of the memory. Where the allocator gave other memory,
// it says so, and the step counts for nothing.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <new>
#include <pthread.h>
#include <sys/mman.h>

struct small {
	pthread_mutex_t lock;
};
struct large {
	char before[5000];
	pthread_mutex_t lock;
	char after[9000];
};
struct alignas(64) aligned {
	pthread_mutex_t lock;
	char after[100];
};

static void use(pthread_mutex_t *m)
{
	pthread_mutex_lock(m);
	pthread_mutex_unlock(m);
}

static void *hidden(void *p)
{
	asm volatile("" : "+r"(p) : : "memory");
	return p;
}

// Locks the mutex of an object before and after make has ended its memory and made other memory.
template <typename T, typename Make, typename End>
static void twice(const char *name, Make make, End end)
{
	T *first = (T *)hidden(make());
	first->lock = PTHREAD_MUTEX_INITIALIZER;
	use(&first->lock);
	end(first);
	T *second = (T *)hidden(make());
	second->lock = PTHREAD_MUTEX_INITIALIZER;
	use(&second->lock);
	printf("%s %d %p\n", name, (void *)first == (void *)second, (void *)&second->lock);
	end(second);
}

template <typename T> static void allocators(const char *size)
{
	char name[80];
	auto named = [&](const char *how) { return snprintf(name, sizeof name, "%s-%s", how, size), name; };
	auto release = [](T *p) { free(p); };

	twice<T>(named("malloc"), [] { return malloc(sizeof(T)); }, release);
	twice<T>(named("posix_memalign"), [] {
		void *p = nullptr;
		return posix_memalign(&p, 64, sizeof(T)) ? nullptr : p;
	}, release);
	twice<T>(named("realloc"), [] { return realloc(hidden(nullptr), sizeof(T)); }, [](T *p) { free(realloc(p, 1 << 20)); });
	twice<T>(named("new"), [] { return (void *)new T; }, [](T *p) { delete p; });
	twice<T>(named("new[]"), [] { return (void *)new T[2]; }, [](T *p) { delete[] p; });
	twice<T>(named("new-nothrow"), [] { return (void *)new (std::nothrow) T; }, [](T *p) { delete p; });
	twice<T>(named("operators"), [] { return ::operator new(sizeof(T)); }, [](T *p) { ::operator delete(p); });
	twice<T>(named("sized"), [] { return ::operator new(sizeof(T)); }, [](T *p) { ::operator delete(p, sizeof(T)); });
}

// A block that realloc leaves where it is keeps its lock.
static void kept()
{
	char *p = (char *)hidden(malloc(4000));
	auto *m = new (p) pthread_mutex_t(PTHREAD_MUTEX_INITIALIZER);
	use(m);
	char *q = (char *)hidden(realloc(p, 3000));
	use((pthread_mutex_t *)q);
	printf("kept %d %p\n", p == q, q);
	free(q);
}

int main()
{
	allocators<small>("small");
	allocators<large>("large");
	allocators<aligned>("aligned");
	twice<large>("mmap", [] { return mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); },
	             [](large *p) { munmap(p, 1 << 16); });
	kept();
}
