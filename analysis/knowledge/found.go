package knowledge

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/observer/event"
)

// maxFindings bounds the findings of a formula, and maxSteps the steps of a finding.
const (
	maxFindings = 32
	maxSteps    = 16
)

// key identifies a finding: violations at one call stack are one finding.
type key struct {
	top   int
	stack event.StackID
}

// found has the findings of a monitor.
type found struct {
	by      map[key]*finding.Finding
	all     []*finding.Finding
	omitted uint64
}

func (f *found) add(k key, x *finding.Finding) {
	f.by[k] = x
	f.all = append(f.all, x)
}

func newFound() found { return found{by: map[key]*finding.Finding{}} }

// violation makes a finding of a formula that has become false in the present state of a thread.
func (m *Monitor) violation(t *thread, g *ground) {
	k := key{g.top, m.present.stack}
	if f := m.found.by[k]; f != nil {
		f.Count++
		return
	}
	if len(m.found.all) == maxFindings {
		m.found.omitted++
		return
	}
	unseen := m.unseen(t, g)
	steps := m.chain(t, g, unseen)
	f := &finding.Finding{
		Kind: finding.Knowledge, Confidence: finding.Observed, Property: m.o.Formula.Name, Message: m.message(), Count: 1,
		Evidence: []finding.Step{m.present.step()}, Witness: steps,
	}
	for _, s := range append(unseen, steps...) {
		if s.Thread != m.present.thread && !slices.ContainsFunc(f.Evidence, func(x finding.Step) bool { return x.Thread == s.Thread }) {
			f.Evidence = append(f.Evidence, s)
		}
	}
	if why := m.doubt(); why.Given() {
		f.Confidence, f.Reason = finding.Likely, why
	}
	f.AddSides()
	m.found.add(k, f)
	if m.o.Found != nil {
		m.o.Found(f)
	}
}

func (m *Monitor) message() string {
	what := "this run violates " + m.o.Formula.Name
	if m.o.Formula.Message != "" {
		what += ": " + m.o.Formula.Message
	}
	if b := m.o.Formula.Beyond; len(b) > 0 {
		what += " (not by causality alone: it depends on " + strings.Join(b, ", and on ") + ")"
	}
	return what
}

// doubt returns what a finding rests on that was not recorded.
func (m *Monitor) doubt() (why reason.Reason) {
	switch i := slices.Index(m.initialKnown, false); {
	case m.lost:
		why.What = reason.RunLost
	case m.forgot:
		why.What = reason.KnowledgeForgotten
	case m.valueless:
		why.What = reason.ValueMissing
	case i >= 0:
		why.What, why.Words = reason.InitialMissing, m.o.Formula.Variables[i]
	}
	return why
}

// chain returns the events by which what a formula speaks of came to be known in the present
// state of a thread, and more, in the order of the run. The present event is the last.
func (m *Monitor) chain(t *thread, g *ground, more []finding.Step) []finding.Step {
	seen := map[uint64]moment{m.present.seq: m.present}
	m.collect(t, g, seen)
	steps := make([]finding.Step, 0, len(seen))
	for _, x := range seen {
		steps = append(steps, x.step())
	}
	for _, s := range more {
		if _, ok := seen[s.Seq]; !ok {
			steps = append(steps, s)
		}
	}
	slices.SortFunc(steps, func(a, b finding.Step) int { return cmp.Compare(a.Seq, b.Seq) })
	return steps[max(0, len(steps)-maxSteps):]
}

// collect adds the chains of hops of all that a ground knows of other threads.
func (m *Monitor) collect(t *thread, g *ground, seen map[uint64]moment) {
	m.entries(t, g, func(e entry) {
		for h := e.hop; h != nil; h = h.before {
			for _, x := range []moment{h.from, h.to} {
				if x.seq != 0 {
					seen[x.seq] = x
				}
			}
		}
	})
}

// entries calls see for each entry of a thread's vector that a ground reads and that is not of the
// initial state.
func (m *Monitor) entries(t *thread, g *ground, see func(entry)) {
	for k := range g.body.Inputs {
		switch in := &g.body.Inputs[k]; in.Kind {
		case Variable:
			if e := t.vector.at(in.Index); e.seq > 0 {
				see(e)
			}
		case Remote:
			r := m.link(g, k)
			if r.ground.subject == t {
				m.entries(t, r.ground, see)
			} else if e, ok := m.known(t, r); ok {
				see(e)
			}
		}
		for _, x := range g.parts[k] {
			if !x.dead {
				m.entries(t, x, see)
			}
		}
	}
}

// unseen returns the events that gave what a ground speaks of its present value in other threads,
// where the thread does not know of them: the latest of each thread.
func (m *Monitor) unseen(t *thread, g *ground) (steps []finding.Step) {
	latest := map[event.ThreadID]moment{}
	for k := range g.body.Inputs {
		if g.body.Inputs[k].Kind == Remote {
			r := m.link(g, k)
			of := r.ground.subject
			if e := r.last; of != t && e.seq > t.vector.at(r.entry).seq && e.hop.to.seq > latest[of.id].seq {
				latest[of.id] = e.hop.to
			}
		}
		for _, x := range g.parts[k] {
			if !x.dead {
				steps = append(steps, m.unseen(t, x)...)
			}
		}
	}
	for _, x := range latest {
		steps = append(steps, x.step())
	}
	slices.SortFunc(steps, func(a, b finding.Step) int { return cmp.Compare(a.Seq, b.Seq) })
	return steps
}

// newestHop returns the newest hop by which a thread came to know what a ground speaks of; nil if
// there is none.
func (m *Monitor) newestHop(t *thread, g *ground) (newest *hop) {
	m.entries(t, g, func(e entry) {
		if e.hop != nil && (newest == nil || e.hop.to.seq > newest.to.seq) {
			newest = e.hop
		}
	})
	return newest
}

// Finish returns the findings, in the order in which they were made.
func (m *Monitor) Finish() []finding.Finding {
	out := make([]finding.Finding, len(m.found.all))
	for i, f := range m.found.all {
		out[i] = *f
	}
	return out
}

// Omitted returns the number of violations that are in no finding, since there were too many.
func (m *Monitor) Omitted() uint64 { return m.found.omitted }

// Remember adds the threads, objects and call stacks that what is kept still names.
func (m *Monitor) Remember(n *event.Names) {
	seen := map[*vector]bool{}
	add := func(v *vector) {
		if v == nil || seen[v] {
			return
		}
		seen[v] = true
		for i := range v.entries {
			for h := v.entries[i].hop; h != nil; h = h.before {
				h.from.remember(n)
				h.to.remember(n)
			}
		}
	}
	for _, t := range m.threads {
		add(t.vector)
		t.last.remember(n)
	}
	for _, o := range m.objects {
		for _, p := range []*pool{&o.access, &o.write} {
			add(p.vector)
			p.by.remember(n)
		}
	}
	for i := range m.sets {
		add(m.sets[i].vector)
		m.sets[i].by.remember(n)
	}
	for _, f := range m.found.all {
		f.Remember(n)
	}
}

func (x *moment) remember(n *event.Names) {
	if x.seq != 0 {
		s := x.step()
		s.Remember(n)
	}
}
