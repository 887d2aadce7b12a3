package variable

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	bin "github.com/tracepredict/tracepredict/probes/elf"
)

var cSources = map[string]string{
	"a.c": `#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
struct node { struct node *next; int n; };
enum color { red, green };
typedef unsigned long word;
int hits;
static int shared_name = 1;
static volatile long twice;
bool flag = true;
enum color paint = green;
double ratio = 0.5;
struct node *head;
word counter_word;
_Atomic int turns;
atomic_flag busy = ATOMIC_FLAG_INIT;
atomic_ulong total;
long double wide;
int table[4];
struct node first;
union { int i; float f; } both;
__thread int mine;
char letter; unsigned short port; const char *label; void (*handler)(int);
static const int fixed_value = 7;
__int128 huge;
int other(void);
int func(int parameter) { static int count; int inside = parameter; { static int again; again += count; } return count++ + inside + shared_name; }
int func2(void) { static int again; return again++ + (int)twice + fixed_value; }
int main(void) { hits++; twice++; flag = !flag; turns++; total++; atomic_flag_test_and_set(&busy); return func(1) + func2() + other() + port + letter + (int)wide + (int)huge + mine + (int)counter_word; }
`,
	"sub/b.c": `static int shared_name = 2;
extern int hits;
static long twice;
int other(void) { hits = 3; return shared_name++ + (int)twice; }
`,
}

func TestFindC(t *testing.T) {
	tests := []struct {
		name, typ string
		class     Class
		size      int
		atomic    bool
		line      int
	}{
		{"hits", "int", Int, 4, false, 7},
		{"a.c:hits", "int", Int, 4, false, 7},
		{"a.c:shared_name", "int", Int, 4, false, 8},
		{"b.c:shared_name", "int", Int, 4, false, 1},
		{"sub/b.c:shared_name", "int", Int, 4, false, 1},
		{"a.c:twice", "volatile long int", Int, 8, false, 9},
		{"flag", "_Bool", Bool, 1, false, 10},
		{"paint", "enum color", Enum, 4, false, 11},
		{"ratio", "double", Float, 8, false, 12},
		{"head", "struct node *", Pointer, 8, false, 13},
		{"counter_word", "word", Uint, 8, false, 14},
		{"turns", "_Atomic int", Int, 4, true, 15},
		{"busy", "atomic_flag", Bool, 1, true, 16},
		{"total", "atomic_ulong", Uint, 8, true, 17},
		{"letter", "char", Int, 1, false, 23},
		{"port", "short unsigned int", Uint, 2, false, 23},
		{"label", "const char *", Pointer, 8, false, 23},
		{"handler", "function *", Pointer, 8, false, 23},
		{"func::count", "int", Int, 4, false, 27},
		{"func.count", "int", Int, 4, false, 27},
		{"count", "int", Int, 4, false, 27},
		{"a.c:func::count", "int", Int, 4, false, 27},
		{"a.c:27:again", "int", Int, 4, false, 27},
		{"func2::again", "int", Int, 4, false, 28},
	}
	for _, toolchain := range [][]string{
		{"gcc", "-g", "-O0"}, {"gcc", "-g", "-O0", "-no-pie", "-fno-pie"}, {"gcc", "-gdwarf-4", "-O0"},
		{"clang-19", "-g", "-O0"}, {"clang-19", "-gdwarf-4", "-O0"},
	} {
		t.Run(strings.Join(toolchain, " "), func(t *testing.T) {
			f := build(t, toolchain[0], toolchain[1:], []string{"a.c", "sub/b.c"}, cSources)
			symbols := map[uint64]bool{}
			for _, s := range f.Symbols() {
				symbols[s.Addr] = true
			}
			for _, tt := range tests {
				if tt.name == "busy" && toolchain[1] == "-gdwarf-4" {
					continue // an unnamed structure in DWARF 4
				}
				v, err := Find(f, tt.name)
				if err != nil {
					t.Errorf("%v", err)
					continue
				}
				typ := v.Type
				if toolchain[0] != "gcc" { // clang spells base types as the programmer does
					typ = strings.NewReplacer("volatile long", "volatile long int", "unsigned short", "short unsigned int").Replace(typ)
				}
				if tt.name == "turns" && toolchain[1] == "-gdwarf-4" { // _Atomic is new in DWARF 5
					typ, v.Atomic = tt.typ, true
				}
				if typ != tt.typ || v.Class != tt.class || v.Size != tt.size || v.Atomic != tt.atomic || v.DeclLine != tt.line {
					t.Errorf("%s: got %q %v, %d bytes, atomic %v, line %d", tt.name, v.Type, v.Class, v.Size, v.Atomic, v.DeclLine)
				}
				if !symbols[v.Addr] {
					t.Errorf("%s: no symbol at 0x%x", tt.name, v.Addr)
				}
			}
			if v := mustFind(t, f, "a.c:twice"); !v.Volatile || mustFind(t, f, "b.c:twice").Volatile {
				t.Error("volatile is not told")
			}
			if mustFind(t, f, "a.c:shared_name").Addr == mustFind(t, f, "b.c:shared_name").Addr {
				t.Error("two statics have one address")
			}
		})
	}
}

