package symbolize

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/elftest"
)

func run(t testing.TB, stdin, name string, args ...string) string {
	t.Helper()
	testtool.Need(t, name)
	cmd := exec.Command(name, args...)
	cmd.Stdin = strings.NewReader(stdin)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

// build compiles a file of testdata, unoptimised unless flags say otherwise.
func build(t testing.TB, compiler, source string, flags ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "prog")
	run(t, "", compiler, append([]string{"-o", out, filepath.Join("testdata", source)}, flags...)...)
	return out
}

func open(t testing.TB, path string) *elf.File {
	t.Helper()
	f, err := elf.OpenWith(path, elf.Options{DebugDirs: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// place is a frame in addr2line's output.
type place struct {
	Function, File string
	Line           int
}

// addr2line returns the frames of many addresses, by address.
func addr2line(t *testing.T, path string, addrs []uint64) map[uint64][]place {
	t.Helper()
	var in strings.Builder
	for _, a := range addrs {
		fmt.Fprintf(&in, "0x%x\n", a)
	}
	out := map[uint64][]place{}
	var at uint64
	lines := strings.Split(strings.TrimSpace(run(t, in.String(), "addr2line", "-afie", path)), "\n")
	for i := 0; i < len(lines); {
		if strings.HasPrefix(lines[i], "0x") {
			at, _ = strconv.ParseUint(lines[i], 0, 64)
			i++
			continue
		}
		file, line, _ := strings.Cut(lines[i+1], ":")
		line, _, _ = strings.Cut(line, " ") // "(discriminator 2)"
		n, _ := strconv.Atoi(line)
		out[at] = append(out[at], place{lines[i], filepath.Base(file), n})
		i += 2
	}
	return out
}

type fixture struct {
	compiler, source string
	flags            []string
}

func fixtures() map[string]fixture {
	return map[string]fixture{
		"c-dwarf4":   {"gcc", "inline.c", []string{"-O2", "-gdwarf-4"}},
		"c-dwarf5":   {"gcc", "inline.c", []string{"-O2", "-gdwarf-5"}},
		"c-O0":       {"gcc", "inline.c", []string{"-O0", "-g"}},
		"c-no-pie":   {"gcc", "inline.c", []string{"-O2", "-g", "-no-pie"}},
		"c-gc":       {"gcc", "inline.c", []string{"-O2", "-g", "-ffunction-sections", "-Wl,--gc-sections"}},
		"c-clang":    {"clang-19", "inline.c", []string{"-O2", "-gdwarf-5"}},
		"c-lto":      {"gcc", "inline.c", []string{"-O2", "-g", "-flto"}},
		"c++-dwarf4": {"g++", "inline.cc", []string{"-O2", "-gdwarf-4"}},
		"c++-dwarf5": {"g++", "inline.cc", []string{"-O2", "-gdwarf-5"}},
		"c++-gz":     {"g++", "inline.cc", []string{"-O2", "-g", "-gz"}},
		"rust":       {"rustc", "inline.rs", []string{"-Copt-level=2", "-g"}},
	}
}

// TestFramesAreThoseOfAddr2line compares at every fourth address of the code
// that debug information covers.
func TestFramesAreThoseOfAddr2line(t *testing.T) {
	for name, fx := range fixtures() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := build(t, fx.compiler, fx.source, fx.flags...)
			f := open(t, path)
			compare(t, path, f, New(f), sample(f, 3000))
		})
	}
}

// sample returns up to n addresses spread over the functions.
func sample(f *elf.File, n int) []uint64 {
	total := uint64(0)
	for _, r := range f.Functions() {
		total += r.Hi - r.Lo
	}
	step := max(total/uint64(n), 1)
	var out []uint64
	for _, r := range f.Functions() {
		for a := r.Lo; a < r.Hi; a += step {
			out = append(out, a)
		}
	}
	return out
}

func compare(t *testing.T, path string, f *elf.File, table *Table, addrs []uint64) {
	t.Helper()
	want := addr2line(t, path, addrs)
	known, wrong := 0, 0
	for _, a := range addrs {
		w := want[a]
		if len(w) == 0 || w[0].File == "??" || w[len(w)-1].Function == "??" {
			continue // the address has no debug information
		}
		known++
		var got []place
		for _, fr := range table.Frames(a) {
			got = append(got, place{fr.Linkage, filepath.Base(fr.File), fr.Line})
		}
		if !sameChain(w, got) {
			if wrong++; wrong <= 5 {
				t.Errorf("0x%x (-addr2line +ours):\n%s", a, cmp.Diff(w, got))
			}
		}
	}
	t.Logf("%d of %d addresses have debug information, %d differ", known, len(addrs), wrong)
	if known == 0 {
		t.Error("nothing was compared")
	}
	if err := problem(table); err != nil {
		t.Error(err)
	}
}

