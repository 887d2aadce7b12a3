package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/loader"
	"github.com/tracepredict/tracepredict/loader/journal"
	"github.com/tracepredict/tracepredict/loader/parent"
	"github.com/tracepredict/tracepredict/loader/steer"
	"github.com/tracepredict/tracepredict/loader/target"
	"github.com/tracepredict/tracepredict/probes/elf"
)

// exitDiverged is the exit status of a run along a schedule in which the error did not happen.
const exitDiverged = 1

// replayAnalysis is --analysis-time of a run along a schedule: it waits for no other run.
const replayAnalysis = "10s"

// replayFlags say how a confirmed schedule is repeated.
type replayFlags struct {
	gdb   bool
	tries int
	user  string
}

func (a *app) replayScheduleCommand() *cobra.Command {
	var f observeFlags
	f.register(&cobra.Command{}) // sets the defaults of flags that this command does not have
	var o replayFlags
	cmd := &cobra.Command{
		Use:   "replay-schedule [flags] REPORT [FINDING] -- PROGRAM [ARG...]",
		Short: "Run a program again along a schedule that confirmed a finding",
		Long: `replay-schedule reads a REPORT of exec --confirm --format json, or of confirm, and runs PROGRAM once more along the schedule that
confirmed a finding, so that the deadlock, race or violation happens again (docs/confirm.md). FINDING is its number in the text
report, or the beginning of its fingerprint; it may be left out if one finding alone is confirmed. Each step of the schedule is
printed when its thread has come to it.

PROGRAM has the standard streams, working directory and environment of tracepredict, and must be the build that the report is of.
Findings about a specification need that too: give --spec, --check and --watch as then.

With --gdb the program is stopped when the error has happened: both threads before their accesses, or in the deadlock. It has no
probe and no breakpoint of tracepredict's then. At a terminal gdb is run on it; elsewhere the command for that is printed. When gdb
leaves the program, it goes on, and tracepredict waits for its end.

Exit status: 66 if the error happened again, 1 if it did not, 125 if tracepredict failed, 126 and 127 if PROGRAM cannot be run or is
not found; 2 for wrong usage.`,
		Example: `  sudo tracepredict exec --confirm --format json --output report.json -- ./shop </dev/null
  sudo tracepredict replay-schedule report.json -- ./shop
  sudo tracepredict replay-schedule --gdb report.json 2 -- ./shop`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch dash := cmd.ArgsLenAtDash(); {
			case len(args) == 0 || dash == 0:
				return errors.New("which report? write its file before --")
			case dash < 0 || dash > 2 || len(args) == dash:
				return errors.New("one report, perhaps the number of a finding, and after -- the program and its arguments")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.tries < 1 {
				return usage("--tries %d: it is at least 1", o.tries)
			}
			if err := oneOf("on-hang", f.onHang, hangReport, hangKill, hangCore); err != nil {
				return err
			}
			dash := cmd.ArgsLenAtDash()
			p := schedule{flags: &f, replayFlags: &o, report: args[0], args: args[dash:]}
			if dash == 2 {
				p.which = args[1]
			}
			return a.replayAgain(o.tries, func() error { return a.replaySchedule(cmd.Context(), &p) })
		},
	}
	fs := cmd.Flags()
	fs.BoolVar(&o.gdb, "gdb", false, "stop the program when the error has happened, for gdb, which is run on it at a terminal")
	fs.IntVar(&o.tries, "tries", 1, "run the program at most `N` times, until the error happens")
	fs.StringVar(&f.onHang, "on-hang", hangKill, "when the program hangs and is not left to gdb: `report|kill|core`; kill and core end it (docs/hangs.md)")
	fs.StringArrayVar(&f.watch, "watch", nil, "a `VARIABLE` that a finding about a specification needs, as in the run that the report is of; repeatable")
	fs.StringArrayVar(&f.sync, "sync", nil, "more synchronisation calls, from a `FILE` (docs/sync-table.md), as in the run that the report is of; repeatable")
	fs.StringVar(&o.user, "user", "", "run the program as user `NAME`; under sudo, as the user who called it by default")
	f.spec.register(cmd)
	return cmd
}

// replayAgain calls replay in another process, which this one waits for, up to so many times, as long as the error does
// not happen. Each process has all privileges until its program runs, and standard input where it was at first.
func (a *app) replayAgain(times int, replay func() error) error {
	if !a.again {
		return replay()
	}
	removeJournals := func(pid int) { loader.RemoveJournals(journal.DefaultFolder(), pid) }
	input, inputErr := os.Stdin.Seek(0, io.SeekCurrent)
	n := 1
	var again func(int) bool
	if times > 1 {
		again = func(status int) bool {
			if status != exitDiverged || n == times {
				return false
			}
			n++
			if inputErr == nil { // else it is no file
				_, inputErr = os.Stdin.Seek(input, io.SeekStart)
			}
			fmt.Fprintf(a.stderr, "tracepredict: trying again (%d of %d)\n", n, times)
			return true
		}
	}
	status, err := parent.RunAgain(a.stderr, removeJournals, again)
	if err != nil {
		return replay() // no other process can be started
	}
	a.status = status
	return nil
}

