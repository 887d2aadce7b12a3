// Package learn learns protocols of the use of objects from recorded runs: the second stage of PRETEX. The input is a
// specification whose typestates say which calls matter, and the events of runs; the output is the same typestates with
// the states that package mine finds for the sequences of calls, as text of a specification.
package learn

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/bind"
	"github.com/tracepredict/tracepredict/analysis/mine"
	"github.com/tracepredict/tracepredict/analysis/spec"
	"github.com/tracepredict/tracepredict/analysis/typestate"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// Options say how states are found.
type Options struct {
	mine.Options
	// Tails is the length of the futures by which k-tails merges states; 0: sk-strings merges them, by mine.Options.
	Tails int
	// RacingTypes leaves out typestates whose type has no object whose calls race, in any of the runs.
	RacingTypes bool
}

// Check returns an error if states cannot be found so.
func (o Options) Check() error {
	_, err := learned(mine.NewTree(), o)
	return err
}

// Learner learns the typestates of a specification, from any number of runs.
type Learner struct {
	spec    *spec.Spec
	trees   []*mine.Tree // by typestate
	partial []uint64     // by typestate: objects whose first calls were not seen
	racing  []bool       // by typestate: its type has a racing object
	err     error        // the first
}

// New returns a learner of the typestates of a specification, whose states, if it has any, do not matter.
func New(s *spec.Spec) *Learner {
	l := &Learner{spec: s, partial: make([]uint64, len(s.Typestates)), racing: make([]bool, len(s.Typestates))}
	for range s.Typestates {
		l.trees = append(l.trees, mine.NewTree())
	}
	return l
}

// Run is a run that is learned from.
type Run struct {
	match   *spec.Matcher
	threads bind.Threads
	learner *Learner
	races   *typestate.Races
	*typestate.Sequences
}

// Run returns a run of which all events are to be passed to Event, and which Finish ends.
func (l *Learner) Run(names run.Namer) *Run {
	r := &Run{threads: bind.NewThreads(names), learner: l}
	r.match = l.spec.NewMatcher(spec.Names{
		Func: names.Func, Object: func(id event.ObjectID) string { return names.Object(id).Name }, Thread: r.threads.Type,
	})
	o := typestate.SequenceOptions{Uses: r.match.Uses, Process: r.threads.Process, Ended: bind.MemoryEnds(names), Yield: l.add}
	for _, t := range l.spec.Typestates {
		p := bind.ProtocolOf(t)
		p.BornAtFirstUse = p.BornAtFirstUse || !createsAny(t)
		o.Protocols = append(o.Protocols, p)
	}
	r.Sequences = typestate.NewSequences(o)
	r.races = typestate.NewRaces(typestate.RaceOptions{Protocols: o.Protocols, Uses: o.Uses, Process: o.Process, Ended: o.Ended})
	return r
}

func createsAny(t *spec.Typestate) bool {
	return slices.ContainsFunc(t.Calls, func(u spec.Use) bool { return u.Creates })
}

// Event processes the next event of the run.
func (r *Run) Event(e *event.Event) {
	r.match.Events(e)
	r.Sequences.Event(e)
	r.races.Event(e)
	r.threads.Event(e)
}

// Finish ends the run.
func (r *Run) Finish() {
	r.Sequences.Finish()
	for i := range r.learner.racing {
		r.learner.racing[i] = r.learner.racing[i] || r.races.Racing(i)
	}
}

// WithoutRace returns the names of the typestates of which an object was learned from, and whose type has no racing object.
func (l *Learner) WithoutRace() (names []string) {
	for i, t := range l.spec.Typestates {
		if l.trees[i].Sequences() > 0 && !l.racing[i] {
			names = append(names, t.Name)
		}
	}
	return names
}

// add adds the calls of an object.
func (l *Learner) add(t int, calls []int, created bool) {
	if !created {
		l.partial[t]++
		return
	}
	sequence := make([]mine.Symbol, len(calls))
	for i, c := range calls {
		sequence[i] = mine.Symbol(c)
	}
	if err := l.trees[t].Add(sequence); err != nil && l.err == nil {
		l.err = fmt.Errorf("learn the typestate %s: %w", l.spec.Typestates[t].Name, err)
	}
}

