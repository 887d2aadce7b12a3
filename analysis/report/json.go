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

// jsonFinding is a Finding with what JSON alone has of it.
type jsonFinding struct {
	*Finding
	Names      []string     `json:"objects"`
	ObjectInfo []jsonObject `json:"object_info"`
	ThreadInfo []jsonThread `json:"thread_info"`
}

type jsonObject struct {
	Name        string         `json:"name"`
	Kind        string         `json:"kind"`
	Address     string         `json:"address"`
	Initialised []event.Frame  `json:"initialised"`
	InitID      int            `json:"initialised_id"`
	FirstSeen   []event.Frame  `json:"first_seen"`
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
	Created []event.Frame  `json:"created"`
	MadeID  int            `json:"created_id"`
}

// WriteJSON writes the report as one JSON object on one line. The form is fixed: scripts
// rely on it. It fills in the names and the numbers of stacks that JSON alone has.
func WriteJSON(w io.Writer, r Report) error {
	e := &encoder{names: newNames(r), stacks: newStacks(framesIn(r.stacks()))}
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
	list(out, "stacks", e.stacks.stacks, itself)
	list(out, "frames", e.stacks.frames, itself)
	return out.end()
}

// encoder fills in what JSON alone has of findings, and gathers their stacks.
type encoder struct {
	names
	stacks *stacks
}

// each never gives nil, which JSON would print as null.
func each[T, U any](in []T, f func(T) U) []U {
	out := make([]U, 0, len(in))
	for _, x := range in {
		out = append(out, f(x))
	}
	return out
}

// notNil returns an empty slice for nil, which JSON would print as null.
func notNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
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
	e.sides(f.Evidence)
	e.sides(f.Lost)
	for _, steps := range [][]Step{f.Witness, f.Sketch, f.Observed} {
		e.steps(steps)
	}
	for i := range f.Depends {
		e.step(&f.Depends[i].Step, 1)
	}
	for i := range f.Others {
		o := &f.Others[i]
		o.Names, o.Threads = each(o.Objects, e.describe), notNil(o.Threads)
	}
	f.Threads, f.Assumes, f.Depends, f.Others, f.Explains = notNil(f.Threads), notNil(f.Assumes), notNil(f.Depends), notNil(f.Others), notNil(f.Explains)
	f.Evidence, f.Witness, f.Sketch = notNil(f.Evidence), notNil(f.Witness), notNil(f.Sketch)
	return jsonFinding{&f, each(f.Objects, e.describe), each(f.Objects, e.object), each(f.Mentioned, e.thread)}
}

func (e *encoder) pruned(p Pruned) Pruned {
	e.sides(p.Evidence)
	p.Evidence, p.Names = notNil(p.Evidence), each(p.Objects, e.describe)
	if p.Lock != nil {
		p.LockName = e.describe(*p.Lock)
	}
	if p.By != nil {
		e.step(p.By, 1)
	}
	return p
}

// sides fills in steps that a finding is made of, steps those of a schedule.
func (e *encoder) sides(all []Step) {
	for i := range all {
		e.step(&all[i], sideFrames)
	}
}

func (e *encoder) steps(all []Step) {
	for i := range all {
		e.step(&all[i], 1)
	}
}

// step fills in a step, of whose stacks so many inner frames are shown.
func (e *encoder) step(s *Step, frames int) {
	if s.Object != nil {
		s.Name = e.describe(*s.Object)
	}
	e.stacks.number(&s.Stack, frames)
	s.Held = notNil(s.Held)
	for i := range s.Held {
		h := &s.Held[i]
		h.Name = e.describe(h.Object)
		e.stacks.number(&h.Stack, frames)
	}
}

func (e *encoder) object(o Object) jsonObject {
	return jsonObject{
		Name: o.Name, Kind: o.Kind.String(), Address: fmt.Sprintf("%#x", o.Addr),
		Initialised: inner(o.Init, 1), InitID: e.stacks.id(o.Init), FirstSeen: inner(o.First, 1), FirstID: e.stacks.id(o.First),
		FirstThread: o.FirstThread, Class: o.Class, Member: o.Member,
	}
}

func (e *encoder) thread(t Thread) jsonThread {
	return jsonThread{
		Thread: t.ID, TID: t.TID, PID: t.PID, Name: t.Name, Start: t.Start, Main: t.Main,
		Parent: t.Parent, Created: inner(t.Created, 1), MadeID: e.stacks.id(t.Created),
	}
}
