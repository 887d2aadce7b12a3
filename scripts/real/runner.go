package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/scripts/empty"
)

// mode is a way to run a program.
type mode string

const (
	plain  mode = "plain"
	execed mode = "exec"
	attach mode = "attach"
	// bare is exec without places: what exec takes more is the price of call chains.
	bare mode = "exec-without-stacks"
	// floor is plain with programs that do nothing at the sites that tracepredict
	// would probe in the C library.
	floor mode = "empty"
)

var allModes = []mode{plain, execed, attach, bare}

// pointerModes are those of -pointers: exec --watch-shared=all with budgets, beside exec --watch-shared=off.
var pointerModes = []mode{plain, execed, budgeted + "5x", budgeted + "2x", budgeted + "1.3x"}

// budgeted begins the names of modes that observe accesses through pointers; the rest is the budget.
const budgeted = "all-"

// budget returns the budget of a mode that observes accesses through pointers.
func (m mode) budget() (budget string, ok bool) { return strings.CutPrefix(string(m), budgeted) }

// starts describes whether tracepredict starts the program.
func (m mode) starts() bool {
	_, all := m.budget()
	return m == execed || m == bare || m == mined || m == checked || all
}

// maxRun ends a run that hangs.
const maxRun = 4 * time.Minute

// program is one that is measured. A new one is a file of its own with a type
// that has these methods, and a line in programs.
type program interface {
	name() string
	// load describes in a few words what the program is put under.
	load() string
	// prepare makes, once, what all runs share, in e.dir.
	prepare(ctx context.Context, e *env) error
	// start returns the command line of a run and where its data are.
	start(e *env, dir string) (*command, error)
	// ready returns nil once the program can take its load.
	ready(ctx context.Context, p *process) error
	// work puts the whole load on the program and returns when it is done: it is
	// what is timed. For a program that ends by itself, that is its end.
	work(ctx context.Context, p *process) error
	// check describes whether what the program answered is right.
	check(ctx context.Context, p *process) error
}

// env is what a program is prepared with.
type env struct {
	dir   string  // the program's own folder, for all runs
	scale float64 // of the load
	owner credential
}

// times scales a number of requests, rounded to a multiple of unit.
func (e *env) times(n, unit int) int {
	return max(1, int(float64(n)*e.scale)/unit) * unit
}

// run runs a helper of the program as the user that the program runs as.
func (e *env) run(ctx context.Context, stdin string, args ...string) ([]byte, error) {
	return runAs(ctx, e.owner, e.dir, stdin, args...)
}

type credential struct {
	name     string
	uid, gid uint32
}

