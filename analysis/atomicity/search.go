package atomicity

import (
	"cmp"
	"maps"
	"slices"
	"sort"

	"github.com/tracepredict/tracepredict/analysis/execution"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/analysis/predict"
	"github.com/tracepredict/tracepredict/observer/event"
)

// access is an access of a variable, or an acquire or release of a lock.
type access struct {
	seq    uint64
	object event.ObjectID
	thread event.ThreadID
	stack  event.StackID
	op     event.Op
	shared bool // of a release: the lock was held for reading
}

// counts reports whether an event may conflict with others.
func counts(op event.Op) bool { return op.IsAccess() || op.IsAcquire() || op == event.Release }

// conflict reports whether it matters that one event comes before another. Of two critical sections the second one begins after
// the first, so that the later event is an acquire.
func conflict(a, b *access) bool {
	switch {
	case a.object != b.object || a.thread == b.thread:
		return false
	case a.op.IsAccess():
		return b.op.IsAccess() && (a.op.IsWrite() || b.op.IsWrite())
	}
	return b.op.IsAcquire() && (b.op == event.Acquire || a.op == event.Acquire || a.op == event.Release && !a.shared)
}

// candidate is a question about a schedule.
type candidate struct {
	execution.Interruption
	events []access // of its block
	length int      // number of the block's events from First to Last
}

// class identifies candidates at the same call stacks.
type class struct {
	first, from, to, last event.StackID
	ops                   [4]event.Op
}

// group has the candidates of a class.
type group struct {
	class
	all       []candidate
	shown     bool // by the run, or by a schedule that was found
	unsettled bool // not, or not wholly, searched
}

// search is the search for schedules about one block.
type search struct {
	*Analysis
	over      func() bool
	threads   map[event.ThreadID][]access // of objects that blocks access
	groups    map[class]*group
	gaps      map[gap]int // the index in found; -1: the run shows it
	number    int         // of candidates
	questions int         // asked
	found     []finding.Finding
}

func newSearch(a *Analysis, over func() bool) *search {
	return &search{Analysis: a, over: over, threads: map[event.ThreadID][]access{}, groups: map[class]*group{}, gaps: map[gap]int{}}
}

// collect collects the events of the kept part of the run that may conflict with one of a block.
func (s *search) collect(h *predict.History) {
	if len(s.blocks) == 0 {
		return
	}
	within := map[event.ThreadID]*block{} // the present block
	of := map[event.ThreadID][]*block{}
	for i := range s.blocks {
		of[s.blocks[i].thread] = append(of[s.blocks[i].thread], &s.blocks[i])
	}
	objects := map[event.ObjectID]bool{}
	for e := range h.Kept {
		for rest := of[e.Thread]; len(rest) > 0 && rest[0].from < e.Seq; rest = of[e.Thread] {
			within[e.Thread], of[e.Thread] = rest[0], rest[1:]
		}
		if b := within[e.Thread]; b != nil && counts(e.Op) && (b.to == 0 || e.Seq < b.to) {
			objects[e.Object] = true
		}
	}
	type hold struct {
		thread event.ThreadID
		object event.ObjectID
	}
	shared := map[hold]bool{}
	for e := range h.Kept {
		if !counts(e.Op) || !objects[e.Object] {
			continue
		}
		k := hold{e.Thread, e.Object}
		if e.Op.IsAcquire() {
			shared[k] = e.Op == event.AcquireRead
		}
		s.threads[e.Thread] = append(s.threads[e.Thread], access{e.Seq, e.Object, e.Thread, e.Stack, e.Op, e.Op == event.Release && shared[k]})
	}
}

// classes returns the classes of candidates: first those of variables, of fewer events, and of fewer events of the block.
func (s *search) classes() []*group {
	for _, b := range s.unlike() {
		for _, thread := range slices.Sorted(maps.Keys(s.threads)) {
			if thread != b[0].thread {
				s.consider(b, near(s.threads[thread], b))
			}
		}
	}
	if s.number > maxCandidates {
		s.stats.Unsettled++ // the classes of those that were not added are not known
	}
	all := slices.Collect(maps.Values(s.groups))
	for _, g := range all {
		slices.SortStableFunc(g.all, func(a, b candidate) int {
			return cmp.Or(cmp.Compare(a.length, b.length), cmp.Compare(a.distance(), b.distance()), cmp.Compare(a.First, b.First))
		})
		g.all = g.all[:min(len(g.all), maxTries)]
	}
	slices.SortFunc(all, func(a, b *group) int {
		x, y := &a.all[0], &b.all[0]
		return cmp.Or(cmp.Compare(a.locks(), b.locks()), cmp.Compare(a.several(), b.several()), cmp.Compare(x.length, y.length),
			cmp.Compare(x.First, y.First), cmp.Compare(x.From, y.From), cmp.Compare(x.To, y.To), cmp.Compare(x.Last, y.Last))
	})
	return all
}

