package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/scripts/proc"
)

// tool is a run of tracepredict.
type tool struct {
	cmd    *exec.Cmd
	exec   bool   // a process waits for the one that observes
	log    string // the file of its output, and of the server's
	report string // the file of its report
	ended  chan struct{}
}

// analysisTime is --analysis-time, so that rounds are short.
const analysisTime = "2s"

// startTool starts tracepredict, which attaches to the server with a process ID, or starts one that listens to a
// socket.
func startTool(path, logs string, p plan, flags []string, pid int, server []string) (*tool, error) {
	report := filepath.Join(logs, "report.json")
	args := slices.Concat([]string{p.command(), "--format=json", "--output=" + report, "--analysis-time=" + analysisTime, "--findings-exit=0"}, p.flags(), flags)
	if p.exec {
		args = slices.Concat(args, []string{"--"}, server)
	} else {
		args = append(args, "-p", strconv.Itoa(pid))
	}
	_ = os.Remove(report)
	t := &tool{cmd: exec.Command(path, args...), exec: p.exec, log: filepath.Join(logs, "tracepredict.log"), report: report, ended: make(chan struct{})}
	log, err := os.Create(t.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	t.cmd.Stdout, t.cmd.Stderr = log, log
	t.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := t.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(t.ended)
		_ = t.cmd.Wait()
	}()
	return t, nil
}

// said returns what the tool has written.
func (t *tool) said() string {
	text, _ := os.ReadFile(t.log) // no text where it cannot be read
	return string(text)
}

// hasEnded reports whether the process that was started has ended.
func (t *tool) hasEnded() bool {
	select {
	case <-t.ended:
		return true
	default:
		return false
	}
}

// victim returns the process of the tool that is to be killed or stopped: the one that observes or, with parent, the one
// that waits for it. Under attach the children of the one process are tasks that make a system call for it.
func (t *tool) victim(parent bool) int {
	pid := t.cmd.Process.Pid
	if parent || !t.exec {
		return pid
	}
	for _, child := range proc.Children()[pid] {
		if isTool(child, t.cmd.Path) {
			return child
		}
	}
	return pid
}

// isTool reports whether a process runs a program.
func isTool(pid int, path string) bool {
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return false
	}
	path, err = filepath.EvalSymlinks(path)
	return err == nil && exe == path
}

// report is what is read of the tool's report.
type report struct {
	Run *struct {
		PID    int
		Events uint64
		Lost   uint64
	}
	Findings []json.RawMessage
}

// readReport reads the report of a tool that has ended.
func (t *tool) readReport() (*report, error) {
	text, err := os.ReadFile(t.report)
	if err != nil {
		return nil, fmt.Errorf("there is no report: %w", err)
	}
	return parseReport(text)
}

func parseReport(text []byte) (*report, error) {
	var r report
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("the report is none: %w", err)
	}
	if r.Run == nil || r.Findings == nil {
		return nil, errors.New("the report has no run, or no findings")
	}
	return &r, nil
}

// awaitEnd waits until the tool has ended.
func (t *tool) awaitEnd(ctx context.Context) error {
	return wait(ctx, "tracepredict to end", t.hasEnded)
}

// kill ends what is left of the tool.
func (t *tool) kill() {
	for _, pid := range append(proc.Children()[t.cmd.Process.Pid], t.cmd.Process.Pid) {
		if !t.hasEnded() && isTool(pid, t.cmd.Path) {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
	<-t.ended
}

// findServer returns the first process of the server that listens to a socket, by its command line; 0 if there is none,
// it is still the tool's, or processes came and went while it was looked for.
func findServer(tool, socket string) int {
	all := slices.DeleteFunc(withArgument(socket), func(pid int) bool { return isTool(pid, tool) })
	children := proc.Children()
	below := map[int]bool{}
	for _, parent := range all {
		for _, child := range children[parent] {
			below[child] = true
		}
	}
	first := slices.DeleteFunc(all, func(pid int) bool { return below[pid] })
	if len(first) != 1 {
		return 0
	}
	return first[0]
}

// withArgument returns the processes whose command line ends with an argument.
func withArgument(last string) (all []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		text, err := os.ReadFile(file)
		pid, bad := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err == nil && bad == nil && strings.HasSuffix(string(text), "\x00"+last+"\x00") {
			all = append(all, pid)
		}
	}
	return all
}
