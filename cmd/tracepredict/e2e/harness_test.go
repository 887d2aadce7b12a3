// Package e2e tests the whole tool with real programs on a real kernel. A program
// prints what it does, line by line (testdata/say.h); a test compares the observed
// events with these lines.
//
// If the kernel or the user does not allow BPF, the tests skip with the reason; with
// TRACEPREDICT_REQUIRE_BPF=1 in the environment they fail.
package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/loader"
	"github.com/tracepredict/tracepredict/loader/attach"
	"github.com/tracepredict/tracepredict/loader/ptrace"
	"github.com/tracepredict/tracepredict/observer"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/live"
	"github.com/tracepredict/tracepredict/probes"
	"github.com/tracepredict/tracepredict/probes/synctab"
)

func TestMain(m *testing.M) {
	ptrace.MainIfHeld()
	heedIgnored()
	os.Unsetenv("GITHUB_ACTIONS") // in a step of GitHub Actions the tool writes annotations too
	os.Exit(runTests(m))
}

// heedIgnored makes the programs that the tests start get the signals that this process
// ignores, as it does below nohup, or in the background of a shell without job control.
func heedIgnored() {
	for _, s := range []os.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}

// fixtures caches the results of build; fixtureDir is set before the tests run.
var (
	fixtureDir string
	fixtures   sync.Map // command line → func() error
	// environment is that of go test: Go's cache of builds is in the folder that XDG_CACHE_HOME names, too.
	environment []string
)

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "tracepredict-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	// Some tests run the programs as another user.
	if err := os.Chmod(dir, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fixtureDir, environment = dir, os.Environ()
	if err := os.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := selectCore(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

var tryBPF = sync.OnceValue(func() error {
	tracer, err := attach.NewTracer(attach.TracerOptions{})
	if err != nil {
		return err
	}
	return tracer.Close()
})

// needBPF skips the test, with the reason, if nothing can be observed.
func needBPF(t testing.TB) {
	t.Helper()
	err := tryBPF()
	switch {
	case err == nil:
	case os.Getenv("TRACEPREDICT_REQUIRE_BPF") == "1":
		t.Fatalf("TRACEPREDICT_REQUIRE_BPF=1, but: %v", err)
	default:
		t.Skipf("cannot observe here (run as root): %v", err)
	}
}

// needBreakpoints skips a test that needs hardware breakpoints where these do not work, as in some virtual machines.
func needBreakpoints(t testing.TB) {
	t.Helper()
	if err := attach.TryWatchpoint(); errors.Is(err, attach.ErrNoWatchpoint) {
		t.Skip(err)
	}
}

// build compiles testdata/source once and returns the path of the result. The flags
// follow the source on the command line, so that they may include libraries.
func build(t testing.TB, compiler, source string, flags ...string) string {
	t.Helper()
	testtool.Need(t, compiler)
	words := append([]string{compiler, source}, flags...)
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune("/ ,=:$", r) {
			return '_'
		}
		return r
	}, strings.Join(words, ""))
	if len(name) > 150 {
		name = name[:120] + fmt.Sprintf("%x", hash(name))
	}
	out := filepath.Join(fixtureDir, name)
	once, _ := fixtures.LoadOrStore(out, sync.OnceValue(func() error {
		return compile(compiler, filepath.Join("testdata", source), out, flags)
	}))
	if err := once.(func() error)(); err != nil {
		t.Fatal(err)
	}
	return out
}

