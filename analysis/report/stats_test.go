package report

import (
	"strings"
	"testing"
	"time"
)

func shopStats() *Stats {
	return &Stats{
		Events:    []OpCount{{"write", 4}, {"acquire", 600}, {"release", 600}},
		Variables: 1, Locks: 2,
		Tool:       Usage{CPUTime: CPUTime{310 * time.Millisecond}, Elapsed: 900 * time.Millisecond, Peak: 98 << 20},
		Program:    &CPUTime{640 * time.Millisecond},
		RingBuffer: &RingBufferStats{Bytes: 64 << 20, HighWater: 33<<20 + 1<<19, Waits: 2, Waited: 12 * time.Millisecond},
		Plans:      &PlanStats{Made: 2, Cached: 5, Time: 120 * time.Millisecond},
		Lattice:    &Lattice{Levels: 4, States: 9, Edges: 12, Dropped: 1, CutLevels: 1, Late: 2, Widest: 3, Queue: 32},
		Latency:    &LatencyTime{Events: 4, Median: 870 * time.Nanosecond, P99: 1234567 * time.Nanosecond, Max: 2 * time.Second},
	}
}

func TestStats(t *testing.T) {
	r := Build(shopRun(), nil, nil)
	r.Stats = shopStats()
	golden(t, "stats.txt", []byte(text(t, r, TextOptions{Width: 100})))
	goldenJSON(t, "stats.json", r)
}

// TestStatsOfARecordedRun checks that figures that only a live run has are absent, not 0.
func TestStatsOfARecordedRun(t *testing.T) {
	run := shopRun()
	run.Duration = 0
	r := Build(run, nil, nil)
	r.Stats = &Stats{Tool: shopStats().Tool}
	golden(t, "stats-recorded.txt", []byte(text(t, r, TextOptions{Width: 100})))
	for _, absent := range []string{"program\": {", "ring", "lattice", "latency"} {
		if got := string(writeJSON(t, r)); strings.Contains(got, absent) {
			t.Errorf("the JSON has %q:\n%s", absent, got)
		}
	}
}

// TestPartlyCheckedIsReported checks that the report shows when only a part of the runs was
// checked, so that no violation found is not mistaken for no violation at all.
func TestPartlyCheckedIsReported(t *testing.T) {
	run := shopRun()
	run.AddProperties(&Properties{Names: []string{"safe"}, Window: 1, Queue: 32, Levels: 4, States: 5, Dropped: 3, CutLevels: 2, Widest: 1})
	partly := text(t, Build(run, nil, nil), TextOptions{Width: 200})
	if first, _, _ := strings.Cut(partly, "\n"); !strings.Contains(first, "no findings on the part of the runs that was checked") {
		t.Errorf("the verdict does not say that part was checked:\n%s", partly)
	}
	run.Properties.Complete = true
	if whole := text(t, Build(run, nil, nil), TextOptions{Width: 200}); strings.Contains(whole, "part of the runs") {
		t.Errorf("all was checked:\n%s", whole)
	}
}
