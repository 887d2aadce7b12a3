package lockword

import "github.com/tracepredict/tracepredict/observer/event"

// This file finds channels that a run used as locks: an eventfd, or a semaphore of System V, that is 1 while the lock is
// free. Each call that waited for it has taken the only unit, and the same thread has given it back before another one took
// it (event.Takes). What was sent before the first acquisition, and once the lock is free for the last time, is no use of
// the lock: there it is made, and removed.

// channelKind is the kind of object that such a channel is as a lock.
const channelKind = event.KindSemaphore

// permit is the state of one channel.
type permit struct {
	holder  event.ThreadID // 0: it is free
	first   event.ThreadID // the first thread that acquired it
	several bool           // another thread has acquired it too
	other   bool           // it is used otherwise too
	over    bool           // something was sent while it was free
	heard   bool           // there was another event than a Send
}

func (p *permit) isLock() bool { return !p.other && p.several }

// channel processes an event of a channel.
func (f *Finder) channel(e *event.Event) {
	p := f.permits[e.Object]
	if p == nil {
		p = &permit{}
		if f.permits == nil {
			f.permits = map[event.ObjectID]*permit{}
		}
		f.permits[e.Object] = p
	}
	if p.heard = p.heard || e.Op != event.Send; !p.other && p.step(e) == otherUse {
		p.other = true
	}
}

// Unheard returns the channels from which nobody received or tried to, if there are channels that are locks: what was sent
// on them orders nothing. A call that takes a semaphore of System V sends so, for who waits until it is 0. The run must have
// ended.
func (f *Finder) Unheard() map[event.ObjectID]bool {
	unheard, any := map[event.ObjectID]bool{}, false
	for id, p := range f.permits {
		any = any || p.isLock()
		if !p.heard {
			unheard[id] = true
		}
	}
	if !any {
		return nil
	}
	return unheard
}

// leave processes that a thread has ended, or may have done what is not known.
func (f *Finder) leave(t event.ThreadID) {
	for _, p := range f.permits {
		p.other = p.other || p.holder == t
	}
}

// step returns what an event does with a lock, and changes the state accordingly.
func (p *permit) step(e *event.Event) use {
	token := e.Flags&event.Takes != 0 && e.Flags&event.AfterHole == 0
	switch e.Op {
	case event.Receiving:
		return nothing // it waits for the lock
	case event.Receive:
		if !token || p.over || p.holder != 0 {
			return otherUse
		}
		switch p.holder = e.Thread; p.first {
		case 0:
			p.first = e.Thread
		case e.Thread:
		default:
			p.several = true
		}
		return acquires
	case event.Send:
		switch {
		case p.first == 0:
			return stays
		case token && p.holder == e.Thread:
			p.holder = 0
			return releases
		case p.holder == 0:
			p.over = true
			return stays
		}
	}
	return otherUse
}

// rewriteChannel is Rewrite for a channel.
func (r *Rewriter) rewriteChannel(out []event.Event, e *event.Event) []event.Event {
	if r.unheard[e.Object] {
		return out
	}
	p := r.permits[e.Object]
	if p == nil {
		p = &permit{}
		r.permits[e.Object] = p
	}
	of := *e
	switch p.step(e) {
	case nothing:
		return out
	case acquires:
		if key := (seen{e.Object, e.Thread}); r.stored[e.Object] && !r.saw[key] {
			r.saw[key] = true
			of.Flags, of.Value = 0, 0
			out = append(out, of) // it comes after what was sent before
		}
		of.Op = event.Acquire
	case releases:
		of.Op = event.Release
	default:
		// What the only thread sent comes before all that others do.
		r.stored[e.Object] = r.stored[e.Object] || e.Op == event.Send && r.begun > 1
		return append(out, of)
	}
	of.Kind, of.Value, of.Flags = channelKind, 0, 0
	return append(out, of)
}