// sameChain reports whether frames are equal as far as addr2line knows them: it prints "?" for line
// 0, and the symbol's name for the outermost function.
func sameChain(want, got []place) bool {
	return slices.EqualFunc(want, got, func(w, g place) bool {
		w.Function, g.Function = withoutClone(w.Function), withoutClone(g.Function)
		if w.Line == 0 {
			w.File, w.Line = g.File, g.Line
		}
		if w.File == "<artificial>" { // binutils 2.40 prints this for link-time optimisation
			w.File = g.File
		}
		return w == g
	})
}

// withUnits sets the number of compilation units that are kept parsed.
func withUnits(n int) Option { return func(t *Table) { t.maxUnits = n } }

// problem returns the reason why names have less detail than they could; nil if nothing has been missing so far.
func problem(t *Table) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.load()
	return t.err
}

// stack returns the frames of a call stack, innermost first. pcs are an exact address, then return addresses.
func stack(t *Table, pcs []uint64) []Frame {
	var out []Frame
	for i, pc := range pcs {
		if i > 0 {
			pc = CallSite(pc)
		}
		out = append(out, t.Frames(pc)...)
	}
	return out
}

func names(frames []Frame) []string {
	var out []string
	for _, f := range frames {
		s := fmt.Sprintf("%s:%d", f.Function, f.Line)
		if f.Inlined {
			s += " inlined"
		}
		out = append(out, s)
	}
	return out
}

// chains returns the distinct lists of frames of a function's addresses.
func chains(t *testing.T, f *elf.File, table *Table, name string) [][]string {
	t.Helper()
	syms := f.Lookup(name)
	if len(syms) == 0 {
		t.Fatalf("no symbol %s", name)
	}
	var out [][]string
	for a := syms[0].Addr; a < syms[0].Addr+syms[0].Size; a++ {
		frames := table.Frames(a)
		if off := frames[0].Offset; off != a-syms[0].Addr {
			t.Fatalf("offset of 0x%x is 0x%x", a, off)
		}
		if c := names(frames); !slices.ContainsFunc(out, func(o []string) bool { return slices.Equal(o, c) }) {
			out = append(out, c)
		}
	}
	return out
}

func TestInlinedCallsInC(t *testing.T) {
	f := open(t, build(t, "gcc", "inline.c", "-O2", "-g"))
	got := chains(t, f, New(f), "worker")
	for _, want := range [][]string{
		{"leaf:11 inlined", "middle:17 inlined", "worker:24"},
		{"leaf:11 inlined", "middle:18 inlined", "worker:24"},
	} {
		if !slices.ContainsFunc(got, func(c []string) bool { return slices.Equal(c, want) }) {
			t.Errorf("no address has %q, only %q", want, got)
		}
	}
}

func TestMethodsAndTemplatesInCpp(t *testing.T) {
	f := open(t, build(t, "g++", "inline.cc", "-O2", "-g"))
	got := chains(t, f, New(f), "_ZN4bank7AccountIlE5twiceEl")
	want := []string{"bank::Account<long>::add(long):9 inlined", "bank::Account<long>::twice(long):12"}
	if !slices.ContainsFunc(got, func(c []string) bool { return slices.Equal(c, want) }) {
		t.Errorf("no address has %q, only %q", want, got)
	}
}

func TestRustNames(t *testing.T) {
	f := open(t, build(t, "rustc", "inline.rs", "-Copt-level=2", "-g"))
	table := New(f)
	for _, s := range f.Symbols() {
		if strings.Contains(s.Name, "Account5twice") || strings.Contains(s.Name, "7Accounttwice") {
			frames := table.Frames(s.Addr + s.Size/2)
			if got := frames[len(frames)-1]; got.Function != "inline::Account::twice" || !strings.HasSuffix(got.File, "inline.rs") {
				t.Errorf("%+v", got)
			}
			return
		}
	}
	t.Fatal("no symbol of Account::twice")
}

func TestDataNames(t *testing.T) {
	for _, c := range []struct {
		compiler, source, symbol, want string
	}{
		{"gcc", "inline.c", "counter", "counter"},
		{"gcc", "inline.c", "hidden", "hidden"},
		{"gcc", "inline.c", "once.", "once"},
		{"g++", "inline.cc", "_ZN4bank12_GLOBAL__N_15tableE", "bank::(anonymous namespace)::table"},
		{"g++", "inline.cc", "_ZZN4bank12_GLOBAL__N_15quietEiE4seen", "bank::(anonymous namespace)::quiet(int)::seen"},
	} {
		t.Run(c.want, func(t *testing.T) {
			f := open(t, build(t, c.compiler, c.source, "-O0"))
			table := New(f)
			i := slices.IndexFunc(f.Symbols(), func(s elf.Symbol) bool {
				return s.Kind == elf.Object && (s.Name == c.symbol || strings.HasSuffix(c.symbol, ".") && strings.HasPrefix(s.Name, c.symbol))
			})
			if i < 0 {
				t.Fatalf("no symbol %s", c.symbol)
			}
			s := f.Symbols()[i]
			for _, off := range []uint64{0, s.Size - 1} {
				if name, o, ok := table.Data(s.Addr + off); name != c.want || o != off || !ok {
					t.Errorf("+%d: %q, %d, %v", off, name, o, ok)
				}
			}
			if name, _, ok := table.Data(s.Addr + 1<<30); ok {
				t.Errorf("far beyond: %q", name)
			}
		})
	}
}

