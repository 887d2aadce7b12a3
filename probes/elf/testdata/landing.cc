// Exceptions in all places where the compiler leaves landing pads: handlers, destructors,
// parts split off, and the middle of a function.
struct guard {
	int *p;
	~guard() { ++*p; }
};
int seen;
__attribute__((noinline)) void may_throw(int n)
{
	if (n > 2) throw n;
}
__attribute__((noinline)) int caught(int n)
{
	try {
		may_throw(n);
	} catch (int k) {
		return k;
	} catch (...) {
		seen--;
	}
	return seen;
}
__attribute__((noinline)) int cleaned(int n)
{
	guard g{&seen};
	may_throw(n);
	may_throw(n + 1);
	return n;
}
int main(int argc, char **)
{
	try {
		return caught(argc) + cleaned(argc);
	} catch (int) {
		return 3;
	}
}
