package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// Pruned is a finding.Pruned with names for identifiers. Count is the sum over all candidates
// with the same message.
type Pruned struct {
	finding.Pruned
	Message  string // the candidate in one sentence, and why it was pruned
	Lock     *Object
	By       *Step // of an ordered candidate, what orders it
	Objects  []Object
	Evidence []Step
}

// Explain adds the candidates that are no findings. The order of ps does not matter;
// candidates with equal text become one. Two source locations whose accesses race, or exclude
// each other by a lock, may be ordered at other call stacks; Explain does not list them again
// as ordered.
func (r *Report) Explain(ps []finding.Pruned, names run.Namer) {
	b := newBuilder(names)
	r.Explained = true
	for i := range ps {
		r.Pruned = append(r.Pruned, b.pruned(&ps[i]))
	}
	n := namesIn(r.DistinctStacks())
	r.names = n
	for i := range r.Pruned {
		p := &r.Pruned[i]
		p.Message = n.prunedSentence(p, b.reason(&ps[i].Reason))
	}
	n.removeShown(r)
	slices.SortStableFunc(r.Pruned, func(x, y Pruned) int {
		if x.Kind != y.Kind {
			return rank(kinds, x.Kind) - rank(kinds, y.Kind)
		}
		return strings.Compare(x.Message, y.Message)
	})
	kept := r.Pruned[:0]
	for _, p := range r.Pruned {
		if last := len(kept) - 1; last >= 0 && kept[last].Kind == p.Kind && kept[last].Message == p.Message {
			kept[last].Count += p.Count
			continue
		}
		kept = append(kept, p)
	}
	r.Pruned = kept
}

// removeShown removes the ordered pairs of accesses that a finding or another candidate already
// shows.
func (n Names) removeShown(r *Report) {
	shown := map[string]bool{}
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Kind == finding.Race {
			shown[n.accessKey(f.Objects, f.Evidence)] = true
		}
	}
	for i := range r.Pruned {
		if p := &r.Pruned[i]; p.Why == finding.CommonLock {
			shown[n.accessKey(p.Objects, p.Evidence)] = true
		}
	}
	r.Pruned = slices.DeleteFunc(r.Pruned, func(p Pruned) bool {
		return p.Kind == finding.Race && p.Why == finding.Ordered && shown[n.accessKey(p.Objects, p.Evidence)]
	})
}

// accessKey returns a key of two accesses: their operations, source locations and objects. It is
// equal for both orders of the accesses.
func (n Names) accessKey(objects []Object, sides []Step) string {
	var out []string
	for _, x := range sides {
		out = append(out, access(x)+n.in(x.Stack))
	}
	slices.Sort(out)
	for i := range objects {
		out = append(out, n.full(&objects[i]))
	}
	return strings.Join(out, "; ")
}

func (b *builder) pruned(p *finding.Pruned) Pruned {
	out := Pruned{Pruned: *p, Evidence: b.steps(p.Evidence), Objects: b.objectsOf(p.Objects)}
	out.Count = max(1, p.Count)
	if p.Lock != 0 {
		out.Lock = b.object(p.Lock)
	}
	if p.By.Op != event.None {
		by := b.step(&p.By)
		out.By = &by
	}
	return out
}

// prunedSentence returns a sentence for the candidate and the argument that pruned it.
func (n Names) prunedSentence(p *Pruned, reason string) string {
	var what string
	f := Finding{Finding: finding.Finding{Kind: p.Kind}, Evidence: p.Evidence, Objects: p.Objects}
	switch {
	case p.Kind == finding.Deadlock && len(p.Evidence) > 1:
		what = n.withOrigins(&f, n.sides(&f))
	case p.Kind == finding.Race && len(p.Evidence) == 2:
		x, y := p.Evidence[0], p.Evidence[1]
		what = fmt.Sprintf("%s of %s%s (T%d) and %s%s (T%d)", access(x), n.full(x.Object), n.in(x.Stack), x.Thread, access(y), n.in(y.Stack), y.Thread)
	case len(p.Objects) > 0:
		what = "accesses of " + n.full(&p.Objects[0])
	}
	why := n.why(p, reason)
	if p.Evicted {
		why += "; some of what was seen of it was forgotten"
	}
	if what == "" {
		return why
	}
	return what + ": " + why
}

// why returns a phrase for the argument that pruned the candidate.
func (n Names) why(p *Pruned, reason string) string {
	switch p.Why {
	case finding.OneThread:
		return "there are not enough threads that do this"
	case finding.GateLock:
		return fmt.Sprintf("two of them hold %s, which lets one in at a time", n.full(p.Lock))
	case finding.ParentGateLock:
		return fmt.Sprintf("%s, held by a parent from its thread's creation until its join, keeps two of them apart", n.full(p.Lock))
	case finding.CommonLock:
		if len(p.Evidence) == 2 {
			return fmt.Sprintf("%s is held at both, which lets one in at a time", n.full(p.Lock))
		}
		return fmt.Sprintf("%s is held whenever two of them could meet", n.full(p.Lock))
	case finding.Ordered:
		return n.orderedBy(p)
	}
	return reason
}

func (n Names) orderedBy(p *Pruned) string {
	switch {
	case p.By == nil:
		return orderedAlways
	case p.By.Op == event.Fork:
		return fmt.Sprintf("ordered by the creation of T%d by T%d%s", p.By.Peer, p.By.Thread, n.in(p.By.Stack))
	case p.By.Op == event.Join:
		return fmt.Sprintf("ordered by the join of T%d by T%d%s", p.By.Peer, p.By.Thread, n.in(p.By.Stack))
	}
	if what, waited := awaited[p.By.Op]; waited && p.By.Object != nil {
		return fmt.Sprintf("ordered by "+what+"%s", n.full(p.By.Object), p.By.Thread, n.in(p.By.Stack))
	}
	return orderedAlways
}

const orderedAlways = "one comes after the other in every schedule"

// awaited has a phrase for what must happen before an operation. It is a format for the
// object and the thread of the operation.
var awaited = map[event.Op]string{
	event.Read:          "the value of %s that T%d reads",
	event.Update:        "the value of %s that T%d reads",
	event.Wake:          "a signal of %s that T%d waited for",
	event.SemWait:       "a post of %s that T%d waited for",
	event.BarrierDepart: "the barrier %s that T%d waited at",
	event.OnceLeave:     "the initialiser of %s that T%d waited for",
	event.Receive:       "a message through %s that T%d received",
}
