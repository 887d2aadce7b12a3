package e2e

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/observer/event"
)

// TestField checks that the observed accesses of a field are those that the program
// makes, each on the object that contains it, however the compiler has changed the
// pointer.
func TestField(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ compiler, source, watch, flags string }{
		{"gcc", "field.c", "state of struct conn", "-O0"},
		{"gcc", "field.c", "state of struct conn", "-O2"},
		{"gcc", "field.c", "state of conn", "-O3 -gdwarf-4"},
		{"gcc", "field.c", "state of struct conn", "-O2 -no-pie -fno-omit-frame-pointer"},
		{"clang-19", "field.c", "state of struct conn", "-O0"},
		{"clang-19", "field.c", "state of struct conn", "-O2"},
	} {
		t.Run(c.compiler+strings.ReplaceAll(c.flags, " ", ""), func(t *testing.T) {
			program := build(t, c.compiler, c.source, append(strings.Fields(c.flags), "-pthread")...)
			r := observe(t, program, options{Watch: []string{c.watch, strings.Replace(c.watch, "state", "refs", 1)}})
			r.expectLog(t)
			for _, n := range r.Session.Notes() {
				if strings.Contains(n, " of ") {
					t.Errorf("note: %s", n)
				}
			}
		})
	}
}

// TestFieldBits checks that a bit field is observed with its own value, whatever
// storage unit the compiler reads and writes for it.
func TestFieldBits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ compiler, flags string }{
		{"gcc", "-O2"}, {"clang-19", "-O0 -gdwarf-3"},
	} {
		t.Run(c.compiler+strings.ReplaceAll(c.flags, " ", ""), func(t *testing.T) {
			program := build(t, c.compiler, "bits.c", append(strings.Fields(c.flags), "-pthread")...)
			names := []string{"kind of struct flags", "level of struct flags", "wide of struct flags"}
			for i, want := range [][]string{{"5", "7"}, {"-200"}, {"1094624909430"}} {
				r := observe(t, program, options{Watch: names[i : i+1]})
				if got := r.lastWritten(names[i]); len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
					t.Errorf("%s: written were %q, seen %q", names[i], want, got)
				}
			}
		})
	}
}

// lastWritten returns the last value written to each object with a variable of that
// name, in the order of the first writes of the objects.
func (r *run) lastWritten(name string) (values []string) {
	at := map[event.ObjectID]int{}
	for i := range r.Events {
		e := &r.Events[i]
		info, ok := r.Observer.ObjectInfo(e.Object)
		if !ok || info.Name != name || e.Op == event.Read || e.Flags&event.HasValue == 0 {
			continue
		}
		if _, known := at[e.Object]; !known {
			at[e.Object] = len(values)
			values = append(values, "")
		}
		values[at[e.Object]] = info.Form.Text(e.Value)
	}
	return values
}

// TestFieldCPP is TestField for C++: methods, template instances, base classes, smart
// pointers, references that a lambda captures. A delete ends the lifetime of an object.
func TestFieldCPP(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ compiler, watch, flags string }{
		{"g++", "state of ns::Queue<int>", "-O0"},
		{"g++", "state of ns::Queue<int>", "-O2"},
		{"g++", "state of class Queue<int>", "-O2 -gdwarf-4 -no-pie -fno-omit-frame-pointer"},
		{"g++", "state of ints", "-O3"},
		{"clang++-19", "state of ns::Queue<int>", "-O0"},
		{"clang++-19", "state of ns::Queue<int>", "-O2"},
	} {
		t.Run(c.compiler+strings.ReplaceAll(c.flags, " ", ""), func(t *testing.T) {
			program := build(t, c.compiler, "field.cc", append(strings.Fields(c.flags), "-std=c++17", "-pthread")...)
			r := observe(t, program, options{Watch: []string{c.watch}})
			r.expectLog(t)
			for _, n := range r.Session.Notes() {
				if strings.Contains(n, " of ") {
					t.Errorf("note: %s", n)
				}
			}
		})
	}
}

// TestFieldOfBase checks that a member of a base class is watched in the objects of the
// derived class, that accesses through a pointer to the base class are reported as
// missing, and that under the name of the base class they are observed too.
func TestFieldOfBase(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flags, watch, without string
	}{
		{"-O0", "label of ns::Queue<int>", "relabel"},
		{"-O2", "label of ns::Queue<int>", "relabel"},
		{"-O0", "label of ns::Labelled", ""},
		{"-O2", "label of ns::Labelled", ""},
	} {
		t.Run(c.flags+c.watch, func(t *testing.T) {
			r := observe(t, build(t, "g++", "base.cc", c.flags, "-std=c++17", "-pthread"), options{Watch: []string{c.watch}})
			if c.without == "" {
				r.expectLog(t)
				return
			}
			s := parseLog(t, r.Output)
			s.did["main"] = slices.DeleteFunc(s.did["main"], func(line string) bool { return strings.HasSuffix(line, "relabelled") })
			if diff := cmp.Diff(s.did, r.byThread(t, s)); diff != "" {
				t.Errorf("the program did (-), observed were (+):\n%s", diff)
			}
			if !slices.ContainsFunc(r.Session.Notes(), func(n string) bool {
				return strings.Contains(n, "not seen, in "+c.without)
			}) {
				t.Errorf("%s is not noted: %q", c.without, r.Session.Notes())
			}
		})
	}
}

