package variable

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	bin "github.com/tracepredict/tracepredict/probes/elf"
)

const memberSource = `#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#define KEPT __attribute__((used))
enum state { IDLE, OPEN, CLOSED = 7 };
struct stats { long hits; double load; _Atomic int turns; };
struct flags { unsigned a : 3; int b : 5; unsigned long c : 33; bool d : 1; enum state e : 4; unsigned : 0; uint8_t f : 2; };
typedef struct { enum state state; char name[12]; struct stats stats; } slot_t;
struct node { struct node *next; int n; };
struct server {
	char pad[40];
	struct stats stats;
	union { int as_int; float as_float; struct { short low, high; }; };
	struct { int in_anonymous; } named;
	slot_t slots[4];
	struct flags flags;
	struct node *list;
	volatile int stop;
	uint8_t octet;
	char letter;
} server KEPT;
KEPT static slot_t slots[3];
KEPT int table[3][2];
KEPT struct flags bits;
struct __attribute__((packed)) { char c; int odd; } tight KEPT;
KEPT volatile struct node steady;
int use(void) {
	KEPT static struct node inside;
	inside.n++;
	return slots[1].state + tight.odd + steady.n + inside.n + (int)bits.a;
}
#define AT(name, what) printf("%s %ld %d\n", name, (long)((char *)&(what) - base), (int)sizeof(what))
static char zero[sizeof(bits)];
#define BIT(name, what, ones) do { memset(&bits, 0, sizeof bits); what = ones; for (unsigned i = 0; i < 8 * sizeof bits; i++) if (((char *)&bits)[i / 8] >> (i % 8) & 1) { printf("%s %u\n", name, i); break; } } while (0)
int main(void) {
	char *base = (char *)&server;
	AT("server.stats.hits", server.stats.hits); AT("server.stats.load", server.stats.load); AT("server.stats.turns", server.stats.turns);
	AT("server.as_int", server.as_int); AT("server.as_float", server.as_float); AT("server.high", server.high);
	AT("server.named.in_anonymous", server.named.in_anonymous);
	AT("server.slots[3].state", server.slots[3].state); AT("server.slots[2].name[5]", server.slots[2].name[5]); AT("server.slots[0].stats.hits", server.slots[0].stats.hits);
	AT("server.list", server.list); AT("server.stop", server.stop); AT("server.octet", server.octet); AT("server.letter", server.letter);
	base = (char *)table; AT("table[2][1]", table[2][1]); AT("m.c:table[0][1]", table[0][1]);
	base = (char *)slots; AT("slots[2].stats.turns", slots[2].stats.turns);
	base = (char *)&tight; AT("tight.odd", tight.odd);
	base = (char *)&steady; AT("steady.n", steady.n);
	BIT("bits.a", bits.a, 7); BIT("bits.b", bits.b, -1); BIT("bits.c", bits.c, 0x1ffffffff); BIT("bits.d", bits.d, 1); BIT("bits.e", bits.e, 15); BIT("bits.f", bits.f, 3);
	return use() & (zero[0] == 1);
}
`

// layout runs a program that prints the offsets of its members.
func layout(t *testing.T, program string) map[string][]int64 {
	t.Helper()
	out, err := exec.Command(program).Output()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]int64{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		for _, f := range fields[1:] {
			n, err := strconv.ParseInt(f, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			all[fields[0]] = append(all[fields[0]], n)
		}
	}
	return all
}

// cToolchains are the toolchains whose debug information is compared with the output of the
// program.
var cToolchains = [][]string{
	{"gcc", "-g", "-O0"}, {"gcc", "-gdwarf-4", "-O2"}, {"gcc", "-gdwarf-5", "-O2"}, {"gcc", "-gdwarf-3", "-gstrict-dwarf", "-O0"}, {"gcc", "-gdwarf-2", "-gstrict-dwarf", "-O0"},
	{"gcc", "-g", "-gz=zlib", "-O0"}, {"gcc", "-gdwarf-4", "-gz=zlib-gnu", "-O0"}, {"gcc", "-g", "-O2", "-flto"},
	{"clang-19", "-gdwarf-5", "-O0"}, {"clang-19", "-gdwarf-4", "-O2"}, {"clang-19", "-gdwarf-2", "-O0"},
}

// The offsets of members are those that the program itself prints.
func TestMembersLieWhereTheProgramSays(t *testing.T) {
	for _, toolchain := range cToolchains {
		t.Run(strings.Join(toolchain, " "), func(t *testing.T) { checkMembers(t, toolchain) })
	}
}

