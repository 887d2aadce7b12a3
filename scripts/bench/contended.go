package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tracepredict/tracepredict/scripts/figures"
)

// This file measures profile --contended: what it costs memcached, in which threads rarely wait in the kernel, and how the times
// that it finds, and its cost where they do, compare with those of bpftrace.

const (
	contendedClients  = 8
	contendedRequests = 240_000 // of all clients together, a round
	contendedTurns    = 20_000  // of each thread, under bpftrace
	contendedHold     = 150_000 // steps of a turn: some 50 µs
	maxFutexError     = 0.05    // of the sum of waits, relative to bpftrace
)

// runContended measures and prints both.
func runContended(c config) (met bool, err error) {
	fmt.Printf("Measured with `bench -contended`, on %s.\n\n", figures.Machine())
	if err := contendedServer(&c); err != nil {
		return false, fmt.Errorf("memcached: %w", err)
	}
	return contendedSums(&c)
}

// round is what one load of a server, or one run of a program, has cost: time, and processor time of it alone.
type round struct{ seconds, cpu float64 }

// contendedServer loads a memcached in turn without and with the profile, and prints what differs.
func contendedServer(c *config) error {
	port, server, err := startMemcached()
	if err != nil {
		return err
	}
	defer func() { _ = server.Process.Kill(); _ = server.Wait() }()
	requests := int(contendedRequests * c.scale)
	if _, err := loadMemcached(port, server.Process.Pid, requests); err != nil { // it makes its room for the keys
		return err
	}
	var wall, cpu []float64 // differences of the two loads of a round, as parts of the one without
	for n := range c.rounds {
		var of [2]round
		for k := range of {
			observed := (k + n) % 2 // which comes first alternates
			if of[observed], err = contendedLoad(c, port, server.Process.Pid, requests, observed == 1); err != nil {
				return err
			}
		}
		wall = append(wall, of[1].seconds/of[0].seconds-1)
		cpu = append(cpu, of[1].cpu/of[0].cpu-1)
		fmt.Fprintf(os.Stderr, "memcached: %.2f s and %.2f s of CPU, with --contended %.2f s and %.2f s\n", of[0].seconds, of[0].cpu, of[1].seconds, of[1].cpu)
	}
	fmt.Printf("memcached, 2 threads, %d clients, %d requests a round, %d rounds: profile --contended takes\n\n", contendedClients, requests, c.rounds)
	for _, d := range []struct {
		of    string
		parts []float64
	}{{"time", wall}, {"processor time of the server", cpu}} {
		mean, half := interval(d.parts)
		told := "which cannot be told from none"
		if math.Abs(mean) > half {
			told = "which is a difference"
		}
		fmt.Printf("- %+.1f %% more %s, %+.1f to %+.1f %% (95 %% interval), %s\n", 100*mean, d.of, 100*(mean-half), 100*(mean+half), told)
	}
	fmt.Println()
	return nil
}

// student has the 97.5 % quantiles of Student's distribution, by degrees of freedom from 1 on; beyond, it is nearly normal.
var student = []float64{12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086}

// interval returns the mean of values, and half the width of its 95 % interval.
func interval(values []float64) (mean, half float64) {
	n := float64(len(values))
	for _, v := range values {
		mean += v / n
	}
	if len(values) < 2 {
		return mean, math.Inf(1)
	}
	squares := 0.0
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	t := 1.96
	if len(values)-2 < len(student) {
		t = student[len(values)-2]
	}
	return mean, t * math.Sqrt(squares/(n-1)/n)
}

// contendedLoad loads the server, observed or not.
func contendedLoad(c *config, port, pid, requests int, observed bool) (r round, err error) {
	if observed {
		tool, err := observing(c.tool, "profile", "--contended", "-p", strconv.Itoa(pid))
		if err != nil {
			return r, err
		}
		defer func() {
			text, endErr := tool.end()
			if err = errors.Join(err, endErr); err == nil {
				fmt.Fprintf(os.Stderr, "%s\n", firstLines(text, 2))
			}
		}()
	}
	return loadMemcached(port, pid, requests)
}

func firstLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[:min(n, len(lines))], "\n")
}

// observer is a tool that observes a process until it is interrupted.
type observer struct {
	cmd  *exec.Cmd
	text bytes.Buffer // what it has said
	in   *bufio.Reader
}

