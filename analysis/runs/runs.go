// Package runs joins the reports of several runs of one program: each finding once, with the number of runs that have it,
// and deadlocks whose lock orders were seen in different runs, so that no single run shows them.
//
// The input is reports as plain data, of which the first one describes the run whose output and figures are shown, and the
// lock orders of each run as findings of one side. The package knows no run that goes on, and no file.
package runs

import (
	"fmt"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
)

// Run is what is known of one of several runs.
type Run struct {
	Report report.Report
	Seed   uint64           // of its random delays; 0: there were none
	Orders []report.Finding // a thread requests a lock while it holds others: each has one side
	Failed string           // why there is no report; "" if there is one
}

// Join returns the report of the first run with the findings of all, and with those that only several of them show.
func Join(all []Run) report.Report {
	out := all[0].Report
	out.Run.Repeated = nil
	j := joined{at: map[string]int{}, of: len(all)}
	for i := range all {
		r := &all[i]
		known := len(j.findings)
		if r.Failed == "" {
			j.add(r.Report.Findings, i+1, r.Seed)
		}
		out.Run.Repeated = append(out.Run.Repeated, report.Repetition{
			Seed: r.Seed, Events: r.Report.Run.Events, Findings: len(r.Report.Findings), New: len(j.findings) - known, Failed: r.Failed,
		})
	}
	for _, f := range acrossRuns(all) {
		if _, known := j.at[f.Fingerprint]; !known {
			j.at[f.Fingerprint] = len(j.findings)
			j.findings = append(j.findings, f)
		}
	}
	return out.WithFindings(j.findings)
}

// joined are the findings of the runs so far, each once.
type joined struct {
	findings []report.Finding
	at       map[string]int // by fingerprint
	of       int            // runs
}

// add adds the findings of a run. Of those with a fingerprint the strongest is shown, and of equally strong ones that of
// the earliest run.
func (j *joined) add(found []report.Finding, number int, seed uint64) {
	for i := range found {
		f := found[i]
		f.Runs = &report.Runs{Seen: 1, Of: j.of, Shown: number, Seed: seed}
		at, known := j.at[f.Fingerprint]
		if !known {
			j.at[f.Fingerprint] = len(j.findings)
			j.findings = append(j.findings, f)
			continue
		}
		before := j.findings[at]
		count, seen := before.Count+f.Count, before.Runs.Seen+1
		if f.Confidence == before.Confidence || !f.Confidence.AtLeast(before.Confidence) {
			f = before
		}
		f.Count, f.Runs.Seen = count, seen
		j.findings[at] = f
	}
}

// maxLength is the number of threads of the longest cycle that is looked for, and maxSteps and maxCycles bound the search.
const (
	maxLength = 4
	maxSteps  = 1 << 20
	maxCycles = 100
)

// order is a lock order that some run has: a thread requests a lock while it holds others.
type order struct {
	step   report.Step
	thread report.Thread
	wants  string   // the lock that is requested, as it is called in each run
	held   []string // the locks that are held
	run    int      // the first that has it, from 1
	locks  string   // wants and held as one text
}

// acrossRuns returns the deadlocks of lock orders that were seen in several runs, and in no single one.
func acrossRuns(all []Run) []report.Finding {
	s := search{by: map[string][]int{}, runs: map[string]map[int]bool{}, left: maxSteps}
	s.collect(all)
	for i := range s.orders {
		for _, held := range s.orders[i].held {
			s.by[held] = append(s.by[held], i)
		}
	}
	for i := range s.orders {
		s.from([]int{i})
	}
	return s.found
}

