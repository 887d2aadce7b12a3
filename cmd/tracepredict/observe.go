package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/analysis/bind"
	"github.com/tracepredict/tracepredict/analysis/confirm"
	"github.com/tracepredict/tracepredict/analysis/engine"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/progress"
	"github.com/tracepredict/tracepredict/analysis/replay"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/internal/printable"
	"github.com/tracepredict/tracepredict/internal/safely"
	"github.com/tracepredict/tracepredict/loader"
	"github.com/tracepredict/tracepredict/loader/attach"
	"github.com/tracepredict/tracepredict/loader/journal"
	"github.com/tracepredict/tracepredict/loader/parent"
	"github.com/tracepredict/tracepredict/loader/procfs"
	"github.com/tracepredict/tracepredict/loader/steer"
	"github.com/tracepredict/tracepredict/loader/target"
	"github.com/tracepredict/tracepredict/loader/tries"
	"github.com/tracepredict/tracepredict/observer"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/live"
	"github.com/tracepredict/tracepredict/observer/lockword"
	"github.com/tracepredict/tracepredict/observer/run"
	"github.com/tracepredict/tracepredict/observer/trace"
	"github.com/tracepredict/tracepredict/probes"
	"github.com/tracepredict/tracepredict/probes/function"
	"github.com/tracepredict/tracepredict/probes/synctab"
	"github.com/tracepredict/tracepredict/probes/watchpoint"
)

// planFlags select what is probed. exec, attach and sites have them.
type planFlags struct {
	watch         []string
	hw            []string
	noHW          bool
	watchShared   string // --watch-shared
	modules       []string
	onlyThreaded  bool // it was not asked for: only of programs whose code creates threads
	onlyDebugged  bool // it was not asked for: only of code with debug information
	on            []string
	sync          []string
	sites         string
	noAtomics     bool // --no-atomics
	spec          specFlags
	specification *specification // the content of spec, set by options; nil without --spec
}

func (f *planFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringArrayVar(&f.watch, "watch", nil, "look for races on this global or static `VARIABLE`, or a member or element of one (server.stats.hits, slots[3].state), or a field of all objects of a type ('state of struct conn'); repeatable")
	fs.StringVar(&f.watchShared, "watch-shared", sharedAuto, "watch what threads may share, to find what they do: `auto|off|static|all`; static is every global and static variable of the program that its code names; all, which --watch-shared alone means, is also what its code accesses through pointers: on the heap, on stacks, in mappings; auto is, for exec of programs that create threads, all in code with debug information and off in other code, unless --watch, --watch-hw or --spec says what to watch, and else off (docs/watch-shared.md)")
	fs.Lookup("watch-shared").NoOptDefVal = sharedAll
	fs.StringArrayVar(&f.modules, "module", nil, "with --watch-shared, what the code of this library shares too: a file `NAME` or glob (libqueue.so, 'libengine*'); libraries outside of the folders of the system, with debug information, are watched without being named; repeatable")
	fs.StringArrayVar(&f.hw, "watch-hw", nil, "look for races on this `VARIABLE` by hardware watchpoints, which see accesses through pointers too; repeatable, at most four")
	fs.BoolVar(&f.noHW, "no-watch-hw", false, "watch the variables of --watch by probes alone, even where these do not see all accesses")
	fs.StringArrayVar(&f.on, "on", nil, "record calls or returns of functions as events, by a `PATTERN`: 'call F(x, _)', 'return F(x) -> r', where F is a name or glob (docs/patterns.md); repeatable")
	fs.StringArrayVar(&f.sync, "sync", nil, "more synchronisation calls, from a `FILE` (docs/sync-table.md); repeatable")
	fs.BoolVar(&f.noAtomics, "no-atomics", false, "do not observe atomic variables as synchronisation")
	f.spec.register(cmd)
	fs.StringVar(&f.sites, "sites", "cheap", "where probes sit: `cheap|entry`, at the cheapest instruction that observes the same, or always at the original one")
}

// The values of --watch-shared.
const (
	sharedAuto   = "auto"
	sharedOff    = "off"
	sharedStatic = "static"
	sharedAll    = "all"
)

// chooseShared replaces auto by what it means where a run is observed from its start: what threads share is watched
// unless the user says what is. Programs that create no threads, such as compilers that a script runs, have nothing to
// share, and are not searched; those with libraries of their own may create them there. Only code for x86-64 is
// searched for accesses through pointers.
func (f *planFlags) chooseShared() {
	ownLibraries := os.Getenv("LD_LIBRARY_PATH")
	switch {
	case f.watchShared != sharedAuto || len(f.watch)+len(f.hw) > 0 || f.spec.given():
	case runtime.GOARCH == "amd64":
		f.watchShared, f.onlyThreaded, f.onlyDebugged = sharedAll, ownLibraries == "", true
	default:
		f.watchShared, f.onlyThreaded, f.onlyDebugged = sharedStatic, ownLibraries == "", true
	}
}

// shared reports whether variables that the user did not name are watched, and pointers whether accesses
// through pointers are, too.
func (f *planFlags) shared() bool   { return f.watchShared == sharedStatic || f.pointers() }
func (f *planFlags) pointers() bool { return f.watchShared == sharedAll }

