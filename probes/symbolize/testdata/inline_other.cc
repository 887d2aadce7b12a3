// A second compilation unit beside inline.cc.
#include <string>

struct Other {
	std::string name;
	__attribute__((noinline)) std::string twice() const { return name + name; }
};

std::string other(const char *s) { return Other{s}.twice() + "!"; }
