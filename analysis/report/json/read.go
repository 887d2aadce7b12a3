package jsonreport

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// The bounds of a report that is read: its size, and the frames of all its call stacks together.
const (
	MaxBytes  = 128 << 20
	maxFrames = 1 << 21
)

// input is what Write writes, as far as Read needs it.
type input struct {
	Run        *jsonRun       `json:"run"`
	Confidence jsonConfidence `json:"confidence"`
	Findings   []jsonFinding  `json:"findings"`
	Objects    []jsonNamed    `json:"objects"`
	Stacks     [][]int        `json:"stacks"`
	Frames     []event.Frame  `json:"frames"`
}

// Read reads a report that Write has written. All formats write it as they write the report itself, but without what only
// some reports have: statistics, candidates that are no findings, the comparison with an earlier report, and the states
// of threads. The name is for messages. An error says what is wrong with the file.
func Read(r io.Reader, name string) (report.Report, error) {
	rep, err := read(r)
	if err != nil {
		return rep, fmt.Errorf("read the report %s: %w; it must be a report that --format json wrote", name, err)
	}
	return rep, nil
}

func read(r io.Reader) (rep report.Report, err error) {
	limited := &io.LimitedReader{R: r, N: MaxBytes + 1}
	dec := json.NewDecoder(bufio.NewReader(limited))
	var doc input
	switch err := dec.Decode(&doc); {
	case limited.N == 0:
		return rep, fmt.Errorf("it has more than %d bytes", MaxBytes)
	case errors.Is(err, io.EOF):
		return rep, errors.New("it is empty")
	case err != nil:
		return rep, fmt.Errorf("%w at byte %d", err, dec.InputOffset())
	case doc.Run == nil || doc.Findings == nil || doc.Stacks == nil || doc.Frames == nil:
		return rep, errors.New("it lacks run, findings, stacks or frames")
	}
	if err := dec.Decode(new(json.RawMessage)); !errors.Is(err, io.EOF) {
		return rep, errors.New("there is more behind the first report")
	}
	doc = report.CleanTexts(doc)
	d := decoder{doc: &doc, objects: map[string]event.ObjectID{}, named: map[string]*report.Object{}, programs: map[uint32]string{}}
	if err := d.tables(); err != nil {
		return rep, err
	}
	rep.Run, rep.Least, rep.Hidden = toRun(doc.Run), doc.Confidence.Least, doc.Confidence.hidden()
	if len(rep.Run.Processes) > 1 {
		for _, p := range rep.Run.Processes {
			d.programs[uint32(p.PID)] = path.Base(p.Program)
		}
	}
	for i := range doc.Findings {
		f, err := d.finding(&doc.Findings[i])
		if err != nil {
			return rep, fmt.Errorf("finding %d: %w", i, err)
		}
		rep.Findings = append(rep.Findings, f)
		rep.Hidden[f.Confidence]-- // the report counts it too
	}
	maps.DeleteFunc(rep.Hidden, func(_ finding.Confidence, n int) bool { return n <= 0 })
	slices.SortStableFunc(rep.Findings, func(a, b report.Finding) int {
		return cmp.Compare(slices.Index(finding.Confidences(), a.Confidence), slices.Index(finding.Confidences(), b.Confidence))
	})
	return rep, nil
}

// hidden returns the number of findings of each confidence.
func (c *jsonConfidence) hidden() map[finding.Confidence]int {
	return map[finding.Confidence]int{finding.Observed: c.Observed, finding.Confirmed: c.Confirmed, finding.Predicted: c.Predicted, finding.Likely: c.Likely, finding.Potential: c.Potential}
}

// toRun is the inverse of toJSONRun.
func toRun(j *jsonRun) report.Run {
	out := report.Run{Summary: j.Summary, Build: j.Build, Failed: j.Failed, Protocols: j.Protocols, Locks: j.Locks, Bounds: j.Bounds, Repeated: j.Repeated, Serial: j.Serial}
	out.Cut, out.Watched, out.Untouched = j.Cut, j.Watched, j.Untouched
	if len(j.Processes) > 1 {
		out.Processes = j.Processes
	}
	for _, e := range j.Executed {
		executed := run.Executed{Description: e.Description}
		for _, t := range e.Threads {
			executed.Hits = append(executed.Hits, run.Hit{Thread: t})
		}
		if e.MaybeOthers {
			executed.ObservedUntil = 1
		}
		out.Executed = append(out.Executed, executed)
	}
	if p := j.Properties; p != nil {
		out.Properties = &p.Properties
		out.Properties.Definitions = each(p.Definitions, toDefinition)
	}
	if c := j.Coverage; c != nil {
		out.Coverage = &c.Coverage
		out.Coverage.Objects = each(c.Objects, func(k jsonKindCount) report.KindCount {
			return report.KindCount{Kind: event.KindOf(k.Kind), Count: k.Count}
		})
	}
	if s := j.Suppressed; s != nil {
		out.Suppressions = &report.Suppressions{ForOtherTools: s.ForOtherTools, Each: each(s.By, toSuppression)}
	}
	return out
}

