// As elements.c, in C++.
#include <array>
#include <atomic>
#include <cstdio>

namespace shop {
struct till { int open; std::atomic<unsigned> sold; };
std::atomic<int> bells[4];
std::array<till, 3> tills;
static long reads[2][4], writes[2][4];

__attribute__((noinline)) int ring(int i)
{
	writes[0][i]++, bells[i].store(i + 3, std::memory_order_release);
	reads[0][i]++, writes[0][i]++, bells[i].fetch_sub(1);
	reads[0][i]++;
	return bells[i].load(std::memory_order_acquire);
}

__attribute__((noinline)) unsigned sell(int i)
{
	tills[i].open = 1;
	reads[1][i]++, writes[1][i]++, tills[i].sold++;
	reads[1][i]++;
	return tills[i].sold;
}
}

int main(int argc, char **)
{
	unsigned sum = 0;
	for (int i = 0; i < 4; i++)
		sum += shop::ring(i * argc);
	for (int i = 0; i < 3; i++)
		sum += shop::sell(i) + shop::sell(1);
	for (int i = 0; i < 4; i++)
		std::printf("= shop::bells[%d] %ld %ld\n", i, shop::reads[0][i], shop::writes[0][i]);
	for (int i = 0; i < 3; i++)
		std::printf("= shop::tills._M_elems[%d].sold %ld %ld\n", i, shop::reads[1][i], shop::writes[1][i]);
	return sum == 1;
}
