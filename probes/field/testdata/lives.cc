// A class with constructors and destructors of its own and of its base class.
#define NOINLINE __attribute__((noinline))

namespace ns {
struct Base {
	NOINLINE Base() { n = 1; }
	NOINLINE virtual ~Base() {}
	int n;
};

template <class T> struct Task : Base {
	NOINLINE Task() : state(2) {}
	NOINLINE Task(T s) : state(s) {}
	__attribute__((always_inline)) Task(const char *s) : state(*s) {}
	NOINLINE ~Task() { n = state; }
	int state;
};
} // namespace ns

NOINLINE int inlining(const char *s) {
	ns::Task<int> t(s);
	return t.n;
}

int main(int argc, char **argv) {
	ns::Base *b = argc > 1 ? new ns::Task<int>(argc) : new ns::Task<int>();
	delete b;
	return inlining(*argv);
}
