// Package lockword finds variables that threads use as locks, by what a whole run did with them: spin locks that are
// written by hand, and others whose code is inlined.
//
// The input is the events of a run, in order. A variable is used as a lock if every access of it is one of those:
// an atomic instruction finds 0 and leaves another value, which nobody changes until the same thread stores 0; and what
// others read, or found instead of 0, lies between the two. At least once the attempt must be one
// that its code repeats until it succeeds (event.Repeated), and two threads must have succeeded.
//
// The output is the same run with events of a lock instead of the accesses (Rewriter). A store that is read by an
// attempt then no longer comes before it in every schedule; instead, the two sections exclude each other. That
// is sound whatever the variable means to the program: a thread that finds 0 does the same whoever stored it, and in every
// schedule in which the sections exclude each other it finds 0. What found another value stays within the
// section that it saw (a failed attempt), and what read 0 is a section of its own, which contains nothing. One access that is
// none of these, or whose value is not known, makes the variable an atomic one for the whole run, with all that it
// orders.
//
// Channels may be used as locks too; see channel.go.
//
// The package knows no code and no process. Memory is bounded by the atomic variables that are live, and those that are locks.
package lockword

import (
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
)

// kind is the kind of object that such a variable is as a lock.
const kind = event.KindSpin

// Finder finds the variables that are used as locks. The zero value is ready to use.
type Finder struct {
	words   map[event.ObjectID]*word
	held    map[event.ThreadID]int // number of words that a thread holds
	locks   map[event.ObjectID]bool
	permits map[event.ObjectID]*permit // by channel
}

// word is the state of one variable.
type word struct {
	holder  event.ThreadID // 0: it is free
	value   uint64         // while it is held
	known   bool           // the value before the first acquisition is known
	open    bool           // its holder stored a value that is not known: 0, if it is a release
	other   bool           // it is used otherwise too
	repeats bool           // an attempt is repeated until it succeeds
	first   event.ThreadID // the first thread that acquired it
	several bool           // another thread has acquired it too
	since   uint64         // time of the first acquisition
	stored  bool           // there were stores before that
}

// Event processes the next event of the run.
func (f *Finder) Event(e *event.Event) {
	switch {
	case e.Op.IsAccess():
		f.access(e)
	case e.Kind == event.KindChannel:
		f.channel(e)
	case e.Op == event.Destroy:
		f.end(e.Object)
	case e.Op == event.End && e.Flags&event.WithProcess == 0:
		f.leave(e.Thread)
		if f.held[e.Thread] == 0 {
			return
		}
		for _, w := range f.words {
			w.other = w.other || w.holder == e.Thread && !w.open
		}
	case e.Op == event.Hole:
		f.leave(e.Thread)
		for _, w := range f.words {
			w.other = w.other || w.holder == e.Thread // it may have been released
		}
	}
}

// Remember implements observer.Rememberer. It adds nothing: the events of the run are kept with their names.
func (f *Finder) Remember(*event.Names) {}

// access processes an access of a variable.
func (f *Finder) access(e *event.Event) {
	w := f.words[e.Object]
	if w == nil {
		if e.Flags&event.Atomic == 0 || e.Kind != event.KindVariable {
			return // nothing atomic has accessed the variable yet
		}
		w = &word{}
		if f.words == nil {
			f.words, f.held = map[event.ObjectID]*word{}, map[event.ThreadID]int{}
		}
		f.words[e.Object] = w
	}
	if w.other {
		return
	}
	if e.Flags&event.Past != 0 {
		w.other = e.Op != event.Write || w.first != 0 && e.Time > w.since
		return
	}
	before := w.holder
	if w.step(e) == otherUse {
		w.other = true
	}
	if w.holder != before {
		f.count(before, -1)
		f.count(w.holder, 1)
	}
}

// count adds to the number of words that a thread holds.
func (f *Finder) count(t event.ThreadID, n int) {
	if t == 0 {
		return
	}
	if f.held[t] += n; f.held[t] == 0 {
		delete(f.held, t)
	}
}

// end processes the end of a variable's memory.
func (f *Finder) end(id event.ObjectID) {
	w := f.words[id]
	if w == nil {
		return
	}
	f.count(w.holder, -1)
	if w.isLock() && (w.holder == 0 || w.open) {
		if f.locks == nil {
			f.locks = map[event.ObjectID]bool{}
		}
		f.locks[id] = true
	}
	delete(f.words, id)
}

func (w *word) isLock() bool { return !w.other && w.repeats && w.several }

