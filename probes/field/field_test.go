package field

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/internal/testtool"
	bin "github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/symbolize"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		in, path, tag, typ string
		ok, bad            bool
	}{
		{in: "state of struct conn", path: "state", tag: "struct", typ: "conn", ok: true},
		{in: " stats . hits  of  ns::Queue< int , long > ", path: "stats|hits", typ: "ns::Queue<int,long>", ok: true},
		{in: "n of ::Queue<unsigned int>", path: "n", typ: "Queue<unsigned int>", ok: true},
		{in: "x of union u", path: "x", tag: "union", typ: "u", ok: true},
		{in: "server.hits"},
		{in: "offset"},
		{in: "a of ", bad: false},
		{in: "hits of Queue<*, conn *>", path: "hits", typ: "Queue<*,conn*>", ok: true},
		{in: "a of struct conn *", ok: true, bad: true},
		{in: "a..b of t", ok: true, bad: true},
		{in: "a[3] of t", ok: true, bad: true},
	} {
		s, ok, err := Parse(c.in)
		if ok != c.ok || (err != nil) != c.bad {
			t.Errorf("%q: %v, %v", c.in, ok, err)
			continue
		}
		if err != nil && strings.Contains(err.Error(), "watch that of a variable") != strings.Contains(c.in, "[") {
			t.Errorf("%q: %v", c.in, err)
		}
		if ok && !c.bad && (strings.Join(s.Path, "|") != c.path || s.Tag != c.tag || s.Type != c.typ) {
			t.Errorf("%q: %+v", c.in, s)
		}
	}
}

// TestInstances checks which types a name with template arguments stands for: arguments that have
// defaults may be left out, * is any, and a type of exactly that name comes first.
func TestInstances(t *testing.T) {
	f := compile(t, "g++", "instances.cc")
	for name, want := range map[string]int{
		"hits of ns::Queue<int>": 1, "hits of Queue<ns::Queue<long int>>": 1, "hits of Queue<int, *>": 1, "hits of Queue<*>": 4, "hits of Queue<ns::Queue<*>>": 1,
		"hits of Queue<char>": 1, "hits of Queue<short>": 0, "hits of Queue<*, int>": 1, "hits of eue<int>": 0, "n of Pack<int>": 1, "n of Pack<*>": 2,
	} {
		spec, _, err := Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		db, err := load(f, spec)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(db.targets); got != want {
			t.Errorf("%s: %d types, want %d", name, got, want)
		}
	}
}

// TestLongNames checks that a type whose name has several KiB is an instance of its template.
func TestLongNames(t *testing.T) {
	f := compile(t, "g++", "long.cc")
	spec, _, err := Parse("hits of Queue<*>")
	if err != nil {
		t.Fatal(err)
	}
	db, err := load(f, spec)
	if err != nil || len(db.targets) != 2 {
		t.Errorf("%d types, %v; want 2", len(db.targets), err)
	}
}

// TestTemplateWithoutArguments checks that a template that is named without arguments is refused
// with the way to name its instances, but not a type of that name.
func TestTemplateWithoutArguments(t *testing.T) {
	f := compile(t, "g++", "long.cc")
	for name, want := range map[string]string{
		"hits of Queue": "Queue is a template: name an instance, as Queue<int>, or all with Queue<*>",
		"hits of Heap":  "",
		"hits of eue":   "",
	} {
		spec, _, err := Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		_, ok, err := Find(f, spec)
		var wrong *Error
		switch {
		case ok:
			t.Errorf("%s is found", name)
		case want == "" && err != nil, want != "" && (!errors.As(err, &wrong) || wrong.Reason != want):
			t.Errorf("%s: %v", name, err)
		}
	}
}

func compile(t *testing.T, compiler, source string, flags ...string) *bin.File {
	t.Helper()
	testtool.Need(t, compiler)
	out := filepath.Join(t.TempDir(), "program")
	args := append([]string{"-g", "-o", out, filepath.Join("testdata", source)}, flags...)
	if text, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	f, err := bin.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// findOne finds a field that has one form in its file.
func findOne(f *bin.File, s Spec) (Field, bool, error) {
	fds, ok, err := Find(f, s)
	if err != nil || len(fds) == 0 {
		return Field{}, ok, err
	}
	if len(fds) > 1 {
		return Field{}, ok, fmt.Errorf("%d forms", len(fds))
	}
	return fds[0], ok, nil
}

// expected returns the lines of a source that contain the comment "HITS".
func expected(t *testing.T, source string) map[int]bool {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", source))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want := map[int]bool{}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		if strings.Contains(lines.Text(), "// HITS") {
			want[n] = true
		}
	}
	return want
}