// refusal is a name that cannot be watched, and the expected error.
type refusal struct {
	name   string
	reason Reason
	want   string // part of the message
}

func checkRefused(t *testing.T, f *bin.File, refusals []refusal) {
	t.Helper()
	for _, tt := range refusals {
		_, err := Find(f, tt.name)
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%q: got %v", tt.name, err)
			continue
		}
		if e.Reason != tt.reason || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: reason %d, %v", tt.name, e.Reason, err)
		}
	}
}

func TestFindErrors(t *testing.T) {
	f := build(t, "gcc", []string{"-g", "-O0"}, []string{"a.c", "sub/b.c"}, cSources)
	checkRefused(t, f, []refusal{
		{"hist", NotFound, "hits"},
		{"conter_word", NotFound, "did you mean counter_word?"},
		{"xyzzy_nothing_like_it", NotFound, "no global or static variable has that name"},
		{"c.c:hits", NotFound, "in c.c"},
		{"shared_name", Ambiguous, "a.c:shared_name at "},
		{"shared_name", Ambiguous, "b.c:shared_name at "},
		{"again", Ambiguous, "a.c:func2::again at "},
		{"first", WrongType, "type struct node: name a member; did you mean first.next, first.n?"},
		{"table", WrongType, "type int[]: name an element; did you mean table[0]?"},
		{"both", WrongType, "union"},
		{"wide", WrongType, "long double of 16 bytes"},
		{"huge", WrongType, "of 16 bytes"},
		{"mine", ThreadLocal, "each thread has its own"},
		{"parameter", LocalOnly, "a local variable of func:"},
		{"func::inside", LocalOnly, "a local variable of func:"},
		{"", BadName, "the name is empty"},
		{":x", BadName, "no file before the colon"},
		{"a::::b", BadName, "empty"},
	})
}

// Every name that an ambiguity error lists is accepted, and denotes one variable.
func TestAmbiguousCandidatesWork(t *testing.T) {
	f := build(t, "gcc", []string{"-g", "-O0"}, []string{"a.c", "sub/b.c"}, cSources)
	for _, name := range []string{"shared_name", "again", "twice"} {
		_, err := Find(f, name)
		var e *Error
		if !errors.As(err, &e) || len(e.Candidates) != 2 {
			t.Fatalf("%s: %v", name, err)
		}
		addrs := map[uint64]bool{}
		for _, c := range e.Candidates {
			spelling, _, _ := strings.Cut(c, " at ")
			addrs[mustFind(t, f, spelling).Addr] = true
		}
		if len(addrs) != 2 {
			t.Errorf("%s: the candidates mean %d variables", name, len(addrs))
		}
	}
}

