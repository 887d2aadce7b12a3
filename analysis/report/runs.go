package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/internal/plural"
)

// This file has what a report says of a program that was run several times.

// Repetition is one of several runs.
type Repetition struct {
	Seed     uint64 `json:"seed,omitempty"` // of its random delays; 0: there were none
	Events   uint64 `json:"events"`
	Findings int    `json:"findings"`         // of all confidences
	New      int    `json:"new"`              // those that no earlier run has
	Failed   string `json:"failed,omitempty"` // why there is nothing to report of it
}

// Runs says in which of several runs a finding was seen.
type Runs struct {
	Seen  int    `json:"seen"`
	Of    int    `json:"of"`
	Shown int    `json:"shown"`          // the run, from 1, whose threads and events the finding shows
	Seed  uint64 `json:"seed,omitempty"` // of that run's random delays; 0: there were none
}

// Serial says how the runs after the first one were scheduled, if one thread at a time ran: by priorities that change
// Depth-1 times. The figures are the first run's.
type Serial struct {
	Depth   int `json:"depth"`
	Threads int `json:"threads"`
	Events  int `json:"events"` // requests of locks and beginnings of threads before which the next thread was chosen
	// Bound is the least probability with which a run has an order of such events that Depth constraints decide: that of
	// PCT (Burckhardt et al., ASPLOS 2010), 1/(Threads*Events^(Depth-1)).
	Bound float64 `json:"bound"`
}

// NewSerial returns a Serial with its bound.
func NewSerial(depth, threads, events int) *Serial {
	return &Serial{depth, threads, events, 1 / (float64(threads) * math.Pow(float64(events), float64(depth-1)))}
}

// Text returns a note with the bound.
func (s *Serial) Text() string {
	inverse := fmt.Sprintf("%.2g", 1/s.Bound)
	if 1/s.Bound < 1e15 {
		inverse = plural.Thousands(uint64(math.Round(1 / s.Bound)))
	}
	power := ""
	if s.Depth > 1 {
		power = fmt.Sprintf("*%d^%d", s.Events, s.Depth-1)
	}
	return fmt.Sprintf("in the other runs one thread at a time ran between requests of locks and beginnings of threads, of which the first run had %d, with %s: "+
		"an order of these that %s decide is met by each such run with a probability of at least 1/(%d%s), 1 in %s",
		s.Events, plural.Sprintf("%d {thread|threads}", s.Threads), plural.Sprintf("%d {constraint|constraints}", s.Depth), s.Threads, power, inverse)
}

// RunsText returns "seen in 2 of 10 runs; shown is run 3 (seed 17)".
func RunsText(r *Runs) string {
	text := plural.Sprintf("seen in %d of %d {run|runs}", r.Seen, r.Of)
	if r.Shown > 1 || r.Seed > 0 {
		text += fmt.Sprintf("; shown is run %d", r.Shown)
	}
	if r.Seed > 0 {
		text += fmt.Sprintf(" (seed %d)", r.Seed)
	}
	return text
}

// RepeatedNote returns a note that there were several runs, of so many that were wanted.
func RepeatedNote(all []Repetition, wanted int) string {
	failed := 0
	for _, r := range all {
		if r.Failed != "" {
			failed++
		}
	}
	text := plural.Sprintf("the program was run %d {time|times}, and the findings of all runs are joined; everything else is about the first one", len(all))
	if len(all) < wanted {
		text += fmt.Sprintf("; a signal ended that before run %d", len(all)+1)
	}
	if failed > 0 {
		text += plural.Sprintf("; of %d {run|runs} nothing is known: %s", failed, firstFailure(all))
	}
	return text
}

// firstFailure returns why the first run that failed did.
func firstFailure(all []Repetition) string {
	for i, r := range all {
		if r.Failed != "" {
			return fmt.Sprintf("run %d: %s", i+1, Clean(r.Failed))
		}
	}
	return ""
}

// AcrossRuns returns, as a Reason, that what a finding needs was seen in different runs.
func AcrossRuns(runs []int) string {
	var all []string
	for _, r := range runs {
		all = append(all, fmt.Sprint(r))
	}
	return fmt.Sprintf("its lock orders were seen in different runs (%s), in no single run, and nothing shows that one run can have all of them", strings.Join(all, ", "))
}

// WithFindings returns a report with other findings, in the order of reports.
func (r Report) WithFindings(all []Finding) Report {
	r.Findings, r.names = all, nil
	n := r.Names()
	slices.SortFunc(r.Findings, n.compare)
	return r
}

// Joined returns a finding that was made of sides, with its sentence, roles and fingerprint.
func Joined(f Finding) Finding {
	f.Sketch = sketch(&f)
	f.nameThreads()
	f.roles = rolesOf(&f)
	f.Explains = explaining(&f)
	f.Fingerprint = fingerprint(&f)
	f.Message = namesIn(stacksOf(f.Evidence)).sentence(&f)
	return f
}

// Identity returns what an object is called in each run: its name in the source, or where it was made.
func Identity(o *Object, of *Finding) string { return identity(o, of) }

// SideKey is equal for findings of one side whose threads do the same at the same source locations, in any run.
func SideKey(f *Finding) string {
	s := &f.Evidence[0]
	t := f.Thread(s.Thread)
	key := fmt.Sprintf("%d %q %s %q %q", t.ID, t.Start, s.Op, site(s.Stack), identity(s.Object, f))
	for i := range s.Held {
		key += fmt.Sprintf(" %v %q %q", s.Held[i].Read, site(s.Held[i].Stack), identity(s.Held[i].Object, f))
	}
	return key
}