func hash(s string) uint64 {
	h := uint64(14695981039346656037) // FNV-1a
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// compileLimit is how long a compiler may take: several tests may wait for its result,
// so that it is bound by no one's.
const compileLimit = 2 * time.Minute

func compile(compiler, source, out string, flags []string) error {
	args := append([]string{"-g", "-Wall", "-Wno-unused-function", "-o", out, source}, flags...)
	ctx, cancel := context.WithTimeout(context.Background(), compileLimit)
	defer cancel()
	text, err := exec.CommandContext(ctx, compiler, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s", compiler, strings.Join(args, " "), err, text)
	}
	return nil
}

// options configure observe.
type options struct {
	Args       []string // after the program's name
	Watch      []string // variables
	Hardware   []string // variables to watch by hardware watchpoints
	On         []string // patterns of functions
	Sync       []string // paths of additional tables of calls
	EntrySites bool     // probes at their original addresses
	Atomics    bool     // also observe atomic variables that are not named
	Lives      bool     // record the ends of memory
	Context    context.Context
	// MayLose: lost records are no error, since a hypervisor may lose an access that a watchpoint saw.
	MayLose bool
	// Tap, if not nil, receives each record before the observer does.
	Tap func(*run, *bpf.Record)
}

// run is an observed run.
type run struct {
	Events   []event.Event // without clocks
	Output   string        // the program's standard output
	Result   loader.Result
	Observer *observer.Observer
	Session  *loader.Session
	Link     *live.Link
	program  string
}

// collector is an observer.Sink that keeps the events.
type collector struct{ events []event.Event }

func (c *collector) Event(e *event.Event) {
	kept := *e
	kept.Must, kept.Args = nil, slices.Clone(e.Args)
	c.events = append(c.events, kept)
}

// observe runs a program under observation to its end. If the test fails, it logs the
// events and the program's output.
func observe(t testing.TB, program string, opts options) *run {
	t.Helper()
	needBPF(t)
	plan := probes.Options{Watch: opts.Watch, Hardware: opts.Hardware, On: patterns(t, opts.On), EntrySites: opts.EntrySites, Atomics: opts.Atomics, Lives: opts.Lives, Table: tables(t, opts.Sync)}
	r, sink := &run{program: program, Link: live.NewLink()}, &collector{}
	r.Link.Observe(observer.Options{Sinks: []observer.Sink{sink}}, false)
	r.Observer = r.Link.Observer
	ctx := opts.Context
	if ctx == nil {
		ctx = context.Background()
	}
	stdout, output := captured(t)
	var err error
	b, ended := boundOf(t), make(chan struct{})
	go func() {
		defer close(ended)
		r.Result, err = loader.Start(ctx,
			loader.Program{Path: program, Args: append([]string{program}, opts.Args...), Stdout: stdout},
			loader.Options{Plan: plan, Handler: recordTap{r.Observer, r, opts.Tap}},
			func(s *loader.Session) { b.owns(s.PID()); r.Session = s; r.Link.Begin(s) })
	}()
	await(t, "the end of "+program, ended, b.kill)
	r.Output = output()
	r.Observer.Finish()
	r.Events = sink.events
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("program: %s %s\n%s\nevents:\n%s", program, strings.Join(opts.Args, " "), r.Output, r.eventList())
		}
	})
	if err != nil {
		t.Fatalf("observe %s: %v", program, err)
	}
	if r.Result.Lost != (loader.Lost{}) && !opts.MayLose {
		t.Errorf("lost: %+v", r.Result.Lost)
	}
	return r
}

// recordTap is an observer whose records are passed to a function first.
type recordTap struct {
	*observer.Observer
	run *run
	tap func(*run, *bpf.Record)
}

func (o recordTap) Record(r *bpf.Record) {
	if o.tap != nil {
		o.tap(o.run, r)
	}
	o.Observer.Record(r)
}

func tables(t testing.TB, paths []string) synctab.Table {
	t.Helper()
	table, err := synctab.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		more, err := synctab.Parse(f, path)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		table = table.Merge(more)
	}
	return table
}

// captured returns a file for a program's standard output, and a function that returns,
// at the end, what the program wrote.
func captured(t testing.TB) (f *os.File, output func() string) {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "stdout")
	if err != nil {
		t.Fatal(err)
	}
	return f, func() string {
		defer f.Close()
		text, err := os.ReadFile(f.Name())
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
}

// programLog is what a program printed about what it did.
type programLog struct {
	threads map[uint32][]string // names, by thread ID, in the order of the threads' lifetimes
	objects map[uint64][]string // names, by address, in the order of the objects' lifetimes
	did     map[string][]string // what each thread did, by its name
	unheld  uint64              // number of unlocks of locks that were not held
}

