package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/scripts/trial"
)

// runner runs rounds.
type runner struct {
	config
	dir      string // of sockets, and of the small disk
	disk     string // the small disk; "": there is none
	group    group  // "": there is none
	names    []string
	running  map[string]*server // those that the tool did not start, by name
	answered uint64             // requests that servers answered which have ended
	counts   counts
}

// diskSize is the size of the small disk, which a trace fills within a second.
const diskSize = "64k"

// newRunner builds the servers.
func newRunner(ctx context.Context, c config, noDisk string) (*runner, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("run it as root: it observes, mounts a small disk and makes a cgroup")
	}
	var err error
	if c.logs, err = filepath.Abs(c.logs); err != nil {
		return nil, err
	}
	if c.tool, err = filepath.Abs(c.tool); err != nil {
		return nil, err
	}
	r := &runner{config: c, running: map[string]*server{}, counts: newCounts(), names: []string{churn, forks}}
	if err := r.build(ctx); err != nil {
		return nil, err
	}
	if _, err := exec.LookPath(memcached); err == nil {
		r.names = append(r.names, memcached)
	} else {
		fmt.Println("chaos: without memcached, which is not installed")
	}
	if r.dir, err = os.MkdirTemp("", "chaos-"); err != nil {
		return nil, err
	}
	if err := os.Chmod(r.dir, 0o777); err != nil {
		return nil, err
	}
	r.mountDisk(noDisk)
	if r.group, err = newGroup(); err != nil {
		r.counts[groupKilled].skipped = err.Error()
	}
	return r, nil
}

// build compiles the servers.
func (r *runner) build(ctx context.Context) error {
	if err := os.MkdirAll(r.logs, 0o755); err != nil {
		return err
	}
	for out, source := range map[string]string{churn: "g++ scripts/chaos/testdata/churn.cc", forks: "gcc scripts/chaos/testdata/forks.c"} {
		compiler, file, _ := strings.Cut(source, " ")
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		path := filepath.Join(r.logs, out)
		if err := trial.Build(ctx, false, path, []string{compiler, "-O2", "-g", "-pthread", "-o", path, file}, string(text)); err != nil {
			return err
		}
	}
	return nil
}

// mountDisk mounts the small disk.
func (r *runner) mountDisk(missing string) {
	disk := filepath.Join(r.dir, "disk")
	err := os.Mkdir(disk, 0o755)
	if err == nil && missing == "" {
		err = unix.Mount("chaos", disk, "tmpfs", 0, "size="+diskSize)
	}
	switch {
	case missing != "":
		r.counts[diskFull].skipped = missing
	case err != nil:
		r.counts[diskFull].skipped = err.Error()
	default:
		r.disk = disk
	}
}

// close ends the servers, and removes what the runner has made.
func (r *runner) close() {
	for _, s := range r.running {
		s.kill()
	}
	if r.disk != "" {
		_ = unix.Unmount(r.disk, unix.MNT_DETACH)
	}
	r.group.remove()
	_ = os.RemoveAll(r.dir)
}

// served returns the number of requests that were answered.
func (r *runner) served() uint64 {
	n := r.answered
	for _, s := range r.running {
		n += s.served.Load()
	}
	return n
}

// round runs a round, and judges it.
func (r *runner) round(ctx context.Context, n int) error {
	p := draw(r.seed, n, r.names)
	if r.counts[p.what].skipped != "" || r.what != "" && p.what != happening(r.what) {
		return nil
	}
	t := &trialRound{runner: r, plan: p, number: n, random: rand.New(rand.NewPCG(r.seed, uint64(n)<<32))}
	rep, err := t.run(ctx)
	if err == nil || ctx.Err() != nil {
		r.counts.add(p.what, rep)
		return nil
	}
	return fmt.Errorf("HARM in round %d: %w\n  %v\nTo repeat it: -seed=%d -round=%d. What tracepredict said, as %s keeps:\n%s\n%s", n, err, p, r.seed, n, r.logs, t.said, t.seen)
}

// trialRound is a round that runs.
type trialRound struct {
	*runner
	plan
	number int
	random *rand.Rand
	server *server // nil: it has not been started, or has never run
	tool   *tool
	// said is what the tool has said if the round has failed, with the stacks of its goroutines if it had not ended, and
	// seen is what all processes of the round did then.
	said, seen string
}