// schedule is a schedule that is repeated.
type schedule struct {
	flags *observeFlags
	*replayFlags
	report, which string
	args          []string // of the program
	stderr        io.Writer

	program string // the path of the program in the report
	finding *report.Finding
	plan    *steer.Plan
	session func() *loader.Session

	mu sync.Mutex     // guards at
	at map[int]string // by the kernel's ID of a thread: where it stands
}

// replaySchedule runs a program along a schedule.
func (a *app) replaySchedule(ctx context.Context, s *schedule) error {
	path, err := target.ResolveProgram(s.args[0])
	if err != nil {
		return err
	}
	files := []userFile{{flag: "the report", name: s.report}, {flag: "the program", name: path}, {flag: "--spec", name: s.flags.spec.file}}
	if err := refuseSame(files...); err != nil {
		return err
	}
	s.stderr, s.at = a.stderr, map[int]string{}
	if err := s.read(path); err != nil {
		return err
	}
	onHang := s.flags.onHang
	s.flags.becomeTry(s.finding.Kind.Specified())
	s.flags.onHang, s.flags.analysisTime = onHang, replayAnalysis
	if !s.plan.Exact {
		s.flags.sites = "cheap" // a probe of a return, which others use, hides from gdb who called
	}
	who, err := target.LookupUser(s.user)
	if err != nil {
		return err
	}
	return a.follow(ctx, s, loader.Program{Path: path, Args: s.args, User: who, Debuggable: s.gdb, Debugger: s.debugger()})
}

// read reads the report, and finds the schedule.
func (s *schedule) read(program string) error {
	rep, err := openReport(s.report)
	if err != nil {
		return err
	}
	if _, err := s.flags.spec.load(); err != nil {
		return err
	}
	p := &reported{name: s.report, program: realPath(program), specified: s.flags.spec.given(), files: map[string]*elf.File{}}
	defer p.close()
	if err := p.check(&rep); err != nil {
		return err
	}
	f, number, err := chooseConfirmed(&rep, s.which)
	if err != nil {
		return fmt.Errorf("%s: %w", s.report, err)
	}
	plans, err := p.planned(f)
	if err != nil {
		return fmt.Errorf("%s: finding %s: %w", s.report, number, err)
	}
	s.program, s.finding, s.plan = programOf(&rep), f, plans(max(f.Confirmation.Try, 1)-1)
	fmt.Fprintf(s.stderr, "tracepredict: repeating the schedule of finding %s, as in try %d: %s\n", number, f.Confirmation.Try, report.Sanitize(f.Message))
	return nil
}

// chooseConfirmed returns a finding that was confirmed, with its number in the text report: by that number, or by the
// beginning of its fingerprint, or the only one.
func chooseConfirmed(rep *report.Report, which string) (f *report.Finding, number string, err error) {
	causes := rep.Causes()
	numbers := map[*report.Finding]string{}
	for i, c := range causes {
		numbers[c.Lead] = strconv.Itoa(i + 1)
		for _, other := range c.Others {
			numbers[other] = other.Fingerprint
		}
	}
	var fits, confirmed []*report.Finding
	for _, c := range causes {
		for _, f := range append([]*report.Finding{c.Lead}, c.Others...) {
			if f.Confirmation != nil && (f.Confirmation.Confirmed || f.Confirmation.Happened) {
				confirmed = append(confirmed, f)
			}
			if which != "" && (numbers[f] == which || strings.HasPrefix(f.Fingerprint, which)) {
				fits = append(fits, f)
			}
		}
	}
	if i, err := strconv.Atoi(which); err == nil && i > 0 && i <= len(causes) { // rather than a fingerprint that begins so
		fits = []*report.Finding{causes[i-1].Lead}
	}
	if which == "" {
		fits = confirmed
	}
	switch {
	case which == "" && len(fits) == 0:
		return nil, "", errors.New("no finding is confirmed; tracepredict confirm tries to confirm those of a report")
	case len(fits) == 0:
		return nil, "", fmt.Errorf("no finding has the number %s, or a fingerprint that begins so", which)
	case len(fits) > 1:
		return nil, "", fmt.Errorf("which finding? name one of these: %s", listed(fits, numbers))
	case !slices.Contains(confirmed, fits[0]):
		return nil, "", fmt.Errorf("finding %s is not confirmed; tracepredict confirm tries to confirm those of a report", numbers[fits[0]])
	}
	return fits[0], numbers[fits[0]], nil
}

// listed returns findings as a list of their numbers.
func listed(all []*report.Finding, numbers map[*report.Finding]string) string {
	var out []string
	for _, f := range all {
		out = append(out, fmt.Sprintf("%s (%s)", numbers[f], report.Clean(f.Message)))
	}
	return strings.Join(out, ", ")
}

// debugger returns the debugger that is run on the program; "" if none is.
func (s *schedule) debugger() string {
	if !s.gdb || !term.IsTerminal(int(os.Stdin.Fd())) {
		return ""
	}
	path, err := exec.LookPath("gdb")
	if err != nil {
		fmt.Fprintf(s.stderr, "tracepredict: gdb is not run: %v\n", err)
	}
	return path
}

