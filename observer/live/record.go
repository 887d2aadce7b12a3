package live

import (
	"io"
	"sync"

	"github.com/tracepredict/tracepredict/observer"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
	"github.com/tracepredict/tracepredict/observer/trace"
)

// Recorder writes the events of a live run to a trace; an observer.Sink. The trace's own
// goroutine finds the names, from copies of the observer's data, so that the reader of the
// ring buffer does not wait for debug information.
//
// It is also a run.Namer: the report of a recorded run has the same names as the trace, as
// they were when an event first needed them.
type Recorder struct {
	*trace.Writer
	observed *observer.Observer
	copied   snapshot

	started chan struct{} // closed by Start, or Close if it was never called
	once    sync.Once
	start   run.Summary
	names   *names // valid once started is closed; nil if there was no start

	// The names written so far. Until Drain, only the Writer's goroutine uses them.
	frames  map[event.StackID][]event.Frame
	objects map[event.ObjectID]objectName // the objects up to named that have a name
	named   event.ObjectID                // the last object whose names were found
	threads map[event.ThreadID]run.Thread
}

// NewRecorder begins a trace on out. Observe must be called before the first event, and
// Start when the process is known: no name is found before that.
func NewRecorder(out io.Writer) (*Recorder, error) {
	r := &Recorder{
		copied: snapshot{stacks: map[event.StackID]observer.Stack{}, objects: map[event.ObjectID]run.Object{}}, started: make(chan struct{}),
		frames: map[event.StackID][]event.Frame{}, objects: map[event.ObjectID]objectName{}, threads: map[event.ThreadID]run.Thread{},
	}
	var err error
	r.Writer, err = trace.NewWriter(out, trace.WriterOptions{Names: namer{r}, Start: r.atStart, Fresh: r.fresh})
	return r, err
}

// Observe sets the observer whose events the recorder writes.
func (r *Recorder) Observe(o *observer.Observer) { r.observed = o }

// Start sets the process and its program. No name is found before that.
func (r *Recorder) Start(p Process, program string) {
	r.once.Do(func() {
		r.start = run.Summary{Program: program, PID: p.PID()}
		r.names = newNames(p, &r.copied)
		close(r.started)
	})
}

// Drain writes all events so far. The methods of run.Namer may then be called from any one
// goroutine. No event may follow, and the observer must not change.
func (r *Recorder) Drain() {
	r.once.Do(func() { close(r.started) }) // in case the program never started
	r.Writer.Drain()
	if r.names != nil {
		r.names.observed = r.observed
	}
}

func (r *Recorder) atStart() run.Summary {
	<-r.started
	return r.start
}

// objectName holds the names that were found for an object, and run.Block.Element.
type objectName struct {
	name, member, class string
	element             uint64
}

// Remember implements observer.Rememberer. It adds nothing, since the recorder has copied the
// names of all events.
func (r *Recorder) Remember(*event.Names) {}

// fresh copies the observer's data on the identifiers in e. It runs on the observer's
// goroutine, for the first event of its kind in each block.
func (r *Recorder) fresh(e *event.Event) {
	r.copied.mu.Lock()
	defer r.copied.mu.Unlock()
	r.copied.copyStack(r.observed, e.Stack)
	for _, id := range []event.ObjectID{e.Object, e.Object2} {
		for id > r.copied.last {
			r.copied.last++
			o, _ := r.observed.ObjectInfo(r.copied.last)
			r.copied.objects[r.copied.last] = o
			r.copied.copyStack(r.observed, o.Init)
			r.copied.copyStack(r.observed, o.First)
		}
	}
	for e.Func > event.FuncID(r.copied.names.Funcs()) {
		f, _ := r.observed.FuncInfo(event.FuncID(r.copied.names.Funcs() + 1))
		r.copied.names.AddFunc(f)
	}
	for _, id := range []event.ThreadID{e.Thread, e.Peer} {
		for id > event.ThreadID(r.copied.names.Threads()) {
			t, _ := r.observed.ThreadInfo(event.ThreadID(r.copied.names.Threads() + 1))
			r.copied.names.AddThread(t)
			r.copied.copyStack(r.observed, t.Created)
		}
	}
}