func (f *planFlags) options() (probes.Options, error) {
	opts := probes.Options{Watch: without(f.watch, f.hw), Hardware: f.hw, Shared: f.shared(), Pointers: f.pointers(), Modules: f.modules, OnlyThreaded: f.onlyThreaded, OnlyDebugged: f.onlyDebugged, Atomics: !f.noAtomics, Lives: true}
	if !f.noHW {
		opts.Choose = probes.Hardware{Registers: watchpoint.Registers}
	}
	opts.EntrySites = f.sites == "entry"
	if err := cmp.Or(oneOf("sites", f.sites, "cheap", "entry"), oneOf("watch-shared", f.watchShared, sharedAuto, sharedOff, sharedStatic, sharedAll), f.addSpecified(&opts)); err != nil {
		return opts, err
	}
	if err := f.checkModules(); err != nil {
		return opts, err
	}
	for _, text := range f.on {
		p, err := function.Parse(text)
		if err != nil {
			return opts, usage("--on %w", err)
		}
		opts.On = append(opts.On, p)
	}
	table, err := synctab.Builtin()
	if err != nil {
		return opts, err
	}
	for _, name := range f.sync {
		user, err := readTable(name)
		if err != nil {
			return opts, err
		}
		table = table.Merge(user)
	}
	opts.Table = table
	return opts, nil
}

// checkModules checks the arguments of --module.
func (f *planFlags) checkModules() error {
	if len(f.modules) > 0 && !f.shared() {
		return usage("--module %s is about what --watch-shared watches: add --watch-shared", f.modules[0])
	}
	return checkFileNames("module", f.modules)
}

// checkFileNames checks the arguments of a flag that names files without their folders.
func checkFileNames(flag string, names []string) error {
	for _, m := range names {
		if _, err := path.Match(m, ""); err != nil || m == "" || strings.Contains(m, "/") {
			return usage("--%s %q: it is the name of a file, without folders, or a glob", flag, m)
		}
	}
	return nil
}

// noModule, as the argument of --not-module, means that the locks of no library are left out.
const noModule = "none"

// mayLeaveOut reports whether libraries that the user has not named may be left out. What a specification is about, a
// profile, and other processes want all locks.
func (f *observeFlags) mayLeaveOut() bool {
	return len(f.notModules) == 0 && !f.follow && f.profile == "" && !f.spec.given() && len(f.on) == 0 && !f.classes
}

// leftOut returns the names of the modules whose locks are not observed.
func (f *observeFlags) leftOut() []string {
	return slices.DeleteFunc(slices.Clone(f.notModules), func(n string) bool { return n == noModule })
}

// addSpecified adds to opts what the specification names.
func (f *planFlags) addSpecified(opts *probes.Options) (err error) {
	if f.specification, err = f.spec.load(); err != nil || f.specification == nil {
		return err
	}
	for _, path := range f.specification.Paths() {
		if !slices.Contains(f.watch, path) && !slices.Contains(f.hw, path) {
			opts.Watch = append(opts.Watch, path)
		}
	}
	opts.Objects = f.specification.Objects()
	plan := f.specification.Plan()
	for i, text := range plan.On {
		p, err := function.Parse(text)
		if err != nil {
			return usage("%s: %w", f.spec.file, err)
		}
		p.Group = plan.Groups[i]
		if !slices.Contains(f.on, text) {
			opts.On = append(opts.On, p)
		}
	}
	return nil
}

// reportsRaces reports whether races on a variable are reported. They are not if the variable is
// watched only for a property, because its races may be intended.
func (f *planFlags) reportsRaces(name string) bool {
	return f.specification.reportsRaces(name, slices.Concat(f.watch, f.hw))
}

// without returns the names that are not among others.
func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(others, n) })
}

// readTable reads a file of --sync.
func readTable(name string) (synctab.Table, error) {
	f, err := os.Open(name)
	if err != nil {
		return synctab.Table{}, usage("--sync: %w", err)
	}
	defer f.Close()
	table, err := synctab.Parse(f, name)
	if err != nil {
		return synctab.Table{}, usage("%w", err)
	}
	return table, nil
}

// observeFlags are the flags of exec and attach. hang uses their defaults.
type observeFlags struct {
	planFlags
	reportFlags
	coneFlags
	lockFlags
	misuseFlags
	confirmFlags // only exec has these, and repeatFlags
	repeatFlags
	action      []string
	monitor     string // --monitor
	record      string
	profile     string
	duration    time.Duration
	ring        int
	lossy       bool
	touchOthers bool // --touch-other-processes
	follow      bool
	order       string
	stacks      string
	removal     loader.RemovalLimits
	budget      string
	guarded     uint64
	progress    bool
	onHang      string
	noPlanCache bool
	notModules  []string      // --not-module
	settle      time.Duration // only attach has this flag
}