func checkMembers(t *testing.T, toolchain []string) {
	f := build(t, toolchain[0], toolchain[1:], []string{"m.c"}, map[string]string{"m.c": memberSource})
	all := layout(t, f.Name())
	if len(all) != 25 {
		t.Fatalf("the program tells of %d members", len(all))
	}
	symbols := map[string]uint64{}
	for _, s := range f.Symbols() {
		symbols[s.Name] = s.Addr
	}
	for name, at := range all {
		v, err := Find(f, name)
		if err != nil {
			t.Error(err)
			continue
		}
		_, bare, ok := strings.Cut(name, ":")
		if !ok {
			bare = name
		}
		if v.Name != bare {
			t.Errorf("%s is called %s", name, v.Name)
		}
		whole, _, _ := strings.Cut(strings.ReplaceAll(bare, "[", "."), ".")
		base := symbols[whole]
		if l, err := LocateIn([]*bin.File{f}, name); !strings.HasPrefix(name, "bits.") && (err != nil || l.Addr != v.Addr || l.Name != v.Name) {
			t.Errorf("located %s: %s at %d, want %s at %d: %v", name, l.Name, l.Addr, v.Name, v.Addr, err)
		}
		if strings.HasPrefix(name, "bits.") {
			if first := int64(v.Addr-base)*8 + int64(v.Bits.Offset); first != at[0] {
				t.Errorf("%s: begins at bit %d, not %d", name, first, at[0])
			}
			continue
		}
		if int64(v.Addr-base) != at[0] || int64(v.Size) != at[1] || v.Bits.Size != 0 {
			t.Errorf("%s: at %d, %d bytes; the program says %v", name, v.Addr-base, v.Size, at)
		}
		if v.Whole.Lo != base || !v.Whole.Contains(v.Addr) || len(v.Reach) == 0 || !v.reached(base) || !v.reached(v.Addr) {
			t.Errorf("%s: whole %x, reached from %x", name, v.Whole, v.Reach)
		}
	}
}

func TestTypesOfMembers(t *testing.T) {
	tests := []struct {
		name     string
		class    Class
		size     int
		bits     Bits
		atomic   bool
		volatile bool
		char     bool
		last     string // constant
	}{
		{name: "server.stats.turns", class: Int, size: 4, atomic: true},
		{name: "server.slots[1].state", class: Enum, size: 4, last: "CLOSED"},
		{name: "server.slots[1].name[11]", class: Int, size: 1, char: true},
		{name: "server.list", class: Pointer, size: 8},
		{name: "server.stop", class: Int, size: 4, volatile: true},
		{name: "steady.n", class: Int, size: 4, volatile: true},
		{name: "server.octet", class: Uint, size: 1},
		{name: "server.as_float", class: Float, size: 4},
		{name: "use::inside.n", class: Int, size: 4},
		{name: "use.inside.n", class: Int, size: 4},
		{name: "inside.n", class: Int, size: 4},
		{name: "server.flags.a", class: Uint, size: 1, bits: Bits{0, 3}},
		{name: "server.flags.b", class: Int, size: 1, bits: Bits{3, 5}},
		{name: "server.flags.c", class: Uint, size: 8, bits: Bits{8, 33}},
		{name: "server.flags.d", class: Bool, size: 1, bits: Bits{1, 1}},
		{name: "server.flags.e", class: Enum, size: 1, bits: Bits{2, 4}, last: "CLOSED"},
	}
	for _, toolchain := range [][]string{{"gcc", "-g", "-O0"}, {"gcc", "-gdwarf-5", "-O2"}, {"clang-19", "-gdwarf-5", "-O0"}} {
		t.Run(strings.Join(toolchain, " "), func(t *testing.T) {
			f := build(t, toolchain[0], toolchain[1:], []string{"m.c"}, map[string]string{"m.c": memberSource})
			for _, tt := range tests {
				v, err := Find(f, tt.name)
				if err != nil {
					t.Error(err)
					continue
				}
				last := ""
				if n := len(v.Constants); n > 0 {
					last = v.Constants[n-1].Name
				}
				if v.Bits.Size > 0 && tt.bits.Size > 0 && tt.name == "server.flags.c" { // depends on the address
					v.Bits, v.Size = tt.bits, tt.size
				}
				if v.Class != tt.class || v.Size != tt.size || v.Bits != tt.bits || v.Atomic != tt.atomic || v.Volatile != tt.volatile || v.Char != tt.char || last != tt.last {
					t.Errorf("%s: %+v", tt.name, v)
				}
			}
		})
	}
}

