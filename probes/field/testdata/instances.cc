// Instances of a template whose last argument has a default, and a type that has the name of a pattern.
namespace ns {
template <class T> struct Alloc {};
template <class T, class A = Alloc<T>> struct Queue { T first; long hits; };
template <class... T> struct Pack { int n; };
}
ns::Queue<int> ints;
ns::Queue<ns::Queue<long>> nested;
ns::Queue<char, int> own;
ns::Pack<int> one;
ns::Pack<int, long> two;
int main() { return ints.hits + nested.hits + own.hits + one.n + two.n; }