func (f *observeFlags) register(cmd *cobra.Command) {
	f.planFlags.register(cmd)
	f.reportFlags.register(cmd, analysisAuto)
	f.coneFlags.register(cmd)
	f.lockFlags.register(cmd)
	f.misuseFlags.register(cmd)
	fs := cmd.Flags()
	fs.StringArrayVar(&f.action, "on-violation", nil, "do this when a property is first known to be violated, while the program runs: `ACTION` is 'run COMMAND', 'signal NAME' or 'core'; of an mttl formula also signal:NAME, to the very thread, right after the instruction (docs/knowledge.md); repeatable")
	fs.StringVar(&f.monitor, "monitor", monitorAuto, "where an mttl formula, or --check atomicity, and the local properties of a scope are evaluated: `auto|kernel|user`. In the kernel a thread gets the signal of --on-violation signal:NAME at once. With kernel, the events that only the formula (docs/knowledge.md) or the scope (docs/scopes.md) needs are no records; auto is user space, but for that action")
	fs.StringVar(&f.record, "record", "", "also write the trace of the run to `FILE`, for tracepredict analyze; it is FILE.part until it is complete; - is standard output")
	fs.StringVar(&f.profile, "profile", "", "also write where the program held locks and waited to `FILE`, for go tool pprof (docs/profiles.md)")
	fs.StringArrayVar(&f.notModules, "not-module", nil, "do not observe the mutexes and spin locks that the code of this library takes: a file `NAME` or glob (libcuda.so.1, 'libopenblas*'), or none; without it, a library that takes locks all the time is left out once it is sure that it does so for itself alone, and the report says so (docs/left-out.md); repeatable")
	durationVar(fs, &f.duration, "duration", 0, "stop observing after the time `D` (30, 30s, 5m); the program goes on")
	fs.IntVar(&f.ring, "ring", attach.DefaultRingBytes>>20, fmt.Sprintf("size of all ring buffers together in `MiB`, a power of two; at least %d without --lossy", attach.MinRingBytes>>20))
	fs.BoolVar(&f.follow, "follow", false, "observe the processes that the program forks too, and what they execute, until the first process ends")
	fs.StringVar(&f.order, "order", orderAuto, "observe messages between threads through pipes, sockets, eventfds and futexes, and how they order the threads: `auto|io|none`; auto does so once the program, or a library that it loads, can make such channels, or be given the number of a descriptor that another thread closed (docs/order-io.md)")
	fs.StringVar(&f.stacks, "stacks", "full", "what to record of the code that made events, once for each call stack: `full|caller|none`, the whole call stack, the caller alone, or nothing, so that findings name no code")
	defaults := loader.DefaultRemovalLimits()
	fs.Uint64Var(&f.removal.Unshared, "unshared-after", defaults.Unshared, "with --watch-shared, stop watching a variable after `N` accesses while there are several threads, all by one of them; 0 is never")
	fs.Uint64Var(&f.removal.SingleThread, "alone-after", defaults.SingleThread, "with --watch-shared, stop watching a variable after `N` accesses by one thread alone, however many threads there are; 0 is never")
	fs.Uint64Var(&f.removal.ArrayAccesses, "elements-after", defaults.ArrayAccesses, "with --watch-shared, stop watching an array that code accesses by a computed index after `N` recorded accesses of it; 0 is never")
	fs.StringVar(&f.budget, "budget", defaultBudget, "with --watch-shared=all, how many times as long the program may take because of the probes of accesses through pointers, in processor time: where these cost more, the hottest code is observed in samples, and the report says so; `FACTOR|none`")
	fs.Uint64Var(&f.guarded, "guarded-after", live.DefaultGuarded, "with --watch-shared, stop watching a variable after `N` recorded accesses by several threads that the same locks kept apart; 0 is never")
	fs.BoolVar(&f.progress, "progress", false, "report each new lock order on standard error while the program runs (docs/lock-order.md)")
	fs.StringVar(&f.onHang, "on-hang", hangReport, "when threads are seen to block each other for ever: `report|kill|core`; report says so at once, kill and core then end the program too (docs/hangs.md)")
	fs.BoolVar(&f.noPlanCache, "no-plan-cache", false, "do not use the plans of earlier runs of where probes are put, and keep none (docs/performance.md)")
	fs.BoolVar(&f.touchOthers, "touch-other-processes", false, "where the first thread of the process has ended by pthread_exit, put probes into every process that maps the same files, whoever's it is, since the kernel cannot tell them apart without that thread. What others do is not recorded, but they become slower, for as long as tracepredict runs. attach as root does without: it ties the probes to another thread")
	fs.BoolVar(&f.lossy, "lossy", false, "never make the program wait: events that find the ring buffer full are lost, and counted")
}

func (f *observeFlags) check() error {
	if err := f.reportFlags.check(); err != nil {
		return err
	}
	if f.record == standard && f.to.writes(standard) {
		return usage("--record - and --output -: only one of them can go to standard output")
	}
	if f.profile == standard {
		return usage("--profile -: a profile is written to a file")
	}
	if err := oneOf("order", f.order, orderAuto, orderIO, orderNone); err != nil {
		return err
	}
	if err := oneOf("stacks", f.stacks, "full", "caller", "none"); err != nil {
		return err
	}
	if err := errors.Join(f.coneFlags.check(), f.lockFlags.check(), f.misuseFlags.check()); err != nil {
		return err
	}
	if len(f.action) > 0 && !f.spec.given() {
		return usage("--on-violation is about the properties of --spec")
	}
	if err := oneOf("monitor", f.monitor, monitorAuto, monitorKernel, monitorUser); err != nil {
		return err
	}
	if err := oneOf("on-hang", f.onHang, hangReport, hangKill, hangCore); err != nil {
		return err
	}
	if _, err := budgetFactor(f.budget); err != nil {
		return err
	}
	if err := checkFileNames("not-module", f.notModules); err != nil {
		return err
	}
	if names := f.leftOut(); len(names) > 0 && (f.spec.given() || len(f.on) > 0) {
		return usage("--not-module %s: with --spec and --on the calls of all modules are observed", names[0])
	}
	if f.ring < 1 || f.ring > 1024 || f.ring&(f.ring-1) != 0 {
		return usage("--ring %d: it is a power of two from 1 to 1024", f.ring)
	}
	if least := attach.MinRingBytes >> 20; f.ring < least && !f.lossy {
		return usage("--ring %d: it is at least %d, since threads fill half of a smaller one before they can be made to wait on a busy machine; --lossy, which loses events instead, allows less", f.ring, least)
	}
	return cmp.Or(notNegative("settle", f.settle), notNegative("duration", f.duration))
}