// parseLog reads the lines that testdata/say.h prints, and ignores all others.
func parseLog(t testing.TB, output string) programLog {
	t.Helper()
	s := programLog{threads: map[uint32][]string{}, objects: map[uint64][]string{}, did: map[string][]string{}}
	for line := range strings.Lines(output) {
		verb, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		name, what, _ := strings.Cut(rest, " ")
		var err error
		switch verb {
		case "thread":
			var tid uint32
			_, err = fmt.Sscan(what, &tid)
			s.threads[tid] = append(s.threads[tid], name)
		case "name":
			var addr uint64
			_, err = fmt.Sscanf(what, "0x%x", &addr)
			s.objects[addr] = append(s.objects[addr], name)
		case "=":
			s.did[name] = append(s.did[name], what)
		case "unheld":
			s.unheld++
		}
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
	}
	return s
}

// names are the program's own names of threads and objects.
type names struct {
	threads map[event.ThreadID]string
	objects map[event.ObjectID]string
}

func (r *run) names(s programLog) names {
	n := names{map[event.ThreadID]string{}, map[event.ObjectID]string{}}
	for id := event.ThreadID(1); ; id++ {
		info, ok := r.Observer.ThreadInfo(id)
		if !ok {
			break
		}
		n.threads[id] = popName(s.threads, info.TID, fmt.Sprintf("thread-%d", info.TID))
	}
	// Objects that no event names, such as a spin lock that is only initialised, have
	// no name.
	var used []event.ObjectID
	for i := range r.Events {
		if e := &r.Events[i]; !inferredEnd(e) {
			used = append(used, e.Object, e.Object2)
		}
	}
	slices.Sort(used)
	for _, id := range slices.Compact(used) {
		if info, ok := r.Observer.ObjectInfo(id); ok {
			n.objects[id] = popName(s.objects, info.Addr, fmt.Sprintf("?%#x", info.Addr))
		}
	}
	return n
}

// popName removes and returns the first of the names for a key; none if there is none
// left.
func popName[K comparable](left map[K][]string, key K, none string) string {
	if len(left[key]) == 0 {
		return none
	}
	name := left[key][0]
	left[key] = left[key][1:]
	return name
}

var flagNames = []struct {
	flag event.Flags
	name string
}{
	{event.Try, "try"}, {event.Timed, "timed"}, {event.TimedOut, "timed-out"}, {event.Atomic, "atomic"},
	{event.InCondWait, "in-wait"}, {event.Inferred, "inferred"},
}

// line formats an event as the programs print it with testdata/say.h.
func (n names) line(e *event.Event) string {
	words := []string{e.Op.String()}
	if e.Object != 0 {
		words = append(words, n.objects[e.Object])
	}
	if e.Object2 != 0 && e.Op != event.Init { // programs do not say what an init takes the place of
		words = append(words, n.objects[e.Object2])
	}
	if e.Peer != 0 {
		words = append(words, n.threads[e.Peer])
	}
	if e.Op == event.Init && (e.Kind == event.KindSemaphore || e.Kind == event.KindBarrier) {
		words = append(words, fmt.Sprint(e.Value))
	}
	for _, f := range flagNames {
		if e.Flags&f.flag != 0 {
			words = append(words, f.name)
		}
	}
	return strings.Join(words, " ")
}

// eventList formats the events for people.
func (r *run) eventList() string {
	n := names{map[event.ThreadID]string{}, map[event.ObjectID]string{}}
	if r.Observer != nil {
		n = r.names(programLog{})
	}
	var b strings.Builder
	for i := range r.Events {
		e := &r.Events[i]
		if i == 400 {
			fmt.Fprintf(&b, "… %d more\n", len(r.Events)-i)
			break
		}
		fmt.Fprintf(&b, "%4d T%d %s (%s)\n", e.Seq, e.Thread, n.line(e), e.Kind)
	}
	return b.String()
}

