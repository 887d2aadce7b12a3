// As methods.c, for what C++ adds: methods by this, virtual ones, templates,
// overloads, constructors and destructors at addresses that are used again, exceptions
// that leave functions, large results, parameters of every kind, inlined functions.
#include <cstdio>
#include <stdexcept>
#include <string>

#define APART __attribute__((noinline, noclone))

static long puts_seen, put_sum, takes, thrown, areas, area_sum, made, gone, bigs, big_sum, many_sum, manys, mixed, mixed_sum, inlines, inline_sum, ints, longs;

namespace shop {

struct Big {
	long words[5];
};
struct Pair {
	int a;
	double b;
};

template <typename T> class Queue {
public:
	APART Queue() : sum(0) { made++; }
	APART ~Queue() { gone++; }
	APART void put(T v)
	{
		puts_seen++;
		put_sum += v;
		sum += v;
	}
	APART bool take(short n)
	{
		takes++;
		if (n < 0) {
			thrown++;
			throw std::runtime_error("negative");
		}
		return n & 1;
	}
	APART Big big(int n) const
	{
		Big b = {{n, n, n, n, n}};

		bigs++;
		big_sum += n;
		return b;
	}

private:
	T sum;
};

struct Shape {
	APART Shape() {}
	APART virtual ~Shape() {}
	APART virtual int area(int scale) = 0;
};
struct Square : Shape {
	int side;
	APART explicit Square(int s) : side(s) {}
	APART ~Square() {}
	APART int area(int scale) override
	{
		areas++;
		area_sum += scale;
		return side * side * scale;
	}
};

APART void over(int n) { ints++; (void)n; asm volatile(""); }
APART void over(long n) { longs++; (void)n; asm volatile(""); }

APART int many(int a, int b, int c, int d, int e, int f, signed char g, long h)
{
	manys++;
	many_sum += g + h;
	return a + b + c + d + e + f + g + h;
}

APART int mix(double x, unsigned char a, Pair p, Big big, const std::string &s, int z)
{
	mixed++;
	mixed_sum += a + 1000L * z;
	return x + p.a + big.words[0] + s.size();
}

static inline __attribute__((always_inline)) long inside(long n, long m)
{
	inlines++;
	inline_sum += n;
	return n * m;
}

} // namespace shop

using namespace shop;

APART static long run(Shape *shape, int i)
{
	Queue<int> q;
	Queue<long> wide;
	long r = 0;

	for (int j = 0; j < 5; j++) {
		q.put(j - i);
		wide.put(j);
	}
	try {
		for (int n = 3; n > -3; n--)
			r += q.take(n);
	} catch (const std::runtime_error &) {
		r++;
	}
	r += q.big(i).words[2] + shape->area(i);
	over(1);
	over(2L);
	r += many(1, 2, 3, 4, 5, 6, -i, i * 1000);
	r += mix(1.5, 200 + i, Pair{1, 2}, Big{{3}}, "text", i);
	volatile long three = 3;
	long m = three;
	r += inside(r, m) & 1;
	return r;
}

int main()
{
	long r = 0;

	for (int i = 0; i < 20; i++) {
		Shape *shape = new Square(i);

		r += run(shape, i);
		delete shape;
	}
	std::printf("queues %ld %ld %ld %ld %ld %ld\n", puts_seen, put_sum, takes, thrown, made, gone);
	std::printf("others %ld %ld %ld %ld %ld %ld %ld %ld %ld %ld %ld %ld\n", areas, area_sum, bigs, big_sum, manys, many_sum, mixed, mixed_sum, inlines, inline_sum, ints, longs);
	return r == 1;
}