// defaultBudget is the default of --budget.
const defaultBudget = "5x"

// budgetFactor returns the number that --budget says, 0 for none.
func budgetFactor(text string) (float64, error) {
	if text == "none" {
		return 0, nil
	}
	n, err := strconv.ParseFloat(strings.TrimSuffix(text, "x"), 64)
	if err != nil || !(n > 1 && n <= maxBudget) {
		return 0, usage("--budget %s: it is a factor above 1, such as 1.3x or 5x, or none", text)
	}
	return n, nil
}

const maxBudget = 1e6

// stacks maps the values of --stacks.
var stacks = map[string]attach.Stacks{"full": attach.StacksFull, "caller": attach.StacksCaller, "none": attach.StacksNone}

// The values of --order.
const (
	orderAuto = "auto"
	orderIO   = "io"
	orderNone = "none"
)

// messages maps the values of --order.
var messages = map[string]loader.Messages{orderAuto: loader.MessagesAuto, orderIO: loader.MessagesAlways, orderNone: loader.MessagesNever}

// observation is one observed run, from the flags to the report.
type observation struct {
	flags   *observeFlags
	printer *printer
	engine  *engine.Engine
	live    *live.Link
	record  *recording // nil without --record
	profile *profiling // nil without --profile
	plan    probes.Options
	actor   *actor
	quiet   *progress.Quiet // nil without --settle
	figures *liveStats      // nil without --stats
	hangs   *hangWatcher
	scope   *loader.Scope // nil: no scope is monitored in the kernel
	notes   []string      // sentences for the report
	stderr  io.Writer
	words   lockword.Finder
	end     *ending
	failure failure
	monitor *formulaMonitor    // nil: there is no formula
	cancel  context.CancelFunc // ends the observation
	printed bool               // the report was written, or tried to be
	began   time.Time          // when the observation began
	pasts   int                // accesses that were recorded after others that they come before
	// divided reports that loads of one variable turned out to be of several (event.Wider).
	divided bool
	steer   *steer.Plan               // the schedule of a try; nil: the run is none
	counter *confirm.Counter          // nil if nobody needs to know how other runs are steered
	leads   *trying                   // nil before it is asked how other runs are led; see leading
	runner  *tries.Runner             // nil: nothing is tried
	untried string                    // why --confirm tries nothing; "" if it does
	answer  func(report.Report) error // what a try does in place of printing; nil: the run is none
	leaving *live.LeavingOut          // nil: no library's locks are left out but for those that the user named
	orders  lockOrders                // the first acquire of each lock order, if the program is run several times
}

func newObservation(f *observeFlags, program string, stderr io.Writer, waits *parent.Link, attached bool) (*observation, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	if !attached {
		f.chooseShared()
	}
	surviveClosedPipes()
	limitMemory(f.memoryLimit)
	r := &observation{flags: f, live: live.NewLink()}
	r.stderr, r.failure.stderr = stderr, stderr
	r.end = newEnding(f.analysisTime, stderr, r.failure.add)
	r.end.parent = waits
	if f.stats {
		r.figures = newLiveStats(attached, func() *loader.Session { return r.live.Session })
	}
	plan, err := f.options()
	if err != nil {
		return nil, err
	}
	if !f.noPlanCache {
		openPlanCache(&plan)
	}
	r.plan = plan
	if r.actor, err = newActor(f.action, func() *loader.Session { return r.live.Session }, stderr); err != nil {
		return nil, err
	}
	if err := r.chooseMonitors(); err != nil {
		return nil, err
	}
	bound, err := f.specification.bound(f.coneFlags, f.stats, r.live, r.violated, r.figures.verdicts())
	if err != nil {
		return nil, err
	}
	if bound != nil {
		f.specification.warn(stderr)
	}
	opts := r.engineOptions()
	opts.Names, opts.Specification = r.live, bound
	r.engine = engine.New(opts)
	r.engine.ShrinkBy(func(unused uint64) bool { return r.live.Observer != nil && r.live.Observer.Shrink(unused) })
	if err := r.openFiles(program); err != nil {
		return nil, err
	}
	r.live.Observe(r.sinks(attached), r.keepsValues())
	r.hangs = newHangWatcher(r, attached, stderr)
	r.hangs.watching.Failed = r.failed
	r.actor.running.Failed = r.failed
	if r.record != nil {
		r.record.Observe(r.live.Observer)
	}
	return r, nil
}

// chooseMonitors decides where the scope and the formulas of the specification are monitored.
func (r *observation) chooseMonitors() (err error) {
	if err := r.flags.chooseScope(); err != nil {
		return err
	}
	if r.scope, err = r.flags.specification.kernelScope(r.plan.On); err != nil {
		return err
	}
	if r.monitor, err = r.flags.chooseMonitor(r.actor.threadSignal()); err != nil {
		return err
	}
	r.actor.tid = func(id event.ThreadID) uint32 { return r.live.Thread(id).TID }
	if r.monitor != nil && r.monitor.kernel != nil {
		r.actor.told = func(tid uint32, at uint64) (bool, error) { return r.live.Session.Told(tid, at) }
	}
	return nil
}

// openFiles opens the files of the report and of the trace, before the run: one whose report or trace cannot be written
// is wasted.
func (r *observation) openFiles(program string) (err error) {
	f := r.flags
	if err := f.refuseSameFiles(program); err != nil {
		return err
	}
	if r.printer, err = newPrinter(&f.reportFlags, r.stderr); err != nil {
		return err
	}
	if r.record, err = newRecording(f.record, f.pointers() || f.record != ""); err != nil {
		return err
	}
	r.profile, err = newProfiling("--profile", f.profile, program, r.live)
	return err
}

