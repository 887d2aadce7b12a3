/* Code of a large library: functions that nobody calls but through a table. It is linked into each library many times. */
#include <stddef.h>

#define F(n) \
	static __attribute__((noinline)) double f##n(double *a, const double *b, size_t k) \
	{ \
		double s = n; \
		for (size_t i = 0; i < k; i++) { \
			if (a[i] > b[i] * n) \
				s += a[i] * b[(i * n) % k]; \
			else \
				a[i] = s - b[i]; \
		} \
		if (k > n) \
			s += a[n] / (b[n] + 1); \
		return s; \
	}
#define F10(n) F(n##0) F(n##1) F(n##2) F(n##3) F(n##4) F(n##5) F(n##6) F(n##7) F(n##8) F(n##9)
#define F100(n) F10(n##0) F10(n##1) F10(n##2) F10(n##3) F10(n##4) F10(n##5) F10(n##6) F10(n##7) F10(n##8) F10(n##9)

F100(1) F100(2) F100(3)

#define R(n) f##n,
#define R10(n) R(n##0) R(n##1) R(n##2) R(n##3) R(n##4) R(n##5) R(n##6) R(n##7) R(n##8) R(n##9)
#define R100(n) R10(n##0) R10(n##1) R10(n##2) R10(n##3) R10(n##4) R10(n##5) R10(n##6) R10(n##7) R10(n##8) R10(n##9)

static double (*const table[])(double *, const double *, size_t) __attribute__((used)) = { R100(1) R100(2) R100(3) };