// distance returns how far the events of the other thread are from the block in the run.
func (c *candidate) distance() uint64 {
	switch {
	case c.From > c.Last:
		return c.From - c.Last
	case c.To < c.First:
		return c.First - c.To
	}
	return 0
}

// locks returns how many events of a class are of locks.
func (c *class) locks() (n int) {
	for _, op := range c.ops {
		if !op.IsAccess() {
			n++
		}
	}
	return n
}

// several returns 1 if there are two events of the other thread, else 0.
func (c *class) several() int {
	if c.from != c.to || c.ops[1] != c.ops[2] {
		return 1
	}
	return 0
}

// unlike returns the events of executions of the block: of those of a thread that are alike, the first ones and the last ones.
func (s *search) unlike() (all [][]access) {
	alike := map[string][][]access{}
	var order []string
	for i := range s.blocks {
		b := &s.blocks[i]
		events := between(s.threads[b.thread], b.from, b.to)
		if len(events) < 2 {
			continue
		}
		key := signature(events)
		if len(alike[key]) == 0 {
			order = append(order, key)
		}
		alike[key] = append(alike[key], events)
	}
	for _, key := range order {
		if same := alike[key]; len(same) > maxAlike {
			s.stats.Left += uint64(len(same) - maxAlike)
			all = append(append(all, same[:maxAlike/2]...), same[len(same)-maxAlike/2:]...)
		} else {
			all = append(all, same...)
		}
	}
	return all
}

// signature returns what executions of a block that are alike have in common.
func signature(events []access) string {
	key := make([]byte, 0, 16*len(events))
	add := func(v uint64) {
		for range 4 {
			key, v = append(key, byte(v)), v>>8
		}
	}
	add(uint64(events[0].thread))
	for i := range events {
		add(uint64(events[i].object))
		add(uint64(events[i].stack))
		key = append(key, byte(events[i].op))
	}
	return string(key)
}

// between returns the events after the Seq from and before to; 0: all after from.
func between(events []access, from, to uint64) []access {
	at := func(seq uint64) int { return sort.Search(len(events), func(i int) bool { return events[i].seq > seq }) }
	if to == 0 {
		return events[at(from):]
	}
	return events[at(from):max(at(from), at(to-1))]
}

// near returns the events of another thread about those of a block.
func near(events []access, b []access) []access {
	at := func(seq uint64) int { return sort.Search(len(events), func(i int) bool { return events[i].seq > seq }) }
	return events[max(0, at(b[0].seq)-maxNear):min(len(events), at(b[len(b)-1].seq)+maxNear)]
}

// consider adds the candidates of a block and of events of another thread.
func (s *search) consider(b, others []access) {
	for i := range others {
		first := slices.IndexFunc(b, func(x access) bool { return conflict(&x, &others[i]) })
		if first < 0 {
			continue
		}
		for j := i; j < min(len(others), i+maxApart); j++ {
			for last := first + 1; last < len(b); last++ {
				if !conflict(&others[j], &b[last]) {
					continue
				}
				if s.number++; s.number > maxCandidates {
					return // classes says so
				}
				s.add(b, first, &others[i], &others[j], last)
			}
		}
	}
}

// add adds a candidate.
func (s *search) add(b []access, first int, from, to *access, last int) {
	x, y := &b[first], &b[last]
	k := class{x.stack, from.stack, to.stack, y.stack, [4]event.Op{x.op, from.op, to.op, y.op}}
	g := s.groups[k]
	if g == nil {
		g = &group{class: k}
		s.groups[k] = g
	}
	if x.seq < from.seq && to.seq < y.seq {
		g.shown = true
		s.gaps[gapOf(b, to.seq)] = -1
	}
	g.all = append(g.all, candidate{execution.Interruption{First: x.seq, From: from.seq, To: to.seq, Last: y.seq}, b, last - first})
}

// gap is the place in a block between two of its events.
type gap struct {
	before, after event.StackID
	ops           [2]event.Op
}

// gapOf returns the gap of a block at an event of the run.
func gapOf(b []access, seq uint64) gap {
	n := sort.Search(len(b), func(i int) bool { return b[i].seq > seq })
	return gapAt(b, n)
}

// gapAt returns the gap before the n-th event of a block.
func gapAt(b []access, n int) (g gap) {
	if n > 0 {
		g.before, g.ops[0] = b[n-1].stack, b[n-1].op
	}
	if n < len(b) {
		g.after, g.ops[1] = b[n].stack, b[n].op
	}
	return g
}

