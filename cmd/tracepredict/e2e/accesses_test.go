package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/observer/event"
)

// TestAccessCorpus checks, with programs that count their own accesses, that the
// observed accesses are equal to these, or that the plan reports that it is not
// complete.
func TestAccessCorpus(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("arrays and the stack are followed on x86-64")
	}
	c := []string{"hits", "total", "calls", "slots[3].state", "sums[5]", "flag", "leaked"}
	lto := []string{"hits", "total", "slots[3].state", "sums[5]", "flag", "leaked"}
	cxx := []string{"shop::Queue::depth", "shop::level", "shop::ready", "shop::cells[4].set"}
	rust := []string{"HITS", "TURNS"}
	for _, x := range []struct {
		compiler, source string
		watch            []string
		flags            []string
		partial          []string // variables of which not all accesses are observed, which the plan reports
	}{
		{"gcc", "accesses.c", c, []string{"-O0"}, []string{"leaked"}},
		{"gcc", "accesses.c", c, []string{"-O2"}, []string{"leaked"}},
		{"gcc", "accesses.c", c, []string{"-O3", "-march=x86-64-v2"}, []string{"leaked"}},
		{"gcc", "accesses.c", c, []string{"-O2", "-no-pie", "-fno-pie"}, []string{"leaked"}},
		{"gcc", "accesses.c", c, []string{"-O2", "-static"}, []string{"leaked"}},
		{"gcc", "accesses.c", lto, []string{"-O2", "-flto"}, nil}, // since optimised code takes no address of it,
		{"gcc", "accesses.c", c, []string{"-O2", "-fPIC", "-fno-builtin"}, []string{"leaked"}},
		{"g++", "accesses.cc", cxx, []string{"-O0"}, []string{"shop::ready"}},
		{"g++", "accesses.cc", cxx, []string{"-O2"}, nil},
		{"g++", "accesses.cc", cxx, []string{"-O3", "-static", "-no-pie"}, nil},
		{"rustc", "accesses.rs", rust, []string{"-O"}, nil},
		{"rustc", "accesses.rs", rust, nil, rust},
	} {
		t.Run(strings.Join(append([]string{x.compiler, x.source}, x.flags...), " "), func(t *testing.T) {
			checkAccesses(t, corpus(t, x.compiler, x.source, x.flags), x.watch, x.partial)
		})
	}
	t.Run("stripped", func(t *testing.T) {
		checkAccesses(t, stripped(t, build(t, "gcc", "accesses.c", "-O2")), c, []string{"leaked"})
	})
	t.Run("dwz", func(t *testing.T) { // as Debian's packages are compiled
		one, two := build(t, "gcc", "accesses.c", "-O2"), build(t, "g++", "accesses.cc", "-O2")
		sharedDebug(t, one, two)
		checkAccesses(t, stripped(t, one), c, []string{"leaked"})
		checkAccesses(t, stripped(t, two), cxx, nil)
	})
}

// sharedDebug moves the debug information that two programs have in common to a
// separate file.
func sharedDebug(t *testing.T, one, two string) {
	t.Helper()
	testtool.Need(t, "dwz")
	shared := filepath.Join(t.TempDir(), "shared.debug")
	if out, err := command(t, "dwz", "-q", "-M", shared, "-m", shared, one, two).CombinedOutput(); err != nil {
		t.Fatalf("dwz: %v\n%s", err, out)
	}
	if _, err := os.Stat(shared); err != nil {
		t.Fatalf("dwz has moved nothing: %v", err)
	}
}

func corpus(t *testing.T, compiler, source string, flags []string) string {
	if compiler != "rustc" {
		return build(t, compiler, source, flags...)
	}
	testtool.Need(t, compiler)
	out := filepath.Join(t.TempDir(), "accesses")
	args := append([]string{"-g", "-o", out, filepath.Join("testdata", source)}, flags...)
	if text, err := command(t, compiler, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", compiler, err, text)
	}
	return out
}