// observing starts a tool, which says a line with "observing" when it does, and waits for that.
func observing(name string, args ...string) (*observer, error) {
	o := &observer{cmd: exec.Command(name, args...)}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	o.cmd.Stdout, o.cmd.Stderr, o.in = w, w, bufio.NewReader(r)
	err = o.cmd.Start()
	w.Close()
	if err != nil {
		return nil, err
	}
	for {
		line, err := o.in.ReadString('\n')
		o.text.WriteString(line)
		if err != nil {
			return nil, fmt.Errorf("%s ended: %w\n%s", name, err, o.text.String())
		}
		if strings.Contains(line, "observing") {
			return o, nil
		}
	}
}

// end interrupts the tool, and returns what it said after that.
func (o *observer) end() (string, error) {
	if err := o.cmd.Process.Signal(syscall.SIGINT); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return "", err
	}
	rest, err := io.ReadAll(o.in)
	return string(rest), errors.Join(err, o.cmd.Wait())
}

func startMemcached() (port int, server *exec.Cmd, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, nil, err
	}
	port = l.Addr().(*net.TCPAddr).Port
	l.Close()
	server = exec.Command("memcached", "-u", "root", "-l", "127.0.0.1", "-p", strconv.Itoa(port), "-U", "0", "-t", "2", "-m", "128")
	if err := server.Start(); err != nil {
		return 0, nil, err
	}
	for range 100 {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			conn.Close()
			return port, server, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return 0, nil, errors.New("it does not listen")
}

// loadMemcached has clients make requests, each of which waits for its answer before it asks again.
func loadMemcached(port, pid, requests int) (r round, err error) {
	before, err := processorTime(pid)
	if err != nil {
		return r, err
	}
	from := time.Now()
	var clients errgroup.Group
	for n := range contendedClients {
		clients.Go(func() error { return memcachedClient(port, n, requests/contendedClients) })
	}
	if err := clients.Wait(); err != nil {
		return r, err
	}
	r.seconds = time.Since(from).Seconds()
	after, err := processorTime(pid)
	r.cpu = after - before
	return r, err
}

// memcachedClient sets each tenth time, and otherwise gets.
func memcachedClient(port, client, requests int) error {
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	value := strings.Repeat("v", 100)
	for i := range requests {
		key := i * 13 % 1000
		if i%10 == 0 {
			_, err = fmt.Fprintf(conn, "set c%d-%d 0 0 %d\r\n%s\r\n", client, key, len(value), value)
		} else {
			_, err = fmt.Fprintf(conn, "get c%d-%d\r\n", client, key)
		}
		for line := ""; err == nil && line != "STORED\r\n" && line != "END\r\n"; {
			line, err = in.ReadString('\n')
		}
		if err != nil {
			return fmt.Errorf("request %d of client %d: %w", i, client, err)
		}
	}
	return nil
}

// processorTime returns the processor time of the threads of a process, in seconds.
func processorTime(pid int) (float64, error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		return 0, err
	}
	ns := 0.0
	for _, name := range tasks {
		text, err := os.ReadFile(name)
		if err != nil {
			return 0, err
		}
		first, _, _ := strings.Cut(string(text), " ")
		n, err := strconv.ParseFloat(first, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		ns += n
	}
	return ns / 1e9, nil
}

// offCPU is the program of bpftrace: for how long the threads of a process are off the processor while they are in futex(2).
const offCPU = `tracepoint:syscalls:sys_enter_futex /pid == PID/ { @in[tid] = 1; }
tracepoint:syscalls:sys_exit_futex /pid == PID/ { delete(@in[tid]); }
tracepoint:sched:sched_switch {
	if (@in[args->prev_pid]) { @since[args->prev_pid] = nsecs; }
	if (@since[args->next_pid]) { @waited = sum(nsecs - @since[args->next_pid]); delete(@since[args->next_pid]); }
}
interval:ms:200 /!@ready/ { printf("observing\n"); @ready = 1; }
END { clear(@in); clear(@since); clear(@ready); }`

// tracing runs bpftrace with a program, and with the file system of tracepoints mounted for it alone where it is not.
const tracing = `mountpoint -q /sys/kernel/tracing || mount -t tracefs none /sys/kernel/tracing; exec bpftrace -e "$0"`

