// Package sarif writes reports in the Static Analysis Results Interchange Format (SARIF 2.1.0), which CI systems and
// editors show: each finding is a result, at the line of its first side, with the other sides beside it and the schedule
// as a path through the code.
//
// The output keeps within the limits of GitHub's code scanning, and says what was left out. Paths are relative to
// report.Options.SourceRoot where they lie below it, which is how that and others find the files of a repository.
package sarif

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/observer/event"
)

// The limits of what GitHub accepts, and shows, of a file:
// https://docs.github.com/en/code-security/code-scanning/integrating-with-code-scanning/sarif-support-for-code-scanning.
const (
	maxResults  = 25_000 // of a run; 5,000 of them are shown, the first by level
	maxRelated  = 99     // locations of a result, beside the first
	maxFlow     = 1_000  // of the locations in the thread flows of a result, those that are shown
	maxNotes    = 200    // notifications: GitHub has no limit, people have
	sourceRoot  = "%SRCROOT%"
	mostColumns = 120 // of a name or a value in a message
)

// Write writes the report as one log with one run. Of the options it uses SourceRoot and Version.
func Write(w io.Writer, r report.Report, o report.Options) error {
	r = r.Cleaned()
	e := &encoder{options: o}
	out := sRun{
		Tool:        tool{driver{Name: "tracepredict", Version: o.Version, InformationURI: home, Rules: rules()}},
		Invocations: []invocation{{Successful: r.Run.Failed == ""}},
		Results:     []result{},
		Properties:  map[string]any{"program": cmp.Or(r.Run.LastProgram, r.Run.Program), "events": r.Run.Events, "threads": r.Run.Threads, "lost": r.Run.Lost, "processes": max(1, len(r.Run.Processes))},
	}
	if o.SourceRoot != "" {
		out.BaseIDs = map[string]artifact{sourceRoot: {URI: fileURI(strings.TrimSuffix(o.SourceRoot, "/")) + "/"}}
	}
	for i := range r.Findings {
		if i == maxResults {
			e.note("warning", plural.Sprintf("%d more {finding is|findings are} left out: a file has at most %d", len(r.Findings)-maxResults, maxResults))
			break
		}
		out.Results = append(out.Results, e.result(&r.Findings[i]))
		if r.Baseline != nil {
			out.Results[i].Baseline = "new"
		}
	}
	out.Results = append(out.Results, e.known(r.Baseline, maxResults-len(out.Results))...)
	out.Invocations[0].Notifications = append(e.runNotes(&r), e.notes...)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(log{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sRun{out}})
}

// known returns the results that an earlier report has too, at most most of them: to GitHub, a result that is missing was
// fixed.
func (e *encoder) known(b *report.Baseline, most int) (out []result) {
	if b == nil {
		return nil
	}
	for i := range b.Known {
		if len(out) == most {
			e.note("warning", plural.Sprintf("%d known {finding is|findings are} left out: a file has at most %d", len(b.Known)-i, maxResults))
			break
		}
		out = append(out, e.result(&b.Known[i]))
		out[i].Baseline = "unchanged"
	}
	return out
}

// encoder makes the results of a run.
type encoder struct {
	options report.Options
	notes   []notification
}

func (e *encoder) note(level, text string) {
	e.notes = append(e.notes, notification{level, message{Text: text}})
}

// runNotes returns what the report says of the run as a whole.
func (e *encoder) runNotes(r *report.Report) []notification {
	out := []notification{{"note", message{Text: report.Headline(*r)}}}
	if r.Run.Failed != "" {
		out = append(out, notification{"error", message{Text: r.Run.Failed}})
	}
	if all := r.Run.ProcessesObserved(); all != "" {
		out = append(out, notification{"note", message{Text: all}})
	}
	notes := r.Run.NoteLines()
	for i, n := range notes {
		if i == maxNotes {
			return append(out, notification{"note", message{Text: plural.Sprintf("%d more {note|notes}", len(notes)-maxNotes)}})
		}
		out = append(out, notification{"note", message{Text: n}})
	}
	return out
}

