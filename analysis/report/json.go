package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// The structs below are the JSON format. Fields are added, never changed or
// taken away; arrays are empty, never null. Threads are the run's numbers (T2
// is 2); thread_info tells more of them, object_info more of objects.

type jsonReport struct {
	Run        jsonRun        `json:"run"`
	Confidence jsonConfidence `json:"confidence"`
	Findings   []jsonFinding  `json:"findings"`
	// Stats is there with --stats.
	Stats *jsonStats `json:"stats,omitempty"`
	// Pruned is there when it was asked for.
	Pruned *[]jsonPruned `json:"pruned,omitempty"`
}

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
	Sections int    `json:"sections"`
	Events   int    `json:"events"`
	Thinned  uint64 `json:"sections_forgotten"`
	Evicted  uint64 `json:"events_forgotten"`
	Accesses uint64 `json:"accesses_forgotten"`
	Pairs    uint64 `json:"races_dropped"`
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
	Stack     []jsonFrame    `json:"stack"`
	Held      []jsonHeld     `json:"held"`
	// Propositions says which propositions of the property hold after the step.
	Propositions map[string]bool `json:"propositions,omitempty"`
}

type jsonHeld struct {
	Object string      `json:"object"`
	Stack  []jsonFrame `json:"stack"`
}

type jsonFrame struct {
	Function string `json:"function"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Module   string `json:"module"`
	Offset   uint64 `json:"offset"`
	Inlined  bool   `json:"inlined,omitempty"`
	// Start is the line on which the function's definition begins.
	Start int `json:"function_line,omitempty"`
}

type jsonObject struct {
	Name        string         `json:"name"`
	Kind        string         `json:"kind"`
	Address     string         `json:"address"`
	Initialised []jsonFrame    `json:"initialised"`
	FirstSeen   []jsonFrame    `json:"first_seen"`
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
}

// WriteJSON writes the report as one JSON object, indented, with a final
// newline. The form is fixed: scripts rely on it.
func WriteJSON(w io.Writer, r Report) error {
	if err := newNames(r).writeJSON(w, r); err != nil {
		return fmt.Errorf("write the JSON report: %w", err)
	}
	return nil
}

// writeJSON writes the findings one by one: the encoder holds, and indents, all of a
// value at once, and reports may be large.
func (n names) writeJSON(w io.Writer, r Report) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // templates' names are full of < and >
	whole := jsonReport{Run: toJSONRun(r.Run), Confidence: toJSONConfidence(r), Findings: []jsonFinding{}, Pruned: n.prunedOf(r), Stats: toJSONStats(r)}
	if err := enc.Encode(whole); err != nil {
		return err
	}
	outside := append(indentJSON(nil, bytes.TrimSuffix(b.Bytes(), []byte("\n")), ""), '\n')
	const list = "\n  \"findings\": [" // a field of another object stands further to the right
	before, after, _ := bytes.Cut(outside, []byte(list))
	if _, err := fmt.Fprintf(w, "%s%s", before, list); err != nil {
		return err
	}
	const indent = "    "
	var out []byte
	for i := range r.Findings {
		b.Reset()
		if err := enc.Encode(n.toJSON(r.Findings[i])); err != nil {
			return err
		}
		if out = out[:0]; i > 0 {
			out = append(out, ',')
		}
		out = append(out, "\n"+indent...)
		out = indentJSON(out, bytes.TrimSuffix(b.Bytes(), []byte("\n")), indent)
		if _, err := w.Write(out); err != nil {
			return err
		}
	}
	if len(r.Findings) > 0 {
		after = append([]byte("\n  "), after...)
	}
	_, err := w.Write(after)
	return err
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
		processes = append(processes, jsonProcess{PID: r.PID, Program: r.Program})
	}
	return jsonRun{
		Program: r.Program, PID: r.PID, Events: r.Events, Lost: r.Lost, Holed: r.Holed, Threads: r.Threads,
		DurationNS: r.Duration.Nanoseconds(), Notes: each(r.Notes, itself), Processes: processes,
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

func (n names) toJSON(f Finding) jsonFinding {
	return jsonFinding{
		Kind: f.Kind, Confidence: f.Confidence, Reason: f.Reason, Property: f.Property, Rule: f.Rule, Message: f.Message,
		Objects:  each(f.Objects, n.describe),
		Threads:  each(f.Threads, func(t Thread) event.ThreadID { return t.ID }),
		Evidence: each(f.Evidence, n.toJSONStep), Witness: each(f.Witness, n.toJSONShort), Sketch: each(f.Sketch, n.toJSONShort), Observed: each(f.Observed, n.toJSONShort),
		Classes: f.Classes,
		Order:   f.Order, Bounded: f.Bounded, NobodyLeft: f.Nobody, LostSignals: each(f.Lost, n.toJSONStep), Depends: each(f.Depends, n.toJSONDependency), Partial: f.Partial, Assumes: each(f.Assumes, itself), Count: f.Count, ThreadCount: f.ThreadCount, Others: each(f.Others, n.toJSONInstance), Explains: each(f.Explains, itself), Fingerprint: f.Fingerprint, Suppression: f.Suppression,
		ObjectInfo: each(f.Objects, toJSONObject), ThreadInfo: each(f.Mentioned, f.toJSONThread),
	}
}

func (n names) toJSONStep(s Step) jsonStep {
	out := jsonStep{
		Seq: s.Seq, TimeNS: s.Time, Thread: s.Thread, Operation: s.Op.String(), Peer: s.Peer,
		Atomic: s.Flags&event.Atomic != 0, Kernel: s.Flags&event.Kernel != 0, Try: s.Flags&event.Try != 0, Timed: s.Flags&event.Timed != 0,
		Inferred: s.Flags&event.Inferred != 0, Blocked: s.Blocked,
		Stack: toJSONStack(s.Stack), Held: each(s.Held, n.toJSONHeld),
	}
	if s.Object != nil {
		out.Object = n.describe(*s.Object)
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

// shortChain is how many frames there are of chains that explain no side of a finding, in
// schedules for one: those of the sides are whole, and a thousand findings can be written.
const shortChain = 8

// toJSONShort is toJSONStep with no more of chains than that, and the frame that a reader
// looks for.
func (n names) toJSONShort(s Step) jsonStep {
	s.Stack = s.Stack.short()
	held := make([]Held, 0, len(s.Held))
	for _, h := range s.Held {
		h.Stack = h.Stack.short()
		held = append(held, h)
	}
	s.Held = held
	return n.toJSONStep(s)
}

func (s Stack) short() Stack {
	s.Frames = s.Frames[:min(len(s.Frames), max(shortChain, s.At+1))]
	return s
}

func (n names) toJSONHeld(h Held) jsonHeld {
	return jsonHeld{Object: n.describe(h.Object), Stack: toJSONStack(h.Stack)}
}

func toJSONStack(s Stack) []jsonFrame {
	return each(s.Frames, func(f event.Frame) jsonFrame {
		return jsonFrame{f.Function, f.File, f.Line, f.Module, f.Offset, f.Inlined, f.Start}
	})
}

func toJSONObject(o Object) jsonObject {
	return jsonObject{
		Name: o.Name, Kind: o.Kind.String(), Address: fmt.Sprintf("%#x", o.Addr),
		Initialised: toJSONStack(o.Init), FirstSeen: toJSONStack(o.First), FirstThread: o.FirstThread, Class: o.Class, Member: o.Member,
	}
}

// toJSONThread has the whole chain that created a thread only of the finding's sides.
func (f *Finding) toJSONThread(t Thread) jsonThread {
	if !slices.ContainsFunc(f.Threads, func(s Thread) bool { return s.ID == t.ID }) {
		t.Created = t.Created.short()
	}
	return jsonThread{
		Thread: t.ID, TID: t.TID, PID: t.PID, Name: t.Name, Start: t.Start, Main: t.Main,
		Parent: t.Parent, Created: toJSONStack(t.Created),
	}
}