// collect collects the lock orders of all runs, each once, with the locks of the first run that has them.
func (s *search) collect(all []Run) {
	known, locks := map[string]bool{}, map[string]*report.Object{}
	for i := range all {
		for j := range all[i].Orders {
			f := &all[i].Orders[j]
			if len(f.Evidence) != 1 || f.Evidence[0].Object == nil {
				continue
			}
			o := order{step: f.Evidence[0], run: i + 1, thread: f.Thread(f.Evidence[0].Thread)}
			o.wants = report.Identity(o.step.Object, f)
			o.step.Object = first(locks, o.wants, o.step.Object)
			o.step.Held = slices.Clone(o.step.Held)
			for k := range o.step.Held {
				h := &o.step.Held[k]
				name := report.Identity(h.Object, f)
				h.Object = first(locks, name, h.Object)
				o.held = append(o.held, name)
			}
			o.locks = fmt.Sprintf("%q %q", o.wants, slices.Sorted(slices.Values(o.held)))
			if s.runs[o.locks] == nil {
				s.runs[o.locks] = map[int]bool{}
			}
			s.runs[o.locks][i+1] = true
			if key := report.SideKey(f); !known[key] {
				known[key] = true
				s.orders = append(s.orders, o)
			}
		}
	}
}

// first returns the first object of a name.
func first(all map[string]*report.Object, name string, o *report.Object) *report.Object {
	if all[name] == nil {
		all[name] = o
	}
	return all[name]
}

// search looks for cycles of lock orders.
type search struct {
	orders []order
	by     map[string][]int        // orders by a lock that is held
	runs   map[string]map[int]bool // the runs that have a lock order, by order.locks
	left   int                     // steps
	found  []report.Finding
}

// from looks for cycles that begin with a path, whose first order has the lowest number.
func (s *search) from(path []int) {
	if s.left--; s.left < 0 || len(s.found) >= maxCycles {
		return
	}
	last := &s.orders[path[len(path)-1]]
	if len(path) > 1 && slices.Contains(s.orders[path[0]].held, last.wants) && s.isNew(path) {
		s.found = append(s.found, s.finding(path))
	}
	if len(path) == maxLength {
		return
	}
	for _, next := range s.by[last.wants] {
		if next > path[0] && s.fits(path, next) {
			s.from(append(slices.Clone(path), next))
		}
	}
}

// fits reports whether an order may be of another thread than those of a path, at the same time: they are not the same
// thread, and hold no lock in common.
func (s *search) fits(path []int, next int) bool {
	n := &s.orders[next]
	for _, i := range path {
		o := &s.orders[i]
		if i == next || o.wants == n.wants || sameThread(o, n) || slices.ContainsFunc(o.held, func(h string) bool { return slices.Contains(n.held, h) }) {
			return false
		}
	}
	return true
}

// sameThread reports whether two orders are of one thread, as far as that is known of different runs.
func sameThread(a, b *order) bool {
	return a.thread.ID == b.thread.ID && a.thread.Start == b.thread.Start
}

// isNew reports whether no run has all lock orders of a path, by whatever threads: if one has, it has been judged with that
// run.
func (s *search) isNew(path []int) bool {
	for run := range s.runs[s.orders[path[0]].locks] {
		if !slices.ContainsFunc(path, func(i int) bool { return !s.runs[s.orders[i].locks][run] }) {
			return false
		}
	}
	return true
}

// finding returns the finding of a cycle.
func (s *search) finding(path []int) report.Finding {
	var f report.Finding
	f.Kind, f.Confidence, f.Count, f.ThreadCount = finding.Deadlock, finding.Potential, 1, len(path)
	var in []int
	for _, i := range path {
		o := s.orders[i]
		for slices.ContainsFunc(f.Mentioned, func(t report.Thread) bool { return t.ID == o.thread.ID }) {
			o.thread.ID++ // another thread, which has the same number in its run
		}
		o.step.Thread = o.thread.ID
		o.step.Seq, o.step.Time = 0, 0
		f.Evidence, f.Mentioned, f.Threads = append(f.Evidence, o.step), append(f.Mentioned, o.thread), append(f.Threads, o.thread.ID)
		f.Objects = append(f.Objects, *o.step.Object)
		in = append(in, o.run)
	}
	slices.Sort(in)
	f.Reason = report.AcrossRuns(slices.Compact(in))
	return report.Joined(f)
}