// contendedSums has a program whose threads wait for each other observed by both at once, and prints the sums of its waits;
// and by each alone, and prints the times.
func contendedSums(c *config) (met bool, err error) {
	if _, err := exec.LookPath("bpftrace"); err != nil {
		return false, err
	}
	program := filepath.Join(c.dir, "contended")
	if err := compileAs(program, "scripts/bench/testdata/contended.c"); err != nil {
		return false, err
	}
	ways := []string{"plain", "profile --contended", "bpftrace", "both"}
	walls, cpus := map[string][]float64{}, map[string][]float64{}
	var differ []float64
	for n := range c.rounds {
		for k := range ways {
			way := ways[(k+n)%len(ways)]
			cost, ours, theirs, err := c.waits(program, way)
			if err != nil {
				return false, fmt.Errorf("%s: %w", way, err)
			}
			walls[way], cpus[way] = append(walls[way], cost.seconds), append(cpus[way], cost.cpu)
			if way == "both" {
				differ = append(differ, ours/theirs-1)
				fmt.Fprintf(os.Stderr, "waits: %.3f s by profile --contended, %.3f s by bpftrace: %+.1f %%\n", ours, theirs, 100*(ours/theirs-1))
			}
		}
	}
	worst := 0.0
	for _, e := range differ {
		worst = max(worst, math.Abs(e))
	}
	met = worst <= maxFutexError
	mean, half := interval(differ)
	fmt.Printf("Two threads that wait for one lock, %d turns each of %d steps, %d rounds, both tools at once: the sum of waits differs from\n"+
		"bpftrace's time off the processor in futex(2) by %+.2f %% (95 %% interval %+.2f to %+.2f %%), at worst %.2f %%; limit %.0f %%, %s\n\n",
		int(contendedTurns*c.scale), contendedHold, c.rounds, 100*mean, 100*(mean-half), 100*(mean+half), 100*worst, 100*maxFutexError, map[bool]string{true: "met", false: "not met"}[met])
	fmt.Print("| the same run | s, median | s of CPU, median | relative to plain, by CPU |\n| --- | ---: | ---: | ---: |\n")
	for _, way := range ways {
		fmt.Printf("| %s | %.2f | %.3f | %.3f |\n", way, figures.Median(walls[way]), figures.Median(cpus[way]), figures.Median(cpus[way])/figures.Median(cpus["plain"]))
	}
	return met, nil
}

// waits runs the program of two threads, observed in a way, and returns what that took and for how long it waited, by profile
// --contended and by bpftrace.
func (c *config) waits(program, way string) (cost round, ours, theirs float64, err error) {
	cmd := exec.Command(program, strconv.Itoa(int(contendedTurns*c.scale)), strconv.Itoa(contendedHold))
	begin, err := cmd.StdinPipe()
	if err != nil {
		return cost, 0, 0, err
	}
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		return cost, 0, 0, err
	}
	pid := strconv.Itoa(cmd.Process.Pid)
	var profile, trace *observer
	if way == "profile --contended" || way == "both" {
		profile, err = observing(c.tool, "profile", "--contended", "-p", pid)
	}
	if err == nil && (way == "bpftrace" || way == "both") {
		trace, err = observing("unshare", "-m", "sh", "-c", tracing, strings.ReplaceAll(offCPU, "PID", pid))
	}
	begin.Close()
	if err := errors.Join(err, cmd.Wait()); err != nil {
		return cost, 0, 0, err
	}
	ns, err := strconv.ParseFloat(strings.TrimSpace(out.String()), 64)
	if err != nil {
		return cost, 0, 0, err
	}
	ours, err1 := profile.result(sumOfTables)
	theirs, err2 := trace.result(sumOfTrace)
	cost = round{ns / 1e9, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()}
	return cost, ours, theirs, errors.Join(err1, err2)
}

// result ends the tool, and returns the time that it has found, in seconds; 0 if there is no tool.
func (o *observer) result(of func(text string) (float64, error)) (float64, error) {
	if o == nil {
		return 0, nil
	}
	text, err := o.end()
	if err != nil {
		return 0, err
	}
	return of(text)
}

// sumOfTrace returns the sum that bpftrace has printed, in seconds.
func sumOfTrace(text string) (float64, error) {
	m := regexp.MustCompile(`@waited: (\d+)`).FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("bpftrace says %q", text)
	}
	ns, err := strconv.ParseFloat(m[1], 64)
	return ns / 1e9, err
}

// sumOfTables returns the sum of the times above the tables of profile --contended, in seconds.
func sumOfTables(text string) (sum float64, err error) {
	for _, m := range regexp.MustCompile(`(?m)^waits [a-z ]+: ([0-9.]+[a-zµ]+)$`).FindAllStringSubmatch(text, -1) {
		d, err := time.ParseDuration(m[1])
		if err != nil {
			return 0, err
		}
		sum += d.Seconds()
	}
	if sum == 0 {
		return 0, fmt.Errorf("the profile says %q", text)
	}
	return sum, nil
}