// run runs the round. It returns the report, nil if there is none.
func (t *trialRound) run(ctx context.Context) (rep *report, err error) {
	if err := t.start(ctx); err != nil {
		return nil, err
	}
	defer t.end()
	defer func() {
		if err != nil && ctx.Err() == nil {
			t.look(ctx)
		}
	}()
	killed, err := t.happen(ctx)
	if err != nil {
		return nil, err
	}
	if err := t.leave(ctx, killed); err != nil {
		return nil, err
	}
	if !killed {
		if rep, err = t.tool.right(t.plan); err != nil {
			return nil, err
		}
	}
	if t.server == nil || t.exec && !killed {
		return rep, nil
	}
	if t.what == groupKilled {
		if err := t.repair(ctx); err != nil {
			return nil, err
		}
	}
	return rep, unharmed(ctx, t.server, t.what == workerKilled)
}

// repair has the tool remove the breakpoints that the kernel may leave where a whole cgroup is killed, and counts them.
func (t *trialRound) repair(ctx context.Context) error {
	if err := probesGo(ctx, t.server); err != nil {
		return err
	}
	removed := 0
	for _, pid := range t.server.processes() {
		out, err := exec.CommandContext(ctx, t.config.tool, "repair", "-p", strconv.Itoa(pid)).CombinedOutput()
		if err != nil && exists(pid) {
			return fmt.Errorf("repair process %d: %w: %s", pid, err, out)
		}
		removed += removedBy(out)
	}
	t.counts.addRepaired(t.what, removed)
	return nil
}

// look keeps what there is to see of a round that has failed.
func (t *trialRound) look(ctx context.Context) {
	pids := []int{t.tool.cmd.Process.Pid, t.tool.victim(false)}
	which := "no server was found"
	if t.server != nil {
		pids = append(pids, t.server.processes()...)
		which = fmt.Sprintf("the server is process %d", t.server.pid)
	}
	t.seen = which + "\n" + describe(append(pids, withArgument(t.socket())...))
	if !t.tool.hasEnded() {
		observer := t.tool.victim(false)
		t.signal(observer, unix.SIGABRT) // Go prints the stacks
		_ = wait(ctx, "the stacks", func() bool { return !isTool(observer, t.config.tool) })
	}
	t.said = t.tool.said()
}

// start starts the server and the tool, in the order of the plan.
func (t *trialRound) start(ctx context.Context) error {
	var flags []string
	if t.what == diskFull {
		flags = append(flags, "--record="+filepath.Join(t.disk, "trace"))
	}
	if t.exec {
		args := arguments(t.logs, t.plan.server, t.socket())
		path, err := exec.LookPath(args[0])
		if err != nil {
			return err
		}
		args[0] = path
		t.tool, err = startTool(t.config.tool, t.logs, t.plan, flags, 0, args)
		return err
	}
	s := t.running[t.plan.server]
	if s == nil {
		var err error
		if s, err = startServer(ctx, t.logs, t.plan.server, filepath.Join(t.dir, t.plan.server)); err != nil {
			return err
		}
		t.running[t.plan.server] = s
	}
	s.broken.Store(0)
	s.begin()
	t.server = s
	var err error
	t.tool, err = startTool(t.config.tool, t.logs, t.plan, flags, s.pid, nil)
	return err
}

// socket is that of the server that the tool starts in this round.
func (t *trialRound) socket() string { return filepath.Join(t.dir, fmt.Sprintf("exec-%d", t.number)) }

// end ends what the round has started, but not a server that others will observe.
func (t *trialRound) end() {
	t.tool.kill()
	switch {
	case t.server == nil:
	case t.exec:
		t.server.kill()
		t.answered += t.server.served.Load()
	default:
		t.server.end()
	}
	for _, pid := range withArgument(t.socket()) { // of a round that has failed
		t.signal(pid, unix.SIGKILL)
	}
	if t.what == diskFull {
		_ = os.Remove(filepath.Join(t.disk, "trace"))
	}
}

// observing waits until all probes are in, and begins the load of a server that the tool has started.
func (t *trialRound) observing(ctx context.Context) error {
	if !t.exec {
		return t.await(ctx, "the observation", func() bool { return strings.Contains(t.tool.said(), "tracepredict: observing ") })
	}
	return t.found(ctx)
}

// found finds the server that the tool has started, waits until it answers, and begins the load.
func (t *trialRound) found(ctx context.Context) error {
	s := &server{name: t.plan.server, socket: t.socket()}
	err := t.await(ctx, "the server", func() bool { s.pid = findServer(t.config.tool, s.socket); return s.pid != 0 })
	if err == nil {
		err = s.found(s.pid)
	}
	if err == nil {
		t.server = s
		err = s.ready(ctx)
	}
	if err == nil {
		s.begin()
	}
	return err
}

