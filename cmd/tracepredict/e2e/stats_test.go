package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// figures is the part of a report that --stats adds.
type figures struct {
	Run struct {
		Events, Threads uint64
		Properties      struct {
			Complete bool
			Late     uint64 `json:"late_events"`
			Dropped  uint64 `json:"states_dropped"`
		}
	}
	Stats *struct {
		Events    map[string]uint64
		Variables uint64
		Tool      struct {
			CPU  int64  `json:"cpu_ns"`
			Peak uint64 `json:"peak_rss_bytes"`
		}
		Program *struct {
			CPU int64 `json:"cpu_ns"`
		}
		Ring *struct {
			Bytes uint64
			High  uint64 `json:"high_water_bytes"`
		}
		Plans   *struct{ Made, Cached int }
		Lattice map[string]uint64
		Latency *struct {
			Events uint64
			Median int64 `json:"median_ns"`
			Most99 int64 `json:"p99_ns"`
			Max    int64 `json:"max_ns"`
		}
	}
}

func readFigures(t *testing.T, path string) (f figures) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	if f.Stats == nil {
		t.Fatalf("there are no figures:\n%s", raw)
	}
	var sum uint64
	for _, n := range f.Stats.Events {
		sum += n
	}
	if sum != f.Run.Events {
		t.Errorf("%d events by operation, %d in all", sum, f.Run.Events)
	}
	return f
}

// TestStatsFlag checks the figures of a live run and of its trace, which has the same
// events and the same lattice, and no figures that only a live run has.
func TestStatsFlag(t *testing.T) {
	needBPF(t)
	dir := t.TempDir()
	spec, report, trace := filepath.Join(dir, "swap.tps"), filepath.Join(dir, "report.json"), filepath.Join(dir, "trace")
	const text = "var a : int = first\nvar b : int = second\nproperty in_order = always (b == 1 -> a == 1)\n"
	if err := os.WriteFile(spec, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	common := []string{"--stats", "--spec", spec, "--format", "json", "--output", report}
	program := build(t, "gcc", "swap.c", "-O2", "-pthread")
	startTool(t, childOptions{}, append(append([]string{"exec", "--record", trace}, common...), "--", program)...).want(0)
	live := readFigures(t, report)
	s := live.Stats
	if s.Variables != 2 || s.Tool.CPU <= 0 || s.Tool.Peak < 1<<20 || s.Program == nil || s.Program.CPU <= 0 {
		t.Errorf("the figures: %+v", s)
	}
	if s.Ring == nil || s.Ring.Bytes != 64<<20 || s.Ring.High == 0 || s.Ring.High > s.Ring.Bytes {
		t.Errorf("the ring buffer: %+v", s.Ring)
	}
	if s.Lattice["levels"] != 2 || s.Lattice["states"] < 3 || !live.Run.Properties.Complete {
		t.Errorf("two writes make %v", s.Lattice)
	}
	if l := s.Latency; l == nil || l.Events != 2 || l.Median <= 0 || l.Median > l.Most99 || l.Most99 > l.Max {
		t.Errorf("the latency of two events: %+v", l)
	}
	startTool(t, childOptions{}, append(append([]string{"analyze"}, common...), trace)...).want(0)
	replayed := readFigures(t, report)
	if diff := cmp.Diff(s.Events, replayed.Stats.Events); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(s.Lattice, replayed.Stats.Lattice); diff != "" {
		t.Error(diff)
	}
	if r := replayed.Stats; r.Program != nil || r.Ring != nil || r.Latency != nil {
		t.Errorf("a recorded run has what a live one has: %+v", r)
	}
}

// TestStatsOfAttach checks that the processor time of an attached process counts from
// the beginning of the observation.
func TestStatsOfAttach(t *testing.T) {
	needBPF(t)
	server, pid := startServer(t)
	tool, report := attachTo(t, pid, "--stats")
	server.ask("twist")
	tool.signal(unix.SIGINT)
	tool.want(66)
	if s := readFigures(t, report).Stats; s.Program == nil || s.Program.CPU <= 0 || s.Program.CPU > 60e9 || s.Latency != nil || s.Lattice != nil {
		t.Errorf("the figures: %+v", s)
	}
	server.want(0)
}

// TestWindowTooSmall checks that the report of a narrow window without a violation says
// that not all was checked.
func TestWindowTooSmall(t *testing.T) {
	t.Parallel()
	const violated = "var w : int = water\nvar v : int = opening\nproperty wide = always (w > 30 -> v > 55)\n"
	c := specified(t, violated, "--window", "1")
	c.want(0)
	text := c.err.String()
	for _, want := range []string{"no findings on the part of the runs that was checked", "properties were checked on part of the runs"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q:\n%s", want, text)
		}
	}
}
