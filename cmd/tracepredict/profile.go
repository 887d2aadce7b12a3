package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	pprof "github.com/google/pprof/profile"
	"github.com/spf13/cobra"

	"github.com/tracepredict/tracepredict/analysis/profile"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/internal/safely"
	"github.com/tracepredict/tracepredict/loader"
	"github.com/tracepredict/tracepredict/loader/attach"
	"github.com/tracepredict/tracepredict/loader/journal"
	"github.com/tracepredict/tracepredict/loader/procfs"
	"github.com/tracepredict/tracepredict/loader/target"
	"github.com/tracepredict/tracepredict/observer"
	"github.com/tracepredict/tracepredict/observer/live"
	"github.com/tracepredict/tracepredict/probes"
)

// profiling is the profile that a flag asks for.
type profiling struct {
	*profile.Writer
	flag string
	file *outputFile
}

// newProfiling opens the file of a profile that a flag names; it returns nil if the name is "".
func newProfiling(flag, name, program string, link *live.Link) (*profiling, error) {
	if name == "" {
		return nil, nil
	}
	file, err := openOutput(flag, name, partOfNothing)
	if err != nil {
		return nil, err
	}
	return &profiling{profile.New(file, profile.Options{Names: link, Program: program, Modules: link.Modules}), flag, file}, nil
}

// finish writes the profile.
func (p *profiling) finish() error {
	if err := p.Close(); err != nil {
		return fmt.Errorf("%s: %w", p.flag, err)
	}
	if err := p.file.commit(); err != nil {
		return fmt.Errorf("%s: %w", p.flag, err)
	}
	return nil
}

// defaultTop is the number of rows of each table of the command profile.
const defaultTop = 10

// profileFlags are the flags of the command profile.
type profileFlags struct {
	pid      int
	duration time.Duration
	output   string
	flame    string
	top      int // rows; 0: no tables
	user     string
	sync     []string
	follow   bool
	lossy    bool

	contended bool // waits in the kernel alone
}

func (a *app) profileCommand() *cobra.Command {
	var f profileFlags
	cmd := &cobra.Command{
		Use:   "profile [flags] {-p PID | -- PROGRAM [ARG...]}",
		Short: "Show where a program waits for locks and holds them",
		Long: `profile runs PROGRAM, or observes a running process until Ctrl-C, --duration or its end, and shows on standard error
who waits longest, for which lock, and who held it meanwhile, and where locks are held for long. With --output it
writes a profile for go tool pprof instead, with --flame a page for a browser, and with --top the tables too. Nothing is predicted: that is what exec and attach do.
With --contended it observes only the slow paths, where a thread waits in the kernel for a futex or wakes one that does: for
how long threads wait, where, and who wakes them.

Exit status: that of PROGRAM, or 0 with -p; 125 if tracepredict failed, 126 and 127 if PROGRAM cannot be run or is not found;
2 for wrong usage.`,
		Example: `  sudo tracepredict profile -- ./server --port 8080
  sudo tracepredict profile --duration 30s -p $(pidof -s server)
  sudo tracepredict profile --duration 30s -o locks.pb.gz -p 4711 && go tool pprof -top locks.pb.gz
  sudo tracepredict profile --flame locks.html -- ./server
  sudo tracepredict profile --contended --duration 30s -p $(pidof -s server)`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(args, cmd.Flags().Changed("pid"), cmd.Flags().Changed("top")); err != nil {
				return err
			}
			if len(args) == 0 {
				return a.profileProcess(cmd.Context(), &f)
			}
			return a.underParent(func() error { return a.profileProgram(cmd.Context(), &f, args) })
		},
	}
	fs := cmd.Flags()
	fs.IntVarP(&f.pid, "pid", "p", 0, "the process to observe")
	durationVar(fs, &f.duration, "duration", 0, "stop observing after this time (30s, 5m); the program goes on")
	fs.StringVarP(&f.output, "output", "o", "", "write the profile to `FILE`, for go tool pprof (docs/profiles.md)")
	fs.StringVar(&f.flame, "flame", "", "write flame graphs to `FILE`, a page for a browser that needs no network")
	fs.IntVar(&f.top, "top", defaultTop, "show tables of `N` rows, the default without --output and --flame")
	fs.Lookup("top").NoOptDefVal = fmt.Sprint(defaultTop)
	fs.BoolVar(&f.contended, "contended", false, "observe waits in the kernel alone, which cost nothing where nobody waits, and who ends them")
	fs.StringVar(&f.user, "user", "", "run the program as user `NAME`; under sudo, as the user who called it by default")
	fs.StringArrayVar(&f.sync, "sync", nil, "more synchronisation calls, from a `FILE` (docs/sync-table.md); repeatable")
	fs.BoolVar(&f.follow, "follow", false, "observe the processes that the program forks too, and what they execute, until the first process ends")
	fs.BoolVar(&f.lossy, "lossy", false, "never make the program wait: events that find the ring buffer full are lost, and counted")
	fs.SetInterspersed(false)
	return cmd
}

