package synctab

import (
	"debug/elf"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ianlancetaylor/demangle"
	"pgregory.net/rapid"

	_ "github.com/tracepredict/tracepredict/internal/fixedseed"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes/libname"
)

// rowsOf returns the rows of a table, those of tables merged later first. It leaves out rows without
// an operation, and the names for which another row takes precedence.
func rowsOf(t Table) []Entry {
	var out []Entry
	for i, e := range t.entries {
		e.Names = slices.DeleteFunc(slices.Clone(e.Names), func(n string) bool { return t.linkage[n] != i })
		if e.Op != bpf.OpNone && len(e.Names) > 0 {
			out = append(out, e)
		}
	}
	return out
}

func mustBuiltin(t testing.TB) Table {
	t.Helper()
	table, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func mustParse(t testing.TB, text string) Table {
	t.Helper()
	table, err := Parse(strings.NewReader(text), "my.toml")
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestBuiltinRows(t *testing.T) {
	table := mustBuiltin(t)
	tests := []struct {
		name string
		want Entry
	}{
		{"pthread_mutex_lock", Entry{Op: bpf.OpAcquire, Kind: KindMutex, Object: 1, Success: bpf.SuccessZero}},
		{"pthread_mutex_clocklock", Entry{Op: bpf.OpAcquire, Kind: KindMutex, Object: 1, Success: bpf.SuccessZero, Timed: true}},
		{"mtx_trylock", Entry{Op: bpf.OpAcquire, Kind: KindMutex, Object: 1, Success: bpf.SuccessZero, Try: true}},
		{"pthread_rwlock_tryrdlock", Entry{Op: bpf.OpAcquireRead, Kind: KindRWLock, Object: 1, KindAt: 48, Success: bpf.SuccessZero, Try: true}},
		{"pthread_rwlock_wrlock", Entry{Op: bpf.OpAcquire, Kind: KindRWLock, Object: 1, KindAt: 48, Success: bpf.SuccessZero}},
		{"pthread_spin_unlock", Entry{Op: bpf.OpRelease, Kind: KindSpin, Object: 1}},
		{"pthread_cond_clockwait", Entry{Op: bpf.OpWait, Kind: KindCond, Object: 1, Second: 2, Success: bpf.SuccessZero, Timed: true, Unwinds: true}},
		{"cnd_wait", Entry{Op: bpf.OpWait, Kind: KindCond, Object: 1, Second: 2, Success: bpf.SuccessZero, Unwinds: true}},
		{"pthread_barrier_wait", Entry{Op: bpf.OpBarrier, Kind: KindBarrier, Object: 1, Success: bpf.SuccessBarrier}},
		{"sem_init", Entry{Op: bpf.OpInit, Kind: KindSemaphore, Object: 1, Second: 3, Shared: 2}},
		{"sem_trywait", Entry{Op: bpf.OpSemWait, Kind: KindSemaphore, Object: 1, Success: bpf.SuccessZero, Try: true}},
		{"sem_wait", Entry{Op: bpf.OpSemWait, Kind: KindSemaphore, Object: 1, Success: bpf.SuccessZero, Unwinds: true}},
		{"pthread_create", Entry{Op: bpf.OpCreate, Kind: KindThread, Object: 2, Second: 3}},
		{"thrd_join", Entry{Op: bpf.OpJoin, Kind: KindThread, Object: 1, Success: bpf.SuccessZero, Unwinds: true}},
		{"call_once", Entry{Op: bpf.OpOnce, Kind: KindOnce, Object: 1, Unwinds: true}},
		{"__cxa_guard_acquire", Entry{Op: bpf.OpGuardAcquire, Kind: KindOnce, Object: 1, Success: bpf.SuccessNonzero, Unwinds: true}},
		{"GOMP_parallel_sections", Entry{Op: bpf.OpParallel, Kind: KindThread, Library: "libgomp"}},
		{"GOMP_loop_end", Entry{Op: bpf.OpTeamBarrier, Kind: KindThread, Library: "libgomp"}},
		{"GOMP_critical_end", Entry{Op: bpf.OpRelease, Kind: KindMutex, ObjectAt: "GOMP_critical_start", Library: "libgomp"}},
		{"omp_test_nest_lock", Entry{Op: bpf.OpAcquire, Kind: KindMutex, Object: 1, Success: bpf.SuccessNonzero, Try: true, Library: "libgomp"}},
		{"GOMP_single_copy_start", Entry{Op: bpf.OpCopyBegin, Kind: KindThread, Success: bpf.SuccessNonzero, Library: "libgomp"}},
		{"PyEval_SaveThread", Entry{Op: bpf.OpInterpreterRelease, Kind: KindThread, Unwinds: true, Library: AnyLibrary}},
		{"__cxa_guard_abort", Entry{Op: bpf.OpGuardAbort, Kind: KindOnce, Object: 1}},
	}
	for _, tt := range tests {
		got, ok := table.Match(tt.name, tt.name)
		if !ok {
			t.Errorf("%s is not in the table", tt.name)
			continue
		}
		if !got.Builtin || !regexp.MustCompile(`^builtin\.toml:\d+$`).MatchString(got.Source) {
			t.Errorf("%s: builtin %v, source %q", tt.name, got.Builtin, got.Source)
		}
		got.Names, got.Builtin, got.Source = nil, false, ""
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestReturnProbesAreLeafCalls has the whole list of calls that may have a return probe, so that
// whoever adds a row must consider it here too: only calls that record something at their return,
// and whose frames are never unwound. Those of libgomp run the program's code, which OpenMP lets leave a
// region or a task only at its end.
func TestReturnProbesAreLeafCalls(t *testing.T) {
	leaf := regexp.MustCompile(`^(__)?pthread_(mutex_(try|timed|clock)?lock|rwlock_(try|timed|clock)?(rd|wr)lock|spin_(try)?lock|barrier_wait|key_create)$|^tss_create$|^mtx_(try|timed)?lock$|^sem_trywait$|^(_IO_)?f(try)?lockfile$|^GOMP_|^omp_|^g_mutex_(try)?lock$|^_ZN6QMutex[47]|^_ZN14QReadWriteLock1[1-5](try)?[lL]ockFor`)
	for _, e := range rowsOf(mustBuiltin(t)) {
		if !operations[e.Op].returns {
			continue
		}
		for _, name := range e.Names {
			if leaf.MatchString(name) == e.Unwinds {
				t.Errorf("%s: unwinds is %v", name, e.Unwinds)
			}
		}
	}
}

// ignored has the functions of a C library's synchronising families that the table leaves out, each
// with the reason.
var ignored = map[string]string{
	"pthread_mutex_getprioceiling": "reads an attribute",
	"pthread_mutex_setprioceiling": "takes and gives back the mutex inside of one call; it cannot deadlock that another lock would not show",
	"sem_open":                     "the semaphore may have been made by another process: its initial value is not known",
	"sem_close":                    "the semaphore lives on in other processes",
	"sem_unlink":                   "acts on a name, not on an object",
	"sem_getvalue":                 "reads the value without ordering anything",
	"thrd_current":                 "names the thread",
	"thrd_equal":                   "compares names",
	"thrd_exit":                    "the end of a thread is seen in the kernel",
	"thrd_sleep":                   "orders nothing",
	"thrd_yield":                   "orders nothing",
	"pthread_exit":                 "the end of a thread is seen in the kernel",
}

// families match the names that must be in the table or in ignored; attributes are objects of their
// own that synchronise nothing.
var (
	families   = regexp.MustCompile(`^(__)?pthread_(mutex|rwlock|cond|barrier|spin|once|create|join|detach|cancel$|exit|(try|timed|clock)join|key_)|^tss_(create|delete)|^sem_|^mtx_|^cnd_|^thrd_|^call_once`)
	attributes = regexp.MustCompile(`^(__)?pthread_(mutex|rwlock|cond|barrier)attr_`)
)

// TestLibcIsCovered fails if a C library has a function of these families that is neither in the
// table nor in ignored.
func TestLibcIsCovered(t *testing.T) {
	table := mustBuiltin(t)
	for _, pattern := range []string{
		"/lib/*-linux-gnu/libc.so.6", "/lib64/libc.so.6", "/usr/lib/libc.so.6",
		"/usr/lib/*-linux-musl/libc.so", "/lib/libc.musl-*.so.1",
	} {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			t.Run(path, func(t *testing.T) { checkCovered(t, table, path) })
		}
	}
}

func checkCovered(t *testing.T, table Table, path string) {
	f, err := elf.Open(path)
	if err != nil {
		t.Skipf("cannot read it: %v", err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Skipf("has no dynamic symbols: %v", err)
	}
	seen := 0
	for _, s := range symbols {
		if s.Section == elf.SHN_UNDEF || !families.MatchString(s.Name) || attributes.MatchString(s.Name) {
			continue
		}
		seen++
		if _, ok := table.Match(s.Name, ""); !ok && ignored[s.Name] == "" {
			t.Errorf("%s is neither in builtin.toml nor in the list of ignored names: add it to one of them", s.Name)
		}
	}
	if seen < 50 {
		t.Errorf("saw only %d functions of the families", seen)
	}
}

func TestMatchDemangled(t *testing.T) {
	table := mustBuiltin(t).Merge(mustParse(t, `
[[call]]
name = ["absl::Mutex::Lock", "ns::Spin<int>::lock", "Queue::take", "(anonymous namespace)::Lock::lock", "Gate::operator()", "raw_lock", "Big::Big"]
operation = "acquire"
`))
	tests := []struct {
		linkage string
		want    bool
	}{
		{"_ZN4absl5Mutex4LockEv", true},
		{"_ZN4absl5Mutex6UnlockEv", false},
		{"_ZN4absl5Mutex4LockEv.cold", false},
		{"_ZN4absl5Mutex4LockEv.constprop.0", false},
		{"_ZN2ns4SpinIiE4lockEv", true},
		{"_ZN2ns4SpinIlE4lockEv", false},
		{"_ZN5QueueIiE4takeIlEEvT_", true}, // void Queue<int>::take<long>(long)
		{"_ZN12_GLOBAL__N_14Lock4lockEv", true},
		{"_ZN4GateclEi", true},
		{"_Z8raw_lockPi", true},
		{"raw_lock", true},
		{"_ZN3BigC2Ev", true},
		{"_Z8sem_waitR3Foo", false}, // a C++ function of that name is not libc's
		{"sem_wait", true},
		{"_ZNK4absl5Mutex4LockEv", true},
		{"_ZN3foo10sem_wait_xEv", false},
	}
	for _, tt := range tests {
		pretty := demangle.Filter(tt.linkage)
		_, got := table.Match(tt.linkage, pretty)
		if got != tt.want {
			t.Errorf("Match(%s, %s) = %v", tt.linkage, pretty, got)
		}
		short := demangle.Filter(tt.linkage, demangle.NoParams)
		if _, got := table.Match(tt.linkage, short); got != tt.want && !strings.Contains(tt.linkage, ".") {
			t.Errorf("Match(%s, %s) = %v", tt.linkage, short, got)
		}
		if tt.want && pretty != tt.linkage && !table.NeedsDemangling(tt.linkage) {
			t.Errorf("NeedsDemangling(%s) is false, but it matches", tt.linkage)
		}
	}
	if mustBuiltin(t).NeedsDemangling("_ZN4absl5Mutex4LockEv") {
		t.Error("the built-in table has linkage names alone, yet wants demangled ones")
	}
}

func TestRustNames(t *testing.T) {
	table := mustParse(t, `
[[call]]
name = ["lock_api::RawMutex::lock", "<parking_lot::raw_mutex::RawMutex as lock_api::mutex::RawMutex>::lock"]
operation = "acquire"
`)
	for _, name := range []string{
		"lock_api::RawMutex::lock::h0123456789abcdef",
		"<parking_lot::raw_mutex::RawMutex as lock_api::mutex::RawMutex>::lock",
	} {
		if _, ok := table.Match("_R", name); !ok {
			t.Errorf("%s does not match", name)
		}
	}
}

func TestMergeOverridesAndRemoves(t *testing.T) {
	table := mustBuiltin(t).Merge(mustParse(t, `
[[call]]
name = "sem_post"
operation = "release"
kind = "mutex"
[[call]]
name = "pthread_once"
operation = "none"
`))
	if e, ok := table.Match("sem_post", ""); !ok || e.Op != bpf.OpRelease || !e.Unwinds || e.Source != "my.toml:2" {
		t.Errorf("sem_post: %+v, %v", e, ok)
	}
	if e, ok := table.Match("pthread_once", ""); ok {
		t.Errorf("pthread_once is still there: %+v", e)
	}
	if _, ok := table.Match("call_once", ""); !ok {
		t.Error("call_once, of the same row, has gone too")
	}
	for _, e := range rowsOf(table) {
		for _, n := range e.Names {
			if m, ok := table.Match(n, ""); !ok || m.Source != e.Source {
				t.Errorf("Entries has %s from %s, Match says %s, %v", n, e.Source, m.Source, ok)
			}
		}
	}
	if _, ok := (Table{}).Match("sem_post", "sem_post"); ok {
		t.Error("the zero table matches something")
	}
}

// TestMergeProperty compares Merge with a naive look-up in the first table that has the name.
func TestMergeProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tables []Table
		for range rapid.IntRange(1, 4).Draw(t, "tables") {
			var entries []Entry
			for range rapid.IntRange(0, 3).Draw(t, "rows") {
				entries = append(entries, Entry{
					Names: rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 1, 3).Draw(t, "names"),
					Op:    bpf.Op(rapid.IntRange(0, 3).Draw(t, "op")),
				})
			}
			tables = append(tables, newTable(entries))
		}
		var merged Table
		for _, table := range tables {
			merged = merged.Merge(table)
		}
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			want := bpf.OpNone
		search:
			for i := len(tables) - 1; i >= 0; i-- {
				for _, e := range tables[i].entries {
					for _, n := range e.Names {
						if n == name {
							want = e.Op
							break search
						}
					}
				}
			}
			got, ok := merged.Match(name, "")
			if ok != (want != bpf.OpNone) || got.Op != want {
				t.Fatalf("%s: got %v, want %v", name, got.Op, want)
			}
		}
	})
}

func TestDocumentExamples(t *testing.T) {
	text, err := os.ReadFile("../../docs/sync-table.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```toml\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) < 2 {
		t.Fatalf("the document has %d examples", len(blocks))
	}
	table := mustBuiltin(t)
	for i, b := range blocks {
		user, err := Parse(strings.NewReader(b[1]), "example.toml")
		if err != nil {
			t.Errorf("example %d: %v", i+1, err)
		}
		table = table.Merge(user)
	}
	if e, ok := table.Match("_ZN4absl5Mutex4LockEv", "absl::Mutex::Lock()"); !ok || e.Op != bpf.OpAcquire {
		t.Error("absl::Mutex::Lock is not found")
	}
	if e, ok := table.Match("spin_acquire", ""); !ok || e.Kind != KindSpin {
		t.Error("spin_acquire is not found")
	}
}

// TestFunctionsOfThreads checks that every built-in name is known as one of the libraries'.
func TestFunctionsOfThreads(t *testing.T) {
	for _, e := range rowsOf(mustBuiltin(t)) {
		for _, name := range e.Names {
			if !libname.OfThreads(name) {
				t.Errorf("libname does not know %s", name)
			}
		}
	}
}
