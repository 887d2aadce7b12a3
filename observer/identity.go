package observer

import (
	"cmp"
	"maps"
	"slices"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// threadTable identifies threads and processes: the kernel's ids and thread pointers are used again within a run.
type threadTable struct {
	*core
	live      map[uint32]*thread // threads that have not ended, by the kernel's id
	last      *thread            // thread of the last record
	cache     [cachedThreads]*thread
	processes map[uint32]*process
	// gone has the last thread that has ended, by the kernel's id, for what is recorded later; nil: none is kept.
	gone       map[uint32]*thread
	unjoinable recentMap[event.ThreadID] // joined or detached threads that have ended, by thread pointer
}

// cachedThreads is the size of the direct-mapped cache in front of live, by the low bits of the kernel's id.
const cachedThreads = 64

// newThreadTable returns an empty table, which knows also threads that have ended if keepsGone.
func newThreadTable(c *core, keepsGone bool) threadTable {
	tt := threadTable{core: c, live: map[uint32]*thread{}, processes: map[uint32]*process{}}
	if keepsGone {
		tt.gone = map[uint32]*thread{}
	}
	return tt
}

// of returns the thread of a record. It adds a thread that is not known: one that
// lived before the observation began, or whose creation was lost.
func (tt *threadTable) of(r *bpf.Record) *thread {
	if tt.last != nil && tt.last.tid == r.Tid && !tt.last.ended {
		return tt.last
	}
	cached := &tt.cache[r.Tid%cachedThreads]
	if t := *cached; t != nil && t.tid == r.Tid && !t.ended {
		tt.last = t
		return t
	}
	t := tt.live[r.Tid]
	if t == nil {
		t = tt.addExisting(r, run.Thread{TID: r.Tid, TGID: r.Tgid})
	}
	tt.last, *cached = t, t
	return t
}

// add adds a thread that begins to live.
func (tt *threadTable) add(info run.Thread) *thread {
	info.Main = info.TID == info.TGID
	if info.Name == "" && tt.nameOf != nil {
		info.Name = tt.nameOf(info.TGID, info.TID)
	}
	t := &thread{process: tt.process(info.TGID), id: tt.names.addThread(info), tid: info.TID, lastEvent: tt.stats.Events, name: info.Name}
	tt.live[info.TID] = t
	if info.Main {
		t.process.leader = t
	}
	t.process.crowded = t.process.crowded || t.process.living > 0
	t.process.living++
	return t
}

// addExisting adds a thread that lived before the observation began.
func (tt *threadTable) addExisting(r *bpf.Record, info run.Thread) *thread {
	t := tt.add(info)
	tt.begin(t, r, event.Begin)
	tt.ev.Flags, tt.ev.Stack = event.Inferred, 0
	tt.send()
	return t
}

// setPointer sets the thread pointer of a thread. If more than maxSamePointer threads then
// have that pointer, it removes the oldest, which can no longer be joined, and returns it;
// else it returns nil.
func (tt *threadTable) setPointer(t *thread, tp uint64) (unjoinable *thread) {
	if tp == 0 || t.tp == tp {
		return nil
	}
	tt.unlink(t)
	t.tp = tp
	t.previous = t.process.byTP[tp]
	t.process.byTP[tp] = t
	for i, p := 1, t; p.previous != nil; i, p = i+1, p.previous {
		if i == maxSamePointer {
			unjoinable, p.previous = p.previous, nil
			return unjoinable
		}
	}
	return nil
}

// maxSamePointer bounds the threads that are known by one thread pointer. The C library may
// reuse a thread's memory for the next thread once a join has been entered. So several
// threads have one pointer only until the join is recorded, or if a detach was not recorded.
const maxSamePointer = 8

// unlink removes a thread from those known by their thread pointers.
func (tt *threadTable) unlink(t *thread) {
	byTP := t.process.byTP
	head := byTP[t.tp]
	if head == t {
		if t.previous == nil {
			delete(byTP, t.tp)
		} else {
			byTP[t.tp] = t.previous
		}
	}
	for p := head; p != nil; p = p.previous {
		if p.previous == t {
			p.previous = t.previous
		}
	}
	t.previous = nil
}

// byPointer returns the thread that had a pthread_t at the given time, nil if it is unknown.
// Successive threads may have the same pthread_t. It is the latest of those that had been
// created by then, since the memory is reused only after the join.
func (p *process) byPointer(tp, when uint64) *thread {
	t := p.byTP[tp]
	for t != nil && t.createdAt > when {
		t = t.previous
	}
	return t
}

// remove removes a thread that has ended from those that live.
func (tt *threadTable) remove(t *thread) {
	delete(tt.live, t.tid)
	if tt.gone != nil {
		tt.gone[t.tid] = t
	}
	if t.detached {
		tt.retire(t)
	}
	if tt.last == t {
		tt.last = nil
	}
}

// observes reports whether a process is observed.
func (tt *threadTable) observes(tgid uint32) bool { return tt.processes[tgid] != nil }

// living returns the threads that have not ended, in order of creation.
func (tt *threadTable) living() []*thread {
	return slices.SortedFunc(maps.Values(tt.live), func(t, u *thread) int { return cmp.Compare(t.id, u.id) })
}

// threadAt returns the thread that had one of the kernel's identifiers at a time; nil if it is not known any more.
func (tt *threadTable) threadAt(tid uint32, at uint64) *thread {
	for _, t := range []*thread{tt.live[tid], tt.gone[tid]} {
		if t != nil && t.createdAt <= at {
			return t
		}
	}
	return nil
}

// joinTarget returns the thread that a failed join was for: the last one that had the
// pthread_t, ended or not; 0 if it is unknown.
func (tt *threadTable) joinTarget(t *thread, r *bpf.Record) event.ThreadID {
	last, _ := tt.unjoinable.get(t.process, r.Object)
	if u := t.process.byPointer(r.Object, r.Entered()); u != nil {
		last = max(last, u.id)
	}
	if last == 0 && r.Result == errDeadlock && t == t.process.leader && t.tp == 0 {
		return t.id // only the first thread has an unknown thread pointer
	}
	return last
}

// retire removes an ended thread that can no longer be joined from those known by their
// thread pointers, and adds it to those that are unjoinable.
func (tt *threadTable) retire(t *thread) {
	if t.tp != 0 {
		tt.unjoinable.put(t.process, t.tp, t.id)
	}
	tt.unlink(t)
}

// process returns the process with the kernel's id tgid.
func (tt *threadTable) process(tgid uint32) *process {
	p := tt.processes[tgid]
	if p == nil {
		p = &process{id: tgid, byTP: map[uint64]*thread{}, instances: map[uint64]*instance{}}
		p.objects, p.vars = map[uint64]*object{}, map[uint64]*variable{}
		tt.processes[tgid] = p
	}
	return p
}