// check checks the flags, and decides whether tables are shown. byID and top report that -p and --top are given.
func (f *profileFlags) check(args []string, byID, top bool) error {
	switch {
	case byID && len(args) > 0:
		return usage("-p %d and a program, %s: only one of them can be observed", f.pid, args[0])
	case byID && f.pid <= 0:
		return usage("--pid %d is no process id", f.pid)
	case !byID && len(args) == 0:
		return usage("which program? write it after --, or give -p PID")
	case f.output == standard:
		return usage("--output -: a profile is written to a file; without --output it is shown on standard error")
	case f.flame == standard:
		return usage("--flame -: the page is written to a file")
	case f.contended && len(f.sync) > 0:
		return usage("--sync adds calls of locks, and --contended observes none: it observes how threads wait in the kernel")
	case top && f.top < 1:
		return usage("--top %d: it is the number of rows, at least 1", f.top)
	case !top && f.output+f.flame != "":
		f.top = 0
	}
	return notNegative("duration", f.duration)
}

// profiler observes one run for a profile alone.
type profiler struct {
	flags   *profileFlags
	program string      // its path
	out     *outputFile // nil without --output
	page    *outputFile // nil without --flame
	writer  *profile.Writer
	live    *live.Link
	plan    probes.Options
	stderr  io.Writer
	end     *ending
	failure failure
	cancel  context.CancelFunc // ends the observation
	began   time.Time
}

// newProfiler opens what is written, and makes what takes the events. attached means that the program runs already.
func (a *app) newProfiler(f *profileFlags, program string, attached bool) (_ *profiler, err error) {
	surviveClosedPipes()
	limitMemory(0)
	p := &profiler{flags: f, program: program, live: live.NewLink(), stderr: a.stderr}
	p.failure.stderr = a.stderr
	p.end = newEnding(analysisNone, a.stderr, p.failure.add)
	p.end.parent = a.parent
	var plan planFlags
	plan.register(&cobra.Command{}) // sets the defaults of flags that this command does not have
	plan.watchShared, plan.noAtomics, plan.sync = sharedOff, true, f.sync
	if p.plan, err = plan.options(); err != nil {
		return nil, err
	}
	p.plan.Lives = false // a lock that takes the place of another counts as that one
	p.plan.Futexes, p.plan.Contended = true, f.contended
	openPlanCache(&p.plan)
	if err := f.refuseSameFiles(program); err != nil {
		return nil, err
	}
	if f.output != "" {
		if p.out, err = openOutput("--output", f.output, partOfNothing); err != nil {
			return nil, err
		}
	}
	if f.flame != "" {
		if p.page, err = openOutput("--flame", f.flame, partOfNothing); err != nil {
			p.discard()
			return nil, err
		}
	}
	p.writer = profile.New(io.Discard, profile.Options{Names: p.live, Program: program, Modules: p.live.Modules})
	p.live.Observe(observer.Options{Sinks: []observer.Sink{p.writer}, Attached: attached, Follow: f.follow}, false)
	return p, nil
}

