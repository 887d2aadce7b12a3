// Two threads call a function of a library that was loaded by dlopen, and read the variable of that library in which it leaves a part of its result, both within a mutex.
#include "turns.h"
#include <dlfcn.h>
#include <mutex>
#include <thread>

int main() {
	void *library = dlopen("libm.so.6", RTLD_NOW);
	auto gamma = reinterpret_cast<double (*)(double)>(dlsym(library, "lgamma"));
	auto sign = static_cast<int *>(dlsym(library, "signgam"));
	need(gamma && sign, "dlsym");
	double results[2];
	std::mutex lock;
	auto calculates = [&](int which, double of) {
		rest(200 * which);
		std::lock_guard l(lock);
		results[which] = gamma(of);
		results[which] *= *sign;
	};
	std::thread first(calculates, 0, -0.5), second(calculates, 1, 2.5);
	first.join();
	second.join();
	dlclose(library);
	return results[1] > 10;
}
