package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/loader/target"
	model "github.com/tracepredict/tracepredict/observer/run"
)

// buildTool builds the tool once.
var buildTool = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(fixtureDir, "bin")
	path := filepath.Join(dir, "tracepredict")
	ctx, cancel := context.WithTimeout(context.Background(), compileLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path, "..")
	cmd.Env = append(slices.Clone(environment), "CGO_ENABLED=0") // as make build does
	text, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the tool: %w\n%s", err, text)
	}
	return path, os.Chmod(dir, 0o755)
})

func toolPath(t testing.TB) string {
	t.Helper()
	testtool.Need(t, "go")
	path, err := buildTool()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// processFixture builds a program of testdata/process with the flags of a release.
func processFixture(t testing.TB, source string, flags ...string) string {
	t.Helper()
	return build(t, "gcc", "process/"+source, append([]string{"-O2", "-fno-omit-frame-pointer", "-pthread"}, flags...)...)
}

// output keeps what a process writes, and can be read while it writes.
type output struct {
	mu   sync.Mutex // guards text; no other lock is acquired while it is held
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// has reports whether a complete line begins with prefix.
func (o *output) has(prefix string) bool {
	_, ok := o.after(prefix)
	return ok
}

// after returns the rest of the first complete line that begins with prefix.
func (o *output) after(prefix string) (string, bool) {
	for line := range strings.Lines(o.String()) {
		if rest, ok := strings.CutPrefix(line, prefix); ok && strings.HasSuffix(rest, "\n") {
			return strings.TrimSuffix(rest, "\n"), true
		}
	}
	return "", false
}

// child is a process that a test has started: the tool or a program.
type child struct {
	t        testing.TB
	cmd      *exec.Cmd
	in       io.WriteCloser
	out, err output
	ended    chan struct{} // closed when the process has ended and its output has been read
}

// childOptions configure how a child is started.
type childOptions struct {
	Dir    string
	Env    []string   // additional variables
	Stdin  io.Reader  // default: a pipe, child.in
	Stdout *os.File   // default: child.out
	Stderr *os.File   // default: child.err
	Files  []*os.File // descriptors from 3 on; closed here once the child has them
	Group  bool       // the child leads a process group of its own
}

// cleanEnv returns the environment without the variables of sudo, which exec uses.
func cleanEnv(more []string) []string {
	var env []string
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "SUDO_") {
			env = append(env, e)
		}
	}
	return append(env, more...)
}

func startChild(t testing.TB, opts childOptions, args ...string) *child {
	t.Helper()
	c := &child{t: t, cmd: exec.Command(args[0], args[1:]...), ended: make(chan struct{})}
	c.cmd.Dir, c.cmd.Env = opts.Dir, cleanEnv(opts.Env)
	c.cmd.Stdout, c.cmd.Stderr = &c.out, &c.err
	if opts.Stdout != nil {
		c.cmd.Stdout = opts.Stdout
	}
	if opts.Stderr != nil {
		c.cmd.Stderr = opts.Stderr
	}
	c.cmd.SysProcAttr, c.cmd.ExtraFiles = &unix.SysProcAttr{Setpgid: opts.Group}, opts.Files
	if c.cmd.Stdin = opts.Stdin; opts.Stdin == nil {
		var err error
		if c.in, err = c.cmd.StdinPipe(); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, f := range opts.Files {
		f.Close()
	}
	boundOf(t).owns(c.pid())
	go func() {
		_ = c.cmd.Wait()
		close(c.ended)
	}()
	t.Cleanup(c.cleanUp)
	return c
}

func startTool(t testing.TB, opts childOptions, args ...string) *child {
	t.Helper()
	return startChild(t, opts, append([]string{toolPath(t)}, unhurried(args)...)...)
}

// unhurried returns arguments of the tool with which the analysis takes the time that it needs: on a busy machine the
// bound of it would decide what is found.
func unhurried(args []string) []string {
	if len(args) == 0 || args[0] != "exec" && args[0] != "attach" || slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--analysis-time") }) {
		return args
	}
	return slices.Insert(slices.Clone(args), 1, "--analysis-time=none")
}

