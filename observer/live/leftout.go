package live

import (
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/internal/safely"
	"github.com/tracepredict/tracepredict/loader"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/ownlocks"
	"github.com/tracepredict/tracepredict/observer/run"
	"github.com/tracepredict/tracepredict/probes"
	"github.com/tracepredict/tracepredict/probes/libname"
	"github.com/tracepredict/tracepredict/probes/synctab"
)

// LeavingOut leaves out the locks of libraries that take them all the time and for themselves alone. Its Finder is a sink
// of the observer; the goroutine that reads records uses it alone.
type LeavingOut struct {
	*ownlocks.Finder
	link    *Link
	table   synctab.Table
	keep    []string // modules that are never left out, as patterns of path.Match
	modules []*loader.Module
	running safely.Group

	left chan leftOut // see Notes
}

// leftOut is a module whose locks were not observed any more after the first part of a run.
type leftOut struct {
	module *loader.Module
	after  time.Duration
}

// maxLeftOut bounds the modules that are left out.
const maxLeftOut = 64

// NewLeavingOut returns a LeavingOut for the run of a link. Failed is called with panics of its goroutines.
func NewLeavingOut(l *Link, table synctab.Table, keep []string, failed func(*safely.Panic)) *LeavingOut {
	o := &LeavingOut{link: l, table: table, keep: keep, left: make(chan leftOut, maxLeftOut)}
	o.running.Failed = failed
	o.Finder = ownlocks.New(ownlocks.Options{Module: o.number, Found: o.found})
	return o
}

// number returns the number of the module whose code made the call at a call stack; 0 of one that stays.
func (o *LeavingOut) number(id event.StackID) (number int, known bool) {
	m, known := o.caller(id)
	if m == nil {
		return 0, known
	}
	if n := slices.Index(o.modules, m); n >= 0 {
		return n + 1, true
	}
	if !o.mayLeave(m) {
		return 0, true
	}
	o.modules = append(o.modules, m)
	return len(o.modules), true
}

// caller returns the module whose code made the call at a call stack, nil if there is none; known is false if the call
// stack has not been found yet.
func (o *LeavingOut) caller(id event.StackID) (m *loader.Module, known bool) {
	pcs, known := o.link.Session.FoundCallStack(uint32(id))
	if len(pcs) > 1 {
		m, _ = o.moduleAt(pcs[1])
	}
	return m, known
}

// moduleAt returns the module that a return address is in, nil if it is in none, and the address as linked.
func (o *LeavingOut) moduleAt(pc uint64) (m *loader.Module, addr uint64) {
	seg, _ := o.link.Session.Segment(o.link.Session.PID(), pc-1)
	return seg.Module, pc - 1 - seg.Bias
}

// mayLeave reports whether the locks of a module may be left out: it is a library that the user has not built.
func (o *LeavingOut) mayLeave(m *loader.Module) bool {
	return len(o.modules) < maxLeftOut && m.Path != o.link.Session.ProgramPath() && !libname.Runtime(m.Path) &&
		!probes.Named(o.keep, m.Bin) && !probes.HasDebugInfo(m.Bin)
}

// found leaves out a module whose sections are its own, as its code shows, too.
func (o *LeavingOut) found(number int, at []event.StackID) {
	m, at := o.modules[number-1], slices.Clone(at)
	o.running.Go(func() {
		s := o.link.Session
		if s.CallsLocksByPointer(m) {
			return
		}
		for _, id := range at {
			if !o.within(m, s.CallStack(uint32(id))) {
				return
			}
		}
		s.LeaveOut(m, func(now uint64) {
			o.link.Observer.LeaveOut(now, func(id event.StackID) bool { by, _ := o.caller(id); return by == m })
			o.left <- leftOut{m, time.Since(s.Began())}
		})
	})
}

// maxWrappers bounds how many functions of a module may wrap a lock function, each around the other.
const maxWrappers = 3

// within reports whether the section that begins at a call stack ends before control leaves the module: of the
// module's innermost functions that have called each other to acquire the lock, one releases locks too, by as many calls
// at most. A function that does nothing but acquire a lock for other modules has no such caller.
func (o *LeavingOut) within(m *loader.Module, pcs []uint64) bool {
	for i := 1; i < len(pcs) && i <= 1+maxWrappers; i++ {
		in, addr := o.moduleAt(pcs[i])
		if in != m {
			return false
		}
		if m.Plan.ReleasesIn(o.table, addr, i-1) {
			return true
		}
	}
	return false
}

// Wait waits until what has been begun is done, at the end of the observation.
func (o *LeavingOut) Wait() { o.running.Wait() }

// Notes returns sentences that say which modules were left out.
func (o *LeavingOut) Notes() (notes []string) {
	for len(o.left) > 0 {
		l := <-o.left
		notes = append(notes, fmt.Sprintf("the mutexes and spin locks that the code of %s takes were observed for the first %.1f s: it took them all the time, one at a time and for itself alone, which cost more than all else (--not-module none observes them to the end)", path.Base(l.module.Path), l.after.Seconds()))
	}
	return notes
}

// leftOutByUser adds to a summary what the user did not want to be observed.
func (l *Link) leftOutByUser(sum *run.Summary) {
	u := l.Session.LeftOut()
	if len(u.Asked) > 0 {
		names := plural.Enumerated(u.Asked)
		sum.AddFirst(fmt.Sprintf("the mutexes and spin locks that the code of %s takes were not observed (--not-module): what they exclude may be reported", names))
		sum.Doubts = append(sum.Doubts, run.Doubt{Reason: fmt.Sprintf("the locks that the code of %s takes are not observed, and may exclude it", names)})
	}
	if len(u.Unseen) > 0 {
		sum.AddFirst(plural.Sprintf("with the locks of a module left out, calls of %d lock {function|functions} by a pointer are not seen (%s)", len(u.Unseen), plural.Enumerated(u.Unseen)))
		sum.Doubts = append(sum.Doubts, run.Doubt{Reason: "locks that are taken by calls through pointers are not observed, and may exclude it"})
	}
}