func TestPathErrors(t *testing.T) {
	f := build(t, "gcc", []string{"-g", "-O0"}, []string{"m.c"}, map[string]string{"m.c": memberSource})
	checkRefused(t, f, []refusal{
		{"server", WrongType, "type struct server: name a member; did you mean server.pad[0], server.stats.hits, "},
		{"server.stats", WrongType, "did you mean server.stats.hits, server.stats.load, server.stats.turns?"},
		{"server.stats.hist", NotFound, "type struct stats has no member hist; did you mean server.stats.hits?"},
		{"server.slots", WrongType, "did you mean server.slots[0].state, "},
		{"server.slots.state", WrongType, "which has no members; did you mean server.slots[0].state"},
		{"server.slots[4].state", NotFound, "server.slots has 4 elements, the last is [3]"},
		{"table[2]", WrongType, "a row of an array: name an element; did you mean table[2][0]?"},
		{"table[2][2]", NotFound, "table[2] has 2 elements, the last is [1]"},
		{"table[2][1][0]", WrongType, "table[2][1] has type int, which is no array"},
		{"table[x]", BadName, "[x] is no subscript"},
		{"table]", BadName, "a bracket is closed"},
		{"server.stop.x", WrongType, "which has no members"},
		{"server.list->n", WrongType, "--watch 'n of struct node'"},
		{"server.list.n", WrongType, "--watch 'n of struct node'"},
		{"server.list[2].n", WrongType, "leads to different objects at different times"},
		{"server->stop", WrongType, "server has type struct server, which is no pointer: write server.stop"},
		{"*server", BadName, "it is an expression"},
		{"sevrer.stop", NotFound, "did you mean server.stop?"},
		{"server.xyzzy", NotFound, "did you mean server.pad, server.stats, "},
	})
}

const cppMembers = `#include <atomic>
#include <cstdio>
namespace ns {
struct Base { int first; std::atomic<int> count; };
struct Second { long deep; int first; };
class Q : public Base, protected Second {
public:
	int own; enum class Mode : unsigned char { off, on } mode; std::atomic<bool> done; static int shared;
	union { int either; char other; };
	std::atomic<long> many[3];
	long offset_of_deep() const { return (const char *)&deep - (const char *)this; }
	template <class T> struct Inner { T value; };
	Inner<short> inner;
};
int Q::shared;
Q inst;
struct Virtual : virtual Base { int mine; virtual ~Virtual() {} };
Virtual virtual_one;
namespace { __attribute__((used)) Q hidden[2]; }
}
#define AT(name, what) std::printf("%s %ld %d\n", name, (long)((char *)&(what) - base), (int)sizeof(what))
int main() {
	using namespace ns;
	char *base = (char *)&inst;
	AT("ns::Q::own", ns::Q::shared);
	AT("ns::inst.first", inst.Base::first); AT("inst.count", inst.count); AT("ns::inst.own", inst.own); AT("ns::inst.mode", inst.mode);
	AT("ns::inst.done", inst.done); AT("inst.other", inst.other); AT("inst.many[2]", inst.many[2]); AT("inst.inner.value", inst.inner.value);
	std::printf("ns::inst.deep %ld 8\n", inst.offset_of_deep());
	base = (char *)hidden; AT("ns::hidden[1].count", hidden[1].count);
	base = (char *)&virtual_one; AT("virtual_one.mine", virtual_one.mine);
}
`

func TestMembersOfClasses(t *testing.T) {
	for _, toolchain := range [][]string{{"g++", "-g", "-O0"}, {"g++", "-gdwarf-4", "-O2"}, {"clang++-19", "-g", "-O0"}, {"clang++-19", "-gdwarf-4", "-O1"}} {
		t.Run(strings.Join(toolchain, " "), func(t *testing.T) {
			f := build(t, toolchain[0], toolchain[1:], []string{"q.cc"}, map[string]string{"q.cc": cppMembers})
			checkClasses(t, f.Name())
		})
	}
}