// cleanUp ends the child: the end of its input ends every fixture that a failed test
// has left.
func (c *child) cleanUp() {
	if c.in != nil {
		c.in.Close()
	}
	select {
	case <-c.ended:
	case <-time.After(20 * time.Second):
		_ = c.cmd.Process.Kill()
	}
	if c.t.Failed() {
		c.t.Logf("%s\nstandard output:\n%s\nstandard error:\n%s", strings.Join(c.cmd.Args, " "), c.out.String(), c.err.String())
	}
}

func (c *child) pid() int { return c.cmd.Process.Pid }

// observer returns the process ID of the process of the tool that observes: under exec a child of the one that was
// started.
func (c *child) observer() int {
	c.t.Helper()
	if !slices.Contains(c.cmd.Args, "exec") {
		return c.pid()
	}
	found := 0
	poll(c.t, "the process that observes", func() bool {
		for _, pid := range childrenOf(c.pid()) { // Go has others, for a moment, that try what the kernel can do
			if environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); bytes.Contains(environ, []byte(target.ParentVariable+"=")) {
				found = pid
			}
		}
		return found != 0
	})
	return found
}

// send sends a line to its standard input.
func (c *child) send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatalf("tell %q: %v", line, err)
	}
}

// waitLine waits for a line of standard output that begins with prefix, and returns the
// rest of it.
func (c *child) waitLine(prefix string) string {
	c.t.Helper()
	var rest string
	poll(c.t, fmt.Sprintf("a line %q of %s", prefix, c.cmd.Args), func() (ok bool) {
		rest, ok = c.out.after(prefix)
		return ok || c.hasEnded()
	})
	if !c.out.has(prefix) {
		c.t.Fatalf("%s ended without a line %q", c.cmd.Args, prefix)
	}
	return rest
}

func (c *child) hasEnded() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// wait waits for the end of the child and returns its exit status as a shell does.
func (c *child) wait() int {
	c.t.Helper()
	if c.in != nil {
		c.in.Close()
	}
	poll(c.t, "the end of "+strings.Join(c.cmd.Args, " "), c.hasEnded)
	ws := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return ws.ExitStatus()
}

// want checks the exit status.
func (c *child) want(status int) {
	c.t.Helper()
	if got := c.wait(); got != status {
		c.t.Errorf("%s ended with %d, want %d", strings.Join(c.cmd.Args, " "), got, status)
	}
}

// signal sends the child a signal.
func (c *child) signal(s unix.Signal) {
	c.t.Helper()
	if err := unix.Kill(c.pid(), s); err != nil {
		c.t.Fatal(err)
	}
}

// jsonReport is the part of a JSON report that the tests read.
type jsonReport struct {
	Run struct {
		Program     string        `json:"program"`
		PID         int           `json:"pid"`
		Events      int           `json:"events"`
		Lost        int           `json:"lost"`
		LostThreads int           `json:"lost_threads"`
		Threads     int           `json:"threads"`
		Notes       []string      `json:"notes"`
		Signal      *model.Signal `json:"signal"`
		Pointers    struct {
			Sampled   []string `json:"sampled"`
			Functions int      `json:"functions"`
		} `json:"pointers"`
		Processes []struct {
			PID     int    `json:"pid"`
			Program string `json:"program"`
			Command string `json:"command"`
		} `json:"processes"`
		Watched   []jsonWatched `json:"watched"`
		Untouched int           `json:"watched_untouched"`
		Calls     []jsonCalls   `json:"calls"`
		LockOrder struct {
			Nestings int  `json:"nestings"`
			Complete bool `json:"complete"`
		} `json:"lock_order"`
		Executed []struct {
			Place   string `json:"place"`
			Threads []int  `json:"threads"`
			Left    bool   `json:"others_perhaps"`
		} `json:"unobserved_synchronisation"`
	} `json:"run"`
	Findings []jsonFinding `json:"findings"`
	Pruned   []struct {
		Kind    string `json:"kind"`
		Why     string `json:"why"`
		Message string `json:"message"`
	} `json:"pruned"`
}

type jsonCalls struct {
	Pattern string `json:"pattern"`
	Events  int    `json:"events"`
	Objects int    `json:"objects"`
}

type jsonWatched struct {
	Variable string   `json:"variable"`
	Use      string   `json:"use"`
	Threads  int      `json:"threads"`
	Accesses uint64   `json:"accesses"`
	Recorded uint64   `json:"recorded"`
	Guards   []string `json:"guards"`
	Elements uint64   `json:"elements"`
	Fate     string   `json:"fate"`
	UntilNS  int64    `json:"until_ns"`

	Unwatched []string `json:"unwatched"`
}