func lookup(name string) (c credential, err error) {
	u, err := user.Lookup(name)
	if err != nil {
		return c, fmt.Errorf("-user: %w", err)
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	return credential{name, uint32(uid), uint32(gid)}, errors.Join(err1, err2)
}

func (c credential) attributes() *syscall.SysProcAttr {
	// A group of its own: Ctrl-C in the terminal is for this process alone,
	// which then ends the others in order.
	return &syscall.SysProcAttr{Setpgid: true, Credential: &syscall.Credential{Uid: c.uid, Gid: c.gid}}
}

// sample is one run.
type sample struct {
	startup  time.Duration // from the start to readiness
	load     time.Duration // of the load
	attached time.Duration // from attach's start to its being in place
	peak     uint64        // bytes: resident memory of tracepredict at its most
	cpu      time.Duration // of tracepredict
	report   toolReport
}

// toolReport is what is read of tracepredict's JSON report.
type toolReport struct {
	Run struct {
		Events   *uint64
		Lost     *uint64
		Duration int64 `json:"duration_ns"`
		Calls    []struct {
			Pattern string
			Events  uint64
		}
		Notes     []string
		Protocols *struct{ Objects, Calls, Shared, Unordered uint64 }
		Pointers  *struct {
			Sampled   []string
			Functions int
		}
	}
	Findings []struct{ Kind, Confidence, Property, Message string }
}

type result struct {
	name, load string
	samples    map[mode][]sample
}

type runner struct {
	config
	dir   string
	owner credential
	specs map[string]string // of programs, for -protocols
}

func newRunner(c config) (*runner, error) {
	if os.Getuid() != 0 {
		return nil, errors.New("it needs root; make real asks sudo for it")
	}
	tool, err := filepath.Abs(c.tool)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(tool); err != nil {
		return nil, fmt.Errorf("%w; make build builds it", err)
	}
	c.tool = tool
	if c.beside != "" {
		if c.beside, err = filepath.Abs(c.beside); err != nil {
			return nil, err
		}
	}
	if c.logs, err = filepath.Abs(c.logs); err != nil {
		return nil, err
	}
	r := &runner{config: c}
	if r.owner, err = lookup(c.user); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(c.logs, 0o755); err != nil {
		return nil, err
	}
	if r.dir, err = os.MkdirTemp("", "tracepredict-real"); err != nil {
		return nil, err
	}
	return r, os.Chmod(r.dir, 0o755)
}

func (r *runner) close() { os.RemoveAll(r.dir) }

// measure runs a program in all modes, rounds times; the order turns from round
// to round, so that none always runs after the same other.
func (r *runner) measure(ctx context.Context, p program) (result, error) {
	res := result{name: p.name(), samples: map[mode][]sample{}}
	e := &env{dir: filepath.Join(r.dir, p.name()), scale: r.scale, owner: r.owner}
	if err := ownFolder(e.dir, r.owner); err != nil {
		return res, err
	}
	defer os.RemoveAll(e.dir)
	fmt.Fprintf(os.Stderr, "%s: preparing\n", p.name())
	if err := p.prepare(ctx, e); err != nil {
		return res, fmt.Errorf("prepare: %w", err)
	}
	res.load = p.load()
	modes := r.modesOf(p)
	for round := range r.rounds {
		for i := range modes {
			m := modes[(i+round)%len(modes)]
			label := fmt.Sprintf("%s-%s-%d", p.name(), m, round+1)
			s, err := r.once(ctx, p, e, m, label)
			if err != nil {
				return res, fmt.Errorf("round %d, %s: %w", round+1, m, err)
			}
			fmt.Fprintf(os.Stderr, "%s: round %d of %d, %s: %s\n", p.name(), round+1, r.rounds, m, s)
			res.samples[m] = append(res.samples[m], s)
		}
	}
	return res, nil
}

// modesOf adds the floor where so much is locked that the goal may lie below it.
func (r *runner) modesOf(p program) []mode {
	if p.name() != manyProgram || len(r.modes) != len(allModes) {
		return r.modes
	}
	return append(slices.Clone(r.modes), floor)
}

func (s sample) String() string {
	text := fmt.Sprintf("load %.2f s, start-up %.2f s", s.load.Seconds(), s.startup.Seconds())
	if s.report.Run.Events == nil {
		return text
	}
	if s.attached > 0 {
		text += fmt.Sprintf(", attached in %.2f s", s.attached.Seconds())
	}
	return text + fmt.Sprintf("; %d events, %d lost, %d findings, %.1f s of CPU and %d MB in tracepredict",
		*s.report.Run.Events, *s.report.Run.Lost, len(s.report.Findings), s.cpu.Seconds(), s.peak>>20)
}

func ownFolder(dir string, owner credential) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	return os.Chown(dir, int(owner.uid), int(owner.gid))
}

