// Lambdas: one in a function, and one in that. They have linked names where LINKAGE is
// inline alone. A class with an operator() is no lambda.
int sink;

namespace shop {
LINKAGE __attribute__((noinline)) int sell(int n)
{
	int sold = 0;
	auto twice = [&](int k) {
		auto once = [&](int by) {
			sold += by;
			sink = sold;
			return sold;
		};
		return once(k) + once(n);
	};
	struct Plain {
		int operator()(int by)
		{
			sink += by;
			return sink;
		}
	} plain;
	return twice(n) + twice(n + 1) + plain(n);
}
} // namespace shop

int main(int argc, char **)
{
	return shop::sell(argc) > 100;
}