// toDefinition is the inverse of toJSONDefinition.
func toDefinition(j jsonDefinition) run.Definition {
	out := run.Definition{Name: j.Name, Text: j.Text}
	for _, name := range slices.Sorted(maps.Keys(j.Meanings)) {
		out.Where = append(out.Where, run.Meaning{Name: name, Text: j.Meanings[name]})
	}
	return out
}

func toSuppression(j jsonSuppression) report.Suppression {
	return report.Suppression{Name: j.Name, File: j.File, Line: j.Line, Count: j.Count, Expired: j.Expired, Findings: map[finding.Confidence]int{
		finding.Observed: j.Observed, finding.Predicted: j.Predicted, finding.Likely: j.Likely, finding.Potential: j.Potential,
	}}
}

// decoder makes findings of their JSON forms. Objects get the numbers in which they appear.
type decoder struct {
	doc      *input
	stacks   []report.Stack
	objects  map[string]event.ObjectID // by description
	named    map[string]*report.Object // those of the table at the end
	programs map[uint32]string         // of processes, where there are several
}

// tables makes the call stacks and objects of the tables at the end.
func (d *decoder) tables() error {
	left := maxFrames
	for i, ids := range d.doc.Stacks {
		if left -= len(ids); left < 0 {
			return fmt.Errorf("its call stacks have more than %d frames", maxFrames)
		}
		var frames []event.Frame
		for _, id := range ids {
			if id < 0 || id >= len(d.doc.Frames) {
				return fmt.Errorf("stack %d has frame %d, and there are %d", i, id, len(d.doc.Frames))
			}
			frames = append(frames, d.doc.Frames[id])
		}
		d.stacks = append(d.stacks, report.Stack{Frames: frames, At: run.OwnIndex(frames)})
	}
	for i := range d.doc.Objects {
		o, err := d.object(&d.doc.Objects[i].jsonObject)
		if err != nil {
			return fmt.Errorf("object %q: %w", d.doc.Objects[i].Text, err)
		}
		d.named[d.doc.Objects[i].Text] = o
	}
	return nil
}

func (d *decoder) stack(id int) (report.Stack, error) {
	if id < 0 || id >= len(d.stacks) {
		return report.Stack{}, fmt.Errorf("there is no stack %d", id)
	}
	return d.stacks[id], nil
}

// finding is the inverse of encoder.finding.
func (d *decoder) finding(j *jsonFinding) (out report.Finding, err error) {
	if j.Finding == nil {
		j.Finding = &finding.Finding{}
	}
	out = report.Finding{
		Finding: *j.Finding, Reason: j.Reason, Harmless: j.Harmless, ThreadCount: j.ThreadCount, Explains: j.Explains, Fingerprint: j.Fingerprint,
		Suppression: j.Suppression, Confirmation: j.Confirmation, Runs: j.Runs, Steering: j.Steering,
	}
	f := &out.Finding
	f.Kind, f.Confidence, f.Order = j.Kind, j.Confidence, finding.Order(report.Clean(string(f.Order)))
	f.Rule, f.Count = finding.Rule(report.Clean(string(f.Rule))), max(f.Count, 1)
	if err := checkWords(f); err != nil {
		return out, err
	}
	if len(j.Names) != len(j.ObjectInfo) {
		return out, fmt.Errorf("objects has the length %d, and object_info %d", len(j.Names), len(j.ObjectInfo))
	}
	own := map[string]*report.Object{} // by description
	for i := range j.ObjectInfo {
		o, err := d.object(&j.ObjectInfo[i])
		if err != nil {
			return out, fmt.Errorf("object %d: %w", i, err)
		}
		own[j.Names[i]] = o
		out.Objects, f.Objects = append(out.Objects, *o), append(f.Objects, d.id(j.Names[i]))
	}
	for _, steps := range []struct {
		from []jsonStep
		to   *[]report.Step
	}{{j.Evidence, &out.Evidence}, {j.Witness, &out.Witness}, {j.Sketch, &out.Sketch}, {j.Observed, &out.Observed}, {j.Lost, &out.Lost}} {
		if *steps.to, err = d.steps(steps.from, own); err != nil {
			return out, err
		}
	}
	for i := range out.Evidence {
		f.Evidence = append(f.Evidence, out.Evidence[i].Step)
	}
	if i := slices.IndexFunc(out.Explains, func(i int) bool { return i < 0 || i >= len(out.Evidence) }); i >= 0 {
		return out, fmt.Errorf("side %d is to explain it, and it has %d", out.Explains[i], len(out.Evidence))
	}
	return out, errors.Join(d.rest(&out, j, own), checkSteering(out.Steering))
}

