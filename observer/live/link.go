package live

import (
	"time"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/loader"
	"github.com/tracepredict/tracepredict/observer"
)

// Link joins a session with the observer of its records. It supplies the callbacks by which
// the observer learns about probe sites and processes, and the names of the run. The
// observer exists before the session, so that it can handle the first record. Apart from
// Begin, a Link is used from the goroutine that reads records, and after the session has
// ended from any single goroutine.
type Link struct {
	*names   // names of the run, valid once there is a session
	Session  *loader.Session
	Observer *observer.Observer

	sites  []*observer.SiteInfo   // by index; nil: not yet requested by the observer
	values []loader.VariableValue // see KeepValues
	// unseenIn has, for the modules that DoubtsNow has searched, the result of unseenIn.
	unseenIn map[*loader.Module]string

	readings readings     // see ReadsNothing
	repeats  repeats      // see Repeated
	lost     *loader.Lost // what was lost; nil before the end of the run
}

// NewLink returns a Link without an observer and a session.
func NewLink() *Link { return &Link{names: newNames(nil, nil)} }

// Observe makes the observer. Opts are its options; Observe sets the callbacks that need the
// session. With declare, the sinks receive the initial values of watched variables.
func (l *Link) Observe(opts observer.Options, declare bool) {
	opts.Sites, opts.CheckIn, opts.Touch, opts.NameOf = l.site, l.checkIn, l.Touch, nameOf
	opts.SharedMemory, opts.Repeated = l.sharedMemory, l.Repeated
	opts.SeesFrees = func(tgid uint32) bool { return l.Session.SeesFrees(int(tgid)) }
	opts.SiteAddr = func(tgid, index uint32) uint64 { return l.Session.SiteAddr(int(tgid), index) }
	opts.Futex = func(tgid uint32, ip, caller uint64) bool { return l.Session.OwnCall(int(tgid), ip, caller) }
	opts.OpenMP = func(tgid uint32, start uint64) bool { return l.Session.OfOpenMP(int(tgid), start) }
	if declare {
		opts.Declare = l.declared
	}
	l.Observer = observer.New(opts)
	l.observed = l.Observer
}

// sharedMemory returns the mappings of a process that were made to be shared, as far as they can be read.
func (l *Link) sharedMemory(tgid uint32) []observer.SharedMapping {
	var shared []observer.SharedMapping
	for _, m := range loader.SharedMemory(int(tgid)) {
		shared = append(shared, observer.SharedMapping{Range: observer.Range{Lo: m.Lo, Hi: m.Hi}, File: observer.File(m.File), Offset: m.Offset, Written: !m.Write || m.InFileSystem()})
	}
	return shared
}

// Begin sets the session. It is called before the first record.
func (l *Link) Begin(s *loader.Session) { l.Session, l.process = s, s }

// AddTasks adds the threads that lived before the observation began to the observer.
func (l *Link) AddTasks(ts []loader.Task) {
	for _, t := range ts {
		l.Observer.AddTask(t.TaskLine, t.Start, t.Sleeps)
	}
}

// KeepValues reads the current values of the watched variables of an attached process, and
// keeps them as the initial values.
func (l *Link) KeepValues() { l.values = l.Session.ValuesNow() }

// declared returns the watched variables with their initial values.
func (l *Link) declared() []observer.Declared {
	values := l.values
	if !l.Observer.Attached() {
		values = l.Session.InitialValues()
	}
	out := make([]observer.Declared, 0, len(values))
	for _, v := range values {
		form := FormOf(&v.Variable)
		value := v.Value >> v.Variable.Bits.Offset & (^uint64(0) >> (64 - form.Bits))
		out = append(out, observer.Declared{Addr: v.Addr, Variable: v.Variable.Name, Form: form, Value: value})
	}
	return out
}

// duration returns how long the program has been observed.
func (l *Link) duration() time.Duration {
	if began := l.Session.Began(); !began.IsZero() {
		return time.Since(began)
	}
	return 0
}

// site returns the SiteInfo with an index; nil if there is none. It is made once for each
// site, from the session's description.
func (l *Link) site(index uint32) *observer.SiteInfo {
	if int(index) < len(l.sites) && l.sites[index] != nil {
		return l.sites[index]
	}
	return l.newSite(index)
}

func (l *Link) newSite(index uint32) *observer.SiteInfo {
	if index == 0 || index >= bpf.MaxPointerSites || l.Session == nil {
		return nil
	}
	site := l.Session.Site(index)
	if site == nil {
		return nil
	}
	for int(index) >= len(l.sites) {
		l.sites = append(l.sites, nil)
	}
	l.sites[index] = l.siteInfo(index, site)
	return l.sites[index]
}
