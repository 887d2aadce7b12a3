package probes

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/probes/cheapsite"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/function"
	"github.com/tracepredict/tracepredict/probes/synctab"
)

// build compiles one source text and opens the program.
func build(t testing.TB, compiler, source string, flags ...string) *elf.File {
	t.Helper()
	testtool.Need(t, compiler)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "program.c"), []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(compiler, append(flags, "-pthread", "-o", "program", "program.c")...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return open(t, filepath.Join(dir, "program"))
}

func open(t testing.TB, path string) *elf.File {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func table(t testing.TB) synctab.Table {
	t.Helper()
	tab, err := synctab.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

func plan(t testing.TB, f *elf.File, opts Options) *Plan {
	t.Helper()
	return planWith(t, f, table(t), opts)
}

func planWith(t testing.TB, f *elf.File, calls synctab.Table, opts Options) *Plan {
	t.Helper()
	opts.Table = calls
	p, err := NewPlanner(opts).Plan(f)
	if err != nil {
		t.Fatal(err)
	}
	checkPlan(t, p)
	return p
}

// checkPlan checks what must hold for every plan.
func checkPlan(t testing.TB, p *Plan) {
	t.Helper()
	type key struct {
		at, object    uint64
		op, when, reg uint8
		buffer        uint8
	}
	seen := map[key]bool{}
	for i, s := range p.Sites {
		k := key{s.At, s.Addr + uint64(s.BPF.ObjectDisp), s.BPF.Op, s.BPF.When, s.BPF.ObjectReg, 0}
		if op := bpf.Op(s.BPF.Op); op >= bpf.OpRead && op <= bpf.OpUpdate && bpf.Reach(s.BPF.Access.Reach) == bpf.ReachRange {
			k.buffer = s.BPF.Access.Scale
		}
		if seen[k] {
			t.Errorf("%s at 0x%x is planned twice", s.Function, s.At)
		}
		seen[k] = true
		if off, err := p.File.Offset(s.Addr); err != nil || off != s.Offset {
			t.Errorf("%s at 0x%x: offset 0x%x, want 0x%x (%v)", s.Function, s.Addr, s.Offset, off, err)
		}
		if s.Class == cheapsite.Refused || s.Why == "" {
			t.Errorf("%s at 0x%x: class %s, why %q", s.Function, s.Addr, s.Class, s.Why)
		}
		next := uint32(0) // counted from 1, as 0 ends a chain
		if i+1 < len(p.Sites) {
			n := p.Sites[i+1]
			if n.Addr < s.Addr || n.follows(&s) && n.At < s.At {
				t.Errorf("site %d is out of order", i+1)
			}
			if n.follows(&s) { // sites of other programs have probes of their own
				next = uint32(i + 2)
			}
		}
		if s.BPF.Next != next {
			t.Errorf("site %d: next %d, want %d", i, s.BPF.Next, next)
		}
	}
}

// everything uses each kind of call, so that a static program holds them.
const everything = `
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>
void *calls[] = {
	pthread_mutex_lock, pthread_mutex_trylock, pthread_mutex_timedlock, pthread_mutex_unlock, pthread_mutex_init, pthread_mutex_destroy,
	pthread_rwlock_rdlock, pthread_rwlock_wrlock, pthread_rwlock_unlock, pthread_spin_init, pthread_spin_lock, pthread_spin_unlock,
	pthread_cond_wait, pthread_cond_timedwait, pthread_cond_signal, pthread_cond_broadcast, pthread_barrier_wait, sem_init, sem_wait,
	sem_timedwait, sem_post, pthread_once, pthread_create, pthread_join, pthread_detach, mtx_lock, mtx_unlock, cnd_wait, cnd_signal, thrd_join, call_once,
};
int main(int argc, char **argv) { return calls[argc] == argv; }
`

// glibc opens the machine's own C library.
func glibc(t *testing.T) *elf.File {
	for _, path := range []string{"/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6", "/lib/aarch64-linux-gnu/libc.so.6"} {
		if _, err := os.Stat(path); err == nil {
			return open(t, path)
		}
	}
	t.Skip("no glibc on this machine")
	return nil
}

// calls returns the plan's sites at entries, by address.
func calls(p *Plan) map[uint64]Site {
	byAddr := map[uint64]Site{}
	for _, s := range p.Sites {
		// A wrapper's probe records its call site, and observes nothing itself.
		action := bpf.Action(s.BPF.Action)
		if s.Variable == "" && action != bpf.ActionReturn && action != bpf.ActionCaller {
			byAddr[s.At] = s
		}
	}
	return byAddr
}

// TestOutcomes checks that an uncontended lock of a mutex passes one emulated probe, and no
// uretprobe, in each C library here; with EntrySites it passes the probes at entry and return.
func TestOutcomes(t *testing.T) {
	for name, file := range map[string]func(*testing.T) *elf.File{
		"glibc":        glibc,
		"static glibc": func(t *testing.T) *elf.File { return build(t, "gcc", everything, "-static") },
		"static musl":  func(t *testing.T) *elf.File { return build(t, "musl-gcc", everything, "-static") },
	} {
		t.Run(name, func(t *testing.T) {
			f := file(t)
			lock := f.Lookup("pthread_mutex_lock")[0].Addr
			seen := 0
			for _, s := range plan(t, f, Options{}).Sites {
				if s.At != lock {
					continue
				}
				t.Logf("0x%x %s %s return=%v", s.Addr, s.Class, s.Why, s.Return)
				switch outcome := bpf.Action(s.BPF.Action) == bpf.ActionOutcome; {
				case outcome:
					seen++
				case s.BPF.SpDelta != 0 || !s.Return || s.Addr == lock:
					t.Errorf("neither an outcome nor a jump that hands the call on: %+v", s)
				}
				if s.Class != cheapsite.Emulated {
					t.Errorf("not emulated: %+v", s)
				}
			}
			if seen == 0 {
				t.Error("no outcome")
			}
			for _, s := range plan(t, f, Options{EntrySites: true}).Sites {
				if bpf.Action(s.BPF.Action) == bpf.ActionOutcome {
					t.Errorf("with EntrySites: %+v", s)
				}
			}
		})
	}
}

// TestCalls checks that every function of the table is planned, each address once, except functions
// that only call another one.
func TestCalls(t *testing.T) {
	for _, c := range []struct {
		name     string
		file     func(*testing.T) *elf.File
		wrappers []string // must observe nothing
	}{
		{"glibc", glibc, []string{"mtx_lock", "mtx_unlock", "mtx_trylock", "cnd_signal", "thrd_detach"}},
		{"static glibc", func(t *testing.T) *elf.File { return build(t, "gcc", everything, "-static") }, []string{"mtx_lock"}},
		{"static musl", func(t *testing.T) *elf.File { return build(t, "musl-gcc", everything, "-static") }, []string{"mtx_unlock"}},
	} {
		for _, entries := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/entries=%v", c.name, entries), func(t *testing.T) {
				f := c.file(t)
				testCalls(t, plan(t, f, Options{EntrySites: entries}), entries, c.wrappers)
			})
		}
	}
}

