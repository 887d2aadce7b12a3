package goodlock

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/observer/event"
)

// report is one finding under construction: the cycles of the same locks, requested and held at
// the same call stacks.
type report struct {
	steps      []finding.Step      // from the cycle's smallest requested lock on
	timed      bool                // a thread of the first candidate stops waiting at a time limit
	queued     reason.What         // why a reader waits behind a writer; "" if none does
	threads    map[string]struct{} // the merged sets of threads, as keys
	candidates [][]uint64          // see Candidates; from the cycle's smallest requested lock on
}

// maxMerged bounds the number of sets of threads that one report distinguishes.
const maxMerged = 1 << 12

// maxAlternatives bounds the candidates from one choice of instances, which leaves room for
// candidates of other threads and call stacks.
const maxAlternatives = 4

// report merges a cycle of instances into its report.
func (a *Analysis) report(cycle []*edge, choice []*instance) {
	start := smallestRequest(cycle)
	key := findingKey(cycle, choice, start)
	r := a.reports[key]
	if r == nil && !a.mayKeep(choice, key) {
		return
	}
	if r == nil {
		r = &report{threads: map[string]struct{}{}}
		a.reports[key] = r
	}
	if len(r.threads) < maxMerged {
		r.threads[threadKey(cycle, choice, start)] = struct{}{}
	}
	r.alternatives(choice, start, a.opts.MaxCandidates)
	if r.steps == nil {
		r.setEvidence(cycle, choice, start, a.queueReason())
	}
}

// nestCount counts the findings of one finding.Nest.
type nestCount struct {
	kept int                 // findings of their own
	more map[string]struct{} // by findingKey: the others
}

const (
	// maxNestReports is the number of findings of one nest: two threads that nest n locks in opposite orders
	// make n-1, of which a person mends all with one.
	maxNestReports = 64
	// maxPairs bounds the other findings that are counted, of all nests together.
	maxPairs = 1 << 18
)

// mayKeep reports whether there is room for a finding of its own for a cycle of instances. If not, it
// counts the cycle.
func (a *Analysis) mayKeep(choice []*instance, key string) bool {
	of, ok := nestOfInstances(choice)
	n := a.nests[of]
	switch {
	case ok && n != nil && n.kept == maxNestReports:
		a.countPair(n, key)
		return false
	case len(a.reports) >= a.opts.MaxFindings:
		a.stats.DroppedFindings++
		return false
	case ok && n == nil:
		a.nests[of] = &nestCount{kept: 1}
	case ok:
		n.kept++
	}
	return true
}

// nestOfInstances returns the nest of a cycle of two instances; false if it is longer, or one of them,
// a writer, holds nothing.
func nestOfInstances(choice []*instance) (finding.Nest, bool) {
	if len(choice) != 2 || choice[0].at.depth == 1 || choice[1].at.depth == 1 {
		return finding.Nest{}, false
	}
	side := func(x *instance) finding.Outermost {
		return finding.Outermost{Lock: x.at.top.m.Lock(), At: x.at.top.stack}
	}
	return finding.NewNest(side(choice[0]), side(choice[1])), true
}

// countPair counts a cycle that is no finding of its own.
func (a *Analysis) countPair(n *nestCount, key string) {
	if _, known := n.more[key]; known {
		return
	}
	if a.pairs == maxPairs {
		a.stats.DroppedFindings++
		return
	}
	a.pairs++
	if n.more == nil {
		n.more = map[string]struct{}{}
	}
	n.more[key] = struct{}{}
}

// setEvidence makes the first candidate the evidence. If a reader in it waits behind a writer,
// queued is the reason.
func (r *report) setEvidence(cycle []*edge, choice []*instance, start int, queued reason.What) {
	for i, seq := range r.candidates[0] {
		j := (start + i) % len(cycle)
		x := choice[j]
		m := x.first
		if m.seq != seq {
			m = x.last
		}
		r.timed = r.timed || m.flags&event.Timed != 0
		if !cycle[j].waitsFor(cycle[(j+1)%len(cycle)]) {
			r.queued = queued
		}
		r.steps = append(r.steps, x.step(cycle[j], m))
	}
}

// smallestRequest returns the index of the edge that requests the smallest lock, where the evidence
// of a cycle begins.
func smallestRequest(cycle []*edge) int {
	best := 0
	for i, p := range cycle {
		if p.requested < cycle[best].requested {
			best = i
		}
	}
	return best
}

// findingKey returns a key that is equal for cycles of one finding: it consists of the requested
// locks, the call stacks of the requests, and the call stacks at which the blocking locks were
// acquired.
func findingKey(cycle []*edge, choice []*instance, start int) string {
	var b []byte
	for i := range cycle {
		j := (start + i) % len(cycle)
		before := cycle[(j+len(cycle)-1)%len(cycle)]
		b = binary.LittleEndian.AppendUint64(b, uint64(cycle[j].requested))
		b = binary.LittleEndian.AppendUint32(b, uint32(choice[j].at.stack))
		b = binary.LittleEndian.AppendUint32(b, uint32(choice[j].acquiredAt(before.requested.Lock())))
	}
	return string(b)
}

// acquiredAt returns the call stack at which the instance acquired a lock that it holds.
func (x *instance) acquiredAt(lock event.ObjectID) event.StackID {
	for n := x.at.parent; n.parent != nil; n = n.parent {
		if n.m.Lock() == lock {
			return n.stack
		}
	}
	return 0
}

