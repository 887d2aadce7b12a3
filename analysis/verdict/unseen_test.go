package verdict_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/analysis/verdict"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// An unobserved instruction that any thread executed before the later side is a reason for doubt.
// Of several, one that threads of the finding executed is named.
func TestDoubtOfExecuted(t *testing.T) {
	at := func(place string, left uint64, hits ...run.Hit) run.Executed {
		return run.Executed{Description: place, Hits: hits, ObservedUntil: left}
	}
	by := func(place string, others bool, threads ...event.ThreadID) reason.Reason {
		return reason.Reason{What: reason.Unseen, Threads: threads, Others: others, Words: place}
	}
	race := []finding.Step{{Thread: 1, Seq: 10}, {Thread: 2, Seq: 20}}
	tests := []struct {
		name     string
		evidence []finding.Step
		witness  []finding.Step
		executed []run.Executed
		want     reason.Reason
	}{
		{"nothing", race, nil, nil, reason.Reason{}},
		{"by the earlier side", race, nil, []run.Executed{at("p", 0, run.Hit{Thread: 1, Since: 5})}, by("p", false, 1)},
		{"by the earlier side, between", race, nil, []run.Executed{at("p", 0, run.Hit{Thread: 1, Since: 11})}, by("p", false, 1)},
		{"by the later side, just before", race, nil, []run.Executed{at("p", 0, run.Hit{Thread: 2, Since: 20})}, by("p", false, 2)},
		{"too late", race, nil, []run.Executed{at("p", 0, run.Hit{Thread: 2, Since: 21})}, reason.Reason{}},
		{"too late for the sides, not for the witness", race, []finding.Step{{Thread: 3, Seq: 30}}, []run.Executed{at("p", 0, run.Hit{Thread: 2, Since: 21})}, by("p", false, 2)},
		{"by a third", race, nil, []run.Executed{at("p", 0, run.Hit{Thread: 3, Since: 5})}, by("p", false, 3)},
		{"not looked at any more", race, nil, []run.Executed{at("p", 20)}, by("p", true)},
		{"not looked at any more, too late", race, nil, []run.Executed{at("p", 21)}, reason.Reason{}},
		{"where the sides were", race, nil, []run.Executed{at("p", 0, run.Hit{Thread: 3, Since: 1}), at("q", 0, run.Hit{Thread: 1, Since: 2}), at("r", 15, run.Hit{Thread: 1, Since: 3}, run.Hit{Thread: 2, Since: 4})}, by("r", true, 1, 2)},
		{"no evidence", nil, nil, []run.Executed{at("p", 0, run.Hit{Thread: 2, Since: 99})}, by("p", false, 2)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := verdict.Doubt(run.Summary{Executed: tt.executed}, &run.Names{}, nil)(&finding.Finding{Evidence: tt.evidence, Witness: tt.witness})
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A loop that waits is a reason for doubt only if one of its executions lies between the sides, and is
// not one of the thread that made a race's earlier access.
func TestDoubtOfWaits(t *testing.T) {
	at := func(left uint64, hits ...run.Hit) run.Executed {
		return run.Executed{Description: "p", Waits: true, Hits: hits, ObservedUntil: left}
	}
	by := func(others bool, threads ...event.ThreadID) reason.Reason {
		return reason.Reason{What: reason.UnseenWait, Threads: threads, Others: others, Words: "p"}
	}
	steps := []finding.Step{{Thread: 1, Seq: 10}, {Thread: 2, Seq: 20}}
	race, deadlock := finding.Race, finding.Deadlock
	tests := []struct {
		name     string
		kind     finding.Kind
		executed run.Executed
		want     reason.Reason
	}{
		{"by the later side, between", race, at(0, run.Hit{Thread: 2, Since: 12, Until: 15}), by(false, 2)},
		{"by the later side, perhaps between", race, at(0, run.Hit{Thread: 2, Since: 5, Until: 10}), by(false, 2)},
		{"by the later side, before", race, at(0, run.Hit{Thread: 2, Since: 5, Until: 9}), reason.Reason{}},
		{"by the later side, before and between", race, at(0, run.Hit{Thread: 2, Since: 5, Until: 9}, run.Hit{Thread: 2, Since: 13, Until: 14}), by(false, 2)},
		{"by the later side, after", race, at(0, run.Hit{Thread: 2, Since: 21, Until: 21}), reason.Reason{}},
		{"by the earlier side", race, at(0, run.Hit{Thread: 1, Since: 12, Until: 15}), reason.Reason{}},
		{"by the earlier side of a deadlock", deadlock, at(0, run.Hit{Thread: 1, Since: 12, Until: 15}), by(false, 1)},
		{"by a third", race, at(0, run.Hit{Thread: 3, Since: 12, Until: 15}), by(false, 3)},
		{"by a third, before", deadlock, at(0, run.Hit{Thread: 3, Since: 1, Until: 2}), reason.Reason{}},
		{"not looked at any more", race, at(15, run.Hit{Thread: 3, Since: 1, Until: 2}), by(true, 3)},
		{"not looked at any more, too late", race, at(21, run.Hit{Thread: 3, Since: 1, Until: 2}), reason.Reason{}},
		{"of a trace that does not say until when", race, at(0, run.Hit{Thread: 2, Since: 5}), by(false, 2)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := &finding.Finding{Kind: tt.kind, Evidence: steps}
			got := verdict.Doubt(run.Summary{Executed: []run.Executed{tt.executed}}, &run.Names{}, nil)(f)
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What one process synchronises unobserved is no reason to doubt a finding about threads of another
// one; where the processes are unknown, it is.
func TestDoubtHasAScope(t *testing.T) {
	var names run.Names
	for _, pid := range []uint32{10, 10, 20} {
		names.AddThread(run.Thread{TGID: pid})
	}
	hit := []run.Hit{{Thread: 3, Since: 1}}
	for _, c := range []struct {
		name string
		sum  run.Summary
		want bool
	}{
		{"instruction of the own process", run.Summary{Executed: []run.Executed{{Hits: []run.Hit{{Thread: 1, Since: 1}}, Processes: []uint32{20, 10}}}}, true},
		{"instruction of another", run.Summary{Executed: []run.Executed{{Hits: hit, Processes: []uint32{20}}}}, false},
		{"instruction of both, executed by another", run.Summary{Executed: []run.Executed{{Hits: hit, Processes: []uint32{10, 20}}}}, false},
		{"instruction of both, no longer observed", run.Summary{Executed: []run.Executed{{Hits: hit, ObservedUntil: 5, Processes: []uint32{10, 20}}}}, true},
		{"instruction of an unknown process", run.Summary{Executed: []run.Executed{{Hits: []run.Hit{{Thread: 4, Since: 1}}}}}, true},
		{"no longer observed in another", run.Summary{Executed: []run.Executed{{ObservedUntil: 1, Processes: []uint32{20}}}}, false},
		{"code of the own process", run.Summary{Doubts: []run.Doubt{{Reason: "x", Processes: []uint32{10}}}}, true},
		{"code of another", run.Summary{Doubts: []run.Doubt{{Reason: "x", Processes: []uint32{20}}}}, false},
		{"lost events", run.Summary{Doubt: "x"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := finding.Finding{Evidence: []finding.Step{{Thread: 1, Seq: 10}, {Thread: 2, Seq: 20}}}
			if got := verdict.Doubt(c.sum, &names, nil)(&f); got.Given() != c.want {
				t.Errorf("%+v", got)
			}
		})
	}
}

// A lock without an initialisation, in memory that no symbol contains, may be two locks that lay there
// one after the other. A deadlock of it is likely at most, and so is one of which a wait ends by itself.
// Where ends of memory are not recorded, an initialised lock may be two locks as well.
func TestDoubtOfLives(t *testing.T) {
	var names run.Names
	thread := names.AddThread(run.Thread{TGID: 7})
	heap := names.AddObject(run.Object{Member: "struct pair.a", Addr: 0x1000})
	made := names.AddObject(run.Object{Member: "struct pair.a", Addr: 0x2000, Init: 7})
	static := names.AddObject(run.Object{Name: "a", Addr: 0x3000})
	local := names.AddObject(run.Object{Member: "main", Addr: 0x4000})
	imported := names.AddObject(run.Object{})
	field := names.AddObject(run.Object{Member: "state of struct conn", Addr: 0x5000, Kind: event.KindField})
	deadlock := func(objects ...event.ObjectID) finding.Finding {
		return finding.Finding{Kind: finding.Deadlock, Objects: objects, Evidence: []finding.Step{{Seq: 5, Thread: thread}, {Seq: 9, Thread: thread}}}
	}
	race := deadlock(field)
	race.Kind = finding.Race
	timed := deadlock(static)
	timed.HasTimeout = true
	tries := deadlock(static)
	tries.Evidence[1].Op, tries.Evidence[1].Object, tries.Evidence[1].Flags = event.Acquire, static, event.Repeated
	never, since5, since9 := run.Untracked{}, run.Untracked{After: 5}, run.Untracked{After: 9}
	for _, c := range []struct {
		name      string
		finding   finding.Finding
		untracked []run.Untracked
		want      reason.Reason
	}{
		{"heap", deadlock(static, heap), nil, reason.Reason{What: reason.MemoryReused, Object: heap}},
		{"initialised", deadlock(made, static), nil, reason.Reason{}},
		{"initialised, never tracked", deadlock(static, made), []run.Untracked{never}, reason.Reason{What: reason.MemoryFreed, Object: made}},
		{"initialised, untracked between the sides", deadlock(made, static), []run.Untracked{since5}, reason.Reason{What: reason.MemoryFreed, Object: made}},
		{"initialised, untracked after the sides", deadlock(made, static), []run.Untracked{since9}, reason.Reason{}},
		{"initialised, another process is untracked", deadlock(made), []run.Untracked{{Processes: []uint32{8}}}, reason.Reason{}},
		{"initialised, its process is untracked", deadlock(made), []run.Untracked{{Processes: []uint32{8, 7}}}, reason.Reason{What: reason.MemoryFreed, Object: made}},
		{"static, never tracked", deadlock(static), []run.Untracked{never}, reason.Reason{}},
		{"in a library that was unloaded", deadlock(heap, static), []run.Untracked{{Lo: 0x2f00, Hi: 0x3001}}, reason.Reason{What: reason.MemoryReused, Object: heap}},
		{"static, in a library that was unloaded", deadlock(static), []run.Untracked{{Lo: 0x2f00, Hi: 0x3001}}, reason.Reason{What: reason.LibraryUnloaded, Object: static}},
		{"static, beside a library that was unloaded", deadlock(static), []run.Untracked{{Lo: 0x2f00, Hi: 0x3000}}, reason.Reason{}},
		{"initialised, beside a library that was unloaded", deadlock(made), []run.Untracked{{Lo: 0x2f00, Hi: 0x3000}}, reason.Reason{}},
		{"stack", deadlock(local), nil, reason.Reason{}},
		{"stack, never tracked", deadlock(local), []run.Untracked{never}, reason.Reason{}},
		{"imported", deadlock(imported), []run.Untracked{never}, reason.Reason{}},
		{"field", race, nil, reason.Reason{}},
		{"field, never tracked", race, []run.Untracked{never}, reason.Reason{What: reason.FieldFreed, Object: field}},
		{"tries again and again", tries, nil, reason.Reason{What: reason.TriesAgain, Thread: thread, Object: static}},
		{"with a time limit", timed, nil, reason.Reason{What: reason.TimedCycle}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.finding.Confidence = finding.Predicted
			got := verdict.Doubt(run.Summary{Untracked: c.untracked}, &names, nil)(&c.finding)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
