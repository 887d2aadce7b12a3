package knowledge

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// entry is what is known of a shared variable, or of a remote expression or formula. Its seq counts
// the writes, or the changes of the value; 0 is the initial state.
type entry struct {
	seq, value uint64
	hop        *hop // how it came here; nil: as the initial state
}

// vector is a knowledge vector. Entries beyond its length are those of the initial state. Threads
// and objects share a vector as long as they know the same.
type vector struct {
	refs    int
	entries []entry
}

func (v *vector) at(i int) entry {
	if v == nil || i >= len(v.entries) {
		return entry{}
	}
	return v.entries[i]
}

// moment is an event, as far as reports show it. Seq 0 is none.
type moment struct {
	seq, time, value uint64
	thread, peer     event.ThreadID
	object           event.ObjectID
	stack            event.StackID
	flags            event.Flags
	op               event.Op
}

func momentOf(e *event.Event) moment {
	return moment{e.Seq, e.Time, e.Value, e.Thread, e.Peer, e.Object, e.Stack, e.Flags, e.Op}
}

func (m *moment) step() finding.Step {
	return finding.Step{Seq: m.seq, Time: m.time, Thread: m.thread, Op: m.op, Flags: m.flags, Object: m.object, Peer: m.peer, Stack: m.stack, Value: m.value}
}

// hop is a step on which knowledge travelled: an event that passed it on, and one that received it.
// The first hop of a chain only has the event that made the value. A hop into what an object
// collects from several readers has no event that received it yet.
type hop struct {
	from, to moment
	before   *hop
	length   int // of the chain
}

// maxChain bounds the length of a chain of hops; what came before is forgotten.
const maxChain = 24

func newHop(from, to moment, before *hop) *hop {
	h := &hop{from: from, to: to, before: before, length: 1}
	if before != nil {
		if h.length += before.length; h.length > maxChain {
			h.before, h.length = nil, 1
		}
	}
	return h
}

// pool is what an object passes on: the vector of its last writer, or what several threads left.
type pool struct {
	vector *vector
	by     moment // the event that set the vector
}

// vectors makes and reuses vectors.
type vectors struct{ spare []*vector }

// maxSpare bounds the vectors that are kept for reuse.
const maxSpare = 256

// drop decrements the number of threads and objects that share a vector; after the last its memory is kept for reuse.
func (p *vectors) drop(v *vector) {
	if v == nil {
		return
	}
	if v.refs--; v.refs == 0 && len(p.spare) < maxSpare {
		clear(v.entries)
		p.spare = append(p.spare, v)
	}
}

// share makes *to the vector v.
func (p *vectors) share(to **vector, v *vector) {
	if *to == v {
		return
	}
	if v != nil {
		v.refs++
	}
	p.drop(*to)
	*to = v
}

// own makes *v a vector that nobody else uses, with room for n entries.
func (p *vectors) own(v **vector, n int) {
	old := *v
	if old == nil || old.refs > 1 {
		x := &vector{}
		if k := len(p.spare); k > 0 {
			x, p.spare = p.spare[k-1], p.spare[:k-1]
		}
		x.refs, x.entries = 1, x.entries[:0]
		if old != nil {
			x.entries = append(x.entries, old.entries...)
		}
		p.drop(old)
		*v = x
	}
	if k := len((*v).entries); k < n {
		(*v).entries = slices.Grow((*v).entries, n-k)[:n]
		clear((*v).entries[k:])
	}
}

// put sets an entry of *v.
func (p *vectors) put(v **vector, i int, e entry) {
	p.own(v, i+1)
	(*v).entries[i] = e
}

// join takes into *to what v knows that is newer. Hop returns how an entry came. It returns whether
// there was any.
func (p *vectors) join(to **vector, v *vector, via func(*hop) *hop) bool {
	if v == nil || v == *to {
		return false
	}
	news := false
	for i := range v.entries {
		e := v.entries[i]
		if e.seq <= (*to).at(i).seq {
			continue
		}
		e.hop = via(e.hop)
		p.put(to, i, e)
		news = true
	}
	return news
}
