package report

import (
	"cmp"
	"fmt"
	"io"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// The structs below are the JSON format. Fields are added, never changed or
// taken away; arrays are empty, never null. Threads are the run's numbers (T2
// is 2); thread_info tells more of them, object_info more of objects.

// jsonConfidence counts all findings; those weaker than Least are not shown.
type jsonConfidence struct {
	Least     finding.Confidence `json:"least"`
	Observed  int                `json:"observed"`
	Predicted int                `json:"predicted"`
	Potential int                `json:"potential"`
}

type jsonRun struct {
	Program    string        `json:"program"`
	PID        int           `json:"pid"`
	Events     uint64        `json:"events"`
	Lost       uint64        `json:"lost"`
	Holed      int           `json:"lost_threads"`
	Threads    int           `json:"threads"`
	DurationNS int64         `json:"duration_ns"`
	Cut        bool          `json:"cut,omitempty"`
	Notes      []string      `json:"notes"`
	Processes  []jsonProcess `json:"processes"`
	Calls      []jsonCalls   `json:"calls,omitempty"`
	Watched    []jsonWatched `json:"watched"`
	Untouched  int           `json:"watched_untouched"`
	// Executed is there where a place synchronised unobserved.
	Executed []jsonExecuted `json:"unobserved_synchronisation,omitempty"`
	// Properties is there with a specification.
	Properties *jsonProperties `json:"properties,omitempty"`
	Locks      *jsonLocks      `json:"lock_order,omitempty"`
	History    *jsonHistory    `json:"history,omitempty"`
	// Suppressed is there with suppressions.
	Suppressed *jsonSuppressions `json:"suppressed,omitempty"`
}

type jsonHistory struct {
	Sections  int    `json:"sections"`
	Events    int    `json:"events"`
	Thinned   uint64 `json:"sections_forgotten"`
	Evicted   uint64 `json:"events_forgotten"`
	Accesses  uint64 `json:"accesses_forgotten"`
	Pairs     uint64 `json:"races_dropped"`
	Unsettled uint64 `json:"candidates_unsettled"`
}

type jsonLocks struct {
	Nestings     int  `json:"nestings"`
	Acquisitions int  `json:"acquisitions"`
	Complete     bool `json:"complete"`
}

type jsonProperties struct {
	Names     []string `json:"names"`
	Window    int      `json:"window"`
	Queue     int      `json:"queue"`
	Complete  bool     `json:"complete"`
	Levels    uint64   `json:"levels"`
	States    uint64   `json:"states"`
	Dropped   uint64   `json:"states_dropped"`
	CutLevels uint64   `json:"levels_cut"`
	Late      uint64   `json:"late_events"`
	Widest    int      `json:"widest_level"`

	Definitions []jsonDefinition `json:"definitions"`
}

type jsonDefinition struct {
	Name  string            `json:"name"`
	Text  string            `json:"text"`
	Where map[string]string `json:"where"`
}

func toJSONDefinition(d Definition) jsonDefinition {
	out := jsonDefinition{d.Name, d.Text, map[string]string{}}
	for _, m := range d.Where {
		out.Where[m.Name] = m.Text
	}
	return out
}

type jsonCalls struct {
	Pattern string `json:"pattern"`
	Events  uint64 `json:"events"`
	Objects uint64 `json:"objects"`
}

type jsonWatched struct {
	Variable string   `json:"variable"`
	Use      string   `json:"use"`
	Threads  int      `json:"threads"`
	Accesses uint64   `json:"accesses"`
	Recorded uint64   `json:"recorded"`
	Guards   []string `json:"guards"`
	Elements uint64   `json:"elements,omitempty"`
	Fate     string   `json:"fate"`
	UntilNS  int64    `json:"until_ns,omitempty"`
}

type jsonExecuted struct {
	Place   string           `json:"place"`
	Threads []event.ThreadID `json:"threads"`
	Left    bool             `json:"others_perhaps"`
}

type jsonProcess struct {
	PID     int    `json:"pid"`
	Program string `json:"program"`
}

type jsonFinding struct {
	Kind       finding.Kind       `json:"kind"`
	Confidence finding.Confidence `json:"confidence"`
	Reason     string             `json:"reason,omitempty"`
	Property   string             `json:"property"`
	Rule       finding.Rule       `json:"rule,omitempty"`
	Message    string             `json:"message"`
	Objects    []string           `json:"objects"`
	Threads    []event.ThreadID   `json:"threads"`
	Evidence   []jsonStep         `json:"evidence"`
	Witness    []jsonStep         `json:"witness"`
	Sketch     []jsonStep         `json:"sketch"`
	Observed   []jsonStep         `json:"observed,omitempty"`
	Order      finding.Order      `json:"order"`
	Bounded    bool               `json:"bounded,omitempty"`
	Classes    []string           `json:"lock_classes,omitempty"`
	// NobodyLeft and LostSignals are those of a hang that is no ring.
	NobodyLeft  bool             `json:"nobody_left,omitempty"`
	LostSignals []jsonStep       `json:"lost_signals,omitempty"`
	Assumes     []string         `json:"assumes"`
	Depends     []jsonDependency `json:"depends"`
	Partial     bool             `json:"depends_partial,omitempty"`
	Count       int              `json:"count"`
	ThreadCount int              `json:"thread_count"`
	Others      []jsonInstance   `json:"others"`
	Explains    []int            `json:"explains"`
	Fingerprint string           `json:"fingerprint"`
	Suppression string           `json:"suppression,omitempty"`
	ObjectInfo  []jsonObject     `json:"object_info"`
	ThreadInfo  []jsonThread     `json:"thread_info"`
}

type jsonStep struct {
	Seq       uint64         `json:"seq,omitempty"`
	TimeNS    uint64         `json:"time_ns,omitempty"`
	Thread    event.ThreadID `json:"thread"`
	Operation string         `json:"operation"`
	Object    string         `json:"object"`
	Peer      event.ThreadID `json:"peer,omitempty"`
	Value     *uint64        `json:"value,omitempty"`
	Text      string         `json:"value_text,omitempty"`
	Atomic    bool           `json:"atomic,omitempty"`
	Kernel    bool           `json:"system_call,omitempty"`
	Try       bool           `json:"try,omitempty"`
	Timed     bool           `json:"timed,omitempty"`
	Inferred  bool           `json:"inferred,omitempty"`
	Blocked   bool           `json:"blocked,omitempty"`
	Readers   int            `json:"readers,omitempty"` // unknown ones, of the lock that is waited for
	jsonChain
	Held []jsonHeld `json:"held"`
	// Propositions says which propositions of the property hold after the step.
	Propositions map[string]bool `json:"propositions,omitempty"`
}

type jsonHeld struct {
	Object string `json:"object"`
	Read   bool   `json:"for_reading,omitempty"`
	jsonChain
}

type jsonObject struct {
	Name        string         `json:"name"`
	Kind        string         `json:"kind"`
	Address     string         `json:"address"`
	Initialised []jsonFrame    `json:"initialised"`
	InitID      int            `json:"initialised_id"`
	FirstSeen   []jsonFrame    `json:"first_seen"`
	FirstID     int            `json:"first_seen_id"`
	FirstThread event.ThreadID `json:"first_thread,omitempty"`
	// Class is what it has in common with other objects; Member: so has its name.
	Class  string `json:"class,omitempty"`
	Member bool   `json:"member,omitempty"`
}

type jsonThread struct {
	Thread  event.ThreadID `json:"thread"`
	TID     uint32         `json:"tid"`
	PID     uint32         `json:"pid"`
	Name    string         `json:"name"`
	Start   string         `json:"start"`
	Main    bool           `json:"main"`
	Parent  event.ThreadID `json:"parent,omitempty"`
	Created []jsonFrame    `json:"created"`
	MadeID  int            `json:"created_id"`
}

// WriteJSON writes the report as one JSON object, indented, with a final
// newline. The form is fixed: scripts rely on it.
func WriteJSON(w io.Writer, r Report) error {
	e := &encoder{names: newNames(r), chains: newChains(framesIn(r.stacks()))}
	out := newJSONWriter(w)
	out.member("run", toJSONRun(r.Run))
	out.member("confidence", toJSONConfidence(r))
	list(out, "findings", r.Findings, e.finding)
	if r.Doing != nil {
		list(out, "threads", r.Doing, e.doing)
	}
	if r.Stats != nil {
		out.member("stats", toJSONStats(r))
	}
	if r.Explained {
		list(out, "pruned", r.Pruned, e.pruned)
	}
	list(out, "stacks", e.chains.stacks, itself)
	list(out, "frames", e.chains.frames, itself)
	if err := out.end(); err != nil {
		return fmt.Errorf("write the JSON report: %w", err)
	}
	return nil
}

// encoder makes what the JSON report has of findings, and gathers their call chains.
type encoder struct {
	names
	chains *chains
}

// each never gives nil, which JSON would print as null.
func each[T, U any](in []T, f func(T) U) []U {
	out := make([]U, 0, len(in))
	for _, x := range in {
		out = append(out, f(x))
	}
	return out
}

func itself[T any](x T) T { return x }

func toJSONConfidence(r Report) jsonConfidence {
	return jsonConfidence{
		Least:    cmp.Or(r.Least, finding.Potential),
		Observed: r.count(finding.Observed), Predicted: r.count(finding.Predicted), Potential: r.count(finding.Potential),
	}
}

func toJSONRun(r Run) jsonRun {
	processes := each(r.Processes, func(p Process) jsonProcess { return jsonProcess(p) })
	if len(processes) == 0 {
		processes = append(processes, jsonProcess{PID: r.PID, Program: cmp.Or(r.Became, r.Program)})
	}
	return jsonRun{
		Program: r.Program, PID: r.PID, Events: r.Events, Lost: r.Lost, Holed: r.Holed, Threads: r.Threads,
		DurationNS: r.Duration.Nanoseconds(), Cut: r.Cut, Notes: each(r.Notes, itself), Processes: processes,
		Calls:   each(r.Calls, func(c Calls) jsonCalls { return jsonCalls{c.Pattern, c.Events, c.Objects} }),
		Watched: each(r.Watched, toJSONWatched), Untouched: r.Untouched,
		Executed:   each(r.Executed, func(e Executed) jsonExecuted { return jsonExecuted{e.Place, each(e.Threads, itself), e.Left} }),
		Properties: toJSONProperties(r.Properties), Locks: (*jsonLocks)(r.Locks), History: (*jsonHistory)(r.History), Suppressed: toJSONSuppressions(r.Suppressions),
	}
}

func toJSONProperties(p *Properties) *jsonProperties {
	if p == nil {
		return nil
	}
	return &jsonProperties{
		Names: each(p.Names, itself), Window: p.Window, Queue: p.Queue, Complete: p.Complete, Levels: p.Levels, States: p.States,
		Dropped: p.Dropped, CutLevels: p.CutLevels, Late: p.Late, Widest: p.Widest,
		Definitions: each(p.Definitions, toJSONDefinition),
	}
}

func toJSONWatched(w Watched) jsonWatched {
	return jsonWatched{
		Variable: w.Variable, Use: w.Use, Threads: w.Threads, Accesses: w.Accesses, Recorded: w.Recorded,
		Guards: each(w.Guards, itself), Elements: w.Elements, Fate: w.Fate, UntilNS: w.Until.Nanoseconds(),
	}
}

func (e *encoder) finding(f Finding) jsonFinding {
	return jsonFinding{
		Kind: f.Kind, Confidence: f.Confidence, Reason: f.Reason, Property: f.Property, Rule: f.Rule, Message: f.Message,
		Objects: each(f.Objects, e.describe), Classes: f.Classes,
		Threads:  each(f.Threads, func(t Thread) event.ThreadID { return t.ID }),
		Evidence: each(f.Evidence, e.side), LostSignals: each(f.Lost, e.side),
		Witness: each(f.Witness, e.step), Sketch: each(f.Sketch, e.step), Observed: each(f.Observed, e.step),
		Order: f.Order, Bounded: f.Bounded, NobodyLeft: f.Nobody, Assumes: each(f.Assumes, itself),
		Depends: each(f.Depends, e.dependency), Partial: f.Partial,
		Count: f.Count, ThreadCount: f.ThreadCount, Others: each(f.Others, e.toJSONInstance), Explains: each(f.Explains, itself),
		Fingerprint: f.Fingerprint, Suppression: f.Suppression,
		ObjectInfo: each(f.Objects, e.object), ThreadInfo: each(f.Mentioned, e.thread),
	}
}

// side is a step that the finding is made of, step one on the way.
func (e *encoder) side(s Step) jsonStep { return e.toJSONStep(s, e.chains.side) }
func (e *encoder) step(s Step) jsonStep { return e.toJSONStep(s, e.chains.step) }

func (e *encoder) toJSONStep(s Step, chain func(Stack) jsonChain) jsonStep {
	out := jsonStep{
		Seq: s.Seq, TimeNS: s.Time, Thread: s.Thread, Operation: s.Op.String(), Peer: s.Peer,
		Atomic: s.Flags&event.Atomic != 0, Kernel: s.Flags&event.Kernel != 0, Try: s.Flags&event.Try != 0, Timed: s.Flags&event.Timed != 0,
		Inferred: s.Flags&event.Inferred != 0, Blocked: s.Blocked,
		jsonChain: chain(s.Stack),
		Held:      each(s.Held, func(h Held) jsonHeld { return jsonHeld{e.describe(h.Object), h.Read, chain(h.Stack)} }),
	}
	out.Readers = s.Readers
	if s.Object != nil {
		out.Object = e.describe(*s.Object)
	}
	if s.Flags&event.HasValue != 0 {
		out.Value, out.Text = &s.Value, s.Text
	}
	for _, t := range s.Truth {
		if out.Propositions == nil {
			out.Propositions = map[string]bool{}
		}
		out.Propositions[t.Name] = t.Holds
	}
	return out
}

func (e *encoder) object(o Object) jsonObject {
	return jsonObject{
		Name: o.Name, Kind: o.Kind.String(), Address: fmt.Sprintf("%#x", o.Addr),
		Initialised: inner(o.Init, 1), InitID: e.chains.id(o.Init), FirstSeen: inner(o.First, 1), FirstID: e.chains.id(o.First),
		FirstThread: o.FirstThread, Class: o.Class, Member: o.Member,
	}
}

func (e *encoder) thread(t Thread) jsonThread {
	return jsonThread{
		Thread: t.ID, TID: t.TID, PID: t.PID, Name: t.Name, Start: t.Start, Main: t.Main,
		Parent: t.Parent, Created: inner(t.Created, 1), MadeID: e.chains.id(t.Created),
	}
}