// refuseSameFiles returns an error if the profile would be written over what is read.
func (f *profileFlags) refuseSameFiles(program string) error {
	all := []userFile{{flag: "--output", name: f.output, written: true}, {flag: "--flame", name: f.flame, written: true}, {flag: "the program", name: program}}
	for _, name := range f.sync {
		all = append(all, userFile{flag: "--sync", name: name})
	}
	return refuseSame(all...)
}

// discard closes the files that were not written, which hold what they held.
func (p *profiler) discard() {
	for _, f := range []*outputFile{p.out, p.page} {
		if f != nil {
			f.Close()
		}
	}
}

func (p *profiler) options() loader.Options {
	var planning func(string, float64)
	if line := newPlanningLine(p.stderr); line != nil {
		planning = line.show
	}
	ring, lossy := attach.DefaultRingBytes, p.flags.lossy
	if p.flags.contended {
		// There are no events, only new call stacks: nothing for which the program would have to wait, and what could make it wait
		// runs 200 times a second.
		ring, lossy = attach.MinRingBytes, true
	}
	return loader.Options{
		Plan: p.plan, Planning: planning, Ended: p.ended, Failed: p.failure.add, Parent: p.end.parent, Journal: journal.DefaultFolder(),
		Handler: p.live.Observer, Duration: p.flags.duration, Lossy: lossy, Follow: p.flags.follow, Messages: loader.MessagesNever,
		DropPrivileges: true, RingBytes: ring, Stacks: attach.StacksFull,
	}
}

// started is called when the session exists, before its first record is read.
func (p *profiler) started(s *loader.Session) {
	p.began = time.Now()
	p.live.Begin(s)
}

// ended is called when nothing more will be observed.
func (p *profiler) ended() {
	p.end.begin(time.Since(p.began))
	p.end.watch(nil)
}

// observe calls run, which observes a program, and writes what is wanted of it.
func (p *profiler) observe(ctx context.Context, run func(context.Context) (loader.Result, error)) (res loader.Result, err error) {
	ctx, p.cancel = context.WithCancel(ctx)
	defer p.cancel()
	defer p.end.unwatch()
	if panicked := safely.Call(func() { res, err = run(ctx) }); panicked != nil {
		p.failure.add(panicked)
		return res, failed(panicked)
	}
	if err != nil {
		return res, err
	}
	ended, err := p.failure.attempt(func() error { return p.finish(res) }, time.After(maxFailedReport))
	if panicked := p.failure.panicked(); panicked != nil || !ended {
		err = errors.Join(err, failed(panicked))
	}
	return res, err
}

// finish writes the profile, and shows its tables.
func (p *profiler) finish(res loader.Result) error {
	p.live.Observer.Finish()
	made, what, err := p.make()
	if err != nil {
		return err
	}
	p.end.unwatch()
	p.sayWhatIsMissing(res.Lost.Records)
	program := cmp.Or(p.live.Session.LastProgram(), p.program)
	err = errors.Join(
		write("--output", p.out, func(out io.Writer) error { return made.Write(out) }),
		write("--flame", p.page, func(out io.Writer) error { return profile.WriteFlame(out, made, program) }))
	if err != nil {
		return err
	}
	if p.flags.top == 0 {
		return nil
	}
	var text strings.Builder
	fmt.Fprintf(&text, "tracepredict: %s: %s\n\n", report.Sanitize(program), what)
	if err := profile.WriteTop(&text, made, p.flags.top); err != nil {
		return err
	}
	if _, err := io.WriteString(p.stderr, text.String()); err != nil {
		return fmt.Errorf("show the profile: %w", err)
	}
	return nil
}

