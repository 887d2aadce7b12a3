package between

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/symbolize"
)

// fixture is a program that is not run, and the C library, as they would be mapped in a process.
type fixture struct {
	program, libc *elf.File
	lines         *symbolize.Table
}

const (
	programBias = 0x5550_0000_0000
	libcBias    = 0x7f00_0000_0000
)

func (f *fixture) Code(addr uint64) (*elf.File, uint64, bool) {
	switch {
	case addr >= libcBias:
		return f.libc, libcBias, true
	case addr >= programBias:
		return f.program, programBias, true
	}
	return nil, 0, false
}

var events = regexp.MustCompile(`^_*pthread_mutex_(lock|unlock|trylock)$`)

func (f *fixture) Synchronises(file *elf.File, entry uint64) bool {
	return file == f.libc && events.MatchString(file.FunctionName(entry)) || file == f.program && events.MatchString(file.FunctionName(entry))
}

func (f *fixture) Imports(name string) bool { return events.MatchString(name) }

func (f *fixture) where(addr uint64) string {
	frames := f.lines.Frames(addr - programBias)
	return fmt.Sprintf("%s:%d", filepath.Base(frames[0].File), frames[0].Line)
}

// lockCalls returns the call stacks of the calls of pthread_mutex_lock that a function makes,
// itself or in its callees, in the order of the code. Outer are the return addresses outside.
func (f *fixture) lockCalls(entry uint64, outer []uint64, depth int) (out [][]uint64) {
	fn, ok := f.program.FunctionAt(entry)
	if !ok || depth > 6 {
		return nil
	}
	plt, got := f.program.PLTTargets(), f.program.GOTSlots()
	code, _ := f.program.Bytes(fn.Lo, int(fn.Hi-fn.Lo))
	lock := f.lock()
	for _, in := range insn.DecodeRun(nil, insn.AMD64, code, fn.Lo, nil) {
		stack := outer
		if in.Kind.Calls() {
			stack = append([]uint64{in.End() + programBias}, outer...)
		}
		indirect := in.Kind == insn.IndirectCall || in.Kind == insn.IndirectJump
		switch {
		case indirect && in.NMem == 1 && got[in.Mem[0].Addr] == "pthread_mutex_lock":
			out = append(out, append([]uint64{lock}, stack...))
		case in.Kind != insn.Call && in.Kind != insn.Jump || fn.Contains(in.Target):
		case plt[in.Target] == "pthread_mutex_lock" || in.Target+programBias == lock:
			out = append(out, append([]uint64{lock}, stack...))
		case plt[in.Target] == "" && !strings.Contains(f.program.FunctionName(in.Target), "unlock") && !throws(f.program.FunctionName(in.Target)):
			out = append(out, f.lockCalls(in.Target, stack, depth+1)...)
		}
	}
	return out
}

// lock returns an address in pthread_mutex_lock.
func (f *fixture) lock() uint64 {
	if f.libc == nil {
		return f.program.Lookup("pthread_mutex_lock")[0].Addr + programBias
	}
	return f.libc.Lookup("pthread_mutex_lock")[0].Addr + libcBias
}