// TestFieldLifetimes checks that an object at the address of an earlier one is a new
// object, however both were allocated.
func TestFieldLifetimes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ compiler, flags string }{
		{"gcc", "-O0"}, {"gcc", "-O2"}, {"gcc", "-O2 -static"}, {"musl-gcc", "-O1"},
	} {
		t.Run(c.compiler+strings.ReplaceAll(c.flags, " ", ""), func(t *testing.T) {
			program := build(t, c.compiler, "lives.c", append(strings.Fields(c.flags), "-pthread")...)
			r := observe(t, program, options{Watch: []string{"state of struct conn"}})
			r.expectLog(t)
		})
	}
}

// TestFieldConstructed checks that constructors and destructors begin and end the
// lifetimes of objects where no memory is allocated.
func TestFieldConstructed(t *testing.T) {
	t.Parallel()
	for _, compiler := range []string{"g++", "clang++-19"} {
		t.Run(compiler, func(t *testing.T) {
			r := observe(t, build(t, compiler, "pool.cc", "-O2", "-std=c++17", "-pthread"), options{Watch: []string{"state of Task"}})
			r.expectLog(t)
			if n := r.destroyed(); n != 8 { // all except the delegated one
				t.Errorf("%d objects were seen to end, not 8", n)
			}
		})
	}
}

// destroyed returns the number of variables whose end was observed.
func (r *run) destroyed() (n int) {
	for i := range r.Events {
		if e := &r.Events[i]; e.Op == event.Destroy && e.Kind == event.KindField {
			n++
		}
	}
	return n
}

// TestFieldAllocators checks that lifetimes are right with other allocators than
// libc's, however the program is linked with them, and with their C++ operators.
func TestFieldAllocators(t *testing.T) {
	const dir = "/usr/lib/x86_64-linux-gnu/"
	for _, c := range []struct{ compiler, source, library string }{
		{"g++", "lives.cc", ""},
		{"gcc", "lives.c", "libjemalloc.so.2"}, {"g++", "lives.cc", "libjemalloc.so.2"},
		{"gcc", "lives.c", "libtcmalloc_minimal.so.4"}, {"g++", "lives.cc", "libtcmalloc_minimal.so.4"},
		{"gcc", "lives.c", "libmimalloc.so.2"}, {"g++", "lives.cc", "libmimalloc.so.2"},
		{"g++", "lives.cc", "libjemalloc.a"}, {"g++", "lives.cc", "libtcmalloc_minimal.a"},
	} {
		t.Run(c.source+" "+c.library, func(t *testing.T) {
			flags, watch := []string{"-O1", "-pthread"}, []string{"state of struct conn"}
			if c.source == "lives.cc" {
				flags, watch = append(flags, "-std=c++17"), []string{"state of Conn<16>", "state of Conn<64>"}
			}
			if c.library != "" {
				if _, err := os.Stat(dir + c.library); err != nil {
					t.Skipf("no %s: scripts/setup test installs it where the distribution has it", c.library)
				}
			}
			if strings.HasSuffix(c.library, ".a") {
				flags = append(flags, dir+c.library, "-ldl", "-lm", "-lstdc++")
			}
			program := build(t, c.compiler, c.source, flags...)
			if strings.Contains(c.library, ".so") {
				t.Setenv("LD_PRELOAD", dir+c.library)
			}
			r := observe(t, program, options{Watch: watch})
			s := parseLog(t, r.Output)
			seen := r.byThread(t, s)
			for name := range seen { // the locks of a static allocator count as the program's
				seen[name] = slices.DeleteFunc(seen[name], func(line string) bool { return !strings.HasPrefix(line, "write ") })
			}
			if diff := cmp.Diff(s.did, seen); diff != "" {
				t.Errorf("the program did (-), observed were (+):\n%s", diff)
			}
		})
	}
}

// TestTypesOfOneName checks that a race on a field is found in the second of two types of one name,
// in which the field has another size and place, and that there is none under a mutex.
func TestTypesOfOneName(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{nil, {"-DGUARDED"}} {
		program := processFixture(t, "twojobs.c", append(flags, "testdata/process/twojobs_other.c")...)
		_, r := reported(t, "exec", "--watch", "state of struct Job", "--", program)
		if got := r.summary(); strings.Contains(got, "race of state of struct Job") != (flags == nil) {
			t.Errorf("%v: findings %q", flags, got)
		}
	}
}