// stripped moves a program's debug information to a file beside it.
func stripped(t *testing.T, program string) string {
	t.Helper()
	dir := t.TempDir()
	bare, debug := filepath.Join(dir, "program"), filepath.Join(dir, "program.debug")
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(bare, text, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"objcopy", "--only-keep-debug", bare, debug}, {"strip", bare}, {"objcopy", "--add-gnu-debuglink=" + debug, bare}} {
		testtool.Need(t, args[0])
		if out, err := command(t, args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	return bare
}

// counts are the numbers of reads and writes of a variable; an update is one of each.
type counts struct{ reads, writes int }

func checkAccesses(t *testing.T, program string, watch, partial []string) {
	t.Helper()
	r := observe(t, program, options{Watch: watch})
	own, seen := r.ownCounts(), r.observedCounts()
	complete := r.complete()
	for _, name := range watch {
		all, known := complete[name]
		switch {
		case !known:
			t.Errorf("%s: nothing is said of how much of it is seen", name)
		case all == slices.Contains(partial, name):
			t.Errorf("%s: said to be seen in full: %v", name, all)
		case all && (seen[name] != own[name] || own[name] == counts{}):
			t.Errorf("%s: seen %+v, the program counts %+v", name, seen[name], own[name])
		case seen[name].reads > own[name].reads || seen[name].writes > own[name].writes:
			t.Errorf("%s: seen %+v, the program counts only %+v", name, seen[name], own[name])
		}
	}
}

// ownCounts returns, for each variable, how often the program says that it accessed it.
func (r *run) ownCounts() map[string]counts {
	said := map[string]counts{}
	for line := range strings.Lines(r.Output) {
		var name string
		var n counts
		if _, err := fmt.Sscanf(line, "= %s %d %d", &name, &n.reads, &n.writes); err == nil {
			said[name] = n
		}
	}
	return said
}

// observedCounts returns how often each variable was observed to be accessed.
func (r *run) observedCounts() map[string]counts {
	seen := map[string]counts{}
	for i := range r.Events {
		e := &r.Events[i]
		info, ok := r.Observer.ObjectInfo(e.Object)
		if !ok || info.Name == "" {
			continue
		}
		n := seen[plainVariable(info.Name)]
		if e.Op == event.Read || e.Op == event.Update {
			n.reads++
		}
		if e.Op == event.Write || e.Op == event.Update {
			n.writes++
		}
		seen[plainVariable(info.Name)] = n
	}
	return seen
}

// TestAtomicElements checks that atomic elements of arrays, and atomic members of
// unions, are observed one by one without being named, or that the plan reports that
// not all are.
func TestAtomicElements(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("arrays and the stack are followed on x86-64")
	}
	for _, x := range []struct {
		compiler, source string
		flags            []string
		partial          []string // variables of which not all accesses are observed, which the plan reports
	}{
		{"gcc", "elements.c", []string{"-O0"}, []string{"slots"}},
		{"gcc", "elements.c", []string{"-O2"}, nil},
		{"gcc", "elements.c", []string{"-O3", "-no-pie", "-fno-pie"}, nil},
		{"g++", "elements.cc", []string{"-O1"}, nil},
		{"g++", "elements.cc", []string{"-O2"}, nil},
		{"rustc", "elements.rs", []string{"-O"}, nil},
	} {
		t.Run(strings.Join(append([]string{x.compiler}, x.flags...), " "), func(t *testing.T) {
			r := observe(t, corpus(t, x.compiler, x.source, x.flags), options{Atomics: true})
			own, seen, partial := r.ownCounts(), r.observedCounts(), []string{}
			for name, all := range r.complete() {
				if !all {
					partial = append(partial, strings.Split(name, "[]")[0])
				}
			}
			slices.Sort(partial)
			if !slices.Equal(partial, x.partial) && len(partial)+len(x.partial) > 0 {
				t.Errorf("said to be seen in part: %q, not %q", partial, x.partial)
			}
			for name, n := range own {
				whole := !slices.Contains(partial, strings.Split(name, "[")[0])
				if got := seen[name]; whole && got != n || got.reads > n.reads || got.writes > n.writes {
					t.Errorf("%s: seen %+v, the program counts %+v", name, got, n)
				}
			}
			for name, n := range seen {
				if _, ok := own[name]; !ok && strings.Contains(r.Output, "= "+strings.Split(name, "[")[0]) {
					t.Errorf("%s: seen %+v, the program counts none", name, n)
				}
			}
		})
	}
}

// plainVariable removes the Rust crate or C function before a name.
func plainVariable(name string) string {
	for _, prefix := range []string{"accesses::", "plain::"} {
		name = strings.TrimPrefix(name, prefix)
	}
	return name
}

// complete returns, for each variable, whether all accesses by every file are observed.
func (r *run) complete() map[string]bool {
	out := map[string]bool{}
	for _, m := range r.Session.Modules() {
		for _, c := range m.Plan.Coverage {
			name := plainVariable(c.Variable.Name)
			if _, ok := out[name]; !ok {
				out[name] = true
			}
			out[name] = out[name] && c.Complete()
		}
	}
	return out
}
