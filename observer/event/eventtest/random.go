package eventtest

import (
	"math/rand/v2"
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
)

// The objects of random runs: two variables, and objects that synchronise. The run does not
// contain the initial value of UnknownSemaphore.
const (
	ObjectX event.ObjectID = iota + 1
	ObjectY
	Mutex
	RWLock
	Cond
	Semaphore
	UnknownSemaphore
	Barrier
	Once
)

// program is a random program whose runs are well formed.
type program struct {
	r              *rand.Rand
	choices        []int // the cases of step, each as often as it is likely
	events         []event.Event
	live           []event.ThreadID
	ended          []event.ThreadID // not yet joined
	next           event.ThreadID   // the next thread to create
	holders        map[event.ObjectID][]event.ThreadID
	exclusive      map[event.ObjectID]bool   // of a held lock
	asleep         map[event.ThreadID]bool   // it waits on the condition
	inside         map[event.ThreadID]bool   // it has arrived at the barrier and not departed
	arrived        int                       // number of arrivals of the barrier generation
	semaphoreValue int                       // of Semaphore
	onceRan        bool                      // the initialiser of Once has returned
	values         map[event.ObjectID]uint64 // of the variables
}

// RandomRun makes a well-formed run of at least n events: accesses, locks, conditions,
// semaphores, a barrier of two, once, and threads that come and go. Writes and reads
// have values.
func RandomRun(r *rand.Rand, n int) []event.Event {
	return randomRun(r, n, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
}

// RandomSections returns a run that has only accesses and critical sections of both locks.
func RandomSections(r *rand.Rand, n int) []event.Event {
	return randomRun(r, n, []int{0, 4, 4, 4, 4, 5})
}

func randomRun(r *rand.Rand, n int, choices []int) []event.Event {
	p := &program{
		r: r, choices: choices, next: 4, live: []event.ThreadID{1, 2, 3}, holders: map[event.ObjectID][]event.ThreadID{}, exclusive: map[event.ObjectID]bool{},
		asleep: map[event.ThreadID]bool{}, inside: map[event.ThreadID]bool{}, semaphoreValue: 1, values: map[event.ObjectID]uint64{},
	}
	p.emit(event.Event{Thread: 1, Op: event.Init, Object: Semaphore, Kind: event.KindSemaphore, Value: 1, Flags: event.HasValue})
	p.emit(event.Event{Thread: 1, Op: event.Init, Object: Barrier, Kind: event.KindBarrier, Value: 2, Flags: event.HasValue})
	for len(p.events) < n {
		p.step(p.live[r.IntN(len(p.live))])
	}
	return p.events
}

func (p *program) emit(e event.Event) {
	if e.Op.IsAccess() {
		if e.Op == event.Write {
			p.values[e.Object] = p.r.Uint64N(4)
		}
		e.Kind, e.Value, e.Flags = event.KindVariable, p.values[e.Object], event.HasValue
	}
	e.Seq = uint64(len(p.events) + 1)
	p.events = append(p.events, e)
}

func (p *program) do(t event.ThreadID, op event.Op, o event.ObjectID) {
	p.emit(event.Event{Thread: t, Op: op, Object: o})
}

func (p *program) step(t event.ThreadID) {
	if p.asleep[t] {
		p.asleep[t] = false
		p.emit(event.Event{Thread: t, Op: event.Wake, Object: Cond, Flags: event.Flags(p.r.IntN(2)) * event.TimedOut})
		return
	}
	if p.inside[t] {
		if p.arrived >= 2 {
			p.leaveBarrier(t)
		}
		return
	}
	switch p.choices[p.r.IntN(len(p.choices))] {
	case 0, 1:
		p.do(t, event.Write, ObjectX+event.ObjectID(p.r.IntN(2)))
	case 2, 3:
		p.do(t, event.Read, ObjectX+event.ObjectID(p.r.IntN(2)))
	case 4:
		p.lock(t, Mutex, true)
	case 5:
		p.lock(t, RWLock, p.r.IntN(3) == 0)
	case 6:
		p.do(t, []event.Op{event.Signal, event.Broadcast}[p.r.IntN(2)], Cond)
	case 7:
		p.asleep[t] = true
		p.do(t, event.Wait, Cond)
	case 8:
		p.semaphore(t)
	case 9:
		p.do(t, []event.Op{event.SemPost, event.SemWait}[p.r.IntN(2)], UnknownSemaphore)
	case 10:
		p.barrierOrOnce(t)
	case 11:
		p.threads(t)
	}
}

func (p *program) lock(t event.ThreadID, o event.ObjectID, exclusive bool) {
	held := p.holders[o]
	switch at := slices.Index(held, t); {
	case at >= 0:
		p.do(t, event.Release, o)
		p.holders[o] = slices.Delete(held, at, at+1)
	case len(held) > 0 && (exclusive || p.exclusive[o]):
		p.do(t, event.AcquireFailed, o)
	case exclusive:
		p.do(t, event.Acquire, o)
		p.holders[o], p.exclusive[o] = append(held, t), true
	default:
		p.do(t, event.AcquireRead, o)
		p.holders[o], p.exclusive[o] = append(held, t), false
	}
}

func (p *program) semaphore(t event.ThreadID) {
	switch {
	case p.r.IntN(2) == 0:
		p.semaphoreValue++
		p.do(t, event.SemPost, Semaphore)
	case p.semaphoreValue == 0:
		p.do(t, event.SemFailed, Semaphore)
	default:
		p.semaphoreValue--
		p.do(t, event.SemWait, Semaphore)
	}
}

func (p *program) barrierOrOnce(t event.ThreadID) {
	if p.r.IntN(2) == 0 {
		p.once(t)
		return
	}
	if p.arrived == 2 || len(p.live)-len(p.inside) < 2 {
		return
	}
	p.arrived++
	p.inside[t] = true
	p.do(t, event.BarrierArrive, Barrier)
}

func (p *program) leaveBarrier(t event.ThreadID) {
	delete(p.inside, t)
	if len(p.inside) == 0 {
		p.arrived = 0
	}
	p.do(t, event.BarrierDepart, Barrier)
}

func (p *program) once(t event.ThreadID) {
	if p.onceRan {
		p.do(t, event.OnceLeave, Once)
		return
	}
	p.onceRan = true
	p.do(t, event.OnceDone, Once)
}

func (p *program) threads(t event.ThreadID) {
	switch {
	case p.r.IntN(2) == 0 && len(p.ended) > 0:
		p.emit(event.Event{Thread: t, Op: event.Join, Peer: p.ended[0]})
		p.ended = p.ended[1:]
	case len(p.live) > 3 && t != 1 && !p.holds(t):
		p.do(t, event.End, 0)
		p.live = slices.DeleteFunc(p.live, func(o event.ThreadID) bool { return o == t })
		p.ended = append(p.ended, t)
	case len(p.live) < 6:
		p.emit(event.Event{Thread: t, Op: event.Fork, Peer: p.next})
		p.live = append(p.live, p.next)
		p.next++
	}
}

func (p *program) holds(t event.ThreadID) bool {
	return slices.Contains(p.holders[Mutex], t) || slices.Contains(p.holders[RWLock], t)
}

// Messages returns a run with the events of a channel added at random.
func Messages(r *rand.Rand, run []event.Event) []event.Event {
	const channel = 90
	var out []event.Event
	var sent, received, receives uint64
	for _, e := range run {
		out = append(out, e)
		flags := event.Flags(r.IntN(2)) * event.HasValue
		m := event.Event{Thread: e.Thread, Object: channel, Kind: event.KindChannel, Flags: flags}
		switch r.IntN(12) {
		case 0:
			m.Op, m.Value = event.Send, sent
			sent += 1 + r.Uint64N(3)
		case 1:
			if received == sent {
				m.Op = event.ReceiveFailed
				break
			}
			received += 1 + r.Uint64N(sent-received)
			m.Op, m.Value = event.Receive, received
			receives++
		case 2:
			m.Op, m.Value = event.Sent, r.Uint64N(receives+1)
		case 3:
			m.Op = event.Receiving
			receives++
		default:
			continue
		}
		out = append(out, m)
	}
	return out
}

// InvalidEvents makes an event from every four bytes. The result may be a run that no program can
// have, as a damaged trace may contain.
func InvalidEvents(data []byte) []event.Event {
	var events []event.Event
	for ; len(data) >= 4; data = data[4:] {
		seq := uint64(len(events) + 1)
		events = append(events, event.Event{
			Seq: seq, Thread: event.ThreadID(data[0] % 6), Op: event.Op(data[1]), Object: event.ObjectID(data[2] % 8),
			Peer: event.ThreadID(data[2] % 6), Flags: event.Flags(data[3]), Slot: uint32(data[0] % 6), Epoch: event.Epoch(seq),
			Must: &event.Clock{},
		})
	}
	return events
}