// snapshot is a copy of the observer's data on the identifiers in events so far.
type snapshot struct {
	names   run.Names  // of threads and functions
	mu      sync.Mutex // guards the fields below
	stacks  map[event.StackID]observer.Stack
	objects map[event.ObjectID]run.Object // those not yet written
	last    event.ObjectID                // the last object that was copied
}

// copyStack copies the observer's description of a call stack, which does not change.
func (s *snapshot) copyStack(o *observer.Observer, id event.StackID) {
	if id == 0 {
		return
	}
	if _, ok := s.stacks[id]; !ok {
		if st, ok := o.StackOf(id); ok {
			s.stacks[id] = st
		}
	}
}

// StackOf implements observed.
func (s *snapshot) StackOf(p event.StackID) (observer.Stack, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, ok := s.stacks[p]
	return st, ok
}

// ObjectInfo implements observed.
func (s *snapshot) ObjectInfo(id event.ObjectID) (obj run.Object, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	obj, ok = s.objects[id]
	return obj, ok
}

func (s *snapshot) discard(id event.ObjectID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, id)
}

// ThreadInfo implements observed.
func (s *snapshot) ThreadInfo(id event.ThreadID) (run.Thread, bool) {
	return s.names.Thread(id), id > 0 && int(id) <= s.names.Threads()
}

// FuncInfo implements observed.
func (s *snapshot) FuncInfo(id event.FuncID) (event.Func, bool) {
	return s.names.Func(id), id > 0 && int(id) <= s.names.Funcs()
}

// namer is the Recorder as seen by its Writer, which requests each object once.
type namer struct{ *Recorder }

// Object implements run.Namer. It clears the process, as a trace does not distinguish
// processes.
func (n namer) Object(id event.ObjectID) run.Object {
	defer n.copied.discard(id)
	o := n.Recorder.Object(id)
	o.TGID = 0
	return o
}

// Frames implements run.Namer, after Drain.
func (r *Recorder) Frames(id event.StackID) []event.Frame {
	<-r.started
	if frames, ok := r.frames[id]; ok || r.names == nil {
		return frames
	}
	frames := r.names.Frames(id)
	frames = frames[:min(len(frames), trace.MaxFrames)]
	for i := range frames {
		f := &frames[i]
		f.Function, f.File, f.Module = trace.Shorten(f.Function), trace.Shorten(f.File), trace.Shorten(f.Module)
	}
	r.frames[id] = frames
	return frames
}

// Object implements run.Namer, after Drain.
func (r *Recorder) Object(id event.ObjectID) run.Object {
	<-r.started
	if r.names == nil {
		return run.Object{}
	}
	if id <= r.named {
		info, _ := r.names.observed.ObjectInfo(id)
		known := r.objects[id]
		info.Name, info.Member, info.Class, info.Block.Element = known.name, known.member, known.class, known.element
		return info
	}
	info := r.names.Object(id)
	known := objectName{trace.Shorten(info.Name), trace.Shorten(info.Member), trace.Shorten(info.Class), info.Block.Element}
	if info.Name, info.Member, info.Class = known.name, known.member, known.class; known != (objectName{}) {
		r.objects[id] = known
	}
	r.named = id // the Writer requests objects in order
	return info
}

// Thread implements run.Namer, after Drain.
func (r *Recorder) Thread(id event.ThreadID) run.Thread {
	<-r.started
	if t, ok := r.threads[id]; ok || r.names == nil {
		return t
	}
	t := r.names.Thread(id)
	t.Start, t.Name = trace.Shorten(t.Start), trace.Shorten(t.Name)
	r.threads[id] = t
	return t
}

// Func implements run.Namer.
func (r *Recorder) Func(id event.FuncID) event.Func { return r.copied.names.Func(id) }