// sinks returns what takes the events of the run.
func (r *observation) sinks(attached bool) observer.Options {
	o := observer.Options{Sinks: []observer.Sink{r.engine}, Attached: attached, Follow: r.flags.follow, LeftOut: len(r.flags.leftOut()) > 0, Verdicts: r.monitor.alone()}
	if r.record != nil {
		o.Sinks = append(o.Sinks, r.record)
		o.Past = r.past
	}
	if r.record != nil && r.record.copy != nil {
		o.Sinks = append(o.Sinks, &r.words)
	}
	if r.profile != nil {
		o.Sinks = append(o.Sinks, r.profile)
	}
	if r.flags.confirm || r.flags.repeats() || !attached && r.flags.to.has("json") {
		r.counter = confirm.NewCounter()
		o.Sinks = append(o.Sinks, r.counter)
	}
	if r.flags.repeats() {
		o.Sinks = append(o.Sinks, &r.orders)
	}
	if r.flags.mayLeaveOut() {
		r.leaving = live.NewLeavingOut(r.live, r.plan.Table, r.flags.modules, r.failed)
		o.Sinks = append(o.Sinks, r.leaving)
	}
	return o
}

// past takes an access that was recorded after others that it comes before.
func (r *observation) past(e *event.Event) {
	r.pasts++
	r.divided = r.divided || e.Flags&event.Wider != 0
	r.record.Event(e)
	r.words.Event(e)
}

// keepsValues reports whether the values of variables are wanted: by properties, or for a trace.
func (r *observation) keepsValues() bool { return r.flags.specification != nil || r.record != nil }

// engineOptions returns the options of the analyses of the run.
func (r *observation) engineOptions() engine.Options {
	f := r.flags
	return engine.Options{
		History: f.history, Reversals: f.reversals, Uses: f.shared(), Locks: r.locks(r.stderr), LockClasses: f.classes, Explain: f.explain,
		Patterns: f.specification.recorded(eventPatterns(r.plan.On)), Raced: f.reportsRaces,
		OnDeadlock: r.deadlocks(r.stderr), OnHangOver: func(f *finding.Finding) { r.hangs.over(f) }, Misuse: f.checked,
		Done: r.end.over, Asked: r.end.progress, Full: r.end.memory.shrink, Room: memoryForFindings(),
	}
}

// accept reports whether the specification fits the program.
func (r *observation) accept(p *probes.Planner) error {
	return r.flags.specification.accept(p, r.stderr)
}

func (r *observation) options() loader.Options {
	var handler loader.Handler = r.live.Observer
	if r.plan.Shared {
		handler = &live.Sharing{Link: r.live, Analyses: r.engine, Guarded: r.flags.guarded}
	}
	if r.figures != nil {
		r.figures.Handler, handler = handler, r.figures
	}
	budget, _ := budgetFactor(r.flags.budget) // which check has accepted
	var planning func(string, float64)
	if line := newPlanningLine(r.stderr); line != nil {
		planning = line.show
	}
	return loader.Options{Plan: r.plan, NotModules: r.flags.leftOut(), Scope: r.scope, Steer: r.steer, Planning: planning, Ended: r.ended, Failed: r.failure.add, Parent: r.end.parent, Journal: journal.DefaultFolder(), Verbose: r.flags.verbose, Budget: budget, Accept: r.accept, Knowledge: r.monitor.options(), Handler: handler, Duration: r.flags.duration, Lossy: r.flags.lossy, TouchOthers: r.flags.touchOthers, Follow: r.flags.follow, Messages: messages[r.flags.order], RemovalLimits: r.flags.removal, DropPrivileges: true, RingBytes: r.flags.ring << 20, Stacks: stacks[r.flags.stacks]}
}

// eventPatterns returns the patterns as events describe them, without those of groups, of which many match nothing.
func eventPatterns(patterns []function.Pattern) []event.Pattern {
	var out []event.Pattern
	for _, p := range patterns {
		if p.Group == "" {
			out = append(out, event.Pattern{Pattern: p.Text, Return: p.Return})
		}
	}
	return out
}

// started is called when the session exists, before its first record is read.
func (r *observation) started(s *loader.Session, program string) {
	r.began = r.end.now()
	r.live.Begin(s)
	if r.record != nil {
		r.record.Start(s, program)
	}
	r.hangs.start()
}

// ended is called when nothing more will be observed.
func (r *observation) ended() {
	length := time.Duration(0)
	if !r.began.IsZero() {
		length = r.end.now().Sub(r.began)
	}
	r.end.begin(length)
	r.end.watch(nil)
}

// left is called when the observed process of attach has no probes any more.
func (r *observation) left(pid int) {
	if procfs.HasLiveThread(pid) {
		fmt.Fprintf(r.stderr, "tracepredict: process %d goes on without probes; %s\n", pid, r.end.analysing())
	}
}

// failed handles a panic in a goroutine beside the session: the observation ends.
func (r *observation) failed(p *safely.Panic) {
	r.failure.add(p)
	if r.cancel != nil {
		r.cancel()
	}
}

