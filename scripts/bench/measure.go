package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/tracepredict/tracepredict/scripts/empty"
	"github.com/tracepredict/tracepredict/scripts/figures"
)

// variant is one way to run the program of pairs.
type variant struct {
	name    string
	threads int
	pairs   int      // a thread
	command []string // THREADS and PAIRS are appended
	report  string   // where tracepredict writes its JSON; "" for others
	idle    sample   // a run of one pair a thread: what all runs cost
	env     []string // besides the caller's
	quoted  bool     // the command wants the program as one word, as bpftrace -c does
}

// sample is one run of a variant.
type sample struct {
	Pairs     float64 `json:"pairs"`
	NsPerPair float64 `json:"ns_per_pair"`
	CPUPair   float64 `json:"cpu_ns_per_pair"` // the same in CPU time of its threads
	CPU       float64 `json:"cpu_s"`           // of the program
	toolCPU   float64 // of everything else that the command was, in seconds
	events    float64
	lost      float64
}

// Names of the variants.
const (
	plain      = "plain"
	cheap      = "tracepredict"
	entry      = "tracepredict --sites=entry"
	emptySites = "empty programs at tracepredict's sites"
	twoProbes  = "one empty program a call, at a nop"
	bpftrace   = "bpftrace, three probes that count"
	sanitizer  = "gcc -fsanitize=thread"
)

// prepare lists the variants that this machine has, for the program compiled as
// native, and as floor without locks.
func prepare(c *config, native, floor string, kernel *emptyProbes) ([]*variant, error) {
	few := max(c.pairs/20, 1000)
	var vs []*variant
	for _, threads := range []int{1, 2} {
		vs = append(vs,
			&variant{name: plain, threads: threads, pairs: 5 * c.pairs, command: []string{native}},
			traced(c, cheap, threads, c.pairs, native),
			traced(c, entry, threads, few, native, "--sites=entry"))
		vs = append(vs, &variant{name: emptySites, threads: threads, pairs: c.pairs, command: []string{native},
			env: []string{"LD_LIBRARY_PATH=" + kernel.folder}})
		if threads == 1 { // two would lose updates
			vs = append(vs, &variant{name: twoProbes, threads: threads, pairs: c.pairs, command: []string{floor}})
		}
		if v, err := bpftraced(threads, few, native); err != nil {
			fmt.Fprintln(os.Stderr, "bench: without bpftrace:", err)
		} else {
			vs = append(vs, v)
		}
	}
	tsan := filepath.Join(c.dir, "pairs-tsan")
	if err := compile(tsan, "-fsanitize=thread"); err != nil {
		fmt.Fprintln(os.Stderr, "bench: without ThreadSanitizer:", err)
		return vs, nil
	}
	for _, threads := range []int{1, 2} {
		vs = append(vs, &variant{name: sanitizer, threads: threads, pairs: c.pairs, command: []string{tsan}})
	}
	return vs, nil
}

func compile(output string, flags ...string) error {
	return compileAs(output, "scripts/bench/testdata/pairs.c", flags...)
}

func compileAs(output, source string, flags ...string) error {
	args := slices.Concat([]string{"-O2", "-g", "-pthread", "-o", output}, flags, []string{source})
	if log, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("gcc %s: %w\n%s", strings.Join(args, " "), err, log)
	}
	return nil
}

func traced(c *config, name string, threads, pairs int, program string, flags ...string) *variant {
	report := filepath.Join(c.dir, "report.json")
	command := slices.Concat([]string{c.tool, "exec", "--watch-shared=off", "--format", "json", "--output", report}, flags, []string{"--", program})
	return &variant{name: name, threads: threads, pairs: pairs, command: command, report: report}
}

// bpftraced counts the same three calls that a pair of entry probes and a
// return probe see, and does nothing else.
func bpftraced(threads, pairs int, program string) (*variant, error) {
	path, err := exec.LookPath("bpftrace")
	if err != nil {
		return nil, err
	}
	libc, err := empty.Libc(program)
	if err != nil {
		return nil, err
	}
	script := strings.ReplaceAll("uprobe:LIBC:pthread_mutex_lock { @l = count(); } uretprobe:LIBC:pthread_mutex_lock { @r = count(); } "+
		"uprobe:LIBC:pthread_mutex_unlock { @u = count(); }", "LIBC", libc)
	return &variant{name: bpftrace, threads: threads, pairs: pairs, command: []string{path, "-e", script, "-c", program}, quoted: true}, nil
}

// result is what was measured of a variant.
type result struct {
	*variant
	samples []sample
}

// measure runs all variants in turn, rounds times; the order turns too, so that
// none always runs after the same other.
func measure(c config, vs []*variant) ([]result, error) {
	results := make([]result, len(vs))
	for i, v := range vs {
		results[i].variant = v
		var err error
		if v.idle, err = v.run(1); err != nil {
			return nil, err
		}
	}
	for round := range c.rounds {
		for i := range vs {
			r := &results[(i+round)%len(vs)]
			s, err := r.run(r.pairs)
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(os.Stderr, "round %d of %d: %-40s %d threads: %8.1f ns a pair, %8.1f of CPU\n", round+1, c.rounds, r.name, r.threads, s.NsPerPair, s.CPUPair)
			r.samples = append(r.samples, s)
		}
	}
	return results, nil
}

