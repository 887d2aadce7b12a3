package variable

import (
	"slices"
	"strings"
	"testing"

	bin "github.com/tracepredict/tracepredict/probes/elf"
)

const lockFile = `#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
typedef struct { long id; pthread_mutex_t guard; } ticket;
struct node { int spin; int other; };
struct slot { long state; pthread_mutex_t mu; };
struct server {
	pthread_mutex_t first;
	struct { long hits; struct slot per_cpu[4]; } stats;
	union { pthread_mutex_t inner; long word; };
	union { pthread_mutex_t a; pthread_mutex_t b; } both;
	ticket tickets[2];
	struct node node;
	pthread_cond_t wake;
} server;
pthread_mutex_t plain, grid[2][3];
static pthread_mutex_t mu;
struct server *const keep = &server;
int other(void);
int main(void) {
	static pthread_mutex_t mu2;
	pthread_mutex_lock(&mu); pthread_mutex_lock(&mu2);
	return other();
}
`

const otherLockFile = `#include <pthread.h>
static pthread_mutex_t mu;
int other(void) { return pthread_mutex_lock(&mu); }
`

// symbolAt returns the addresses of the symbols of a name.
func symbolAt(t *testing.T, f *bin.File, name string) []uint64 {
	t.Helper()
	var out []uint64
	for _, s := range f.Symbols() {
		if s.Name == name || strings.HasPrefix(s.Name, name+".") || strings.HasSuffix(s.Name, "."+name) {
			out = append(out, s.Addr)
		}
	}
	if len(out) == 0 {
		t.Fatalf("no symbol %s", name)
	}
	slices.Sort(out)
	return out
}

// The name of each lock in a variable of static storage is that of the source, and its class is the
// member with the type that declares it, for all forms of debug information.
func TestNamesOfStatics(t *testing.T) {
	for _, flags := range [][]string{{"gcc", "-g"}, {"gcc", "-g", "-gdwarf-4", "-O2"}, {"clang-19", "-g", "-gdwarf-5"}, {"gcc", "-g", "-fdebug-types-section"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			f := build(t, flags[0], flags[1:], []string{"main.c", "other.c"}, map[string]string{"main.c": lockFile, "other.c": otherLockFile})
			n := NewNames(f)
			for _, tt := range []struct {
				symbol      string
				off         uint64
				name, class string
			}{
				{"server", 0, "server.first", "struct server.first"},
				{"server", 48 + 2*48 + 8, "server.stats.per_cpu[2].mu", "struct slot.mu"},
				{"server", 48 + 4*48, "server.inner", "struct server.inner"},
				{"server", 48 + 4*48 + 40, "server+0x118", ""}, // member a or b of a union
				{"server", 48 + 4*48 + 80 + 48 + 8, "server.tickets[1].guard", "ticket.guard"},
				{"server", 48 + 4*48 + 80 + 96, "server.node", "struct server.node"},
				{"server", 48 + 4*48 + 80 + 96 + 4, "server.node.other", "struct node.other"},
				{"server", 48 + 4*48 + 80 + 96 + 8, "server.wake", "struct server.wake"},
				{"server", 52, "server+0x34", ""}, // the middle of hits
				{"plain", 0, "plain", ""},
				{"grid", 5 * 40, "grid[1][2]", "grid[][]"},
				{"mu2", 0, "mu2", ""},
			} {
				got := n.Static(tt.symbol, symbolAt(t, f, tt.symbol)[0], tt.off, false)
				if want := (Named{Name: tt.name, Class: tt.class}); got != want {
					t.Errorf("%s+%d: %+v, want %+v", tt.symbol, tt.off, got, want)
				}
			}
			var shared []string
			for _, at := range symbolAt(t, f, "mu") {
				shared = append(shared, n.Static("mu", at, 0, true).Name)
			}
			if slices.Sort(shared); !slices.Equal(shared, []string{"main.c:mu", "other.c:mu"}) {
				t.Errorf("statics of one name: %q", shared)
			}
		})
	}
}

const lockClasses = `#include <mutex>
#include <shared_mutex>
#include <condition_variable>
namespace bank {
struct Empty {};
struct Base : Empty { virtual ~Base() {} std::mutex mu_; };
template <class T> struct Queue : Empty { T item; std::recursive_mutex lock; std::condition_variable ready; };
struct Account : Base { long balance; Queue<int> todo; std::shared_mutex rw[2]; };
Account account;
}
namespace { std::mutex quiet; }
int main() { std::lock_guard<std::mutex> a(bank::account.mu_), b(quiet); std::lock_guard<std::recursive_mutex> c(bank::account.todo.lock); bank::account.todo.ready.notify_one(); bank::account.rw[1].lock(); return 0; }
`

// The path to a member of a base class does not contain the base, and its class is the base's.
func TestNamesOfClasses(t *testing.T) {
	for _, compiler := range []string{"g++", "clang++-19"} {
		t.Run(compiler, func(t *testing.T) {
			f := build(t, compiler, []string{"-g"}, []string{"a.cc"}, map[string]string{"a.cc": lockClasses})
			n := NewNames(f)
			for _, tt := range []struct {
				symbol      string
				off         uint64
				name, class string
			}{
				{"_ZN4bank7accountE", 8, "bank::account.mu_", "bank::Base.mu_"},
				{"_ZN4bank7accountE", 64, "bank::account.todo.lock", "bank::Queue<int>.lock"},
				{"_ZN4bank7accountE", 104, "bank::account.todo.ready", "bank::Queue<int>.ready"},
				{"_ZN4bank7accountE", 152 + 56, "bank::account.rw[1]", "bank::Account.rw[]"},
			} {
				got := n.Static("bank::account", symbolAt(t, f, tt.symbol)[0], tt.off, false)
				if want := (Named{Name: tt.name, Class: tt.class}); got != want {
					t.Errorf("%s+%d: %+v, want %+v", tt.symbol, tt.off, got, want)
				}
			}
		})
	}
}