// observe calls run, which observes a program, and reports on it, whatever fails. It reports whether there are
// findings that --fail-on names.
func (r *observation) observe(ctx context.Context, program string, run func(context.Context) (loader.Result, error)) (res loader.Result, fails bool, err error) {
	ctx, r.cancel = context.WithCancel(ctx)
	defer r.cancel()
	p := safely.Call(func() { res, err = run(ctx) })
	if p == nil {
		p = asPanic(err)
	}
	if p != nil {
		r.failure.add(p)
		return res, false, r.reportFailure(program)
	}
	if err != nil {
		return res, false, r.flags.specification.withLocations(err)
	}
	ended, err := r.failure.attempt(func() (err error) {
		fails, err = r.report(res, program)
		return err
	}, time.After(maxFailedReport))
	if !ended {
		return res, false, r.reportFailure(program)
	}
	if p := r.failure.panicked(); p != nil {
		err = errors.Join(err, failed(p))
	}
	return res, fails, err
}

// reportFailure reports that tracepredict failed, if there is no report yet, and returns that as an error.
func (r *observation) reportFailure(program string) error {
	p, pid := r.failure.panicked(), 0
	if s := r.live.Session; s != nil {
		pid = s.PID()
	}
	r.end.unwatch()
	if r.printed {
		return failed(p)
	}
	_, err := r.printer.print(failedReport(p, program, pid))
	return errors.Join(failed(p), err, r.printer.close())
}

// report analyses the run, and writes the report and the end of the trace. It reports whether there
// are findings that --fail-on names.
func (r *observation) report(res loader.Result, program string) (fails bool, err error) {
	defer r.end.unwatch()
	r.hangs.end()
	if r.leaving != nil {
		r.leaving.Wait()
		r.notes = append(r.notes, r.leaving.Notes()...)
	}
	r.live.Observer.Finish()
	var names run.Namer = r.live
	if r.record != nil {
		r.record.Drain()
		names = r.record
	}
	summary := r.live.Summary(program, res.Lost)
	summary.Calls, summary.Signal = r.engine.Calls(), endedBy(res)
	if r.failure.panicked() != nil {
		summary.Doubt = "tracepredict failed, and what it did not observe after that may have ordered the threads"
	}
	locks, cut, err := r.analyseAgain(&summary)
	if err != nil {
		return false, errors.Join(err, r.finishFiles(summary), r.printer.close())
	}
	names = engine.NamesOf(names, locks)
	r.live.AddWatched(&summary, r.engine.Uses(), names)
	ended := engine.Ended{Summary: summary, Names: names, Code: r.live, Locks: locks, Notes: slices.Concat(r.settleNotes(), r.notes)}
	findings, err := r.engine.Findings(&ended)
	if err != nil {
		return false, errors.Join(err, r.finishFiles(summary), r.printer.close())
	}
	summary.Readings = r.live.Readings()
	ended.Summary = summary
	rep := r.engine.Report(&ended, findings)
	rep.Run.CutShort(cut)
	if p := r.failure.panicked(); p != nil {
		rep.Run.Failed = p.Error()
	}
	if r.answer != nil {
		return false, errors.Join(r.answer(rep), r.finishFiles(summary))
	}
	monitor, notes, err := r.monitor.outcome(r.live.Session)
	if err != nil {
		return false, errors.Join(err, r.finishFiles(summary), r.printer.close())
	}
	rep.Run.Notes = append(rep.Run.Notes, notes...)
	r.addSteering(&rep)
	r.repeat(&rep)
	r.confirm(&rep)
	if rep.Stats = r.stats(); rep.Stats != nil {
		rep.Stats.Monitor = monitor
	}
	remedies := r.debugNotes(rep)
	summary.Remedies, summary.NoteKinds = plural.Texts(remedies), append(summary.NoteKinds, remedies...)
	rep.Run.Notes, rep.Run.NoteKinds = append(rep.Run.Notes, summary.Remedies...), append(rep.Run.NoteKinds, remedies...)
	r.end.unwatch()
	r.printed = true
	fails, err = r.printer.print(rep)
	err = errors.Join(err, r.finishFiles(summary), r.printer.close())
	r.actor.wait()
	return fails, err
}

// endedBy returns the signal that ended a started program, nil if none did.
func endedBy(res loader.Result) *run.Signal {
	sig := res.Exit.Signal
	if sig == 0 {
		return nil
	}
	return &run.Signal{Number: int(sig), Name: unix.SignalName(sig), Requested: res.Requested}
}

// analyseAgain analyses the events of the run once more, if some accesses were recorded after
// others that they come before, or if it used variables as locks, which it returns. If the time for that is
// over first, cut is the reason, and the report is made from the first analysis.
func (r *observation) analyseAgain(summary *run.Summary) (_ engine.LockWords, cut string, _ error) {
	if r.record == nil || r.record.copy == nil || r.pasts == 0 && !r.words.Any() {
		return nil, "", nil
	}
	if why := r.record.copy.why; why != nil {
		r.noteOnce(summary, "the events of the run were not kept to be analysed again", why)
		return nil, "", nil
	}
	src, err := r.record.settled(r.end.halfOver)
	var again *replay.Analysis
	if err == nil {
		again, err = replay.Analyse(src, r.againOptions(summary.Events))
	}
	switch why := r.end.halfOver(); {
	case err != nil && why != "":
		cut = why
	case err != nil:
		return nil, "", fmt.Errorf("analyse the events of the run again: %w", err)
	default:
		cut = again.Cut
	}
	if cut != "" {
		r.noteOnce(summary, "the second analysis was cut short", errors.New(cut))
		return nil, cut, nil
	}
	if r.engine = again.Engine; r.counter != nil {
		r.counter.Renumbered = src.Number
	}
	r.live.TakeForLocks(src.LockStacks())
	if !r.flags.follow {
		r.live.DischargePointers(summary, lockAddresses(src))
	}
	summary.Renumber(src.Number)
	return src, "", nil
}