// checkWords returns an error if a finding is of a kind or confidence that does not exist, as in a report of a later
// version.
func checkWords(f *finding.Finding) error {
	kinds := []finding.Kind{finding.Race, finding.Deadlock, finding.Misuse, finding.Property, finding.Typestate, finding.Knowledge, finding.Scoped}
	switch {
	case !slices.Contains(kinds, f.Kind):
		return fmt.Errorf("there is no kind %q", f.Kind)
	case !slices.Contains(finding.Confidences(), f.Confidence):
		return fmt.Errorf("there is no confidence %q", f.Confidence)
	}
	return nil
}

// rest sets what only some findings have, and the threads.
func (d *decoder) rest(out *report.Finding, j *jsonFinding, own map[string]*report.Object) error {
	for i := range j.ThreadInfo {
		t := &j.ThreadInfo[i]
		created, err := d.stack(t.CreatedID)
		if err != nil {
			return err
		}
		thread := report.Thread{ID: t.ID, Thread: t.Thread, Created: created}
		if program, ok := d.programs[t.TGID]; ok {
			thread.Process = fmt.Sprintf("%s (pid %d)", program, t.TGID)
		}
		out.Mentioned = append(out.Mentioned, thread)
	}
	if err := j.Graph.Check(); err != nil {
		return err
	}
	out.ProcessCount, out.Graph = j.ProcessCount, j.Graph
	for _, pid := range j.Processes {
		i := slices.IndexFunc(d.doc.Run.Processes, func(p run.Process) bool { return p.PID == pid })
		if i < 0 {
			return fmt.Errorf("process %d is none of the run", pid)
		}
		out.Processes = append(out.Processes, d.doc.Run.Processes[i])
	}
	for i := range j.Depends {
		step, err := d.step(&j.Depends[i].Step, own)
		if err != nil {
			return err
		}
		on := j.Depends[i].Dependency
		on.How = finding.Influence(report.Clean(string(on.How)))
		if on.How != finding.Creates && step.Object == nil {
			return fmt.Errorf("what a thread %s has no name", on.How)
		}
		out.Depends = append(out.Depends, report.Dependency{Dependency: on, Thread: out.Thread(on.Thread), Step: step})
	}
	if s := j.Scope; s != nil && s.Scope != nil {
		out.Scope = s.Scope
		out.Scope.Atoms = truth(s.Atoms)
	}
	for _, o := range j.Others {
		out.Others = append(out.Others, report.Instance{Confidence: o.Confidence, Threads: o.Threads, Objects: each(o.Names, func(name string) report.Object { return *d.objectOf(name, own) })})
	}
	if in := j.Initial; in != nil {
		out.AtStart, out.InitialTruth = true, truth(in.Propositions)
		out.Initial = each(in.Values, func(v jsonInitialValue) report.Initial {
			return report.Initial{Initial: finding.Initial{Name: v.Name, Value: v.Value, Known: v.Known}, Text: v.Text}
		})
	}
	if of := j.Of; of != nil {
		step, err := d.step(&of.First, own)
		value, numErr := parseAddress(of.Value)
		if err := errors.Join(err, numErr); err != nil {
			return fmt.Errorf("the object that it is of: %w", err)
		}
		out.First, out.Subject = &step, &finding.Subject{Value: value, First: step.Step}
	}
	return nil
}

// truth is the inverse of truthOf, in the order of the names.
func truth(of map[string]bool) (out []finding.Truth) {
	for _, name := range slices.Sorted(maps.Keys(of)) {
		out = append(out, finding.Truth{Name: name, Holds: of[name]})
	}
	return out
}

func (d *decoder) steps(in []jsonStep, own map[string]*report.Object) (out []report.Step, err error) {
	for i := range in {
		s, err := d.step(&in[i], own)
		if err != nil {
			return nil, fmt.Errorf("step %d: %w", i, err)
		}
		out = append(out, s)
	}
	return out, nil
}

