// A template whose instances have names of several KiB.
template <class... T> struct Tuple { int n; };
template <class T> using Four = Tuple<T, T, T, T>;
template <class T> using Many = Four<Four<Four<Four<T>>>>;
template <class T> struct Queue { T first; int hits; };
struct an_element_with_a_name_of_forty_letters {};
Queue<Many<an_element_with_a_name_of_forty_letters>> many;
Queue<int> ints;
int main() { return many.hits + ints.hits; }