// Typestate is what was learned of a typestate.
type Typestate struct {
	*spec.Typestate
	Objects   int64 // whose calls were learned from
	Partial   uint64
	Automaton *mine.Automaton // minimal and deterministic, with counts
	spec      *spec.Spec
}

// Learn returns the typestates of which an object was seen, with Options.RacingTypes those of racing types.
func (l *Learner) Learn(o Options) ([]Typestate, error) {
	if l.err != nil {
		return nil, l.err
	}
	var out []Typestate
	for i, tree := range l.trees {
		if tree.Sequences() == 0 || o.RacingTypes && !l.racing[i] {
			continue
		}
		a, err := learned(tree, o)
		if err != nil {
			return nil, fmt.Errorf("learn the typestate %s: %w", l.spec.Typestates[i].Name, err)
		}
		out = append(out, Typestate{l.spec.Typestates[i], tree.Sequences(), l.partial[i], a, l.spec})
	}
	if without := l.WithoutRace(); len(out) == 0 && len(without) > 0 {
		return nil, fmt.Errorf("no two calls of an object by different threads race, which --racing-types asks for: nothing was learned of %s", strings.Join(without, ", "))
	}
	if len(out) == 0 {
		return nil, l.nothing()
	}
	return out, nil
}

// nothing is why nothing could be learned.
func (l *Learner) nothing() error {
	partial := uint64(0)
	for _, n := range l.partial {
		partial += n
	}
	if partial > 0 {
		return errors.New(plural.Sprintf("no object was seen to be created, and %d {was|were} used: the creating call was not recorded, or the run was not observed from its beginning; born at first use takes what is seen for all of it", partial))
	}
	return errors.New("no call of the typestates was recorded: was the run recorded with --on and their patterns, as tracepredict mine does?")
}

func learned(t *mine.Tree, o Options) (a *mine.Automaton, err error) {
	if o.Tails > 0 {
		a, err = mine.KTails(t, o.Tails)
	} else {
		a, err = mine.SKStrings(t, o.Options)
	}
	if err != nil {
		return nil, err
	}
	if a, err = a.Minimal(); err != nil {
		return nil, err
	}
	a.Count(t)
	return a, nil
}

// WriteSpec writes the typestate as a block of a specification, which is marked as mined, with what was counted as
// comments.
func (t *Typestate) WriteSpec(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "// Learned from the calls of %s.\n", plural.Counted(uint64(t.Objects), "object", "objects"))
	marks := " mined"
	if t.BornAtFirstUse || !createsAny(t.Typestate) {
		marks += " born at first use"
	}
	if t.RebornAtNextUse {
		marks += " reborn at next use"
	}
	fmt.Fprintf(&b, "typestate %s (%s : %s)%s {\n", t.Name, t.Object, t.Type, marks)
	width := 0
	for _, c := range t.Calls {
		width = max(width, len(c.Name))
	}
	for _, c := range t.Calls {
		fmt.Fprintf(&b, "  %-*s = %s\n", width, c.Name, t.spec.Events[c.Event].Text)
	}
	b.WriteByte('\n')
	for i := range t.Automaton.States {
		t.writeState(&b, i)
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// writeState writes a state: its transitions, and how often each was taken.
func (t *Typestate) writeState(b *strings.Builder, i int) {
	s := &t.Automaton.States[i]
	var edges, counts []string
	for _, e := range s.Edges {
		name := t.Calls[e.Symbol].Name
		edges = append(edges, fmt.Sprintf("%s -> s%d", name, e.To))
		counts = append(counts, fmt.Sprintf("%s %d", name, e.Count))
	}
	if s.Ends > 0 {
		counts = append(counts, fmt.Sprintf("end %d", s.Ends))
	}
	mark := ""
	if s.Final {
		mark = "final "
	}
	fmt.Fprintf(b, "  %sstate s%d { %s", mark, i, strings.Join(edges, "; "))
	b.WriteString(map[bool]string{true: "}", false: " }"}[len(edges) == 0])
	if len(counts) > 0 {
		fmt.Fprintf(b, "   // %s", strings.Join(counts, ", "))
	}
	b.WriteByte('\n')
}

// WriteDOT writes the automaton for Graphviz.
func (t *Typestate) WriteDOT(w io.Writer) error {
	return t.Automaton.WriteDOT(w, t.Name, func(s mine.Symbol) string { return t.Calls[s].Name })
}