func testCalls(t *testing.T, p *Plan, entries bool, wrappers []string) {
	planned, matched, missing := calls(p), map[uint64]bool{}, map[string]bool{}
	versions := map[string]bool{} // names of which one version is planned
	tab := table(t)
	for _, s := range p.File.Symbols() {
		if _, ok := tab.Match(s.Name, ""); !ok || s.Kind != elf.Func || s.Addr == 0 {
			continue
		}
		matched[s.Addr] = true
		// An old version may do no more than call the current one.
		if !slices.ContainsFunc(p.File.Lookup(s.Name), func(v elf.Symbol) bool { return planned[v.Addr].Function != "" }) {
			missing[s.Name] = true
		} else {
			versions[s.Name] = true
		}
	}
	maps.DeleteFunc(missing, func(name string, _ bool) bool { return versions[name] })
	if len(matched) < 20 || p.Calls != len(matched) {
		t.Errorf("%d calls, the plan says %d", len(matched), p.Calls)
	}
	for _, w := range wrappers {
		if !missing[w] {
			t.Errorf("%s is planned, and calls another", w)
		}
	}
	for name := range missing {
		if slices.Contains([]string{"pthread_mutex_lock", "pthread_mutex_unlock", "pthread_cond_timedwait", "pthread_create", "sem_post"}, name) {
			t.Errorf("%s is not planned", name)
		}
	}
	if entries {
		for _, s := range planned {
			if s.Addr != s.At && s.Class != cheapsite.Emulated {
				t.Errorf("%s moved from 0x%x to 0x%x, for no gain", s.Function, s.At, s.Addr)
			}
		}
	}
}

// TestSpinUnlockIsInit checks that two functions at one address, an init and an unlock, are planned
// as one release.
func TestSpinUnlockIsInit(t *testing.T) {
	f := glibc(t)
	init, unlock := f.Lookup("pthread_spin_init"), f.Lookup("pthread_spin_unlock")
	if len(init) == 0 || len(unlock) == 0 || init[0].Addr != unlock[0].Addr {
		t.Skip("this glibc has two functions")
	}
	s, ok := calls(plan(t, f, Options{}))[unlock[0].Addr]
	if !ok || bpf.Op(s.BPF.Op) != bpf.OpRelease || s.Kind != synctab.KindSpin {
		t.Errorf("planned %v: %s of a %s", ok, bpf.Op(s.BPF.Op), s.Kind)
	}
}