// await waits until something is so, and fails if the tool has ended before.
func (t *trialRound) await(ctx context.Context, what string, so func() bool) error {
	err := wait(ctx, what, func() bool { return so() || t.tool.hasEnded() })
	if err == nil && !so() {
		return fmt.Errorf("tracepredict ended before there was %s", what)
	}
	return err
}

// happen lets happen what the plan says. It returns whether the tool was killed.
func (t *trialRound) happen(ctx context.Context) (killed bool, err error) {
	switch t.what {
	case killedPlanning:
	case killedAttaching:
		if err := t.attaching(ctx); err != nil {
			return false, err
		}
	default:
		if err := t.observing(ctx); err != nil && t.what != diskFull {
			return false, err
		}
	}
	switch t.what {
	case killedLeaving:
		t.rest(ctx, 300*time.Millisecond)
		t.signal(t.tool.cmd.Process.Pid, unix.SIGINT)
	case toolStopped:
		t.stop(ctx, t.tool.victim(t.parent))
	case serverStopped:
		all := t.server.processes()
		t.stop(ctx, all[t.random.IntN(len(all))])
	case workerKilled:
		t.killWorker(ctx)
	case groupKilled:
		if err := t.group.add(t.tool.cmd.Process.Pid); err != nil {
			return false, err
		}
	}
	t.rest(ctx, t.after)
	if !t.what.kills() {
		return false, nil
	}
	if t.what == groupKilled {
		return true, t.group.kill()
	}
	t.signal(t.tool.victim(t.parent), unix.SIGKILL)
	return true, nil
}

// attaching waits until the first probes are in.
func (t *trialRound) attaching(ctx context.Context) error {
	return t.await(ctx, "a probe", func() bool {
		pid := 0
		if t.exec {
			pid = findServer(t.config.tool, t.socket())
		} else {
			pid = t.server.pid
		}
		n, err := probesOf(pid)
		return pid != 0 && err == nil && n > 0
	})
}

// rest lets the round go on for a time.
func (t *trialRound) rest(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// signal sends a signal to a process that may have ended.
func (t *trialRound) signal(pid int, sig unix.Signal) { _ = unix.Kill(pid, sig) }

// stop stops a process for a time.
func (t *trialRound) stop(ctx context.Context, pid int) {
	t.rest(ctx, t.pause)
	t.signal(pid, unix.SIGSTOP)
	t.rest(ctx, t.pause)
	t.signal(pid, unix.SIGCONT)
}

// killWorker kills some of the server's processes, but not its first.
func (t *trialRound) killWorker(ctx context.Context) {
	for range 3 {
		if workers := t.server.processes()[1:]; len(workers) > 0 {
			t.signal(workers[t.random.IntN(len(workers))], unix.SIGKILL)
		}
		t.rest(ctx, t.pause/3)
	}
}

// leave ends the observation, unless the tool was killed, and waits until the tool has ended. A tool that was killed may
// leave the server that it has started, which is then found.
func (t *trialRound) leave(ctx context.Context, killed bool) error {
	switch {
	case killed && t.exec && t.server == nil:
		return t.survivor(ctx)
	case killed:
		return t.killedEnds(ctx)
	case t.exec && t.server != nil:
		t.signal(t.server.pid, unix.SIGTERM)
		t.server.end()
	case t.what != durationOver:
		t.signal(t.tool.cmd.Process.Pid, unix.SIGINT)
	}
	return t.tool.awaitEnd(ctx)
}

// killedEnds waits until the process of the tool that was killed is gone. The one that waited for it under exec goes on as long as the
// server does.
func (t *trialRound) killedEnds(ctx context.Context) error {
	return wait(ctx, "the end of tracepredict", func() bool { return t.tool.hasEnded() || t.exec && t.tool.victim(false) == t.tool.cmd.Process.Pid })
}

// survivor finds the server that a killed tool has left, if it has become one, and puts it under load.
func (t *trialRound) survivor(ctx context.Context) error {
	socket := t.socket()
	gone := func() bool {
		return !slices.ContainsFunc(withArgument(socket), func(pid int) bool { return pid != t.tool.cmd.Process.Pid })
	}
	pid := 0
	err := wait(ctx, "the server, or the end of all", func() bool { pid = findServer(t.config.tool, socket); return pid != 0 || gone() })
	if err != nil || pid == 0 {
		return err
	}
	s := &server{name: t.plan.server, socket: socket}
	if err := s.found(pid); err != nil {
		return nil // it has ended
	}
	t.server = s
	if err := s.ready(ctx); err != nil {
		return err
	}
	s.begin()
	return nil
}