// Any reports whether there is such a variable, so far.
func (f *Finder) Any() bool {
	if len(f.locks) > 0 {
		return true
	}
	for _, w := range f.words {
		if w.isLock() {
			return true
		}
	}
	for _, p := range f.permits {
		if p.isLock() {
			return true
		}
	}
	return false
}

// Locks returns the variables and channels that the run used as locks. The run must have ended.
func (f *Finder) Locks() map[event.ObjectID]bool {
	if f.locks == nil {
		f.locks = map[event.ObjectID]bool{}
	}
	for id, w := range f.words {
		if w.isLock() {
			f.locks[id] = true
		}
	}
	for id, p := range f.permits {
		if p.isLock() {
			f.locks[id] = true
		}
	}
	return f.locks
}

// use is what an access does with a lock.
type use uint8

const (
	otherUse use = iota // no lock has such an access
	stays               // it is a store before the first acquisition
	nothing             // it changes nothing that matters to others
	acquires
	tries // it acquires the lock, and would not wait for it
	releases
	fails // the lock is held
	looks // the lock is free
)

// step returns what an access does, and changes the state accordingly.
func (w *word) step(e *event.Event) use {
	const unfit = event.NoSource | event.AfterHole | event.Kernel
	if e.Flags&unfit != 0 || e.Flags&event.Atomic == 0 && (w.first != 0 || e.Op != event.Write) {
		return otherUse
	}
	if e.Flags&event.Late != 0 {
		if e.Op == event.Read && e.Flags&event.Repeated != 0 {
			return nothing
		}
		return otherUse
	}
	if w.open && !w.settle(e) {
		return otherUse
	}
	switch e.Op {
	case event.Read:
		return w.read(e)
	case event.Write:
		return w.write(e)
	}
	return w.update(e)
}

// settle decides what the holder's store of an unknown value was, by the next access: a release, if that finds
// 0.
func (w *word) settle(e *event.Event) bool {
	w.open = false
	free := e.Flags&event.Takes != 0 || e.Op == event.Read && e.Flags&event.HasValue != 0 && e.Value == 0
	w.holder = 0
	return free
}

func (w *word) read(e *event.Event) use {
	zero := e.Value == 0
	switch {
	case e.Flags&event.HasValue == 0:
		return otherUse
	case w.first == 0 && !w.known && zero:
		w.known = true
		return w.free(e)
	case zero != (w.holder == 0), !zero && e.Value != w.value:
		return otherUse
	case zero:
		return w.free(e)
	case e.Flags&event.Repeated != 0 || e.Thread == w.holder:
		return nothing
	}
	return fails
}

// free returns the use of a read that found 0.
func (w *word) free(e *event.Event) use {
	if e.Flags&event.Repeated != 0 {
		return nothing
	}
	return looks
}

func (w *word) write(e *event.Event) use {
	known := e.Flags&event.HasValue != 0
	switch {
	case w.first == 0:
		w.stored, w.known = true, known
		if known && e.Value != 0 {
			return otherUse
		}
		return stays
	case w.holder != e.Thread:
		return otherUse
	case !known:
		w.open = true
		return releases
	case e.Value == 0:
		w.holder = 0
		return releases
	}
	return otherUse // others see that it has changed
}

func (w *word) update(e *event.Event) use {
	switch {
	case e.Flags&event.Takes != 0:
		return w.take(e)
	case e.Flags&event.HasValue != 0 && e.Value == 0 && w.holder == e.Thread:
		w.holder = 0
		return releases
	}
	return otherUse // others see that it has changed
}

// take handles an access that found 0 and left another value.
func (w *word) take(e *event.Event) use {
	if w.holder != 0 {
		return otherUse
	}
	w.holder, w.value = e.Thread, e.Value
	switch {
	case w.first == 0:
		w.first, w.since = e.Thread, e.Time
	case w.first != e.Thread:
		w.several = true
	}
	if e.Flags&event.Repeated == 0 {
		return tries
	}
	w.repeats = true
	return acquires
}

// Rewriter makes events of locks of the accesses of the variables that a Finder found.
type Rewriter struct {
	locks map[event.ObjectID]bool
	words map[event.ObjectID]*word
	// permits has the channels, stored those on which something was sent before the first acquisition when there were
	// several threads, and unheard those whose events go.
	permits         map[event.ObjectID]*permit
	stored, unheard map[event.ObjectID]bool
	begun           int // threads
	// inits has the call stacks of the stores before the first acquisition.
	inits map[event.ObjectID]event.StackID
	// at has the call stacks of accesses that became events of locks; false: not all accesses there did.
	at map[event.StackID]bool
	// saw has the threads that have acquired a lock that was stored to before: what they found is that store.
	saw map[seen]bool
}