// TestReturns checks that only calls whose frames are never unwound have a uretprobe, and that the
// others have probes at their return instructions.
func TestReturns(t *testing.T) {
	f := glibc(t)
	p := plan(t, f, Options{})
	returns := map[string]int{}
	for _, s := range p.Sites {
		if bpf.Action(s.BPF.Action) == bpf.ActionReturn {
			returns[s.Function]++
		}
	}
	for name, leaf := range map[string]bool{"pthread_mutex_trylock": true, "pthread_cond_wait": false, "sem_wait": false} {
		for _, sym := range f.Lookup(name) {
			s, ok := calls(p)[sym.Addr]
			if !ok {
				continue
			}
			if s.Return != leaf || (returns[s.Function] > 0) == leaf {
				t.Errorf("%s: return probe %v, %d at its returns", name, s.Return, returns[s.Function])
			}
		}
	}
}

const accesses = `
long whole; int part; char small; int array[4]; int taken; int *volatile p; volatile long twice;
__attribute__((noinline)) void set_constant(void) { part = 7; }
__attribute__((noinline)) void set_register(int v) { part = v; }
__attribute__((noinline)) int get(void) { return part; }
__attribute__((noinline)) void both(long v) { whole = v; part = v; }
__attribute__((noinline)) void add(void) { part++; }
__attribute__((noinline)) void set_small(void) { small = -1; }
__attribute__((noinline)) void add_atomically(void) { __atomic_fetch_add(&whole, 1, __ATOMIC_SEQ_CST); }
__attribute__((noinline)) void take(void) { p = &taken; taken = 1; }
__attribute__((noinline)) void jump_on(long v) { twice = v; twice = 5; set_constant(); }
int main(int argc, char **argv) { jump_on(argc); set_constant(); set_register(argc); both(argc); add(); set_small(); add_atomically(); take(); return get(); }
`

// in returns the sites of one function, in program order.
func in(p *Plan, function string) []Site {
	var sites []Site
	for _, s := range p.Sites {
		if s.Function == function {
			sites = append(sites, s)
		}
	}
	slices.SortFunc(sites, func(a, b Site) int { return int(int64(a.At) - int64(b.At)) })
	return sites
}

func describe(s Site) string {
	text := fmt.Sprintf("%s %s %d from %d", bpf.Op(s.BPF.Op), s.Variable, s.BPF.Access.Width, s.BPF.Access.ValueFrom)
	switch bpf.Operand(s.BPF.Access.ValueFrom) {
	case bpf.FromImm:
		text = fmt.Sprintf("%s %s %d = %#x", bpf.Op(s.BPF.Op), s.Variable, s.BPF.Access.Width, s.BPF.Access.Imm)
	case bpf.FromReg:
		text = fmt.Sprintf("%s %s %d = register %d", bpf.Op(s.BPF.Op), s.Variable, s.BPF.Access.Width, s.BPF.Access.ValueReg)
	case bpf.FromMemory:
		text = fmt.Sprintf("%s %s %d in memory", bpf.Op(s.BPF.Op), s.Variable, s.BPF.Access.Width)
	case bpf.FromNowhere:
		text = fmt.Sprintf("%s %s %d unknown", bpf.Op(s.BPF.Op), s.Variable, s.BPF.Access.Width)
	}
	if s.Atomic {
		text += " atomic"
	}
	return text
}

// TestAccesses checks that each access has a site from which the variable and its value can be
// found.
func TestAccesses(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the fixture's registers are x86-64's")
	}
	for _, entries := range []bool{false, true} {
		f := build(t, "gcc", accesses, "-O2", "-g", "-no-pie", "-fno-ipa-ra", "-fcf-protection=none")
		p := plan(t, f, Options{Watch: []string{"whole", "part", "small", "taken"}, EntrySites: entries})
		if len(p.Variables) != 4 {
			t.Fatalf("variables: %+v", p.Variables)
		}
		at := map[string]uint64{}
		for _, v := range p.Variables {
			at[v.Name] = v.Addr
		}
		for _, s := range p.Sites {
			if s.Variable != "" && bpf.Operand(s.BPF.ObjectFrom) == bpf.FromFixed && s.Addr+uint64(s.BPF.ObjectDisp) != at[s.Variable] {
				t.Errorf("%s at 0x%x: object 0x%x, want 0x%x", s.Variable, s.Addr, s.Addr+uint64(s.BPF.ObjectDisp), at[s.Variable])
			}
		}
		for function, want := range map[string][]string{
			"set_constant":   {"write part 4 = 0x7"},
			"set_register":   {"write part 4 = register 7"},
			"both":           {"write whole 8 = register 7 atomic", "write part 4 = register 7"},
			"set_small":      {"write small 1 = 0xff"},
			"add_atomically": {"update whole 8 in memory atomic"},
			"add":            {"update part 4 in memory"},
		} {
			var got []string
			for _, s := range in(p, function) {
				got = append(got, describe(s))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("entries=%v %s (-want +got):\n%s", entries, function, diff)
			}
		}
		notes := strings.Join(plural.Texts(p.Notes), "\n")
		if !strings.Contains(notes, "the address of taken escapes at 1 place in") {
			t.Errorf("notes: %s", notes)
		}
	}
}