// againOptions returns the options of the second analysis of the run, which is silent. There are about so many events.
func (r *observation) againOptions(events uint64) replay.Options {
	opts := r.engineOptions()
	opts.OnDeadlock, opts.OnHangOver, opts.Locks.OnEdge = nil, nil, nil
	return replay.Options{
		Engine: opts,
		Bind: func(names run.Namer) (*bind.Run, error) {
			return r.flags.specification.bound(r.flags.coneFlags, r.flags.stats, names, nil, nil)
		},
		Passed: func(n uint64) { r.end.progress(int(n), int(events)) },
	}
}

// noteOnce notes what the events of the run were not analysed again for.
func (r *observation) noteOnce(summary *run.Summary, what string, why error) {
	if r.divided {
		summary.Doubts = append(summary.Doubts, run.Doubt{Reason: what + ", in which loads of several variables at once are told from those of one"})
	}
	if r.words.Any() {
		r.notes = append(r.notes, fmt.Sprintf("variables that the program uses as locks are taken for atomic ones, which order threads: %s (%v)", what, why))
	}
	if r.pasts > 0 {
		r.notes = append(r.notes, plural.Sprintf("%d {access was|accesses were} recorded late, and {is|are} missing in the analysis: %s (%v)", r.pasts, what, why))
	}
}

// lockAddresses returns the addresses of the variables that the run used as locks.
func lockAddresses(src *trace.Settled) map[uint64]bool {
	at := map[uint64]bool{}
	for id := range src.Locks() {
		at[src.Names().Object(id).Addr] = true
	}
	delete(at, 0)
	return at
}

// finishFiles writes the profile, and the end of the trace, if these are wanted.
func (r *observation) finishFiles(summary run.Summary) error {
	var err error
	if r.profile != nil {
		err = r.profile.finish()
	}
	if r.record == nil {
		return err
	}
	return errors.Join(err, r.record.finish(summary))
}

// refuseSameFiles returns an error if a file is to be written that is read, is the program, or is written twice.
func (f *observeFlags) refuseSameFiles(program string) error {
	all := append(f.reportFlags.files(f.spec.file), userFile{flag: "--record", name: f.record, written: true}, userFile{flag: "--profile", name: f.profile, written: true}, userFile{flag: "the program", name: program}, userFile{flag: "--confirm-stdin", name: f.confirmStdin})
	for _, name := range f.sync {
		all = append(all, userFile{flag: "--sync", name: name})
	}
	return refuseSame(all...)
}

// discard closes the files of a run that did not come about, which hold what they held. It says where the trace is of
// a run that did not end well.
func (r *observation) discard() {
	r.printer.discard()
	if r.profile != nil {
		r.profile.file.Close()
	}
	if r.record == nil || r.record.file == nil {
		return
	}
	if left := r.record.file.Close(); left != "" {
		fmt.Fprintf(r.stderr, "tracepredict: the trace, as far as it was written, is in %s\n", report.Sanitize(left))
	}
}

func (a *app) execCommand() *cobra.Command {
	var f observeFlags
	var user string
	var again confirmFlags
	var repeated repeatFlags
	cmd := &cobra.Command{
		Use: "exec [flags] -- PROGRAM [ARG...]",

		SuggestFor: []string{"run", "start", "record"},

		Short: "Run a program and observe it from its first instruction",
		Long: `exec runs PROGRAM with tracepredict's own standard streams, working directory and environment, observes it
from its first instruction, and when it has ended writes a report to standard error. Each deadlock of two threads is reported
there in one line as soon as it is predicted.

A program that makes events faster than they are analysed is made to wait, so that none is lost; with --lossy it never waits.

When the program has ended, the analysis takes --analysis-time at most. Ctrl-C then asks for the report of what has been found
so far, and a second one ends tracepredict at once.

Exit status: the program's own (128 + n if signal n ended it); 66 if there are findings (of the confidence that
--fail-on names) and the program itself exited with 0; 125 if tracepredict failed, 126 and 127 if PROGRAM cannot be run or is not found; 2 for wrong usage.`,
		Example: `  sudo tracepredict exec -- ./server --port 8080
  sudo tracepredict exec --watch tickets --watch order.c:total -- ./shop
  sudo tracepredict exec --format json --output report.json -- ./run-tests`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("which program? write it after --")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(again.checkExec(repeated.repeats()), repeated.check()); err != nil {
				return err
			}
			f.confirmFlags, f.repeatFlags = again, repeated
			return a.underParent(func() error { return a.exec(cmd.Context(), &f, user, args) })
		},
	}
	f.register(cmd)
	again.register(cmd)
	repeated.register(cmd)
	cmd.Flags().StringVar(&user, "user", "", "run the program as user `NAME`; under sudo, as the user who called it by default")
	cmd.Flags().SetInterspersed(false)
	return cmd
}

// underParent has exec done by another process and waits for it, unless this is that process or no other can be
// started.
func (a *app) underParent(exec func() error) error {
	if a.again {
		removeJournals := func(pid int) { loader.RemoveJournals(journal.DefaultFolder(), pid) }
		if status, err := parent.Run(a.stderr, removeJournals); err == nil {
			a.status = status
			return nil
		}
	}
	return exec()
}