// threadKey returns a key that is equal for cycles of the same threads in the same edges.
func threadKey(cycle []*edge, choice []*instance, start int) string {
	var b []byte
	for i := range cycle {
		j := (start + i) % len(cycle)
		b = binary.LittleEndian.AppendUint32(b, uint32(choice[j].thread.id))
		b = binary.LittleEndian.AppendUint64(b, uint64(cycle[j].id))
	}
	return string(b)
}

// allThreads returns the threads of all merged sets.
func (r *report) allThreads() []event.ThreadID {
	all := map[event.ThreadID]struct{}{}
	for key := range r.threads {
		for b := []byte(key); len(b) > 0; b = b[4+8:] {
			all[event.ThreadID(binary.LittleEndian.Uint32(b))] = struct{}{}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// step returns the acquire of x at moment m as evidence; x is an instance of p.
func (x *instance) step(p *edge, m moment) finding.Step {
	op := event.Acquire
	if p.requested.Shared() {
		op = event.AcquireRead
	}
	held, at := x.at.parent.path()
	return finding.Step{
		Seq: m.seq, Time: m.time, Thread: x.thread.id, Op: op, Flags: m.flags,
		Object: p.requested.Lock(), Stack: x.at.stack, Held: held, HeldAt: at,
	}
}

// alternatives adds candidates: combinations of the first or the last acquire of each chosen
// instance that are pairwise unordered.
func (r *report) alternatives(choice []*instance, start, limit int) {
	limit = min(limit, len(r.candidates)+maxAlternatives)
	var seqs []uint64
	var moments []moment
	var pick func(i int)
	pick = func(i int) {
		if len(r.candidates) >= limit {
			return
		}
		if i == len(choice) {
			if !slices.ContainsFunc(r.candidates, func(c []uint64) bool { return slices.Equal(c, seqs) }) {
				r.candidates = append(r.candidates, slices.Clone(seqs))
			}
			return
		}
		x := choice[(start+i)%len(choice)]
		for _, m := range x.moments() {
			if !unorderedWithAll(choice, start, moments, x, m) {
				continue
			}
			moments, seqs = append(moments, m), append(seqs, m.seq)
			pick(i + 1)
			moments, seqs = moments[:i], seqs[:i]
		}
	}
	pick(0)
}

// moments returns the first and the last acquire of the instance, or one if they are the same.
func (x *instance) moments() []moment {
	if x.first.seq == x.last.seq {
		return []moment{x.first}
	}
	return []moment{x.first, x.last}
}

// unorderedWithAll reports whether the must-order leaves moment m of x unordered with the moments
// chosen so far, which are of the first instances of choice from start on.
func unorderedWithAll(choice []*instance, start int, moments []moment, x *instance, m moment) bool {
	for j, o := range moments {
		if !unordered(choice[(start+j)%len(choice)], o, x, m) {
			return false
		}
	}
	return true
}

// Finish returns the findings, sorted by their earliest acquire. It also calls Options.Explain, if
// set, for the pruned cycles.
func (a *Analysis) Finish() []finding.Finding {
	a.search()
	if a.opts.Explain != nil {
		a.explain()
	}
	for _, r := range a.reports {
		r.rotate()
		a.final = append(a.final, r)
	}
	a.reports = map[string]*report{}
	slices.SortFunc(a.final, func(x, y *report) int {
		return cmp.Or(
			slices.CompareFunc(x.steps, y.steps, func(s, t finding.Step) int { return cmp.Compare(s.Seq, t.Seq) }),
			slices.CompareFunc(x.steps, y.steps, func(s, t finding.Step) int { return slices.Compare(s.HeldAt, t.HeldAt) }))
	})
	out := make([]finding.Finding, 0, len(a.final))
	for _, r := range a.final {
		f := r.finding()
		if key, ok := f.Nest(); ok && a.nests[key] != nil {
			f.MorePairs = len(a.nests[key].more)
			delete(a.nests, key) // the first finding has the number
		}
		out = append(out, f)
	}
	return out
}

// Candidates returns, for each finding of Finish in its order, alternative choices of observed
// acquires that could block one another. Each choice has the sequence number of one acquire of
// each thread, in the order of Evidence, though the threads may be others than in Evidence. The
// first choice is that of Evidence.
func (a *Analysis) Candidates() [][][]uint64 {
	out := make([][][]uint64, 0, len(a.final))
	for _, r := range a.final {
		out = append(out, r.candidates)
	}
	return out
}

// rotate makes the earliest acquire the first of the cycle.
func (r *report) rotate() {
	first := 0
	for i, s := range r.steps {
		if s.Seq < r.steps[first].Seq {
			first = i
		}
	}
	r.steps = append(slices.Clone(r.steps[first:]), r.steps[:first]...)
	for i, c := range r.candidates {
		r.candidates[i] = append(slices.Clone(c[first:]), c[:first]...)
	}
}

func (r *report) finding() finding.Finding {
	f := finding.Finding{
		Kind:       finding.Deadlock,
		Confidence: finding.Potential,
		Evidence:   r.steps,
		Count:      max(1, len(r.threads)),
	}
	if len(r.threads) > 1 {
		f.AllThreads = r.allThreads()
	}
	switch {
	case r.queued != "":
		f.Reason = reason.Reason{What: r.queued}
	case r.timed:
		f.Reason = reason.Reason{What: reason.TimedThread}
	}
	f.HasTimeout = r.timed
	for _, s := range r.steps {
		f.Objects = append(f.Objects, s.Object)
		f.Threads = append(f.Threads, s.Thread)
	}
	return f
}