// once runs the program once, from its start to its end, and looks whether it
// did right. Whatever happens, nothing that it started is left.
func (r *runner) once(ctx context.Context, p program, e *env, m mode, label string) (s sample, err error) {
	ctx, cancel := context.WithTimeout(ctx, maxRun)
	defer cancel()
	dir := filepath.Join(e.dir, "run")
	if err := ownFolder(dir, r.owner); err != nil {
		return s, err
	}
	defer os.RemoveAll(dir)
	cmd, err := p.start(e, dir)
	if err != nil {
		return s, err
	}
	proc := &process{env: e, dir: dir, command: cmd, spec: r.specs[p.name()], report: filepath.Join(r.logs, label+".json"), log: filepath.Join(r.logs, label+".log")}
	defer func() { err = errors.Join(err, proc.end()) }()
	began := time.Now()
	if err := proc.start(ctx, r, m); err != nil {
		return s, err
	}
	// Whoever waits for the program then sees its end.
	defer context.AfterFunc(ctx, proc.kill)()
	if err := p.ready(ctx, proc); err != nil {
		return s, fmt.Errorf("wait until it is ready: %w", proc.explain(err))
	}
	s.startup = time.Since(began)
	if m == floor {
		probes, err := r.attachEmpty(proc)
		if err != nil {
			return s, err
		}
		defer func() { err = errors.Join(err, probes.Close()) }()
	}
	if err := r.workload(ctx, p, proc, m, &s); err != nil {
		return s, err
	}
	if err := p.check(ctx, proc); err != nil {
		return s, fmt.Errorf("wrong answers: %w", proc.explain(err))
	}
	if err := proc.stop(ctx); err != nil {
		return s, proc.explain(err)
	}
	if m == plain || m == floor || m == mined {
		return s, nil
	}
	<-proc.tool.gone
	s.peak, s.cpu = proc.tool.peak, proc.tool.cpu
	s.report, err = readReport(proc.report)
	return s, err
}

// attachEmpty puts programs that do nothing into the program's C library.
func (r *runner) attachEmpty(proc *process) (*empty.Probes, error) {
	libc, err := empty.Libc(proc.args[0])
	if err != nil {
		return nil, err
	}
	sites, err := empty.Sites(r.tool, libc)
	if err != nil {
		return nil, err
	}
	probes := &empty.Probes{}
	if err := probes.Attach(libc, sites, proc.pid); err != nil {
		return nil, errors.Join(err, probes.Close())
	}
	return probes, nil
}

// workload does the work; for attach, tracepredict comes once it has begun, and
// goes when it is done.
func (r *runner) workload(ctx context.Context, p program, proc *process, m mode, s *sample) error {
	done := make(chan error, 1)
	began := time.Now()
	go func() {
		err := p.work(ctx, proc)
		s.load = time.Since(began)
		done <- err
	}()
	var err error
	if m == attach {
		err = proc.attach(ctx, r)
	}
	if working := <-done; working != nil {
		return fmt.Errorf("load: %w", proc.explain(working))
	}
	if err != nil {
		return err
	}
	if m == attach {
		if s.attached = proc.attached; s.attached > s.load {
			return fmt.Errorf("the load took %v, which is too short: tracepredict took %v to attach", s.load, s.attached)
		}
		return proc.detach(ctx)
	}
	return nil
}

func readReport(name string) (rep toolReport, err error) {
	raw, err := os.ReadFile(name)
	if err != nil {
		return rep, fmt.Errorf("tracepredict's report: %w", err)
	}
	if err := json.Unmarshal(raw, &rep); err != nil {
		return rep, fmt.Errorf("%s: %w", name, err)
	}
	if rep.Run.Events == nil || rep.Run.Lost == nil {
		return rep, fmt.Errorf("%s does not say how many events there were", name)
	}
	return rep, nil
}

// runAs runs a command to its end and gives its standard output.
func runAs(ctx context.Context, who credential, dir, stdin string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.SysProcAttr = dir, who.attributes()
	// Clients leave files where HOME says.
	cmd.Env = slices.Concat(os.Environ(), []string{"HOME=" + dir})
	cmd.Stdin = stringReader(stdin)
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	var stderr tail
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("%s: %w\n%s", cmd, err, &stderr)
	}
	return out, nil
}