// build compiles a program of the functions of testdata/source whose names say the answer.
func build(t testing.TB, compiler, source string, flags ...string) (*fixture, []string) {
	t.Helper()
	testtool.Need(t, compiler)
	text, err := os.ReadFile(filepath.Join("testdata", source))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var names []string
	var calls strings.Builder
	for _, m := range regexp.MustCompile(`(?m)^F ((?:yes|no)_\w+)\(`).FindAllStringSubmatch(string(text), -1) {
		names = append(names, m[1])
		fmt.Fprintf(&calls, "CALL(%s);\n", m[1])
	}
	if err := os.WriteFile(filepath.Join(dir, "calls.h"), []byte(calls.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "unknown.c"), []byte("int *everywhere; void unknown(int *p) { everywhere = p; }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	testtool.Need(t, "gcc")
	run := func(name string, args ...string) {
		if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
	}
	run("gcc", "-shared", "-fPIC", "-o", filepath.Join(dir, "libunknown.so"), filepath.Join(dir, "unknown.c"))
	static := slices.Contains(flags, "-static")
	args := append([]string{"-g", "-w", "-I", dir, "-o", filepath.Join(dir, "program"), filepath.Join("testdata", source), "-pthread"}, flags...)
	if static {
		args = append(args, filepath.Join(dir, "unknown.c"))
	} else {
		args = append(args, "-L", dir, "-lunknown")
	}
	run(compiler, args...)
	f := &fixture{}
	if f.program, err = elf.Open(filepath.Join(dir, "program")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.program.Close() })
	if !static {
		if f.libc, err = elf.Open("/lib/x86_64-linux-gnu/libc.so.6"); err != nil {
			t.Skip(err)
		}
		t.Cleanup(func() { f.libc.Close() })
	}
	f.lines = symbolize.New(f.program)
	return f, names
}

// stacks returns the call stacks of the first two calls of pthread_mutex_lock in a function.
func (f *fixture) stacks(t testing.TB, name string) (from, to []uint64) {
	t.Helper()
	main, ok := f.program.FunctionAt(f.program.Lookup("main")[0].Addr)
	if !ok {
		t.Fatal("no main")
	}
	entry := f.program.Lookup(name)
	if len(entry) == 0 {
		t.Fatalf("no %s", name)
	}
	code, _ := f.program.Bytes(main.Lo, int(main.Hi-main.Lo))
	for _, in := range insn.DecodeRun(nil, insn.AMD64, code, main.Lo, nil) {
		if in.Kind == insn.Call && in.Target == entry[0].Addr {
			calls := f.lockCalls(in.Target, []uint64{in.End() + programBias}, 0)
			if len(calls) < 2 {
				t.Fatalf("%s: %d calls", name, len(calls))
			}
			return calls[0], calls[1]
		}
	}
	t.Fatalf("no call of %s", name)
	return nil, nil
}

func check(t *testing.T, compiler, source, flags string) {
	f, names := build(t, compiler, source, strings.Fields(flags)...)
	for _, name := range names {
		from, to := f.stacks(t, name)
		x := New(f)
		ok, why := x.ReadsNothing(Query{From: from, To: to})
		if want := strings.HasPrefix(name, "yes_"); ok != want {
			t.Errorf("%s: %v: %s", name, ok, why.Text(f.where))
		} else {
			t.Logf("%s: %s; %d instructions", name, why.Text(f.where), DefaultBudget-x.Budget)
		}
	}
}

func TestC(t *testing.T) {
	for _, c := range []struct{ compiler, flags string }{
		{"gcc", "-O0"}, {"gcc", "-O1 -fno-omit-frame-pointer -fstack-protector-all"}, {"gcc", "-O2"}, {"gcc", "-O3 -fcf-protection=full"},
		{"gcc", "-Os -no-pie -fno-pie"}, {"gcc", "-O0 -static"}, {"gcc", "-O2 -static"}, {"gcc", "-O2 -fno-plt"},
		{"clang-19", "-O0"}, {"clang-19", "-O2"}, {"clang-19", "-O1 -static"},
	} {
		t.Run(c.compiler+" "+c.flags, func(t *testing.T) { check(t, c.compiler, "locks.c", c.flags) })
	}
}

// TestQuery checks what the fields of a query change.
func TestQuery(t *testing.T) {
	f, _ := build(t, "gcc", "locks.c", "-O0")
	for _, c := range []struct {
		name             string
		last, unrecorded bool
		want             Kind
	}{
		{"no_keeps", false, false, Kept},
		{"no_keeps", true, false, NoReason},
		{"no_lock_by_pointer", true, false, Argument},
		{"yes_may_return", false, false, NoReason},
		{"yes_may_return", false, true, Calls},
		{"yes_adjacent", false, true, NoReason},
	} {
		from, to := f.stacks(t, c.name)
		ok, why := New(f).ReadsNothing(Query{From: from, To: to, Last: c.last, Unrecorded: c.unrecorded})
		if why.Kind != c.want || ok != (c.want == NoReason) {
			t.Errorf("%s, last %v, unrecorded %v: %v, %s", c.name, c.last, c.unrecorded, ok, why.Text(f.where))
		}
	}
	from, to := f.stacks(t, "yes_adjacent")
	other, _ := f.stacks(t, "yes_counts")
	for _, q := range []Query{{}, {From: from, To: []uint64{}}, {From: from[:1], To: to}, {From: from, To: other}, {From: to, To: from}, {From: []uint64{1, 2}, To: []uint64{3, 2}}} {
		if ok, why := New(f).ReadsNothing(q); ok {
			t.Errorf("%+v: %v, %+v", q, ok, why)
		}
	}
	for name, want := range map[string]bool{"yes_may_return": true, "yes_counts": true, "no_keeps": false, "no_reads_for_a_branch": false} {
		from, _ := f.stacks(t, name)
		if ok, why := New(f).ReadsNothing(Query{From: from}); ok != want {
			t.Errorf("%s to the next event: %v, %s", name, ok, why.Text(f.where))
		}
	}
	x := New(f)
	x.Budget = 20
	if ok, why := x.ReadsNothing(Query{From: from, To: to}); ok || x.Budget > 0 {
		t.Errorf("with %d instructions left: %v, %+v", x.Budget, ok, why)
	}
}

// TestLeavesNothing checks what code writes between two events, whatever it reads, where nothing was recorded.
func TestLeavesNothing(t *testing.T) {
	for _, flags := range []string{"-O0", "-O2", "-O2 -static"} {
		f, _ := build(t, "gcc", "locks.c", strings.Fields(flags)...)
		for name, want := range map[string]Kind{
			"yes_adjacent": NoReason, "no_lock_by_pointer": NoReason, "no_lock_of_next": NoReason, "no_keeps": NoReason, "no_helper_reads": Writes,
			"yes_writes": Writes, "yes_counts": Writes, "no_reads_for_a_branch": Writes, "yes_members": Writes, "no_atomic": Writes,
			"no_one_of_two_branches": Writes, "yes_callee_adds": Writes, "yes_helpers": Writes, "no_calls_malloc": Writes, "no_call_by_pointer": Indirect,
			"yes_array_on_stack": Writes,
		} {
			from, to := f.stacks(t, name)
			ok, why := New(f).LeavesRecorded(Query{From: from, To: to})
			static := strings.Contains(flags, "static") && name == "no_calls_malloc" // malloc's code is in the file
			if why.Kind != want && !static || ok != (want == NoReason) {
				t.Errorf("%s %s: %v, %s", flags, name, ok, why.Text(f.where))
			}
		}
	}
}

// TestDecidesNothing checks whether branches between two events depend on what the code reads.
func TestDecidesNothing(t *testing.T) {
	for _, flags := range []string{"-O0", "-O2", "-O2 -static"} {
		f, _ := build(t, "gcc", "locks.c", strings.Fields(flags)...)
		for name, want := range map[string]Kind{
			"yes_adjacent": NoReason, "yes_counts": NoReason, "no_lock_by_pointer": NoReason, "no_lock_of_next": NoReason, "no_keeps": NoReason,
			"no_reads_for_a_branch": Branch, "no_one_of_two_branches": Branch, "no_helper_reads": Branch, "no_call_by_pointer": Indirect,
		} {
			from, to := f.stacks(t, name)
			if ok, why := New(f).DecidesNothing(Query{From: from, To: to}); why.Kind != want || ok != (want == NoReason) {
				t.Errorf("%s %s: %v, %s", flags, name, ok, why.Text(f.where))
			}
		}
	}
}

// BenchmarkReadsNothing measures queries about functions that were not examined before. The
// budget of instructions is chosen by the time of one.
func BenchmarkReadsNothing(b *testing.B) {
	f, names := build(b, "gcc", "locks.c", "-O0")
	var qs []Query
	for _, name := range names {
		from, to := f.stacks(b, name)
		qs = append(qs, Query{From: from, To: to})
	}
	x := New(f)
	x.ReadsNothing(qs[0])
	instructions := 0
	for b.Loop() {
		x = New(f)
		for _, q := range qs {
			x.ReadsNothing(q)
		}
		instructions += DefaultBudget - x.Budget
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(instructions), "ns/instruction")
}

func TestCPlusPlus(t *testing.T) {
	for _, c := range []struct{ compiler, flags string }{
		{"g++", "-O0"}, {"g++", "-O1"}, {"g++", "-O2"}, {"g++", "-O3"}, {"clang++-19", "-O0"}, {"clang++-19", "-O2"}, {"g++", "-O2 -static"},
	} {
		t.Run(c.compiler+" "+c.flags, func(t *testing.T) { check(t, c.compiler, "guards.cc", "-std=c++17 "+c.flags) })
	}
}
