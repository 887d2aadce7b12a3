package observer

import (
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/clock"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// core is what all parts of an observer share: it sends events, names their threads and objects, knows the sites of
// records, and has the doubts. It knows no part.
type core struct {
	clock *clock.Must
	sinks []Sink
	stats Stats
	ev    event.Event // reused for all
	now   uint64      // time of the current record, ns of CLOCK_MONOTONIC
	names names

	sites    func(index uint32) *SiteInfo // Options.Sites
	unknown  SiteInfo                     // returned by site for an unknown index
	executed map[uint64]*run.Executed     // instructions that synchronise unobserved, by their numbers in records

	nameOf    func(tgid, tid uint32) string // Options.NameOf
	attached  bool                          // Options.Attached
	startTime uint64                        // calls and accesses before this time are ignored; see StartAt
}

func newCore(opts *Options) core {
	return core{
		clock:    clock.New(),
		sinks:    opts.Sinks,
		names:    newNames(opts.Sinks),
		sites:    opts.Sites,
		executed: map[uint64]*run.Executed{},
		attached: opts.Attached,
		nameOf:   opts.NameOf,
	}
}

// begin resets the shared event for thread t at record r. R is nil for an inferred event,
// which has the time of the record from which it was inferred.
func (c *core) begin(t *thread, r *bpf.Record, op event.Op) *event.Event {
	// The fields are set one by one, and the clocks set the others. An assignment of the
	// whole struct would go through the garbage collector's write barrier.
	e := &c.ev
	e.Time, e.Value, e.Thread, e.Object, e.Object2, e.Peer, e.Stack = c.now, 0, t.id, 0, 0, 0, 0
	e.Op, e.Kind, e.Flags = op, event.KindUnknown, 0
	if e.Func != 0 {
		e.Func, e.Args = 0, nil
	}
	if r != nil {
		e.Stack = event.StackID(r.Stack)
	}
	return e
}

// send numbers the shared event, stamps it with its vector clock and passes it to the sinks.
func (c *core) send() {
	c.stats.Events++
	c.ev.Seq = c.stats.Events
	c.clock.Stamp(&c.ev)
	for _, s := range c.sinks {
		s.Event(&c.ev)
	}
	c.clock.Done(&c.ev)
}

// emitOn sends an event that has an object and no value, flags or peer.
func (c *core) emitOn(t *thread, r *bpf.Record, op event.Op, obj *object) {
	e := c.begin(t, r, op)
	e.Object, e.Kind = obj.id, obj.kind
	c.send()
}

// site returns the site of a record, or an empty SiteInfo if the site is unknown.
func (c *core) site(r *bpf.Record) *SiteInfo {
	if c.sites != nil {
		if info := c.sites(r.Site); info != nil {
			return info
		}
	}
	return &c.unknown
}
