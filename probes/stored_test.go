package probes

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/function"
	"github.com/tracepredict/tracepredict/probes/plancache"
	"github.com/tracepredict/tracepredict/probes/synctab"
)

func cache(t testing.TB) *plancache.Cache {
	t.Helper()
	c, err := plancache.OpenIn(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// planAll plans files with one planner.
func planAll(t testing.TB, opts Options, paths ...string) (plans []*Plan) {
	t.Helper()
	planner := NewPlanner(opts)
	for _, path := range paths {
		p, err := planner.Plan(open(t, path))
		if err != nil {
			t.Fatal(err)
		}
		plans = append(plans, p)
	}
	return plans
}

// TestCachedPlan compares the plans of a program and its library from the cache with those that are made.
func TestCachedPlan(t *testing.T) {
	library := build(t, "gcc", `
#include <stdatomic.h>
atomic_int shared_turns;
int slots[8];
void turn(int i) { slots[i]++; atomic_fetch_add(&shared_turns, 1); }
`, "-O1", "-g", "-shared", "-fPIC").Name()
	program := build(t, "gcc", busyProgram, "-O1", "-g", "-pthread", "-rdynamic").Name()
	user := build(t, "gcc", `
#include <stdatomic.h>
extern atomic_int turns;
int look(void) { return atomic_load(&turns); }
`, "-O1", "-g", "-shared", "-fPIC").Name()
	for name, opts := range map[string]Options{
		"calls":    {},
		"atomics":  {Atomics: true, Lives: true, Terse: true},
		"static":   {Shared: true, Atomics: true, Lives: true},
		"pointers": {Shared: true, Pointers: true, Atomics: true, Lives: true, Terse: true},
	} {
		t.Run(name, func(t *testing.T) {
			opts.Table = table(t)
			made := planAll(t, opts, program, library, user)
			opts.Cache = cache(t)
			for i, want := range [][]bool{{false, false, false}, {true, true, true}} {
				for j, p := range planAll(t, opts, program, library, user) {
					if p.Cached != want[j] {
						t.Errorf("run %d, file %d: from the cache: %v", i, j, p.Cached)
					}
					diff := cmp.Diff(made[j], p, cmp.AllowUnexported(Plan{}), cmpopts.IgnoreFields(Plan{}, "Cached", "source", "byName", "keeping"),
						cmp.Comparer(func(a, b *elf.File) bool { return a.Name() == b.Name() }))
					if diff != "" {
						t.Errorf("run %d, file %d differs: %s", i, j, diff)
					}
					for _, v := range slices.Concat(p.Shared, p.Atomics) {
						if known, ok := p.Variable(v.Name); !ok || known.File == nil {
							t.Errorf("run %d: %s is not found by name", i, v.Name)
						}
					}
				}
			}
		})
	}
}

// TestCacheKey changes what a plan depends on: it is then not taken from the cache.
func TestCacheKey(t *testing.T) {
	program := build(t, "gcc", busyProgram, "-O1", "-g", "-pthread").Name()
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	base := Options{Table: table(t), Shared: true, Atomics: true, Lives: true, Terse: true, Cache: cache(t)}
	planAll(t, base, program)
	more, err := synctab.Parse(strings.NewReader("[[call]]\nname = \"more_lock\"\nkind = \"mutex\"\noperation = \"acquire\"\nobject = 1\n"), "more.toml")
	if err != nil {
		t.Fatal(err)
	}
	changed := filepath.Join(t.TempDir(), "changed")
	if err := os.WriteFile(changed, append(slices.Clone(content), 0), 0o755); err != nil {
		t.Fatal(err)
	}
	pattern, err := function.Parse("call work(_)")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change func(*Options) (path string)
		cached bool
	}{
		{"nothing", func(*Options) string { return program }, true},
		{"the tool", func(o *Options) string { o.Tool[3] = 1; return program }, false},
		{"the table", func(o *Options) string { o.Table = o.Table.Merge(more); return program }, false},
		{"pointers", func(o *Options) string { o.Pointers = true; return program }, false},
		{"no variables", func(o *Options) string { o.Shared = false; return program }, false},
		{"no atomics", func(o *Options) string { o.Atomics = false; return program }, false},
		{"no lives", func(o *Options) string { o.Lives = false; return program }, false},
		{"reasons", func(o *Options) string { o.Terse = false; return program }, false},
		{"entry sites", func(o *Options) string { o.EntrySites = true; return program }, false},
		{"a variable by name", func(o *Options) string { o.Watch = []string{"hits"}; return program }, false},
		{"an object by name", func(o *Options) string { o.Objects = []string{"lock"}; return program }, false},
		{"a watchpoint", func(o *Options) string { o.Hardware = []string{"hits"}; return program }, false},
		{"a field", func(o *Options) string { o.Watch = []string{"n of struct node"}; return program }, false},
		{"a function", func(o *Options) string { o.On = []function.Pattern{pattern}; return program }, false},
		{"no cache", func(o *Options) string { o.Cache = nil; return program }, false},
		{"the name", func(*Options) string { return copyOf(t, program, content) }, false},
		{"the content", func(*Options) string {
			if err := os.Rename(changed, program); err != nil {
				t.Fatal(err)
			}
			return program
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			opts := base
			path := c.change(&opts)
			planner := NewPlanner(opts)
			p, err := planner.Plan(open(t, path))
			if err != nil {
				t.Fatal(err)
			}
			if p.Cached != c.cached {
				t.Errorf("from the cache: %v", p.Cached)
			}
		})
	}
}

func copyOf(t *testing.T, path string, content []byte) string {
	to := filepath.Join(t.TempDir(), filepath.Base(path))
	if err := os.WriteFile(to, content, 0o755); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestCacheKnowsDebugFiles moves the debug information to another file, and changes that.
func TestCacheKnowsDebugFiles(t *testing.T) {
	testtool.Need(t, "objcopy")
	program := build(t, "gcc", busyProgram, "-O1", "-g", "-pthread").Name()
	debug := program + ".debug"
	for _, args := range [][]string{{"--only-keep-debug", program, debug}, {"--strip-debug", program}, {"--add-gnu-debuglink=" + debug, program}} {
		if out, err := exec.Command("objcopy", args...).CombinedOutput(); err != nil {
			t.Fatalf("objcopy: %v\n%s", err, out)
		}
	}
	opts := Options{Table: table(t), Shared: true, Atomics: true, Terse: true, Cache: cache(t)}
	cached := func() bool { return planAll(t, opts, program)[0].Cached }
	if cached() || !cached() {
		t.Error("the plan with a debug file is not kept")
	}
	away := debug + ".away"
	if err := os.Rename(debug, away); err != nil {
		t.Fatal(err)
	}
	if cached() {
		t.Error("without the debug file, the plan is that with it")
	}
	if err := os.Rename(away, debug); err != nil {
		t.Fatal(err)
	}
	if !cached() {
		t.Error("with the debug file again, the plan is not there")
	}
}

// TestAllIsKnownToTheCache fails if a plan has a new part, or depends on something new: see stored and
// dependencies.
func TestAllIsKnownToTheCache(t *testing.T) {
	var parts, options []string
	for i := range planType.NumField() {
		if f := planType.Field(i); !f.IsExported() {
			parts = append(parts, f.Name)
		}
	}
	if want := "settled unseen keeping source byName"; strings.Join(parts, " ") != want {
		t.Errorf("parts of a plan that are not exported: %s, want %s", parts, want)
	}
	known := reflect.TypeFor[Options]()
	for i := range known.NumField() {
		options = append(options, known.Field(i).Name)
	}
	if want := "Table Watch On Objects Shared Pointers Modules OnlyThreaded OnlyDebugged Hardware Choose EntrySites Atomics Lives Futexes Contended Terse Progress Cache Tool"; strings.Join(options, " ") != want {
		t.Errorf("options: %s, want %s", options, want)
	}
}

// FuzzDecode decodes any bytes as a plan.
func FuzzDecode(f *testing.F) {
	file := build(f, "gcc", busyProgram, "-O1", "-g", "-pthread")
	p := plan(f, file, Options{Table: table(f), Shared: true, Pointers: true, Atomics: true, Lives: true})
	b, err := encode(&stored{Plan: p, Settled: p.settled, Unseen: p.unseen}, []*elf.File{file})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(b[:len(b)/2])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		var s stored
		if decode(b, &s, []*elf.File{file}) == nil {
			if _, err := encode(&s, []*elf.File{file}); err != nil {
				t.Errorf("what was decoded cannot be encoded: %v", err)
			}
		}
	})
}

// TestKeptUnseen compares what unseen synchronisation a plan finds with what it finds in the next run, whatever is
// observed, and in a run of another build of the tool.
func TestKeptUnseen(t *testing.T) {
	program := build(t, "gcc", busyProgram, "-O1", "-g", "-pthread").Name()
	base := Options{Table: table(t), Cache: cache(t)}
	unseen := func(opts Options) elf.Unseen {
		t.Helper()
		u, err := planAll(t, opts, program)[0].Unseen()
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	want := unseen(base)
	if len(want.Sites) == 0 {
		t.Fatal("the program synchronises nowhere by itself")
	}
	other, shared := base, base
	other.Tool[3], shared.Shared = 1, true
	for _, c := range []struct {
		opts Options
		kept bool
	}{{base, true}, {shared, true}, {other, false}} {
		plan := planAll(t, c.opts, program)[0]
		if kept := plan.keeping.load(plan.File) != nil; kept != c.kept {
			t.Errorf("%+v: kept: %v", c.opts, kept)
		}
		if diff := cmp.Diff(want, unseen(c.opts)); diff != "" {
			t.Errorf("%+v: differs: %s", c.opts, diff)
		}
	}
}