type seen struct {
	object event.ObjectID
	thread event.ThreadID
}

// NewRewriter returns a Rewriter for a run with these locks, and these channels from which nobody received (Unheard).
func NewRewriter(locks, unheard map[event.ObjectID]bool) *Rewriter {
	return &Rewriter{locks: locks, unheard: unheard, stored: map[event.ObjectID]bool{}, words: map[event.ObjectID]*word{}, permits: map[event.ObjectID]*permit{}, inits: map[event.ObjectID]event.StackID{}, at: map[event.StackID]bool{}, saw: map[seen]bool{}}
}

// Rewrites reports whether the event is an access of one of the locks. Those of the past, before all others, stay.
func (r *Rewriter) Rewrites(e *event.Event) bool {
	switch {
	case len(r.locks) == 0:
		return false
	case e.Kind == event.KindChannel:
		return r.locks[e.Object] || r.unheard[e.Object]
	case !e.Op.IsAccess():
		if e.Op == event.Begin {
			r.begun++
		}
		return false
	case e.Flags&event.Past != 0:
		if e.Op == event.Write && r.locks[e.Object] {
			r.initialised(e)
		}
		return false
	}
	if r.locks[e.Object] {
		return true
	}
	if e.Flags&event.Atomic != 0 {
		r.at[e.Stack] = false
	}
	return false
}

// initialised remembers a store before the first acquisition.
func (r *Rewriter) initialised(e *event.Event) {
	if r.inits[e.Object] == 0 {
		r.inits[e.Object] = e.Stack
	}
}

// Initialised returns the locks to which something was stored before they were first acquired, with the call stack of the
// first such store. Had such a lock been initialised again, it would be none.
func (r *Rewriter) Initialised() map[event.ObjectID]event.StackID { return r.inits }

// mark remembers whether an access became an event of a lock. An attempt that failed, and is repeated, does not matter:
// its thread stays there until it has succeeded.
func (r *Rewriter) mark(u use, e *event.Event) {
	switch {
	case u == nothing && e.Flags&event.Repeated != 0:
	case u == nothing, u == stays, u == otherUse:
		r.at[e.Stack] = false
	default:
		if _, known := r.at[e.Stack]; !known {
			r.at[e.Stack] = true
		}
	}
}

// Stacks returns the call stacks at which all atomic accesses became events of locks, sorted.
func (r *Rewriter) Stacks() []event.StackID {
	var all []event.StackID
	for id, locks := range r.at {
		if locks && id != 0 {
			all = append(all, id)
		}
	}
	slices.Sort(all)
	return all
}

// Rewrite appends to out the events that stand for an access of a lock, in the order of the run: none, one or two.
func (r *Rewriter) Rewrite(out []event.Event, e *event.Event) []event.Event {
	if e.Kind == event.KindChannel {
		return r.rewriteChannel(out, e)
	}
	w := r.words[e.Object]
	if w == nil {
		w = &word{}
		r.words[e.Object] = w
	}
	of := *e
	of.Kind, of.Value, of.Flags = kind, 0, 0
	u := w.step(e)
	r.mark(u, e)
	switch u {
	case acquires:
		of.Op = event.Acquire
		return append(r.found(out, w, e), of)
	case tries:
		of.Op, of.Flags = event.Acquire, event.Try
		return append(r.found(out, w, e), of)
	case releases:
		of.Op, of.Stack = event.Release, 0
	case fails:
		of.Op, of.Flags = event.AcquireFailed, event.Try
	case looks:
		of.Op, of.Flags = event.Acquire, event.Try
		out = append(r.found(out, w, e), of)
		of.Op, of.Flags, of.Stack = event.Release, 0, 0
	case nothing:
		return out
	case stays:
		r.initialised(e)
		of = *e
	default:
		of = *e
	}
	return append(out, of)
}

// found appends the read of the store before the first acquisition, if the thread has not read it yet. It comes
// before the acquisition in every schedule.
func (r *Rewriter) found(out []event.Event, w *word, e *event.Event) []event.Event {
	key := seen{e.Object, e.Thread}
	if !w.stored || r.saw[key] {
		return out
	}
	r.saw[key] = true
	read := *e
	read.Op, read.Value, read.Flags = event.Read, 0, event.Atomic|event.HasValue
	return append(out, read)
}
