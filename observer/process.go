package observer

import (
	"maps"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
)

// process is the address space of one process. A forked child has copies of all objects of its
// parent, except of those in memory that the two share (region).
type process struct {
	id      uint32             // the kernel's id
	byTP    map[uint64]*thread // the latest thread with each thread pointer
	leader  *thread            // the thread that runs or ran main; nil after it was joined
	parent  uint32             // the kernel's id of the process that forked it under observation; else 0
	living  int                // number of threads that have not ended
	crowded bool               // it has had more than one thread
	forked  bool               // forked under observation, so that it ends with its last thread

	processLocks
	processVariables

	instances map[uint64]*instance // live, by address
	heap      *heap                // nil before the first record about heap memory
	unloads   []unload

	unknownTeams bool // libgomp has created threads in calls that are not observed

	interpreted      bool            // it has called functions of an interpreter's lock
	interpreterWords map[uint64]bool // the words that such a lock consists of
}

// inherit makes the only thread of a forked process hold its own copies of the locks that
// the thread that forked it held.
func (o *Observer) inherit(parent, child *thread, r *bpf.Record) {
	own := bpf.Record{Time: r.Time, Tid: child.tid, Tgid: child.process.id}
	for _, h := range parent.held {
		if child.process.objects[h.obj.addr] == h.obj {
			continue // in shared memory: the parent alone holds it
		}
		obj := o.locks.newObject(child, &own, h.obj.addr, h.obj.kind)
		obj.kindKnown = h.obj.kindKnown
		if h.obj.isInterpreter() {
			o.interpreters.markInterpreter(obj)
			child.process.interpreterWords = maps.Clone(parent.process.interpreterWords)
		}
		op := event.AcquireRead
		if h.obj.holder == parent {
			op = event.Acquire
		}
		o.locks.acquire(child, &own, obj, op, event.Inferred, h.depth)
	}
}

// removeProcess discards a process that has ended.
func (o *Observer) removeProcess(p *process) {
	o.removeObjects(p)
	if o.threads.processes[p.id] == p {
		delete(o.threads.processes, p.id)
	}
}

// removeObjects discards what the parts know of the memory of a process.
func (o *Observer) removeObjects(p *process) {
	o.threads.unjoinable.removeProcess(p)
	o.locks.discard(p)
	o.variables.discard(p)
	o.interpreters.discard(p)
	o.calls.discard(p)
	o.heaps.discard(p)
}