// make returns the profile, and words for what was observed.
func (p *profiler) make() (made *pprof.Profile, what string, err error) {
	waits, lost, err := p.live.FutexWaits()
	if err != nil {
		return nil, "", err
	}
	if lost > 0 {
		fmt.Fprintln(p.stderr, plural.Sprintf("tracepredict: %d {wait|waits} for futexes {is|are} not counted: the table was full, or {its|their} end was not seen", lost))
	}
	stats := p.live.Observer.Stats()
	if !p.flags.contended {
		p.writer.AddFutexWaits(waits)
		made, err = p.writer.Profile()
		return made, plural.Sprintf("%d {thread|threads}, %d {event|events}", stats.Threads, stats.Events), err
	}
	n := int64(0)
	for i := range waits {
		n += waits[i].Waits
	}
	made, err = profile.Contended(waits, time.Since(p.began), profile.Options{Names: p.live, Program: p.program, Modules: p.live.Modules})
	return made, plural.Sprintf("%d {thread|threads}, %d {wait|waits} in the kernel for futexes", stats.Threads, n), err
}

// write has the file that a flag names written, and completes it; nothing if there is none.
func write(flag string, file *outputFile, content func(io.Writer) error) error {
	if file == nil {
		return nil
	}
	err := content(file)
	if err == nil {
		err = file.commit()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	return nil
}

// sayWhatIsMissing says what the profile lacks.
func (p *profiler) sayWhatIsMissing(lost uint64) {
	if lost > 0 {
		fmt.Fprintln(p.stderr, plural.Sprintf("tracepredict: %d {event was|events were} lost: waits and critical sections are missing, or too long", lost))
	}
	for _, note := range p.live.Session.Notes() {
		fmt.Fprintf(p.stderr, "tracepredict: %s\n", report.Sanitize(note))
	}
}

// profileProgram runs a program for its profile.
func (a *app) profileProgram(ctx context.Context, f *profileFlags, args []string) error {
	path, notFound := target.ResolveProgram(args[0])
	if notFound == nil && target.Interpreter(path) != "" {
		f.follow = true // what a script does is done by the programs that it starts
	}
	p, err := a.newProfiler(f, path, false)
	if err != nil {
		return err
	}
	defer p.discard()
	if notFound != nil {
		return notFound
	}
	who, err := target.LookupUser(f.user)
	if err != nil {
		return err
	}
	res, err := p.observe(ctx, func(ctx context.Context) (loader.Result, error) {
		return loader.Start(ctx, loader.Program{Path: path, Args: args, User: who}, p.options(), p.started)
	})
	if err != nil {
		return err
	}
	a.status = res.Exit.Code()
	return nil
}

// profileProcess observes a running process for its profile.
func (a *app) profileProcess(ctx context.Context, f *profileFlags) error {
	if f.user != "" {
		return usage("--user is about a program that is run, and -p %d runs already", f.pid)
	}
	if err := target.CheckPID(f.pid); err != nil {
		return err
	}
	program, err := target.Program(f.pid)
	if err != nil {
		return err
	}
	p, err := a.newProfiler(f, program, true)
	if err != nil {
		return err
	}
	defer p.discard()
	opts := p.options()
	opts.Left = func() {
		if procfs.HasLiveThread(f.pid) {
			fmt.Fprintf(a.stderr, "tracepredict: process %d goes on without probes\n", f.pid)
		}
	}
	_, err = p.observe(ctx, func(ctx context.Context) (loader.Result, error) {
		p.end.watch(p.cancel)
		return loader.Attach(ctx, f.pid, opts, p.live.AddTasks, func(s *loader.Session) {
			p.started(s)
			p.live.Observer.StartAt(monotonic())
			fmt.Fprintf(a.stderr, "tracepredict: observing %s (pid %d); Ctrl-C ends and reports\n", report.Sanitize(calledAs(f.pid, program)), f.pid)
		})
	})
	return err
}
