#include <atomic>
namespace ns { std::atomic<int> busy; struct Queue { static int depth; int take(int); }; int Queue::depth; }
extern "C" int puts(const char *);
namespace { struct Guard { ~Guard() { ns::busy--; puts("g"); } }; template <class T> struct Pool { T v; T get(T x) { Guard g; if (x > 3) throw x; return v + x; } }; Pool<long> pool; }
int ns::Queue::take(int n) { try { depth += n; return (int)pool.get(n); } catch (long e) { ns::busy++; return (int)e; } }
extern "C" int start(int n) { ns::Queue q; return q.take(n); }