func (a *app) exec(ctx context.Context, f *observeFlags, user string, args []string) (err error) {
	order, err := readOrder(a.try)
	if order != nil {
		f.become(order)
	}
	if a.try != nil {
		defer func() { err = a.answerFailure(err) }()
	}
	if err != nil {
		return err
	}
	path, notFound := target.ResolveProgram(args[0])
	var script []string
	if shell := target.Interpreter(path); notFound == nil && shell != "" && !f.follow {
		f.follow = true // what a script does is done by the programs that it starts
		script = []string{fmt.Sprintf("%s is a script: its interpreter, %s, and the processes that it starts are observed, as with --follow", path, shell)}
	}
	r, err := newObservation(f, path, a.stderr, a.parent, false)
	if err != nil {
		return err
	}
	defer r.discard()
	r.notes = script
	if err := r.prepareTries(a.try, order); err != nil {
		return err
	}
	defer r.endTries()
	opts := r.options()
	if notFound != nil {
		return notFound
	}
	who, err := target.LookupUser(user)
	if err != nil {
		return err
	}
	program := loader.Program{Path: path, Args: args, User: who, Stdout: r.programOutput()}
	res, fails, err := r.observe(ctx, path, func(ctx context.Context) (loader.Result, error) {
		return loader.Start(ctx, program, opts, func(s *loader.Session) { r.started(s, path) })
	})
	if err != nil {
		return err
	}
	a.status = res.Exit.Code()
	if fails && a.status == 0 {
		a.status = f.findings
	}
	return nil
}

// monotonic returns the present time on the clock of the records, in ns; 0 if the clock cannot
// be read.
func monotonic() uint64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return 0
	}
	return uint64(now.Nano())
}

func (a *app) attachCommand() *cobra.Command {
	var f observeFlags
	var process processFlag
	cmd := &cobra.Command{
		Use:   "attach [flags] -p PID",
		Short: "Observe a running program until Ctrl-C, --duration or its end",
		Long: `attach observes a running process. The process goes on while it is observed and afterwards. The report is written to
standard error at Ctrl-C, at the end of --duration or of the process, or when --settle ends the observation; a line says
before when the process goes on without probes. Each deadlock of two threads is reported there in one line as soon as it is
predicted.

If the process makes events faster than they are analysed, it is stopped briefly, so that none is lost; with --lossy it never is.
While a debugger is attached to it, it cannot be stopped: then events may be lost, and the report says how many.

After the observation the analysis takes --analysis-time at most. Another Ctrl-C then asks for the report of what has been
found so far, and one more ends tracepredict at once.

Exit status: 0 without findings (of the confidence that --fail-on names), 66 with, 125 if tracepredict failed, 2 for wrong usage.`,
		Example: `  sudo tracepredict attach -p $(pidof memcached) --duration 30s
  sudo tracepredict attach -p 4711 --watch server.c:connections
  sudo tracepredict attach -p 4711 --progress --settle 30s`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.attach(cmd.Context(), &f, process.pid)
		},
	}
	f.register(cmd)
	process.register(cmd, "the process to observe; -p may be left out")
	durationVar(cmd.Flags(), &f.settle, "settle", 0, "stop observing when there has been no new lock order for the time `D` (30, 30s); the program goes on")
	return cmd
}

// calledAs returns a process's name for people: its file, and before it the kernel's name of the
// process if that is another one, as of redis-server, which is a link to another file.
func calledAs(pid int, program string) string {
	if comm := kernelName(pid, program); comm != "" {
		return comm + ", " + program
	}
	return program
}

// kernelName returns the kernel's name of a process if its file has another; otherwise "".
func kernelName(pid int, program string) string {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if comm := strings.TrimSuffix(string(name), "\n"); err == nil && !namesFile(comm, program) {
		return comm
	}
	return ""
}

// maxComm is the length of the kernel's name of a process, in bytes (TASK_COMM_LEN without its end).
const maxComm = 15

// namesFile reports whether the kernel's name of a process is that of its file.
func namesFile(comm, program string) bool {
	base := filepath.Base(program)
	return comm == base[:min(len(base), maxComm)]
}

// endSignals returns the signals that end an observation. SIGHUP does not where the tool was
// started with SIGHUP ignored, as by nohup.
func endSignals() []os.Signal {
	all := []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGQUIT}
	if !signal.Ignored(unix.SIGHUP) {
		all = append(all, unix.SIGHUP)
	}
	return all
}

func (a *app) attach(ctx context.Context, f *observeFlags, pid int) error {
	r, err := newObservation(f, "", a.stderr, a.parent, true)
	if err != nil {
		return err
	}
	defer r.discard()
	opts := r.options()
	if err := target.CheckPID(pid); err != nil {
		return err
	}
	program, err := target.Program(pid)
	if err != nil {
		return err
	}
	started := func(s *loader.Session) {
		r.hangs.onStates = r.hangs.reportWaits
		r.started(s, program)
		r.live.Observer.StartAt(monotonic())
		r.figures.begin()
		if r.keepsValues() {
			r.live.KeepValues()
		}
		r.quiet.Begin(r.cancel)
		after := ""
		if d := s.Leaving(); d > time.Second {
			after = fmt.Sprintf(", after %.0f s or so in which the kernel removes the probes", d.Seconds())
		}
		fmt.Fprintf(a.stderr, "tracepredict: observing %s (pid %d); Ctrl-C ends and reports%s\n", printable.Escape(calledAs(pid, program)), pid, after)
	}
	opts.Left = func() { r.left(pid) }
	defer r.end.unwatch()
	_, fails, err := r.observe(ctx, program, func(ctx context.Context) (loader.Result, error) {
		r.end.watch(r.cancel)
		return loader.Attach(ctx, pid, opts, r.live.AddTasks, started)
	})
	if err != nil {
		return err
	}
	if fails {
		a.status = f.findings
	}
	return nil
}