// byThread returns the observed events of each thread, by the names that the program
// gave. Programs do not print begin and end; byThread itself checks that each thread
// has one begin, as its first event, and one end, as its last. It omits events on
// objects that the program did not name, unless they are the program's own, because
// run-time libraries, such as the dynamic loader, lock too.
func (r *run) byThread(t testing.TB, s programLog) map[string][]string {
	t.Helper()
	n := r.names(s)
	seen := map[string][]string{}
	begun, ended := map[event.ThreadID]bool{}, map[event.ThreadID]bool{}
	for i := range r.Events {
		e := &r.Events[i]
		name := n.threads[e.Thread]
		switch {
		case ended[e.Thread]:
			t.Errorf("event %d: %s after the end of %s", e.Seq, n.line(e), name)
		case e.Op == event.Begin:
			if begun[e.Thread] {
				t.Errorf("event %d: %s begins again", e.Seq, name)
			}
			begun[e.Thread] = true
			continue
		case !begun[e.Thread]:
			t.Errorf("event %d: %s before the begin of %s", e.Seq, n.line(e), name)
		case inferredEnd(e):
			continue
		case e.Op == event.End:
			ended[e.Thread] = true
			continue
		}
		if e.Object != 0 && strings.HasPrefix(n.objects[e.Object], "?") && !r.inProgram(e.Object) {
			continue
		}
		seen[name] = append(seen[name], n.line(e))
	}
	for id := range begun {
		if !ended[id] {
			t.Errorf("%s has no end", n.threads[id])
		}
	}
	return seen
}

// inferredEnd reports whether an event is the inferred end of a lifetime, which no
// thread performed.
func inferredEnd(e *event.Event) bool {
	return e.Flags&event.Inferred != 0 && (e.Op == event.Destroy || e.Op == event.Detach)
}

// inProgram reports whether an object is in the program and not in a library: near its
// code, where its data is. It returns false for a static program, which contains libc
// too.
func (r *run) inProgram(id event.ObjectID) bool {
	const near = 1 << 20
	info, _ := r.Observer.ObjectInfo(id)
	for _, seg := range r.Session.Segments(r.Session.PID()) {
		if info.Addr >= seg.Lo-near && info.Addr < seg.Hi+near && seg.Module.Path == r.program {
			return !seg.Module.Bin.Static()
		}
	}
	return false
}

// expectLog compares the observed events of each thread with those that the program
// printed, and the exit status with 0.
func (r *run) expectLog(t testing.TB) {
	t.Helper()
	r.expectExit(t, 0)
	s := parseLog(t, r.Output)
	if diff := cmp.Diff(s.did, r.byThread(t, s)); diff != "" {
		t.Errorf("the program did (-), observed were (+):\n%s", diff)
	}
	// The statistics show whether the run was observed correctly.
	stats := r.Observer.Stats()
	if stats.UnheldReleases != s.unheld || stats.InferredReleases != 0 || stats.UnknownJoins != 0 || stats.Lost != 0 {
		t.Errorf("want %d unheld releases and no other doubt: %+v", s.unheld, stats)
	}
}

func (r *run) expectExit(t testing.TB, status int) {
	t.Helper()
	if r.Result.Exit.Code() != status {
		t.Errorf("the program ended with %d, want %d", r.Result.Exit.Code(), status)
	}
}

// count returns the number of events of an operation.
func (r *run) count(op event.Op) int {
	n := 0
	for i := range r.Events {
		if r.Events[i].Op == op {
			n++
		}
	}
	return n
}

// eachSites runs a test with the probes at the cheapest addresses, and at the original
// ones.
func eachSites(t *testing.T, f func(t *testing.T, opts options)) {
	t.Helper()
	for _, entry := range []bool{false, true} {
		name := "cheap"
		if entry {
			name = "entry"
		}
		t.Run(name, func(t *testing.T) { f(t, options{EntrySites: entry}) })
	}
}

// writeTable writes a table of calls to a file for options.Sync.
func writeTable(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "calls.toml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