// result returns the form of a finding.
func (e *encoder) result(f *report.Finding) result {
	level, rank := weight(f.Confidence)
	out := result{
		RuleID: string(f.Kind), RuleIndex: ruleIndex(f.Kind), Level: level, Rank: rank,
		Fingerprints: map[string]string{"primaryLocationLineHash": f.Fingerprint, "tracepredict/v1": f.Fingerprint},
		Properties:   properties(f),
	}
	sides := e.sides(f)
	out.Locations, out.Related = sides[:1], sides[1:]
	more := max(0, len(out.Related)-maxRelated)
	out.Related = out.Related[:len(out.Related)-more]
	var cut int
	out.CodeFlows, cut = e.flows(f)
	out.Message = message{Text: text(f, out.Related, more, cut)}
	return out
}

// properties returns what readers may filter results by.
func properties(f *report.Finding) map[string]any {
	out := map[string]any{"confidence": f.Confidence}
	for name, v := range map[string]string{"property": report.Clean(f.Property), "rule": string(f.Rule), "order": string(f.Order), "reason": f.Reason} {
		if v != "" {
			out[name] = v
		}
	}
	if f.Confirmation != nil {
		out["confirmed"] = f.Confirmation.Confirmed
		if f.Confirmation.Happened {
			out["happened"] = true
		}
	}
	if len(f.Assumes) > 0 {
		out["assumes"] = f.Assumes
	}
	if f.ProcessCount > 0 {
		out["processCount"], out["processes"] = f.ProcessCount, processes(f)
	}
	return out
}