// ask searches for schedules of a history that show classes.
func (s *search) ask(h *predict.History, classes []*group) {
	s.questions = 0
	for _, g := range classes {
		if !g.shown {
			s.askAbout(h, g)
		}
	}
}

// askAbout searches for a schedule that shows a class.
func (s *search) askAbout(h *predict.History, g *group) {
	for i := range g.all {
		if s.questions == maxQuestions || s.over() || len(s.found) == maxFindings {
			g.unsettled = true
			return
		}
		s.questions++
		s.stats.Questions++
		c := &g.all[i]
		r := h.Interrupt(c.Interruption)
		if r.Verdict == predict.Predicted {
			s.predicted(c, &r)
			g.shown = true
			return
		}
		g.unsettled = g.unsettled || r.Reason.What == reason.Exhausted && i == len(g.all)-1
	}
}

// askAnyValue searches for schedules in which reads see other values than in the run.
func (s *search) askAnyValue(shared *part.Shared, classes []*group) {
	var last *search
	_, some := shared.ByAnyValue(func() func(*event.Event) { return func(*event.Event) {} }, func(h *predict.History) []finding.Finding {
		last = s.clone()
		again := make([]*group, len(classes))
		for i, g := range classes {
			again[i] = last.groups[g.class]
		}
		last.ask(h, again)
		return last.found[len(s.found):]
	})
	if some {
		for k, g := range last.groups {
			*s.groups[k] = *g
		}
		s.found, s.gaps = last.found, last.gaps
	}
}

// clone returns a search whose results so far are its own.
func (s *search) clone() *search {
	c := *s
	c.gaps, c.found, c.groups = maps.Clone(s.gaps), slices.Clone(s.found), make(map[class]*group, len(s.groups))
	for k, g := range s.groups {
		of := *g
		c.groups[k] = &of
	}
	return &c
}

// predicted adds a finding, unless there is one of the same gap, and marks the classes that the schedule shows.
func (s *search) predicted(c *candidate, r *predict.Result) {
	at := map[uint64]int{} // by Seq: the step, from 1
	for i := range r.Witness {
		at[r.Witness[i].Seq] = i + 1
	}
	for _, g := range s.groups {
		g.shown = g.shown || slices.ContainsFunc(g.all, func(o candidate) bool {
			return at[o.First] > 0 && at[o.First] < at[o.From] && at[o.From] <= at[o.To] && at[o.To] < at[o.Last]
		})
	}
	n := 0 // of the block's events that come before To
	for n < len(c.events) && at[c.events[n].seq] > 0 && at[c.events[n].seq] < at[c.To] {
		n++
	}
	k := gapAt(c.events, n)
	if i, known := s.gaps[k]; known {
		if i >= 0 {
			s.found[i].Count++
		}
		return
	}
	s.gaps[k] = len(s.found)
	s.found = append(s.found, s.finding(c, r, at, n))
}

// finding returns the finding of a schedule. Its sides are the last event of the block before From that conflicts with that,
// From and To, and the first event of the block after To that conflicts with that.
func (s *search) finding(c *candidate, r *predict.Result, at map[uint64]int, n int) finding.Finding {
	f := finding.Finding{
		Kind: finding.Knowledge, Confidence: finding.Predicted, Property: s.o.Property, Message: s.o.Message, Count: 1,
		Order: r.Order, Assumes: r.Assumes, Witness: r.Witness, Spans: r.Spans, Moved: r.Moved, MovedUnknown: r.MovedUnknown,
		OtherValues: r.OtherValues,
	}
	first, last := c.First, c.Last
	from, to := s.event(c.From), s.event(c.To)
	for i := range c.events {
		x := &c.events[i]
		if i < n && at[x.seq] < at[c.From] && conflict(x, from) {
			first = x.seq
		}
	}
	if i := slices.IndexFunc(c.events[n:], func(x access) bool { return x.seq <= c.Last && conflict(&x, to) }); i >= 0 {
		last = c.events[n+i].seq
	}
	for i, seq := range []uint64{first, c.From, c.To, last} {
		if i == 2 && c.From == c.To {
			continue
		}
		if k := at[seq]; k > 0 {
			f.Evidence = append(f.Evidence, r.Witness[k-1])
		} else {
			f.Evidence = append(f.Evidence, s.event(seq).step()) // it is of the part that Witness leaves out
		}
	}
	f.AddSides()
	return f
}

func (x *access) step() finding.Step {
	return finding.Step{Seq: x.seq, Thread: x.thread, Op: x.op, Object: x.object, Stack: x.stack}
}

// event returns the event of that Seq.
func (s *search) event(seq uint64) *access {
	for _, events := range s.threads {
		i := sort.Search(len(events), func(i int) bool { return events[i].seq >= seq })
		if i < len(events) && events[i].seq == seq {
			return &events[i]
		}
	}
	return &access{}
}