func TestOptimisedAway(t *testing.T) {
	f := build(t, "gcc", []string{"-g", "-O2"}, []string{"o.c"}, map[string]string{"o.c": `
static int unused_after_all;
static int never_written = 5;
int main(int argc, char **argv) { unused_after_all = argc; return never_written; }
`})
	for _, name := range []string{"unused_after_all", "never_written"} {
		_, err := Find(f, name)
		var e *Error
		if !errors.As(err, &e) || e.Reason != Optimised || !strings.Contains(err.Error(), "volatile") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPieces: clang gives the members of a static structure addresses of their own if nothing takes that of the whole.
func TestPieces(t *testing.T) {
	f := build(t, "clang-19", []string{"-g", "-O2"}, []string{"o.c"}, map[string]string{"o.c": `
static struct { int in; long out; } q;
static int ready;
void __attribute__((noinline)) produce(void) { q.in++; ready = 7; }
void __attribute__((noinline)) consume(void) { q.out++; }
int main(int argc, char **argv) { produce(); consume(); return ready ? q.in : q.out; }
`})
	var at []uint64
	for name, size := range map[string]int{"q.in": 4, "q.out": 8} {
		v, err := Find(f, name)
		if err != nil || v.Size != size || v.Whole.Hi-v.Whole.Lo > 8 {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
		at = append(at, v.Addr)
	}
	if at[0] == at[1] {
		t.Errorf("both are at %#x", at[0])
	}
	for _, name := range []string{"q", "ready"} {
		if v, err := Find(f, name); err == nil {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

const cppSource = `#include <atomic>
#include <cstdint>
namespace ns {
int plain = 1;
class Queue { public: static int depth; static inline long seen = 0; int push(int); template <class T> T put(T); };
int Queue::depth = 0;
int Queue::push(int n) { static int count; count += n; return count; }
template <class T> T Queue::put(T v) { static T last; last = v; return last; }
namespace { int hidden = 3; }
inline namespace v1 { int versioned; }
template <class T> struct Pool { static T used; };
template <class T> T Pool<T>::used;
enum class Mode : std::uint8_t { off, on };
Mode mode;
}
std::atomic<int> ready;
std::atomic<bool> stop;
std::atomic<ns::Queue *> first;
std::atomic<ns::Mode> current;
std::atomic_flag latch = ATOMIC_FLAG_INIT;
std::atomic<double> level;
static int &alias = *new int(1);
inline int everywhere = 4;
auto lambda_static = [] { static int in_lambda; return ++in_lambda; };
struct Pair { int a, b; };
std::atomic<Pair> pair_of;
int main() {
	ready++; stop = true; first = nullptr; current = ns::Mode::on; latch.test_and_set(); level = 1.0; ns::versioned++;
	ns::Queue q; ns::Queue::depth++; ns::Queue::seen++; ns::Pool<int>::used++; ns::Pool<long>::used++; ns::mode = ns::Mode::on;
	return q.push(1) + ns::hidden++ + alias + everywhere++ + lambda_static() + q.put(1) + (int)q.put(2L) + pair_of.load().a;
}
`

func TestFindCPP(t *testing.T) {
	tests := []struct {
		name, full string
		class      Class
		size       int
		atomic     bool
	}{
		{"ns::plain", "ns::plain", Int, 4, false},
		{"::ns::plain", "ns::plain", Int, 4, false},
		{"plain", "ns::plain", Int, 4, false},
		{"ns::Queue::depth", "ns::Queue::depth", Int, 4, false},
		{"Queue::depth", "ns::Queue::depth", Int, 4, false},
		{"depth", "ns::Queue::depth", Int, 4, false},
		{"ns::Queue::seen", "ns::Queue::seen", Int, 8, false},
		{"ns::Queue::push::count", "ns::Queue::push::count", Int, 4, false},
		{"push::count", "ns::Queue::push::count", Int, 4, false},
		{"ns::hidden", "ns::(anonymous namespace)::hidden", Int, 4, false},
		{"ns::(anonymous namespace)::hidden", "ns::(anonymous namespace)::hidden", Int, 4, false},
		{"ns::versioned", "ns::v1::versioned", Int, 4, false},
		{"ns::v1::versioned", "ns::v1::versioned", Int, 4, false},
		{"ns::Pool<int>::used", "ns::Pool<int>::used", Int, 4, false},
		{"ns::Pool<long>::used", "ns::Pool<long>::used", Int, 8, false},
		{"ns::mode", "ns::mode", Enum, 1, false},
		{"ready", "ready", Int, 4, true},
		{"stop", "stop", Bool, 1, true},
		{"first", "first", Pointer, 8, true},
		{"current", "current", Enum, 1, true},
		{"latch", "latch", Bool, 1, true},
		{"level", "level", Float, 8, true},
		{"everywhere", "everywhere", Int, 4, false},
		{"in_lambda", "", Int, 4, false},
		{"main.cc:ready", "ready", Int, 4, true},
	}
	for _, toolchain := range [][]string{{"g++", "-g", "-O0", "-std=c++20"}, {"g++", "-g", "-O1", "-std=c++20"}, {"clang++-19", "-g", "-O0", "-std=c++20"}} {
		t.Run(strings.Join(toolchain, " "), func(t *testing.T) {
			f := build(t, toolchain[0], append(toolchain[1:], "-latomic"), []string{"main.cc"}, map[string]string{"main.cc": cppSource})
			for _, tt := range tests {
				v, err := Find(f, tt.name)
				if err != nil {
					t.Errorf("%v", err)
					continue
				}
				full := strings.ReplaceAll(v.Name, "long int", "long")
				if tt.full != "" && full != tt.full || v.Class != tt.class || v.Size != tt.size || v.Atomic != tt.atomic {
					t.Errorf("%s: got %+v", tt.name, v)
				}
			}
			for name, reason := range map[string]Reason{"alias": WrongType, "pair_of": WrongType, "ns::Pool::used": Ambiguous} {
				_, err := Find(f, name)
				var e *Error
				if !errors.As(err, &e) || e.Reason != reason {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

func TestFindWithoutDebugInfo(t *testing.T) {
	src := map[string]string{"s.cc": `namespace ns { int plain = 1; double ratio; } static long local_one; extern "C" { short c_name; int table[4]; thread_local int mine; }
int main() { ns::ratio += 1; mine++; return ns::plain++ + local_one++ + c_name++ + table[1]++; }`}
	f := build(t, "g++", []string{"-O0"}, []string{"s.cc"}, src)
	for name, size := range map[string]int{"ns::plain": 4, "plain": 4, "ns::ratio": 8, "local_one": 8, "c_name": 2} {
		if v := mustFind(t, f, name); v.Size != size || v.Class != Uint {
			t.Errorf("%s: %+v", name, v)
		}
	}
	for name, reason := range map[string]Reason{"table": NoDebugInfo, "mine": ThreadLocal, "nothing_of_the_kind": NotFound} {
		_, err := Find(f, name)
		var e *Error
		if !errors.As(err, &e) || e.Reason != reason {
			t.Errorf("%s: %v", name, err)
		}
	}
	stripped := build(t, "g++", []string{"-O0", "-s"}, []string{"s.cc"}, src)
	_, err := Find(stripped, "local_one")
	if err == nil || !strings.Contains(err.Error(), "-g") {
		t.Errorf("stripped: %v", err)
	}
}

const (
	libSource = `int exported = 1; static int own; __attribute__((visibility("hidden"))) int hidden_one;
int use(void) { hidden_one++; own++; return exported++; }
int read_own(void) { return own + hidden_one; }`
	mainSource = `extern int exported; int use(void); static int mine; int main(void) { mine = exported; exported = 5; return use() + mine; }`
)

// Where the program has a copy of a library's variable, the address is the one in the program, and
// both files access it.
func TestCopyRelocation(t *testing.T) {
	for _, flags := range [][]string{{"-O0", "-no-pie", "-fno-pie"}, {"-O2", "-pie"}} {
		dir := t.TempDir()
		lib := buildIn(t, dir, "libx.so", "gcc", []string{"-g", "-shared", "-fPIC", flags[0]}, []string{"x.c"}, map[string]string{"x.c": libSource})
		program := buildIn(t, dir, "program", "gcc", append(flags, "-g", filepath.Join(dir, "libx.so")), []string{"m.c"}, map[string]string{"m.c": mainSource})
		v, err := FindIn([]*bin.File{program, lib}, "exported")
		if err != nil {
			t.Fatal(err)
		}
		if v.Type != "int" || v.DeclLine != 1 || v.Symbol != "exported" {
			t.Errorf("%+v", v)
		}
		if v.File != program {
			t.Errorf("%v: the program has no copy of it", flags)
		}
		there, err := Accesses(lib, v)
		if err != nil {
			t.Fatal(err)
		}
		if len(there.Accesses) == 0 || len(there.GOT) == 0 || there.Accesses[0].Base == 0xff || len(there.AddressTaken) != 0 {
			t.Errorf("in the library: %+v", there)
		}
		here, err := Accesses(program, v)
		if err != nil {
			t.Fatal(err)
		}
		if len(here.Accesses) != 2 {
			t.Errorf("in the program: %+v", here)
		}
		own, err := FindIn([]*bin.File{program, lib}, "libx.so:own")
		if err != nil || own.File != lib || own.Symbol != "" {
			t.Errorf("own: %+v, %v", own, err)
		}
		if r, err := Accesses(program, own); err != nil || len(r.Accesses) != 0 {
			t.Errorf("the program accesses the library's static: %+v, %v", r, err)
		}
		if r, err := Accesses(lib, own); err != nil || len(r.Accesses) < 2 {
			t.Errorf("the library's static: %+v, %v", r, err)
		}
		hidden, err := FindIn([]*bin.File{program, lib}, "hidden_one")
		if err != nil || hidden.Symbol != "" || hidden.File != lib {
			t.Errorf("hidden: %+v, %v", hidden, err)
		}
	}
}

// TestLocate checks that the variable of a path may have any type. Without debug information an
// offset leads into it.
func TestLocate(t *testing.T) {
	const source = "struct { long pad[5]; struct { char c[48]; } lock; } server; int main(void) { return server.pad[0]; }"
	for _, c := range []struct {
		flag, path, name string
		at               uint64
	}{
		{"-g", "server", "server", 0}, {"-g", "server.lock", "server.lock", 40}, {"-g", "m.c:server.lock", "server.lock", 40},
		{"-s", "server", "", 0}, {"-O0", "server", "server", 0}, {"-O0", "server+40", "server+40", 40}, {"-O0", "server.lock", "", 0}, {"-g", "server.lok", "", 0},
	} {
		f := build(t, "gcc", []string{c.flag, "-no-pie"}, []string{"m.c"}, map[string]string{"m.c": source})
		v, err := LocateIn([]*bin.File{f}, c.path)
		var found *Error
		if c.name == "" {
			if !errors.As(err, &found) {
				t.Errorf("%s %s: %+v, %v", c.flag, c.path, v, err)
			}
			continue
		}
		if err != nil || v.Name != c.name || v.Addr-v.Whole.Lo != c.at {
			t.Errorf("%s %s: %+v, %v", c.flag, c.path, v, err)
		}
	}
}