// TestChains checks that two accesses whose probes move to one address are recorded in program
// order.
func TestChains(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the fixture is x86-64's")
	}
	f := build(t, "gcc", accesses, "-O2", "-g", "-no-pie", "-fcf-protection=none")
	p := plan(t, f, Options{Watch: []string{"twice", "part"}})
	chained := 0
	for i := range p.Sites {
		if n := p.Sites[i].BPF.Next; n != 0 {
			chained++
			if next := p.Sites[n-1]; next.Addr != p.Sites[i].Addr || next.At <= p.Sites[i].At {
				t.Errorf("%+v is followed by %+v", p.Sites[i], next)
			}
		}
	}
	if sites := in(p, "jump_on"); chained == 0 || len(sites) != 2 || sites[0].Addr != sites[1].Addr || describe(sites[1]) != "write twice 8 = 0x5" {
		t.Errorf("the two writes before a jump do not share it: %+v", sites)
	}
}

// TestUnresolved checks that a name that no file defines is reported, and that a later file can
// define it.
func TestUnresolved(t *testing.T) {
	one := build(t, "gcc", "int main(void) { return 0; }", "-g")
	two := build(t, "gcc", "int x; int main(void) { return x; }", "-g")
	p := NewPlanner(Options{Table: table(t), Watch: []string{"x"}})
	if _, err := p.Plan(one); err != nil {
		t.Fatal(err)
	}
	if err := p.Unresolved(); err == nil || !strings.Contains(err.Error(), "x") {
		t.Errorf("unresolved: %v", err)
	}
	second, err := p.Plan(two)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Unresolved(); err != nil || len(second.Variables) != 1 {
		t.Errorf("unresolved: %v, variables %v", err, second.Variables)
	}
}

// TestGroups checks that of a group of patterns one match is enough, and that a group without any is one error.
func TestGroups(t *testing.T) {
	var on []function.Pattern
	for _, c := range [][2]string{{"one", "call none"}, {"one", "call main"}, {"two", "call none"}, {"two", "call neither"}, {"", "call alone"}} {
		p, err := function.Parse(c[1])
		if err != nil {
			t.Fatal(err)
		}
		p.Group = c[0]
		on = append(on, p)
	}
	p := NewPlanner(Options{Table: table(t), On: on})
	if _, err := p.Plan(build(t, "gcc", "int main(void) { return 0; }", "-g")); err != nil {
		t.Fatal(err)
	}
	const want = "neither the program nor its libraries have any of the functions that two names\n\"call alone\" matches no function of the program or its libraries"
	if err := p.Unresolved(); err == nil || err.Error() != want {
		t.Errorf("unresolved: %v, want %s", err, want)
	}
}

// TestObjects checks that an object requested by its name has that name at its address, and that a
// name that no file defines is reported.
func TestObjects(t *testing.T) {
	f := build(t, "gcc", "struct { long pad; struct { long a, b, c; } lock; } server; long other[9]; int main(void) { return server.pad; }", "-g")
	p := NewPlanner(Options{Table: table(t), Objects: []string{"server.lock", "other", "server.lok"}})
	plan, err := p.Plan(f)
	if err != nil {
		t.Fatal(err)
	}
	base := f.Lookup("server")[0].Addr
	if name, ok := plan.Object(base + 8); !ok || name != "server.lock" {
		t.Errorf("at server+8: %q", name)
	}
	if name, ok := plan.Object(base + 16); ok {
		t.Errorf("at server+16: %q", name)
	}
	if name, ok := plan.Object(f.Lookup("other")[0].Addr); !ok || name != "other" || len(plan.Objects) != 2 {
		t.Errorf("at other: %q; %d objects", name, len(plan.Objects))
	}
	if err := p.Unresolved(); err == nil || !strings.Contains(err.Error(), "server.lock?") {
		t.Errorf("unresolved: %v", err)
	}
}

// TestLoaderHook checks that the dynamic loader's hook is planned, by which libraries that are
// loaded later are found.
func TestLoaderHook(t *testing.T) {
	for _, path := range []string{"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"} {
		if _, err := os.Stat(path); err != nil {
			continue
		}
		p := plan(t, open(t, path), Options{})
		if !slices.ContainsFunc(p.Sites, func(s Site) bool { return bpf.Op(s.BPF.Op) == bpf.OpLibrary }) {
			t.Errorf("%s: no probe at %s", path, loaderHook)
		}
	}
}
