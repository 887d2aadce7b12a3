package observer

import (
	"maps"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// minSweep is the number of names before any is discarded.
const minSweep = 1 << 14

// names describes the threads and objects of the run, and has the last identifiers assigned.
// A sweep discards the names of ended threads and objects that no finding can name any more.
// It runs when there are twice as many names as the last sweep left.
type names struct {
	threads     map[event.ThreadID]*run.Thread
	objects     map[event.ObjectID]*run.Object
	lastThread  event.ThreadID
	lastObject  event.ObjectID
	rememberers []Rememberer
	limit       int // number of names above which a sweep runs; 0: never, as a sink is no Rememberer
}

func newNames(sinks []Sink) names {
	n := names{threads: map[event.ThreadID]*run.Thread{}, objects: map[event.ObjectID]*run.Object{}, limit: minSweep}
	for _, s := range sinks {
		r, ok := s.(Rememberer)
		if !ok {
			n.limit = 0
		}
		n.rememberers = append(n.rememberers, r)
	}
	return n
}

func (n *names) addThread(t run.Thread) event.ThreadID {
	n.lastThread++
	n.threads[n.lastThread] = &t
	return n.lastThread
}

func (n *names) addObject(o run.Object) event.ObjectID {
	n.lastObject++
	n.objects[n.lastObject] = &o
	return n.lastObject
}

func (n *names) full() bool { return n.limit > 0 && len(n.threads)+len(n.objects) > n.limit }

// sweep discards the names that nothing needs.
func (o *Observer) sweep() {
	needed := event.NewNames()
	for _, r := range o.names.rememberers {
		r.Remember(needed)
	}
	o.remember(needed)
	n := &o.names
	for id := range needed.Objects() {
		if info := n.objects[id]; info != nil {
			needed.AddThread(info.FirstThread)
			needed.AddThread(info.Block.Thread)
		}
	}
	n.threads = keepOnly(n.threads, needed.Threads())
	n.objects = keepOnly(n.objects, needed.Objects())
	n.limit = max(minSweep, 2*(len(n.threads)+len(n.objects)))
}

// remember adds the threads and objects that the observer may still name in later events.
func (o *Observer) remember(needed *event.Names) {
	for _, p := range o.threads.processes {
		p.remember(needed)
	}
	for _, t := range o.threads.live {
		t.remember(needed)
	}
	o.messages.remember(needed)
}

func (p *process) remember(needed *event.Names) {
	for _, obj := range p.objects {
		needed.AddObject(obj.id)
		needed.AddThread(obj.otherUser)
		needed.AddThread(obj.lastUser)
	}
	for _, v := range p.vars {
		needed.AddObject(v.id)
	}
	for _, x := range p.instances {
		needed.AddObject(x.id)
	}
	for _, t := range p.byTP {
		for ; t != nil; t = t.previous {
			needed.AddThread(t.id)
		}
	}
	if p.leader != nil {
		needed.AddThread(p.leader.id)
	}
}

func (t *thread) remember(needed *event.Names) {
	needed.AddThread(t.id)
	for i := range t.held {
		needed.AddObject(t.held[i].obj.id)
	}
	t.teams.remember(needed)
	if t.condWait != nil {
		needed.AddObject(t.condWait.cond.id)
		needed.AddObject(t.condWait.mutex.id)
	}
	for c := t.once; c != nil; c = c.outer {
		needed.AddObject(c.obj.id)
	}
}

// keepOnly returns a new map of the entries to keep. Deleting the other entries from the old
// map would not release their memory.
func keepOnly[K comparable, V any](all map[K]V, keep map[K]struct{}) map[K]V {
	some := make(map[K]V, min(len(all), len(keep)))
	for id := range maps.Keys(keep) {
		if v, ok := all[id]; ok {
			some[id] = v
		}
	}
	return some
}
