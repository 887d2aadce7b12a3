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

// What jemalloc, mimalloc and tcmalloc have besides.
extern "C" {
#define OWN __attribute__((weak))
void *mallocx(size_t, int) OWN;
void *rallocx(void *, size_t, int) OWN;
void dallocx(void *, int) OWN;
void sdallocx(void *, size_t, int) OWN;
void *mi_malloc_aligned(size_t, size_t) OWN;
void *mi_zalloc(size_t) OWN;
void *mi_new(size_t) OWN;
void mi_free_size(void *, size_t) OWN;
void mi_free_aligned(void *, size_t) OWN;
void *tc_new(size_t) OWN;
void tc_delete_sized(void *, size_t) OWN;
void tc_free_sized(void *, size_t) OWN;
}

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

// Not a function of its own: a call site that is reached from very many places has no call stacks.
__attribute__((always_inline)) static inline void use(pthread_mutex_t *m)
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
	twice<T>(named("aligned"), [] { return ::operator new(sizeof(T), std::align_val_t(64)); }, [](T *p) { ::operator delete(p, std::align_val_t(64)); });
}

template <typename T> static void own_allocators()
{
	auto release = [](T *p) { free(p); };

	if (mallocx) {
		twice<T>("dallocx", [] { return mallocx(sizeof(T), 0); }, [](T *p) { dallocx(p, 0); });
		twice<T>("sdallocx", [] { return mallocx(sizeof(T), 0); }, [](T *p) { sdallocx(p, sizeof(T), 0); });
		twice<T>("rallocx", [] { return mallocx(sizeof(T), 0); }, [](T *p) { dallocx(rallocx(p, 1 << 20, 0), 0); });
	}
	if (mi_zalloc) {
		twice<T>("mi_zalloc", [] { return mi_zalloc(sizeof(T)); }, [](T *p) { mi_free_size(p, sizeof(T)); });
		twice<T>("mi_malloc_aligned", [] { return mi_malloc_aligned(sizeof(T), 64); }, [](T *p) { mi_free_aligned(p, 64); });
		twice<T>("mi_new", [] { return mi_new(sizeof(T)); }, release);
	}
	if (tc_new) {
		twice<T>("tc_new", [] { return tc_new(sizeof(T)); }, [](T *p) { tc_delete_sized(p, sizeof(T)); });
		twice<T>("tc_free_sized", [] { return malloc(sizeof(T)); }, [](T *p) { tc_free_sized(p, sizeof(T)); });
	}
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

// A mapping that another one replaces.
static void *replacing()
{
	static void *at = nullptr;

	return at = mmap(at, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);
}

int main()
{
	allocators<small>("small");
	allocators<large>("large");
	allocators<aligned>("aligned");
	own_allocators<small>();
	twice<large>("mmap", [] { return mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); },
	             [](large *p) { munmap(p, 1 << 16); });
	twice<large>("replaced", replacing, [](large *) {});
	kept();
}
