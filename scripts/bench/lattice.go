package main

import (
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tracepredict/tracepredict/scripts/figures"
)

// quarters of a run, in per cent.
var quarters = []string{"25", "50", "75", "100"}

// checked is the rate at which properties are checked on a recorded trace, medians over its runs.
type checked struct {
	perSecond      float64   // relevant events
	width          float64   // states of a level, on average
	allocs         float64   // for each state, from the first quarter on
	heap, resident []float64 // MB at each of quarters
}

// unbounded is the rate at which the lattice without a window is built, the median over its runs.
type unbounded struct {
	name      string // "n=4/k=50": threads, writes of each
	perSecond float64
}

// Requirements of the lattice.
const (
	minChecked  = 100_000 // relevant events a second; and what is wished for
	goalChecked = 150_000
	minWidth    = 60
	maxGrowth   = 1.1   // of memory, at the end of a quarter's
	maxOfState  = 0.001 // allocations: what the collector and the clocks of new threads make, shared out
)

// minUnbounded is states a second, of each benchmark.
var minUnbounded = []unbounded{{"n=4/k=50", 8e6}, {"n=8/k=6", 2.5e6}}

var (
	checkedLine   = regexp.MustCompile(`^Benchmark(Properties)(?:-\d+)?\s+\d+\s(.*)`)
	unboundedLine = regexp.MustCompile(`^BenchmarkUnbounded/(\S+?)(?:-\d+)?\s+\d+\s(.*)`)
)

// latticeBenchmarks measures what checking properties takes.
func latticeBenchmarks(c config) (checked, []unbounded, error) {
	count := strconv.Itoa(min(c.rounds, 3))
	out, err := goBench("^BenchmarkProperties$", "1x", count, "./analysis/replay")
	if err != nil {
		return checked{}, nil, err
	}
	k, err := parseChecked(out)
	if err != nil {
		return checked{}, nil, err
	}
	if out, err = goBench("^BenchmarkUnbounded$", c.benchtime, count, "./observer/lattice"); err != nil {
		return checked{}, nil, err
	}
	us := parseUnbounded(out)
	if len(us) == 0 {
		return checked{}, nil, fmt.Errorf("no benchmark of the lattice without a window ran:\n%s", out)
	}
	return k, us, nil
}

// goBench runs Go benchmarks and gives what they print.
func goBench(name, benchtime, count, folder string) (string, error) {
	cmd := exec.Command("go", "test", profile, "-run", "^$", "-bench", name, "-count", count, "-benchtime", benchtime, folder)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", cmd, err, out, &stderr)
	}
	return string(out), nil
}

func parseChecked(out string) (checked, error) {
	_, values := metrics(out, checkedLine)
	v := values["Properties"]
	if v == nil {
		return checked{}, fmt.Errorf("no benchmark of properties ran:\n%s", out)
	}
	k := checked{perSecond: figures.Median(v["events/s"]), width: figures.Median(v["states/level"]), allocs: figures.Median(v["allocs/state"])}
	for _, q := range quarters {
		k.heap = append(k.heap, figures.Median(v["heap-MB-at-"+q]))
		k.resident = append(k.resident, figures.Median(v["rss-MB-at-"+q]))
	}
	return k, nil
}

func parseUnbounded(out string) (us []unbounded) {
	order, values := metrics(out, unboundedLine)
	for _, name := range order {
		us = append(us, unbounded{name, figures.Median(values[name]["cuts/s"])})
	}
	return us
}

// metrics reads the lines of Go benchmarks: of each name, which the first group of the
// pattern is, the numbers of each unit; the second group has them in pairs.
func metrics(out string, pattern *regexp.Regexp) (order []string, values map[string]map[string][]float64) {
	values = map[string]map[string][]float64{}
	for line := range strings.Lines(out) {
		m := pattern.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if values[m[1]] == nil {
			order = append(order, m[1])
			values[m[1]] = map[string][]float64{}
		}
		fields := strings.Fields(m[2])
		for i := 0; i+1 < len(fields); i += 2 {
			if x, err := strconv.ParseFloat(fields[i], 64); err == nil {
				values[m[1]][fields[i+1]] = append(values[m[1]][fields[i+1]], x)
			}
		}
	}
	return order, values
}

// grown is how much of memory there is at the end, of what a quarter had taken.
func (k *checked) grown() float64 {
	if len(k.heap) == 0 || k.heap[0] == 0 {
		return 0
	}
	return slices.Max(k.heap[1:]) / k.heap[0]
}

func (k *checked) requirements() []requirement {
	reached := "missed"
	if k.perSecond >= goalChecked {
		reached = "reached"
	}
	grown := k.grown()
	return []requirement{
		{"relevant events a second, properties checked: a recorded trace of a million writes of 8 threads, window 64, a monitor of 10 states, witnesses kept, on one core",
			fmt.Sprintf("at least %s on levels of at least %d states, goal %s", grouped(minChecked), minWidth, grouped(goalChecked)),
			fmt.Sprintf("%s on levels of %.1f; goal %s", grouped(k.perSecond), k.width, reached), k.perSecond >= minChecked && k.width >= minWidth},
		{"memory meanwhile, after 25, 50, 75 and 100 % of the run; allocations for a state from the first quarter on",
			fmt.Sprintf("at most %.1f times that of the first quarter; none", maxGrowth),
			fmt.Sprintf("%s MB alive, %s MB resident; %.6f", listed(k.heap), listed(k.resident), k.allocs), grown > 0 && grown <= maxGrowth && k.allocs < maxOfState},
	}
}

// unboundedRequirements has a row for each limit, also where it was not measured.
func unboundedRequirements(us []unbounded) (rs []requirement) {
	for _, limit := range minUnbounded {
		threads, writes, _ := strings.Cut(strings.TrimPrefix(limit.name, "n="), "/k=")
		r := requirement{
			text:  fmt.Sprintf("states a second without a window, %s threads of %s independent writes each, a monitor of 10 states", threads, writes),
			limit: fmt.Sprintf("at least %.1f million", limit.perSecond/1e6), measured: "not measured",
		}
		if i := slices.IndexFunc(us, func(u unbounded) bool { return u.name == limit.name }); i >= 0 {
			r.measured, r.met = fmt.Sprintf("%.2f million", us[i].perSecond/1e6), us[i].perSecond >= limit.perSecond
		}
		rs = append(rs, r)
	}
	return rs
}

// listed writes MB, separated by commas.
func listed(values []float64) string {
	var words []string
	for _, v := range values {
		words = append(words, fmt.Sprintf("%.1f", v))
	}
	return strings.Join(words, ", ")
}

// grouped writes a whole number with commas between thousands.
func grouped(v float64) string {
	s := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
