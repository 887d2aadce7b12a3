package engine_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/engine"
	"github.com/tracepredict/tracepredict/analysis/execution"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/analysis/happensbefore"
	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/analysis/predict"
	"github.com/tracepredict/tracepredict/analysis/verdict"
	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// columns reads the columns of a TSV file whose headings begin with the given texts, by the first
// column.
func columns(t *testing.T, path string, headings ...string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	var at []int
	for _, h := range headings {
		at = append(at, slices.IndexFunc(strings.Split(lines[0], "\t"), func(x string) bool { return strings.HasPrefix(x, h) }))
	}
	out := map[string][]string{}
	for _, l := range lines[1:] {
		cells := strings.Split(l, "\t")
		for _, i := range at {
			out[cells[0]] = append(out[cells[0]], cells[i])
		}
	}
	return out
}

// TestRaceTraces compares the confidences with the columns of the micro-traces. The observed races
// end where those that SHB reports end. The sync-preserving ones end where RAPID's do. All
// observed and predicted ones together, with reversals, end where RAPID's OSR races do, and each
// is among the true predictable pairs. The potential ones are among those that locksets suspect.
func TestRaceTraces(t *testing.T) {
	const path = "../predict/testdata/traces/expected_races.tsv"
	table := columns(t, path, "RAPID SHB racy", "RAPID SyncPreserving", "RAPID LockSet", "true predictable pairs", "RAPID OSR racy")
	if len(table) != 14 {
		t.Fatalf("%d traces, want 14", len(table))
	}
	for name, want := range table {
		events := read(t, strings.TrimSuffix(name, ".std"))
		ends, kept := map[finding.Confidence][]uint64{}, []uint64(nil)
		for _, f := range findings(events, nil) {
			if f.Kind != finding.Race {
				continue
			}
			a, b := f.Evidence[0].Seq, f.Evidence[1].Seq
			ends[f.Confidence] = append(ends[f.Confidence], max(a, b))
			if f.Order == finding.OrderSyncPreserving {
				kept = append(kept, max(a, b))
			}
			if pair := fmt.Sprintf("(%d, %d)", min(a, b), max(a, b)); f.Confidence != finding.Potential && !strings.Contains(want[3], pair) {
				t.Errorf("%s: %s is %s, the races are %s", name, pair, f.Confidence, want[3])
			}
		}
		observed := ends[finding.Observed]
		proven := slices.Concat(observed, ends[finding.Predicted])
		if got := list(observed); got != want[0] {
			t.Errorf("%s: observed races end at %s, want %s", name, got, want[0])
		}
		if got := list(kept); got != want[1] {
			t.Errorf("%s: sync-preserving races end at %s, want %s", name, got, want[1])
		}
		if got := list(proven); got != want[4] {
			t.Errorf("%s: observed and predicted races end at %s, want %s", name, got, want[4])
		}
		for _, seq := range ends[finding.Potential] {
			if !slices.Contains(strings.Split(want[2], ","), fmt.Sprint(seq)) {
				t.Errorf("%s: a potential race ends at %d, the locks suspect %s", name, seq, want[2])
			}
		}
	}
}

func list(seqs []uint64) string {
	slices.Sort(seqs)
	var out []string
	for _, s := range slices.Compact(seqs) {
		out = append(out, fmt.Sprint(s))
	}
	if out == nil {
		return "-"
	}
	return strings.Join(out, ",")
}

// TestPotentialTraces checks, by trace, what remains potential without reversals.
func TestPotentialTraces(t *testing.T) {
	for name, want := range map[string][]string{
		"04_rw_dep_no_race":            nil, // a read and its writer are ordered too
		"12_eraser_fp_handoff":         nil,
		"06_open_cs_wcp_osr_not_syncp": {"potential race"},
		"07_open_cs_conflict_osr_only": {"potential race"},
		"08_fork_join_safe":            nil, // accesses ordered by fork and join are no candidate
		"13_eraser_fp_two_locks":       nil,
	} {
		s := engine.New(engine.Options{Reversals: -1})
		for _, e := range read(t, name) {
			s.Event(&e)
		}
		if diff := cmp.Diff(want, brief(finish(s, verdict.Run{}, part.Known{}))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestEveryObservedRaceHasASchedule checks the guarantee of SHB on random runs with all kinds of
// synchronisation: each race found, not only the first one, has a schedule that the checker, which
// does not use clocks, accepts.
func TestEveryObservedRaceHasASchedule(t *testing.T) {
	runs := testtool.Cases(1000, 3000, 10_000)
	races := 0
	for seed := range runs {
		r := rand.New(rand.NewPCG(uint64(seed), 9))
		run := eventtest.RandomRun(r, 20+r.IntN(40))
		if seed%4 == 0 {
			run = eventtest.RandomSections(r, 30)
		}
		for i := range run {
			run[i].Stack = event.StackID(i + 1) // makes each race a finding of its own
			if run[i].Op.IsAccess() && run[i].Object == eventtest.ObjectX && seed%3 == 0 {
				run[i].Flags |= event.Atomic
			}
		}
		eventtest.Stamp(run)
		h, hb := predict.New(predict.Options{}), happensbefore.New(happensbefore.Options{})
		for i := range run {
			h.Event(&run[i])
			hb.Event(&run[i])
		}
		for _, race := range hb.Races() {
			races++
			got := h.Race(race.Evidence[0].Seq, race.Evidence[1].Seq)
			if got.Verdict != predict.Predicted {
				t.Fatalf("seed %d: the race of %d and %d: %v, %s\n%v", seed, race.Evidence[0].Seq, race.Evidence[1].Seq, got.Verdict, got.Reason.What, steps(run))
			}
			if err := execution.Observe(run).Check(got.Witness, finding.Race); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
	}
	if races < runs {
		t.Errorf("%d races in %d runs", races, runs)
	}
}

// TestRaceWithDiscardedEventsIsObserved checks that a race of this run remains observed if the events that a
// schedule needs were discarded, and that its reason says so.
func TestRaceWithDiscardedEventsIsObserved(t *testing.T) {
	var run []event.Event
	add := func(th event.ThreadID, op event.Op, o event.ObjectID, k event.Kind) {
		run = append(run, event.Event{Seq: uint64(len(run) + 1), Thread: th, Op: op, Object: o, Kind: k, Stack: event.StackID(len(run)%1000 + 1)})
	}
	run = append(run, event.Event{Seq: 1, Thread: 1, Op: event.Fork, Peer: 2, Stack: 1})
	add(1, event.Write, 1, event.KindVariable)
	add(2, event.Write, 1, event.KindVariable)
	for i := range 1 << 18 {
		add(1+event.ThreadID(i%2), event.Write, 2+event.ObjectID(i%2), event.KindVariable)
	}
	eventtest.Stamp(run)
	s := engine.New(engine.Options{})
	for i := range run {
		s.Event(&run[i])
	}
	got := finish(s, verdict.Run{}, part.Known{})
	if len(got) != 1 || got[0].Confidence != finding.Observed || len(got[0].Witness) > 0 || got[0].Reason.What != reason.NotShown || got[0].Reason.Of.What != reason.Evicted {
		t.Fatalf("%+v", got)
	}
}
