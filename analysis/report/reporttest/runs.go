package reporttest

import (
	"fmt"
	"time"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// CoveredReport returns the report of a run in which something was looked for, and something was not.
func CoveredReport() report.Report {
	r := ShopRun()
	r.NeverAccessed = []string{"spare"}
	r.AddCoverage(report.Coverage{Objects: []report.KindCount{{Kind: event.KindMutex, Count: 2}, {Kind: event.KindChannel, Count: 4}}, Variables: 3, Misuse: true})
	return report.Build(r, nil, ShopTable())
}

// EndedRun returns a run that a signal ended.
func EndedRun(signal report.Signal) report.Run {
	r := ShopRun()
	r.Signal, r.Pointers = &signal, &run.Pointers{Sites: 3}
	return r
}

// NotesRun returns a run with notes on a number of libraries, and on the run as a whole.
func NotesRun(libraries int, plain ...string) report.Run {
	r := ShopRun()
	add := func(n plural.Note) { r.Notes, r.NoteKinds = append(r.Notes, n.Text), append(r.NoteKinds, n) }
	for i := range libraries {
		path := fmt.Sprintf("/usr/lib/lib%d.so", i)
		add(plural.About(path, "%d {instruction|instructions} of %s that may access memory through pointers {is|are} not seen", 1000*i, fmt.Sprintf("lib%d.so", i)))
		add(plural.About(path, "%s was loaded while the program ran: what it did in the first %.1f ms was not observed", path, float64(i)))
		add(plural.Like("what process %d became by execve is not observed", 100+i))
	}
	r.Notes = append(r.Notes, plain...)
	return r
}

// Dropped returns candidates that are no findings, of each reason.
func Dropped() []finding.Pruned {
	cycle, pair := Deadlock(Ledger, Till), Race()
	by := finding.Step{Thread: 1, Op: event.Join, Peer: 2, Stack: 10}
	candidate := func(why finding.Why, lock event.ObjectID) finding.Pruned {
		return finding.Pruned{Kind: finding.Deadlock, Why: why, Lock: lock, Objects: cycle.Objects, Evidence: cycle.Evidence}
	}
	joined, created := candidate(finding.Ordered, 0), candidate(finding.Ordered, 0)
	joined.By, created.By = by, finding.Step{Thread: 1, Op: event.Fork, Peer: 3, Stack: 11}
	joined.Evicted = true
	return []finding.Pruned{
		{Kind: finding.Race, Why: finding.CommonLock, Lock: Till, Objects: pair.Objects},
		{Kind: finding.Race, Why: finding.CommonLock, Lock: Till, Objects: pair.Objects, Evidence: pair.Evidence, Count: 1200},
		{Kind: finding.Race, Why: finding.Refuted, Reason: reason.Noted("no schedule\x1b leads there"), Objects: pair.Objects, Evidence: pair.Evidence},
		candidate(finding.OneThread, 0), candidate(finding.GateLock, Queue), candidate(finding.GateLock, Queue), candidate(finding.ParentGateLock, HeapA),
		joined, created, candidate(finding.Ordered, 0),
		{Kind: finding.Deadlock, Why: finding.Budget, Reason: reason.Noted("the search ended")},
	}
}

// Explained returns a report without findings that lists candidates.
func Explained(ps []finding.Pruned) report.Report {
	r := report.Build(ShopRun(), nil, ShopTable())
	r.Explain(ps, ShopTable())
	return r
}

// Misuse returns a misuse of which the wrong operation happened last.
func Misuse(r finding.Rule) finding.Finding {
	return finding.Finding{
		Kind: finding.Misuse, Rule: r, Confidence: finding.Observed,
		Evidence: []finding.Step{{Seq: 9, Thread: 2, Op: event.Release}, {Seq: 4, Thread: 1, Op: event.Acquire}},
	}
}

func shopStats() *report.Stats {
	return &report.Stats{
		Events:    []report.OpCount{{Operation: "write", Events: 4}, {Operation: "acquire", Events: 600}, {Operation: "release", Events: 600}},
		Variables: 1, Locks: 2,
		Tool:        report.Usage{CPUTime: report.CPUTime{CPU: 310 * time.Millisecond}, Elapsed: 900 * time.Millisecond, Peak: 98 << 20},
		Program:     &report.CPUTime{CPU: 640 * time.Millisecond},
		RingBuffer:  &report.RingBufferStats{Bytes: 64 << 20, HighWater: 33<<20 + 1<<19, Waits: 2, Waited: 12 * time.Millisecond},
		Plans:       &report.PlanStats{Made: 2, Cached: 5, Time: 120 * time.Millisecond},
		Lattice:     &run.Lattice{Levels: 4, States: 9, Edges: 12, Dropped: 1, CutLevels: 1, Late: 2, Widest: 3, Queue: 32},
		ObjectRaces: &run.ObjectRaces{Calls: 1200, Tuples: 9, Evicted: 2, Objects: 4, Racing: 1, Types: 2, RacingTypes: 1},
		Latency:     &report.LatencyTime{Events: 4, Median: 870 * time.Nanosecond, P99: 1234567 * time.Nanosecond, Max: 2 * time.Second},
	}
}

// StatsReport returns a report with the figures of a live run.
func StatsReport() report.Report {
	r := report.Build(ShopRun(), nil, nil)
	r.Stats = shopStats()
	return r
}

// RecordedStats returns a report with the figures of a recorded run.
func RecordedStats() report.Report {
	run := ShopRun()
	run.Duration = 0
	r := report.Build(run, nil, nil)
	r.Stats = &report.Stats{Tool: shopStats().Tool}
	return r
}

// WatchedRun returns a run with variables of each use and outcome.
func WatchedRun() report.Run {
	r := ShopRun()
	r.Untouched = 4
	r.Watched = []run.Watched{
		{Variable: "tickets", Use: "unguarded", Threads: 2, Accesses: 25, Recorded: 25, Outcome: "kept"},
		{Variable: "orders", Use: "guarded", Threads: 3, Accesses: 120000, Recorded: 4300, Guards: []string{"ledger", "stock"}, Outcome: "guarded", Until: 1500 * time.Millisecond, Unwatched: []string{"in audit at shop.c:31", "in audit at shop.c:33", "in sell at shop.c:20"}},
		{Variable: "slots", Use: "guarded", Threads: 2, Accesses: 20000, Recorded: 16384, Elements: 64, Guards: []string{"locks", "locks+0x28"}, Outcome: "enough", Until: 2 * time.Second},
		{Variable: "config.level", Use: "read-only", Threads: 3, Accesses: 9, Recorded: 3, Outcome: "kept"},
		{Variable: "state", Use: "ordered", Threads: 2, Accesses: 2, Recorded: 2, Outcome: "kept"},
		{Variable: "ready", Use: "atomic", Threads: 2, Accesses: 2, Recorded: 2, Outcome: "kept"},
		{Variable: "paces", Use: "unshared", Threads: 1, Accesses: 5000, Recorded: 1, Outcome: "unshared", Until: 60 * time.Millisecond, Unwatched: []string{"in walk at shop.c:44"}},
	}
	return r
}