// follow runs the program along the schedule, and says what comes of it.
func (a *app) follow(ctx context.Context, s *schedule, program loader.Program) error {
	if target.Interpreter(program.Path) != "" {
		s.flags.follow = true
	}
	r, err := newObservation(s.flags, program.Path, a.stderr, a.parent, false)
	if err != nil {
		return err
	}
	defer r.discard()
	var why string
	r.answer = func(rep report.Report) error {
		happened := r.happened(rep)
		why = happened.missing(s.finding, s.program)
		return nil
	}
	s.session = func() *loader.Session { return r.live.Session }
	r.steer, r.hangs.takes = s.plan, func(f *finding.Finding) bool {
		resolved := report.Resolve(*f, r.live)
		happened := happenedAs(&resolved)
		return s.takes(&happened)
	}
	opts := r.options()
	opts.Following = s
	res, _, err := r.observe(ctx, program.Path, func(ctx context.Context) (loader.Result, error) {
		return loader.Start(ctx, program, opts, func(l *loader.Session) { r.started(l, program.Path) })
	})
	if err != nil {
		if res.Left != nil {
			res.Left.GoOn()
		}
		return err
	}
	if a.status = exitFindings; why != "" {
		a.status = exitDiverged
	}
	s.conclude(why)
	return s.leave(res.Left, why)
}

// conclude says whether the error has happened.
func (s *schedule) conclude(why string) {
	what := map[finding.Kind]string{finding.Deadlock: "the deadlock", finding.Race: "the race"}[s.finding.Kind]
	what = cmp.Or(what, "the violation of "+s.finding.Property)
	if why != "" {
		fmt.Fprintf(s.stderr, "tracepredict: %s did not happen again: %s\n", report.Sanitize(what), report.Sanitize(why))
		return
	}
	fmt.Fprintf(s.stderr, "tracepredict: %s happened again\n", report.Sanitize(what))
}

// leave leaves a program that is stopped to gdb, if the error has happened, and waits for its end.
func (s *schedule) leave(l *loader.Left, why string) error {
	if l == nil {
		return nil
	}
	if why != "" {
		l.GoOn()
	} else {
		s.mu.Lock()
		fmt.Fprintf(s.stderr, "tracepredict: process %d is stopped there:\n", l.PID)
		for _, tid := range slices.Sorted(maps.Keys(s.at)) {
			fmt.Fprintf(s.stderr, "  LWP %d, %s\n", tid, report.Sanitize(s.at[tid]))
		}
		s.mu.Unlock()
		fmt.Fprintf(s.stderr, "tracepredict: to look at it: gdb -p %d (when gdb leaves it, or after kill -CONT %d, it goes on)\n", l.PID, l.PID)
	}
	_, err := l.Await(func(err error) {
		fmt.Fprintf(s.stderr, "tracepredict: gdb could not be run: %s\n", report.Sanitize(err.Error()))
	})
	return err
}

// stands notes where a thread stands.
func (s *schedule) stands(tid int, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at[tid] = text
}

// takes leaves the program stopped in the deadlock that is to happen, for gdb.
func (s *schedule) takes(h *hang) bool {
	if !s.gdb || s.finding.Kind != finding.Deadlock || !h.is(hangOf(s.finding)) {
		return false
	}
	s.session().Leave()
	return true
}

// Reached implements loader.Following.
func (s *schedule) Reached(tid, gate int) {
	g := &s.plan.Gates[gate]
	s.stands(tid, "before: "+g.What)
	if g.Optional {
		return
	}
	fmt.Fprintf(s.stderr, "tracepredict: step %d of %d: %s (LWP %d)\n", gate+1, s.steps(), report.Sanitize(g.What), tid)
}

// steps returns the number of steps of the schedule.
func (s *schedule) steps() (n int) {
	for i := range s.plan.Gates {
		if !s.plan.Gates[i].Optional {
			n++
		}
	}
	return n
}

// Done implements loader.Following.
func (s *schedule) Done(tid, gate int) { s.stands(tid, "behind: "+s.plan.Gates[gate].What) }

// Complete implements loader.Following.
func (s *schedule) Complete() (leave bool) { return s.gdb && s.finding.Kind.Specified() }

// Stayed implements loader.Following.
func (s *schedule) Stayed() (leave bool) {
	fmt.Fprintln(s.stderr, "tracepredict: the threads spin, and do not return from these calls")
	return s.gdb
}

// Met implements loader.Following.
func (s *schedule) Met(tids [2]int) (leave bool) {
	for i, tid := range tids {
		what := s.plan.Pair.Sides[i].What
		s.stands(tid, "before: "+what)
		fmt.Fprintf(s.stderr, "tracepredict: %s (LWP %d)\n", report.Sanitize(what), tid)
	}
	fmt.Fprintln(s.stderr, "tracepredict: both threads stand before their accesses at the same time")
	return s.gdb
}