func TestWithoutDebugInformation(t *testing.T) {
	path := build(t, "gcc", "inline.c", "-O2")
	f := open(t, path)
	table := New(f, WithModule("app"))
	if !errors.Is(problem(table), elf.ErrNoDWARF) {
		t.Errorf("error %v", problem(table))
	}
	worker := f.Lookup("worker")[0]
	want := []Frame{{Function: "worker", Linkage: "worker", Module: "app", Offset: 2}}
	if diff := cmp.Diff(want, table.Frames(worker.Addr+2)); diff != "" {
		t.Error(diff)
	}
	for at, name := range f.PLTTargets() {
		if got := table.Frames(at + 4)[0]; got.Function != name+"@plt" || got.Offset != 4 {
			t.Errorf("stub of %s: %+v", name, got)
		}
	}
	run(t, "", "strip", path)
	bare := New(open(t, path))
	if diff := cmp.Diff([]Frame{{Module: "prog", Offset: worker.Addr}}, bare.Frames(worker.Addr)); diff != "" {
		t.Error(diff)
	}
	if got := bare.Frames(worker.Addr)[0].String(); got != fmt.Sprintf("prog+0x%x", worker.Addr) {
		t.Errorf("printed as %q", got)
	}
}

func TestStackUsesCallSites(t *testing.T) {
	f := open(t, build(t, "gcc", "inline.c", "-O0", "-g"))
	table := New(f)
	worker, main := f.Lookup("worker")[0], f.Lookup("main")[0]
	// A return address at the very end of main belongs to the next function.
	got := names(stack(table, []uint64{worker.Addr, main.Addr + main.Size}))
	if len(got) != 2 || !strings.HasPrefix(got[0], "worker:") || !strings.HasPrefix(got[1], "main:") {
		t.Errorf("stack %q", got)
	}
	if CallSite(0) != 0 {
		t.Error("call site of nothing")
	}
}

func TestFewUnitsKept(t *testing.T) {
	path := build(t, "g++", "inline.cc", "-O2", "-g", "testdata/inline_other.cc")
	f := open(t, path)
	compare(t, path, f, New(f, withUnits(1)), sample(f, 500))
}

func TestPublicNameOfGlibc(t *testing.T) {
	f, err := elf.Open("/lib/x86_64-linux-gnu/libc.so.6")
	if err != nil {
		t.Skip("no glibc in the usual place")
	}
	defer f.Close()
	addr := f.Lookup("pthread_mutex_lock")[0].Addr
	for _, table := range []*Table{New(f), New(f, WithoutDWARF())} {
		if got := table.Frames(addr); got[len(got)-1].Function != "pthread_mutex_lock" {
			t.Errorf("%v", got)
		}
	}
}

func TestPlainNames(t *testing.T) {
	for linked, want := range map[string]string{
		"main": "main", "f.cold": "f", "f.part.0": "f", "f.constprop.0.isra.0": "f", ".cold": ".cold",
		"_ZN1A1fEi": "A::f(int)", "_ZN1A1fEi.cold": "A::f(int)", "_Znonsense": "_Znonsense", "_start": "_start",
		"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE": "core::fmt::Write::write_fmt",
	} {
		if got := demangled(linked); got != want {
			t.Errorf("%s: %q, want %q", linked, got, want)
		}
	}
	if n := len(demangled("_Z1f" + strings.Repeat("NSt3", 4000))); n > 1<<20 {
		t.Errorf("%d bytes", n)
	}
}

