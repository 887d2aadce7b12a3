package observer

import (
	"maps"
	"slices"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/run"
)

// recordExecuted handles the record of an execution of code whose synchronisation no probe
// observes. The execution may have begun at any time after the thread's previous record; where a loop is left, also
// before the records of the probes that are at the same instruction.
func (o *Observer) recordExecuted(t *thread, r *bpf.Record) {
	since := t.lastEvent + 1
	if t.atExit {
		since = t.beforeExit + 1
	}
	e := o.executed[r.Object]
	if e == nil {
		e = &run.Executed{Number: r.Object}
		o.executed[r.Object] = e
	}
	if r.Result != 0 && e.ObservedUntil == 0 {
		e.ObservedUntil = since
	}
	if o.names.lastThread > 1 || r.Value != 0 {
		e.Hits = append(e.Hits, run.Hit{Thread: t.id, Since: since, Until: o.stats.Events + uint64(len(o.backlog.records)), Locked: len(t.held) > 0, Cause: o.causes.askedCause(t, r.Asked(), r.Sp)})
	}
}

// Executed returns the instructions that synchronise unobserved, in the order of their numbers:
// those that were executed while there were several threads, and those whose executions were
// not recorded to the end of the run. Their hits are all that were recorded: the BPF program sends
// only the first.
func (o *Observer) Executed() []run.Executed {
	var all []run.Executed
	for _, number := range slices.Sorted(maps.Keys(o.executed)) {
		if e := o.executed[number]; len(e.Hits) > 0 || e.ObservedUntil > 0 {
			one := *e
			one.Hits = slices.Clone(e.Hits)
			all = append(all, one)
		}
	}
	return all
}

// The doubts that the observer has besides those of bpf.Doubt.
const (
	doubtChild bpf.Doubt = 1<<16 + iota
	doubtSignal
	doubtPermit
	doubtOwner
	doubtUnderWay
	doubtOutside
	doubtShared
	doubtRelease
	doubtTeam
	doubtAsked
)

// doubtText describes each doubt.
var doubtText = map[bpf.Doubt]string{
	bpf.DoubtInotify: "news by inotify that a file has changed",
	bpf.DoubtFIFO:    "the open of a FIFO, which waits for its other end",
	bpf.DoubtPoll:    "a wait for more descriptors than are recorded",
	bpf.DoubtReady:   "a wait for a descriptor of a kind that is not observed",
	bpf.DoubtGone:    "a signal that could not be sent, since its thread or process had ended",
	doubtChild:       "a wait for a child process that is not observed",
	doubtSignal:      "a signal that no observed thread has sent",
	doubtPermit:      "a wait for a semaphore, which no recorded post let through",
	doubtOwner:       "a robust mutex of an owner whose death is not observed",
	doubtUnderWay:    "a call that was under way when the observation began",
	doubtOutside:     "a receive from a process that is not observed",
	doubtShared:      "an atomic access of memory that is shared by its mapping",
	doubtAsked:       "an answer of the kernel that another thread's call had changed, as to whether a file is there",
	doubtTeam:        "a parallel region of OpenMP, whose threads are not known",
	doubtRelease:     "a lock of which a release was not seen",
}

// maxReturns bounds the returns of one kind that are kept. After so many, each event may be behind
// another one.
const maxReturns = 256

// doubt records that t has just come to know something that other threads may have done, by a call
// of which only the return is seen: whatever happened before may come before what t does from now on.
func (c *core) doubt(t *thread, why bpf.Doubt) { c.doubtOf(t, why, t.woken) }

// doubtOf is doubt with what probably let the thread go on; nil if that is not known.
func (c *core) doubtOf(t *thread, why bpf.Doubt, cause *run.Cause) {
	number := uint64(why)<<32 | uint64(t.process.id)
	e := c.executed[number]
	if e == nil {
		e = &run.Executed{Number: number, Description: doubtText[why], Waits: true, Processes: []uint32{t.process.id}}
		c.executed[number] = e
	}
	if c.names.lastThread < 2 {
		return
	}
	if len(e.Hits) == maxReturns {
		e.Waits = false
		return
	}
	now := c.stats.Events
	e.Hits = append(e.Hits, run.Hit{Thread: t.id, Since: now + 1, Until: now, Cause: cause})
}