// run runs the variant once with so many pairs a thread.
func (v *variant) run(pairs int) (sample, error) {
	args := slices.Clone(v.command)
	numbers := []string{strconv.Itoa(v.threads), strconv.Itoa(pairs)}
	if v.quoted {
		args[len(args)-1] += " " + strings.Join(numbers, " ")
	} else {
		args = append(args, numbers...)
	}
	what := strings.Join(args, " ")
	cmd := exec.Command(args[0], args[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Env = append(cmd.Environ(), v.env...)
	if err := cmd.Run(); err != nil {
		return sample{}, fmt.Errorf("%s: %w\n%s%s", what, err, &stdout, &stderr)
	}
	s, err := parseSample(stdout.Bytes())
	if err != nil {
		return s, fmt.Errorf("%s: %w", what, err)
	}
	if want := float64(v.threads * pairs); s.Pairs != want {
		return s, fmt.Errorf("%s: did %.0f pairs instead of %.0f", what, s.Pairs, want)
	}
	// The kernel adds to a process those of its children that it awaited: the
	// program, here.
	s.toolCPU = cpuOf(cmd.ProcessState) - s.CPU
	if v.report != "" {
		if err := s.readReport(v.report); err != nil {
			return s, fmt.Errorf("%s: %w", what, err)
		}
	}
	return s, nil
}

func parseSample(stdout []byte) (s sample, err error) {
	for line := range bytes.Lines(stdout) {
		if bytes.HasPrefix(line, []byte("{")) {
			return s, json.Unmarshal(line, &s)
		}
	}
	return s, fmt.Errorf("it printed no measurement: %q", stdout)
}

func cpuOf(p *os.ProcessState) float64 {
	u, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return seconds(u.Utime) + seconds(u.Stime)
}

func (s *sample) readReport(name string) error {
	raw, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var report struct {
		Run struct {
			Events, Lost *float64
		}
	}
	if err := json.Unmarshal(raw, &report); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if report.Run.Events == nil || report.Run.Lost == nil {
		return errors.New("its report does not say how many events there were")
	}
	s.events, s.lost = *report.Run.Events, *report.Run.Lost
	return os.Remove(name)
}

// stage is a Go benchmark's result, medians over its runs.
type stage struct {
	name              string
	ns, bytes, allocs float64
}

// profile has the benchmarks compiled as the tool is.
const profile = "-pgo=cmd/tracepredict/default.pgo"

// goBenchmarks measures the pipeline without a kernel.
func goBenchmarks(c config) ([]stage, error) {
	cmd := exec.Command("go", "test", profile, "-run", "^$", "-bench", "^BenchmarkPipeline$", "-benchmem",
		"-count", strconv.Itoa(min(c.rounds, 5)), "-benchtime", c.benchtime, "./analysis/engine")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s%s", cmd, err, out, &stderr)
	}
	stages := parseBenchmarks(string(out))
	if len(stages) == 0 {
		return nil, fmt.Errorf("%s: no benchmark ran:\n%s", cmd, out)
	}
	return stages, nil
}

var benchLine = regexp.MustCompile(`^BenchmarkPipeline/(\S+?)(?:-\d+)?\s+\d+\s+([\d.]+) ns/op\s+([\d.]+) B/op\s+([\d.]+) allocs/op`)

// parseBenchmarks reads the lines of go test -benchmem, those of one name as one.
func parseBenchmarks(out string) []stage {
	var order []string
	values := map[string][3][]float64{}
	for line := range strings.Lines(out) {
		m := benchLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		v, seen := values[m[1]]
		if !seen {
			order = append(order, m[1])
		}
		for i := range v {
			// The pattern lets only numbers through; 1.2.3 reads as 0.
			x, _ := strconv.ParseFloat(m[2+i], 64)
			v[i] = append(v[i], x)
		}
		values[m[1]] = v
	}
	var stages []stage
	for _, name := range order {
		v := values[name]
		stages = append(stages, stage{name: name, ns: figures.Median(v[0]), bytes: figures.Median(v[1]), allocs: figures.Median(v[2])})
	}
	return stages
}

// replayed is the rate at which a trace passes through some analyses, medians over its runs.
type replayed struct {
	name                         string
	perSecond, ns, bytes, allocs float64 // the last three for each event
}

const (
	// required is the replay that the requirement speaks of.
	required = "clocks,eraser,goodlock"
	// maxAllocs is what the set-up of a run comes to, shared out over its events.
	maxAllocs = 0.01
)

// replayBenchmarks measures from the file to the findings.
func replayBenchmarks(c config) ([]replayed, error) {
	out, err := goBench("^BenchmarkReplay$", c.benchtime, strconv.Itoa(min(c.rounds, 5)), "./analysis/replay")
	if err != nil {
		return nil, err
	}
	replays := parseReplays(out)
	if len(replays) == 0 {
		return nil, fmt.Errorf("no benchmark of replaying ran:\n%s", out)
	}
	return replays, nil
}

var replayLine = regexp.MustCompile(`^BenchmarkReplay/(\S+?)(?:-\d+)?\s+\d+\s(.*)`)

func parseReplays(out string) []replayed { return parse(out, replayLine) }

// parse reads lines of a name and of pairs of number and unit.
func parse(out string, lines *regexp.Regexp) []replayed {
	order, values := metrics(out, lines)
	var replays []replayed
	for _, name := range order {
		v := values[name]
		replays = append(replays, replayed{name: name, perSecond: figures.Median(v["events/s"]), ns: figures.Median(v["cpu-ns/event"]),
			bytes: figures.Median(v["B/event"]), allocs: figures.Median(v["allocs/event"])})
	}
	return replays
}