type jsonFinding struct {
	Kind       string   `json:"kind"`
	Rule       string   `json:"rule"`
	Message    string   `json:"message"`
	Confidence string   `json:"confidence"`
	Reason     string   `json:"reason"`
	Assumes    []string `json:"assumes"`
	Classes    []string `json:"lock_classes"`
	Depends    []struct {
		Thread int    `json:"thread"`
		How    string `json:"how"`
		On     int    `json:"on"`
	} `json:"depends"`
	Property    string     `json:"property"`
	Objects     []string   `json:"objects"`
	Evidence    []jsonStep `json:"evidence"`
	Witness     []jsonStep `json:"witness"`
	Fingerprint string     `json:"fingerprint"`
	Count       int        `json:"count"`
	// Processes are present if the run had several.
	Processes    []int `json:"processes"`
	ProcessCount int   `json:"process_count"`
	Threads      []struct {
		Thread int    `json:"thread"`
		TID    int    `json:"tid"`
		PID    int    `json:"pid"`
		Start  string `json:"start"`
	} `json:"thread_info"`
	Info []struct {
		Block *jsonBlock `json:"block"`
	} `json:"object_info"`
}

type jsonBlock struct {
	Size      uint64 `json:"size"`
	Offset    uint64 `json:"offset"`
	Element   uint64 `json:"element_size"`
	Thread    int    `json:"thread"`
	Allocated []struct {
		Function string `json:"function"`
	} `json:"allocated"`
}

type jsonStep struct {
	Thread    int    `json:"thread"`
	Operation string `json:"operation"`
	Stack     []struct {
		Function string `json:"function"`
		File     string `json:"file"`
		Line     int    `json:"line"`
	} `json:"stack"`
}

// confidence returns predicted also for a finding that was observed: whether the run
// itself shows an error that is predicted depends on the machine.
func (f jsonFinding) confidence() string {
	if f.Confidence == "observed" && f.Kind == "race" && len(f.Witness) > 0 {
		return "predicted"
	}
	return f.Confidence
}

func (f jsonFinding) String() string {
	return f.confidence() + " " + f.Kind + " of " + strings.Join(slices.Sorted(slices.Values(f.Objects)), ", ")
}

// summary lists the findings in the order of the report, for a comparison.
func (r jsonReport) summary() string {
	var words []string
	for _, f := range r.Findings {
		words = append(words, f.String())
	}
	return strings.Join(words, "; ")
}

// readReport reads the report of a run that lost no events.
func readReport(t testing.TB, path string) jsonReport {
	t.Helper()
	r := readLossy(t, path)
	if r.Run.Lost != 0 {
		t.Errorf("%d events were lost", r.Run.Lost)
	}
	return r
}

func readLossy(t testing.TB, path string) jsonReport {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var r jsonReport
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatalf("%s: %v\n%s", path, err, raw)
	}
	return r
}

// reported runs the tool to its end and returns its status and its report, with all
// findings.
func reported(t testing.TB, args ...string) (int, jsonReport) {
	t.Helper()
	return reportedBy(t, func(args ...string) *child { return startTool(t, childOptions{}, args...) }, args...)
}

// reportedBy is reported for a tool that start starts.
func reportedBy(t testing.TB, start func(args ...string) *child, args ...string) (int, jsonReport) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.json")
	c := start(append([]string{args[0], "--confidence", "potential", "--fail-on", "potential", "--format", "json", "--output", path}, args[1:]...)...)
	status := c.wait()
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		t.Fatalf("no report: %s", c.err.String())
	}
	return status, readReport(t, path)
}

// wantSummary compares the summary of a report.
func wantSummary(t testing.TB, r jsonReport, want string) {
	t.Helper()
	if got := r.summary(); got != want {
		t.Errorf("findings: %q, want %q (notes: %q)", got, want, r.Run.Notes)
	}
}

// threadStates returns a field of /proc/PID/status for each thread.
func threadStates(pid int, field string) []string {
	var states []string
	names, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if v, ok := strings.CutPrefix(line, field+":"); ok {
				states = append(states, strings.TrimSpace(v))
			}
		}
	}
	return states
}
