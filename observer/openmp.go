package observer

import (
	"slices"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// This file handles the parallel regions of OpenMP, as libgomp runs them. A thread that begins a region, the
// master, creates the other threads of its team, or finds them waiting: those of the regions that are in no
// other one wait for the next such region, those of an inner region end with it. Creation is recorded only
// once, so each region orders them anew:
//
//   - What the master did before comes before what the members do in the region.
//   - What they do in the region comes before the return of the master's call.
//
// Both are messages, on a channel of the team. A member is known by who created it, and within how many of its
// own regions. It makes no records while it waits for a region, so the events of it that begin and end a
// region can be sent with the master's. Members that a region does not need are only ordered where they wait.
//
// If the observation begins in the middle of a run, members are not known, and live.Link adds a doubt of all that
// follows.
//
// Calls without an operand act on the team of their thread: the barrier, and the ordered parts of loops, of
// which each has a channel: an ordered part comes after those of all earlier iterations. What one thread
// executes and the others copy has a barrier and a channel. All threads of a team begin the same such
// constructs in the same order, so they are known by their number.

// team has the threads that run the regions of one thread within as many of its own regions as before.
type team struct {
	members []*thread // without the master; those that are alive
	running bool      // a region is under way
	sent    bool      // a member's message of the end of its part is not received yet

	begin, end, barrier event.ObjectID               // 0: not used yet
	channels            map[construct]event.ObjectID // of the region's constructs
}

// construct is a loop with ordered parts, or a part whose result is copied.
type construct struct {
	copies bool
	number int // of those of its kind in a region, from 1
}

// constructs counts the constructs of each kind that a thread has begun in a region.
type constructs struct{ ordered, copies int }

// maxConstructs bounds the constructs of each kind in one region of which the channels are known.
const maxConstructs = 1 << 12

// parallelRegion is a parallel region that its master has not left.
type parallelRegion struct {
	sp    uint64     // stack pointer at the call
	begun constructs // by the master
}

// membership is what a thread knows of teams.
type membership struct {
	of      *team            // the team that it was created for; nil: none
	begun   constructs       // in the region of that team
	own     []*team          // of which it is the master, by the number of regions around
	regions []parallelRegion // that it has not left as their master, the outermost first
}

// team returns the team in whose region a thread is, and what it has begun in it; nil if it is in none.
func (m *membership) team() (*team, *constructs) {
	if n := len(m.regions); n > 0 {
		return m.own[n-1], &m.regions[n-1].begun
	}
	if m.of != nil && m.of.running {
		return m.of, &m.begun
	}
	return nil, nil
}

// teams follows the teams of OpenMP. What it knows is with the threads (membership).
type teams struct {
	*core
	threads *threadTable
	starts  func(tgid uint32, start uint64) bool // Options.OpenMP
}

// openMP handles the record of a call of OpenMP.
func (ts *teams) openMP(t *thread, r *bpf.Record) {
	leave := r.Flags&bpf.RecLeave != 0
	switch op := bpf.Op(r.Op); {
	case op == bpf.OpParallel && leave:
		ts.leavesRegions(t, r)
	case op == bpf.OpParallel:
		ts.leavesRegions(t, r) // of frames that are gone
		ts.beginsRegion(t, r)
	default:
		ts.insideRegion(t, r, op, leave)
	}
}

// beginsRegion handles that t begins a region.
func (ts *teams) beginsRegion(t *thread, r *bpf.Record) {
	m := &t.teams
	m.regions = append(m.regions, parallelRegion{sp: r.Sp})
	if len(m.own) < len(m.regions) {
		m.own = append(m.own, &team{})
	}
	tm := m.own[len(m.regions)-1]
	tm.running = true
	clear(tm.channels)
	if len(tm.members) > 0 {
		ts.emitTeam(t, r, event.Send, ts.teamObject(t, r, &tm.begin, event.KindChannel, "parallel region"), 0)
	}
	for _, u := range tm.members {
		u.teams.begun = constructs{}
		ts.emitTeam(u, nil, event.Receive, tm.begin, event.Inferred)
	}
	for _, u := range ts.strangers(t) {
		ts.doubt(u, doubtTeam)
	}
}

// leavesRegions handles that t has left the regions whose calls have the stack pointer of a record or a lower one.
func (ts *teams) leavesRegions(t *thread, r *bpf.Record) {
	for m := &t.teams; len(m.regions) > 0 && m.regions[len(m.regions)-1].sp <= r.Sp; {
		tm := m.own[len(m.regions)-1]
		m.regions = m.regions[:len(m.regions)-1]
		for _, u := range tm.members {
			ts.endsPart(u)
		}
		tm.running = false
		if tm.sent {
			tm.sent = false
			ts.emitTeam(t, r, event.Receive, tm.end, 0)
		}
		if len(ts.strangers(t)) > 0 {
			ts.doubt(t, doubtTeam)
		}
	}
}

// strangers returns the other threads that may belong to a team with t although that is not known, since calls of
// libgomp that are not observed created threads.
func (ts *teams) strangers(t *thread) (all []*thread) {
	if !t.process.unknownTeams {
		return nil
	}
	for _, u := range ts.threads.living() {
		if u != t && u.process == t.process && u.teams.of == nil {
			all = append(all, u)
		}
	}
	return all
}

// endsPart sends the event by which a member ends its part of a region.
func (ts *teams) endsPart(u *thread) {
	tm := u.teams.of
	ts.emitTeam(u, nil, event.Send, ts.teamObject(u, &bpf.Record{}, &tm.end, event.KindChannel, "end of a parallel region"), event.Inferred)
	tm.sent = true
}

// created makes u, which t has just created with a start routine, a member of its team if libgomp did so.
func (ts *teams) created(t, u *thread, start uint64) {
	if start == 0 || ts.starts == nil || !ts.starts(u.process.id, start) {
		return
	}
	m := &t.teams
	if len(m.regions) == 0 {
		t.process.unknownTeams = true
		return
	}
	tm := m.own[len(m.regions)-1]
	tm.members = append(tm.members, u)
	u.teams.of = tm
}

// leavesTeam removes a thread that ends from its team.
func (ts *teams) leavesTeam(u *thread) {
	tm := u.teams.of
	if tm == nil {
		return
	}
	if tm.running {
		ts.endsPart(u)
	}
	tm.members = slices.DeleteFunc(tm.members, func(x *thread) bool { return x == u })
	u.teams.of = nil
}

// insideRegion handles what t does within a region. A thread without a team waits for nobody.
func (ts *teams) insideRegion(t *thread, r *bpf.Record, op bpf.Op, leave bool) {
	if leave && len(ts.strangers(t)) > 0 {
		ts.doubt(t, doubtTeam)
	}
	tm, begun := t.teams.team()
	switch {
	case tm == nil:
	case op == bpf.OpTeamBarrier:
		ts.teamBarrier(t, r, tm, leave)
	case op == bpf.OpOrderedLoop:
		begun.ordered++
	case op == bpf.OpOrderedNext: // its probes show BPF which calls libgomp makes in it
	case op == bpf.OpOrderedBegin:
		ts.receiveIn(t, r, tm, construct{number: begun.ordered})
	case op == bpf.OpOrderedEnd:
		ts.sendIn(t, r, tm, construct{number: begun.ordered}, "ordered loop")
	default:
		ts.copies(t, r, tm, begun, leave)
	}
}

// teamBarrier sends the event of a barrier of a team.
func (ts *teams) teamBarrier(t *thread, r *bpf.Record, tm *team, leave bool) {
	op := event.BarrierArrive
	if leave {
		op = event.BarrierDepart
	}
	ts.emitTeam(t, r, op, ts.teamObject(t, r, &tm.barrier, event.KindBarrier, "barrier of the team"), 0)
}

// copies handles the calls of a part that one thread executes and whose result the others copy. All arrive at the
// first call; those that copy depart from it, the other one from the last call.
func (ts *teams) copies(t *thread, r *bpf.Record, tm *team, begun *constructs, leave bool) {
	begins := bpf.Op(r.Op) == bpf.OpCopyBegin
	switch {
	case begins && !leave:
		begun.copies++
		ts.teamBarrier(t, r, tm, false)
	case !begins && !leave:
		ts.sendIn(t, r, tm, construct{true, begun.copies}, "copied result")
	case !begins:
		ts.teamBarrier(t, r, tm, true)
	case r.Flags&bpf.RecFailed == 0:
		ts.teamBarrier(t, r, tm, true)
		ts.receiveIn(t, r, tm, construct{true, begun.copies})
	}
}

// sendIn sends the Send on the channel of a construct.
func (ts *teams) sendIn(t *thread, r *bpf.Record, tm *team, c construct, name string) {
	id := tm.channels[c]
	if tm.channels == nil {
		tm.channels = map[construct]event.ObjectID{}
	}
	tm.channels[c] = ts.teamObject(t, r, &id, event.KindChannel, name)
	delete(tm.channels, construct{c.copies, c.number - maxConstructs})
	ts.emitTeam(t, r, event.Send, id, 0)
}

// receiveIn sends the Receive on the channel of a construct, if something was sent.
func (ts *teams) receiveIn(t *thread, r *bpf.Record, tm *team, c construct) {
	if id := tm.channels[c]; id != 0 {
		ts.emitTeam(t, r, event.Receive, id, 0)
	}
}

// teamObject returns the object that id names, and makes it at a record of t if id is 0.
func (ts *teams) teamObject(t *thread, r *bpf.Record, id *event.ObjectID, kind event.Kind, name string) event.ObjectID {
	if *id == 0 {
		*id = ts.names.addObject(run.Object{TGID: t.process.id, Kind: kind, Name: name, First: event.StackID(r.Stack), FirstThread: t.id})
	}
	return *id
}

// emitTeam sends an event of t on an object of a team.
func (ts *teams) emitTeam(t *thread, r *bpf.Record, op event.Op, id event.ObjectID, flags event.Flags) {
	e := ts.begin(t, r, op)
	e.Object, e.Kind, e.Flags = id, event.KindChannel, flags
	if op == event.BarrierArrive || op == event.BarrierDepart {
		e.Kind = event.KindBarrier
	}
	ts.send()
}

// remember adds the objects of the teams of which the thread is the master.
func (m *membership) remember(needed *event.Names) {
	for _, tm := range m.own {
		for _, id := range []event.ObjectID{tm.begin, tm.end, tm.barrier} {
			needed.AddObject(id)
		}
		for _, id := range tm.channels {
			needed.AddObject(id)
		}
	}
}