// FuzzDamagedDWARF damages debug information at one offset at a time and looks up every function:
// the result may lack detail, but must come and be bounded.
func FuzzDamagedDWARF(f *testing.F) {
	var programs [][]byte
	var places [][2]int
	for _, flag := range []string{"-gdwarf-4", "-gdwarf-5"} {
		path := build(f, "gcc", "inline.c", "-O2", flag)
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		programs = append(programs, b)
		places = append(places, debugPart(f, b))
	}
	for i := range 64 {
		f.Add(byte(i), uint32(i*97), []byte{0xff, byte(i), 0x80, 0})
	}
	f.Fuzz(func(t *testing.T, which byte, at uint32, patch []byte) {
		p := int(which) % len(programs)
		b := bytes.Clone(programs[p])
		lo, hi := places[p][0], places[p][1]
		pos := lo + int(at)%(hi-lo)
		copy(b[pos:hi], patch)
		file, err := elf.NewWith(bytes.NewReader(b), int64(len(b)), "damaged", elf.Options{DebugDirs: []string{}})
		if err != nil {
			return
		}
		table := New(file, withUnits(2))
		for _, r := range file.Functions() {
			for a := r.Lo; a < r.Hi; a += 5 {
				if len(table.Frames(a)) == 0 {
					t.Fatalf("no frame at 0x%x", a)
				}
			}
		}
	})
}

// FuzzPatched damages programs after their headers, and checks that the result for every address
// has a bounded length.
func FuzzPatched(f *testing.F) {
	seeds, err := elftest.Seeds()
	if err != nil {
		f.Fatal(err)
	}
	for i := range 3 * len(seeds) {
		f.Add(byte(i), []byte{byte(i + 4), 0, byte(7 * i), 0, byte(i), 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff}, uint64(i)<<60)
	}
	f.Fuzz(func(t *testing.T, which byte, program []byte, any uint64) {
		b := elftest.Patch(seeds[int(which)%len(seeds)], program)
		file, err := elf.NewWith(bytes.NewReader(b), int64(len(b)), "patched", elf.Options{DebugDirs: []string{}})
		if err != nil {
			return
		}
		table := New(file, withUnits(1))
		stack(table, []uint64{any, 0, ^uint64(0)})
		for _, s := range file.Symbols() {
			table.Data(s.Addr + any%8)
			for _, frame := range table.Frames(s.Addr + any%64) {
				if len(frame.Function) > 1<<18 || len(frame.File) > 1<<20 || frame.Line < 0 {
					t.Errorf("%d bytes of name, %d of file, line %d", len(frame.Function), len(frame.File), frame.Line)
				}
			}
		}
		_ = problem(table)
	})
}

// FuzzPlain checks that the plain form of any name is bounded.
func FuzzPlain(f *testing.F) {
	for _, s := range []string{"_ZN2ns5Queue4takeEi", "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "_RNvC3foo3bar", "f.cold.part.0",
		"_ZSt4moveIRSt4pairIiSt6vectorIiSaIiEEEEONSt16remove_referenceIT_E4typeEOS7_", "_ZZ1fvENKUlT_E_clIiEEDaS_"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if n := len(demangled(name)); n > len(name)+1<<(maxDemangled+1) {
			t.Errorf("%d bytes of %d", n, len(name))
		}
		if s := stem(name); len(s) > len(name) {
			t.Errorf("the stem %q of %q", s, name)
		}
	})
}

// debugPart returns the file offsets of all debug sections, which lie together.
func debugPart(t testing.TB, b []byte) [2]int {
	lo, hi := len(b), 0
	e, err := elfSections(b)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range e {
		if strings.HasPrefix(s.Name, ".debug_") {
			lo, hi = min(lo, int(s.Offset)), max(hi, int(s.Offset+s.FileSize))
		}
	}
	if lo >= hi {
		t.Fatal("no debug sections")
	}
	return [2]int{lo, hi}
}

func TestConcurrentUse(t *testing.T) {
	f := open(t, build(t, "gcc", "inline.c", "-O2", "-g"))
	table := New(f, withUnits(1))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for _, s := range f.Symbols() {
				table.Frames(s.Addr)
				table.Data(s.Addr)
				f.FunctionAt(s.Addr)
				_ = f.GOTSlots()
			}
		})
	}
	wg.Wait()
}

// TestLinesFromTheFunctionsFirst checks that each frame, inlined ones included, has the line on
// which its function begins; for a method, the line of its definition.
func TestLinesFromTheFunctionsFirst(t *testing.T) {
	for _, c := range []struct {
		compiler, source, function string
		want                       []int
	}{
		{"gcc", "inline.c", "worker", []int{9, 15, 21}},
		{"g++", "inline.cc", "_ZN4bank7AccountIlE5twiceEl", []int{9, 10}},
	} {
		f := open(t, build(t, c.compiler, c.source, "-O2", "-g"))
		table, s := New(f), f.Lookup(c.function)[0]
		found := false
		for a := s.Addr; a < s.Addr+s.Size; a++ {
			var starts []int
			for _, fr := range table.Frames(a) {
				starts = append(starts, fr.Start)
			}
			found = found || slices.Equal(starts, c.want)
		}
		if !found {
			t.Errorf("%s: no address has frames of functions that begin on the lines %d", c.source, c.want)
		}
	}
}