func checkClasses(t *testing.T, program string) {
	f := open(t, program)
	for name, at := range layout(t, program) {
		if name == "ns::Q::own" {
			continue // a member of a class, not of a variable
		}
		v, err := Find(f, name)
		if err != nil {
			t.Error(err)
			continue
		}
		if int64(v.Addr-v.enclosing().Lo) != at[0] || int64(v.Size) != at[1] {
			t.Errorf("%s: at %d, %d bytes; the program says %v", name, v.Addr-v.enclosing().Lo, v.Size, at)
		}
		atomic := strings.HasSuffix(name, "count") || strings.HasSuffix(name, "done") || strings.Contains(name, "many")
		if v.Atomic != atomic {
			t.Errorf("%s: atomic %v", name, v.Atomic)
		}
	}
	if v := mustFind(t, f, "inst.Second.first"); v.Addr == mustFind(t, f, "inst.Base.first").Addr {
		t.Error("two bases have one member")
	}
	for name, want := range map[string]string{
		"inst.shared": "no member shared", "virtual_one.count": "in a virtual base class", "inst.many[3]": "has 3 elements", "inst": "did you mean ns::inst.own, ",
	} {
		if _, err := Find(f, name); err == nil || !strings.Contains(err.Error(), want) && name != "inst" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if v := mustFind(t, f, "inst.mode"); !cmp.Equal(v.Constants, []Constant{{"off", 0}, {"on", 1}}) {
		t.Errorf("constants %v", v.Constants)
	}
}

// Without debug information, the user states the offset and the type.
func TestTypesThatTheUserNames(t *testing.T) {
	source := map[string]string{"s.c": `struct { long a; int b[6]; double c; } box = {1, {2}, 3}; char odd[3]; int whole; int main(void) { return box.b[1] + odd[1] + whole; }`}
	plain := build(t, "gcc", []string{"-O0"}, []string{"s.c"}, source)
	described := build(t, "gcc", []string{"-O0", "-g"}, []string{"s.c"}, source)
	good := []struct {
		name  string
		at    uint64
		size  int
		class Class
	}{
		{"box+32:f64", 32, 8, Float}, {"box:i64", 0, 8, Int}, {"box+12:u16", 12, 2, Uint}, {"odd+1:u8", 1, 1, Uint}, {"whole:bool", 0, 1, Bool}, {"box+0x10:ptr", 16, 8, Pointer},
	}
	for _, tt := range good {
		for _, f := range []string{plain.Name(), described.Name()} {
			file := open(t, f)
			v, err := Find(file, tt.name)
			if err != nil {
				t.Error(err)
				continue
			}
			if v.Addr-v.enclosing().Lo != tt.at || v.Size != tt.size || v.Class != tt.class {
				t.Errorf("%s: %+v", tt.name, v)
			}
		}
	}
	for _, tt := range []struct{ name, want string }{
		{"box", "as in box:u32 or, for a member at an offset, box+16:u32"}, {"box+16", "write box+16:u32"}, {"box+36:u64", "no u64 is at 36"}, {"box.a", "box+16:u32"},
		{"nowhere:u32", "no global or static variable has that name"},
	} {
		if _, err := Find(plain, tt.name); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if _, err := Find(described, "box+36:u64"); err == nil || !strings.Contains(err.Error(), "no u64 is at 36") {
		t.Error(err)
	}
}

// A variable may have the name of a type: hits.c:u32 is the variable u32 of hits.c, and hits:u32 is
// the variable hits with the type u32.
func TestVariableCalledAsAType(t *testing.T) {
	f := build(t, "gcc", []string{"-g"}, []string{"hits.c"}, map[string]string{"hits.c": "long u32; long hits; int main(void) { return u32 + hits; }"})
	if v := mustFind(t, f, "hits.c:u32"); v.Name != "u32" || v.Size != 8 {
		t.Errorf("%+v", v)
	}
	if v := mustFind(t, f, "hits:u32"); v.Name != "hits" || v.Size != 4 {
		t.Errorf("%+v", v)
	}
}

// Members of a library's variable that the program has a copy of.
func TestMembersOfACopy(t *testing.T) {
	dir := t.TempDir()
	lib := buildIn(t, dir, "libx.so", "gcc", []string{"-g", "-shared", "-fPIC"}, []string{"x.c"}, map[string]string{"x.c": "struct pair { int a, b; } both = {1, 2}; int use(void) { return both.b++; }"})
	program := buildIn(t, dir, "program", "gcc", []string{"-O0", "-no-pie", "-fno-pie", filepath.Join(dir, "libx.so")}, []string{"m.c"}, map[string]string{"m.c": "extern struct pair { int a, b; } both; int use(void); int main(void) { both.b = 5; return use(); }"})
	fd := newFinder(nil)
	fd.files = append(fd.files, program, lib)
	v, err := fd.find("libx.so:both.b", false)
	if err != nil {
		t.Fatal(err)
	}
	if v.File != program || v.Addr != v.Whole.Lo+4 {
		t.Errorf("%+v", v)
	}
	r, err := Accesses(lib, v)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Accesses) == 0 || len(r.GOT) == 0 {
		t.Errorf("in the library: %+v", r)
	}
	for _, a := range r.Accesses {
		if a.Offset != 0 || a.Width != 4 {
			t.Errorf("%+v", a)
		}
	}
}