// TestAccessesByLine checks that the lines with accesses are those marked with "HITS".
func TestAccessesByLine(t *testing.T) {
	want := expected(t, "conn.c")
	for _, c := range []struct{ compiler, flags string }{
		{"gcc", "-O0"}, {"gcc", "-O1 -gdwarf-4"}, {"gcc", "-O2"}, {"gcc", "-O3 -no-pie -fno-pie"}, {"gcc", "-Os -gdwarf-4 -gz"}, {"clang-19", "-O0"}, {"clang-19", "-O2"},
	} {
		t.Run(c.compiler+strings.ReplaceAll(c.flags, " ", ""), func(t *testing.T) {
			f := compile(t, c.compiler, "conn.c", strings.Fields(c.flags)...)
			spec, _, err := Parse("hits of struct conn")
			if err != nil {
				t.Fatal(err)
			}
			fd, ok, err := findOne(f, spec)
			if err != nil || !ok || fd.Offset != 48 || fd.Size != 4 || fd.TypeSize != 56 {
				t.Fatalf("%+v %v %v", fd, ok, err)
			}
			res, err := Accesses(f, fd)
			if err != nil {
				t.Fatal(err)
			}
			got := map[int]bool{}
			names := symbolize.New(f)
			for _, a := range res.Accesses {
				line := names.Frames(a.Inst.Addr)[0].Line
				got[line] = true
				if !want[line] {
					t.Errorf("line %d has an access at %#x: %+v", line, a.Inst.Addr, a)
				}
			}
			for line := range want {
				if !got[line] {
					t.Errorf("line %d has no access, and nothing was said", line)
				}
			}
			for fn := range res.Unknown {
				t.Errorf("unseen in %s", fn)
			}
		})
	}
}

func TestFindRefuses(t *testing.T) {
	f := compile(t, "gcc", "conn.c")
	for name, want := range map[string]string{
		"nothing of struct conn": "the type has no member nothing; it has next, state, buf, stats, hits",
		"hits.x of struct conn":  "hits has no members",
	} {
		spec, _, err := Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := Find(f, spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	spec, _, _ := Parse("hits of struct nothing")
	if _, ok, err := Find(f, spec); ok || err != nil {
		t.Errorf("%v %v", ok, err)
	}
}

// TestBits checks the positions of bit fields, in the attributes of each version of DWARF.
func TestBits(t *testing.T) {
	for _, c := range []struct{ compiler, flags string }{{"gcc", "-gdwarf-3"}, {"gcc", "-gdwarf-4"}, {"gcc", "-gdwarf-5"}, {"clang-19", "-gdwarf-3"}, {"clang-19", "-gdwarf-5"}} {
		t.Run(c.compiler+c.flags, func(t *testing.T) {
			f := compile(t, c.compiler, "bits.c", c.flags)
			for name, want := range map[string]Field{
				"kind of flags":  {Offset: 8, Size: 1, BitOffset: 0, BitSize: 3},
				"level of flags": {Offset: 8, Size: 2, BitOffset: 4, BitSize: 9},
				"wide of flags":  {Offset: 8, Size: 8, BitOffset: 13, BitSize: 40},
				"after of flags": {Offset: 15, Size: 1},
				"late of flags":  {Offset: 16, Size: 1, BitOffset: 0, BitSize: 1},
				"deep of flags":  {Offset: 20, Size: 1, BitOffset: 5, BitSize: 2},
			} {
				spec, _, err := Parse(name)
				if err != nil {
					t.Fatal(err)
				}
				got, ok, err := findOne(f, spec)
				if err != nil || !ok {
					t.Fatalf("%s: %v %v", name, ok, err)
				}
				want.Spec, want.Name, want.Type, want.TypeSize, want.Definitions = got.Spec, got.Name, got.Type, got.TypeSize, 1
				if !reflect.DeepEqual(got, want) {
					t.Errorf("%s %s, %s: %+v, want %+v", c.compiler, c.flags, name, got, want)
				}
			}
		})
	}
}

// TestLifetimes checks that the constructors and destructors of a type are found, but not those of
// its bases, nor the deleting destructor.
func TestLifetimes(t *testing.T) {
	for _, compiler := range []string{"g++", "clang++-19"} {
		t.Run(compiler, func(t *testing.T) {
			f := compile(t, compiler, "lives.cc", "-O1")
			spec, _, err := Parse("state of ns::Task<int>")
			if err != nil {
				t.Fatal(err)
			}
			fd, ok, err := findOne(f, spec)
			if err != nil || !ok {
				t.Fatal(ok, err)
			}
			res, err := Accesses(f, fd)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]int{}
			for _, l := range res.Lifetimes {
				got[l.Name]++
				if l.Size != 16 || l.Destructor != (l.Name == "~Task") {
					t.Errorf("%s: %+v", compiler, l)
				}
			}
			if !reflect.DeepEqual(got, map[string]int{"Task": 2, "~Task": 1}) {
				t.Errorf("%s: %v", compiler, got)
			}
			if !reflect.DeepEqual(res.Inlined, map[string]int{"inlining": 1}) {
				t.Errorf("%s: inlined in %v", compiler, res.Inlined)
			}
		})
	}
}