// step is the inverse of encoder.step.
func (d *decoder) step(j *jsonStep, own map[string]*report.Object) (out report.Step, err error) {
	if j.Step == nil {
		j.Step = &finding.Step{}
	}
	out.Step, out.Truth = *j.Step, truth(j.Propositions)
	s := &out.Step
	s.Stack = event.StackID(j.ID)
	if out.Stack, err = d.stackAt(j.jsonStack); err != nil {
		return out, err
	}
	for flag, set := range map[event.Flags]bool{event.Atomic: j.Atomic, event.Kernel: j.Kernel, event.Freed: j.Freed, event.TimedOut: j.TimedOut, event.Try: j.Try, event.Timed: j.Timed, event.Repeated: j.Repeated, event.Inferred: j.Inferred, event.HasValue: j.Value != nil} {
		if set {
			s.Flags |= flag
		}
	}
	if j.Value != nil {
		s.Value, out.Written = *j.Value, j.Text
	}
	if j.Name != "" {
		out.Object, s.Object = d.objectOf(j.Name, own), d.id(j.Name)
	}
	for i, h := range j.Held {
		stack, err := d.stackAt(h.jsonStack)
		if err != nil {
			return out, fmt.Errorf("lock %d that is held: %w", i, err)
		}
		out.Held = append(out.Held, report.Held{Object: d.objectOf(h.Name, own), Read: h.Read, Stack: stack})
		s.Held, s.HeldAt = append(s.Held, d.id(h.Name)), append(s.HeldAt, event.StackID(h.ID))
		if h.Read && i < 64 {
			s.HeldRead |= 1 << i
		}
	}
	return out, nil
}

// stackAt returns a call stack with the frame that a reader looks for.
func (d *decoder) stackAt(j jsonStack) (report.Stack, error) {
	s, err := d.stack(j.ID)
	if err == nil && (j.At < 0 || j.At > 0 && int(j.At) >= len(s.Frames)) {
		return s, fmt.Errorf("there is no frame %d in stack %d", j.At, j.ID)
	}
	s.At = int(j.At)
	return s, err
}

// id returns the number of an object.
func (d *decoder) id(description string) event.ObjectID {
	id, known := d.objects[description]
	if !known {
		id = event.ObjectID(len(d.objects) + 1)
		d.objects[description] = id
	}
	return id
}

// objectOf returns the object of a description, of which nothing else is known if it is none of the finding.
func (d *decoder) objectOf(description string, own map[string]*report.Object) *report.Object {
	if o, known := own[description]; known {
		return o
	}
	o, known := d.named[description]
	if !known {
		o = &report.Object{Object: run.Object{Name: description}}
		d.named[description] = o
	}
	return o
}

// object is the inverse of encoder.object.
func (d *decoder) object(j *jsonObject) (*report.Object, error) {
	addr, err := parseAddress(j.Address)
	if err != nil {
		return nil, err
	}
	out := &report.Object{
		Object:   run.Object{Name: j.Name, Class: j.Class, Addr: addr, Kind: event.KindOf(j.Kind), FirstThread: j.FirstThread},
		ByMember: j.Member, Anonymous: j.Unnamed, Protocol: j.Protocol, Numbered: strings.HasPrefix(j.Name, j.Kind+" #"),
	}
	init := j.InitID
	if b := j.Block; b != nil {
		out.Block = run.Block{Size: b.Size, Offset: b.Offset, Element: b.Element, Thread: b.Thread}
		init = b.AllocatedID
	}
	var errs [2]error
	out.Init, errs[0] = d.stack(init)
	out.First, errs[1] = d.stack(j.FirstID)
	return out, errors.Join(errs[:]...)
}

func parseAddress(text string) (uint64, error) {
	addr, err := strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no address", text)
	}
	return addr, nil
}

// checkSteering returns an error if another run cannot be led by s, which may be nil.
func checkSteering(s *report.Steering) error {
	if s == nil {
		return nil
	}
	if len(s.Meets) != 0 && len(s.Meets) != 2 {
		return fmt.Errorf("meets has the length %d, not 2", len(s.Meets))
	}
	for i, step := range slices.Concat(s.Steps, s.Meets) {
		if step.File < 0 || step.File >= len(s.Files) {
			return fmt.Errorf("step %d of the steering is in file %d, and there are %d", i, step.File, len(s.Files))
		}
		for _, after := range slices.Concat(step.After, step.Behind) {
			if after < 0 || after >= len(s.Steps) {
				return fmt.Errorf("step %d of the steering waits for step %d, and there are %d", i, after, len(s.Steps))
			}
		}
	}
	return nil
}