// processes returns the command lines of the processes in which a finding was seen, each once.
func processes(f *report.Finding) (out []string) {
	for _, p := range f.Processes {
		if c := cmp.Or(p.Command, p.Program); !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

// text returns the message of a result: its sentence, how certain it is, and its sides, with links to those in related.
func text(f *report.Finding, related []location, more, cut int) string {
	var b strings.Builder
	b.WriteString(sentence(f.Message))
	fmt.Fprintf(&b, "\n\n%s: %s", f.Confidence, report.ConfidenceText(f))
	if f.Reason != "" {
		fmt.Fprintf(&b, ", %s", f.Reason)
	}
	b.WriteString(".")
	if in := report.ProcessesText(f, mostColumns); in != "" {
		fmt.Fprintf(&b, "\n\n%s.", report.Capital(linkText(in)))
	}
	if f.Runs != nil {
		fmt.Fprintf(&b, "\n\n%s.", report.RunsText(f.Runs))
	}
	if f.Confirmation != nil {
		fmt.Fprintf(&b, "\n\n%s.", report.ConfirmationText(f.Confirmation))
	}
	for _, l := range related {
		fmt.Fprintf(&b, "\n- [%s](%d)", linkText(l.Message.Text), l.ID)
	}
	if more > 0 {
		b.WriteString(plural.Sprintf("\n- and %d more {place|places}", more))
	}
	if cut > 0 {
		b.WriteString(plural.Sprintf("\n\nThe schedule is shown without %d {step|steps} in its middle.", cut))
	}
	return b.String()
}

// sentence returns a sentence that begins with a capital and ends with a full stop.
func sentence(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + strings.TrimSuffix(s[1:], ".") + "."
}

// linkText escapes what has a meaning in a link of SARIF's messages.
func linkText(s string) string {
	return strings.NewReplacer("\\", "\\\\", "[", "\\[", "]", "\\]").Replace(s)
}

// sides returns a location for each side of a finding that is needed to explain it, and then those of the locks held
// there. There is at least one.
func (e *encoder) sides(f *report.Finding) []location {
	var out []location
	add := func(s report.Stack, text string) {
		l := e.placed(s.Top())
		l.ID, l.Message = len(out)+1, &message{Text: text}
		out = append(out, l)
	}
	for i := range f.Evidence {
		s := &f.Evidence[i]
		add(s.From(), fmt.Sprintf("T%d %s", s.Thread, report.StepText(*s, mostColumns)))
		for _, h := range s.Held {
			if len(h.Stack.Frames) > 0 {
				add(h.Stack, fmt.Sprintf("T%d holds %s since here", s.Thread, report.ShortName(h.Object.Name, mostColumns)))
			}
		}
	}
	if len(out) == 0 {
		out = append(out, e.placed(event.Frame{}))
	}
	return out
}

// placed is location, with a place for what has none: GitHub shows no result without.
func (e *encoder) placed(f event.Frame) location {
	l := e.location(f)
	if l.Physical == nil {
		l.Physical = &physical{artifact{URI: "unknown"}, &region{1}}
	}
	return l
}

// location returns the place of a frame, which is none if nothing is known. One without a source line is line 1 of its
// module, since readers want a line.
func (e *encoder) location(f event.Frame) location {
	var out location
	if f.Function != "" {
		out.Logical = []logical{{report.FrameName(f), "function"}}
	}
	switch {
	case f.File != "":
		out.Physical = &physical{e.artifact(f.File), &region{max(f.Line, 1)}}
	case f.Module != "":
		out.Physical = &physical{e.artifact(f.Module), &region{1}}
	}
	return out
}

// artifact returns the place of a file.
func (e *encoder) artifact(file string) artifact {
	rel, ok := e.options.InSource(file)
	switch {
	case !ok && path.IsAbs(rel):
		return artifact{URI: fileURI(rel)}
	case !ok || e.options.SourceRoot == "":
		return artifact{URI: relativeURI(rel)}
	}
	return artifact{relativeURI(rel), sourceRoot}
}

// relativeURI returns a relative reference for a path, of which a colon in the first part would make a scheme.
func relativeURI(p string) string { return (&url.URL{Path: p}).String() }

func fileURI(p string) string { return (&url.URL{Scheme: "file", Path: p}).String() }

// flows returns the schedule of a finding, once in one thread flow, and once with a flow for each thread; and the number
// of steps that were left out of both.
func (e *encoder) flows(f *report.Finding) (out []codeFlow, cut int) {
	steps, what := f.Witness, "The schedule that shows it"
	if len(steps) == 0 {
		steps, what = f.Sketch, "A schedule that would show it, which no checker has accepted"
	}
	if len(steps) == 0 {
		steps, what = f.Observed, "What this run did"
	}
	if len(steps) == 0 {
		return nil, 0
	}
	if cut = max(0, len(steps)-maxFlow/2); cut > 0 { // the end is what matters, and the beginning is where people read on
		kept := append([]report.Step{}, steps[:maxFlow/10]...)
		steps = append(kept, steps[maxFlow/10+cut:]...)
	}
	all := threadFlow{}
	byThread := map[event.ThreadID]*threadFlow{}
	var order []event.ThreadID
	for i := range steps {
		l := e.step(&steps[i], i+1)
		all.Locations = append(all.Locations, l)
		t := steps[i].Thread
		if byThread[t] == nil {
			byThread[t] = &threadFlow{ID: fmt.Sprintf("T%d", t), Message: &message{Text: threadText(f, t)}}
			order = append(order, t)
		}
		byThread[t].Locations = append(byThread[t].Locations, l)
	}
	threads := codeFlow{Message: message{Text: what + ", by thread"}}
	for _, t := range order {
		threads.Threads = append(threads.Threads, *byThread[t])
	}
	return []codeFlow{{message{Text: what}, []threadFlow{all}}, threads}, cut
}

// threadText returns the name of a thread, as "T2 front_desk".
func threadText(f *report.Finding, id event.ThreadID) string {
	for _, t := range f.Mentioned {
		if t.ID == id {
			return strings.TrimSpace(fmt.Sprintf("T%d %s", id, cmp.Or(t.Start, t.Name)))
		}
	}
	return fmt.Sprintf("T%d", id)
}

// step returns a step of the schedule; order is its number there, from 1.
func (e *encoder) step(s *report.Step, order int) flowLocation {
	l := e.location(s.From().Top())
	l.Message = &message{Text: fmt.Sprintf("T%d %s", s.Thread, report.StepText(*s, mostColumns))}
	out := flowLocation{Location: l, Order: order}
	switch {
	case s.Op == event.Acquire || s.Op == event.AcquireRead:
		out.Kinds = []string{"acquire", "lock"}
	case s.Op == event.Release:
		out.Kinds = []string{"release", "lock"}
	case s.Op == event.Call:
		out.Kinds = []string{"call", "function"}
	case s.Op == event.Return:
		out.Kinds = []string{"return", "function"}
	case s.Op.IsAccess():
		out.Kinds = []string{"memory"}
	}
	if s.Blocked {
		out.Importance = "essential"
	}
	return out
}
