package observer

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
)

// modelPipe is a pipe that records the sender of each byte. Calls enter, move bytes and
// return, interleaved with those of other threads. Threads 1 to 4 send, 5 to 8 receive.
type modelPipe struct {
	room    int
	records []bpf.Record
	content []*modelCall // the sender of each byte
	had     int          // number of bytes that were received
	sends   []*modelCall
	calls   []*modelCall // receives
	busy    map[uint32]*modelCall
}

type modelCall struct {
	tid        uint32
	sends      bool
	bytes      int // largest number of bytes to move
	moved      int
	begin, end int // positions in the stream; begin only of a receive
	from       []*modelCall
	done       bool
	in, out    int // indices of the records of the entry and the return; out is 0 until the return
}

func (m *modelPipe) record(c *modelCall, flags uint8, value int) int {
	op := bpf.OpReceive
	if c.sends {
		op = bpf.OpSend
	}
	m.records = append(m.records, bpf.Record{Time: uint64(len(m.records)), Tid: c.tid, Tgid: 1, Op: uint8(op), Flags: flags, Object: 77,
		Value: uint64(value), Result: int32(bpf.ChannelPipe)})
	return len(m.records) - 1
}

func (m *modelPipe) enter(tid uint32, bytes int) {
	c := &modelCall{tid: tid, sends: tid <= 4, bytes: bytes}
	if m.busy[tid] = c; c.sends {
		m.sends = append(m.sends, c)
	} else {
		m.calls = append(m.calls, c)
	}
	c.in = m.record(c, 0, bytes)
}

// move moves as many bytes as the kernel can move for a call now.
func (m *modelPipe) move(c *modelCall) {
	if c.sends {
		for ; c.moved < c.bytes && len(m.content) < m.room; c.moved++ {
			m.content = append(m.content, c)
		}
		c.done, c.end = c.moved == c.bytes, m.had+len(m.content)
		return
	}
	c.moved = min(c.bytes, len(m.content))
	c.from, m.content = m.content[:c.moved], m.content[c.moved:]
	c.begin, c.end = m.had, m.had+c.moved
	m.had, c.done = c.end, c.moved > 0
}

// leave records the return of a call, and then another event of the thread, whose clock shows
// what happens before the return.
func (m *modelPipe) leave(c *modelCall) {
	c.out = m.record(c, bpf.RecLeave, c.moved)
	m.records = append(m.records, bpf.Record{Time: uint64(len(m.records)), Tid: c.tid, Tgid: 1, Op: uint8(bpf.OpSemPost), Object: 1 << 20, Site: siteNames["sem"]})
	delete(m.busy, c.tid)
}

// run executes random steps of the threads; without overlap one call after the other.
func (m *modelPipe) run(t *rapid.T, overlap bool) {
	m.busy = map[uint32]*modelCall{}
	for range rapid.IntRange(1, 200).Draw(t, "steps") {
		tid := uint32(rapid.IntRange(1, 8).Draw(t, "thread"))
		c := m.busy[tid]
		switch {
		case c == nil && !overlap && tid > 4 && len(m.content) == 0:
		case c == nil:
			m.enter(tid, rapid.SampledFrom([]int{1, 3, 10, 1500, 5000}).Draw(t, "bytes"))
			if c = m.busy[tid]; !overlap {
				m.move(c)
				m.leave(c)
			}
		case c.done:
			m.leave(c)
		default:
			m.move(c)
		}
	}
}

// stamped is an event with its clock.
type stamped struct {
	event.Event
	tid uint32
}

func (s *stamped) after(e *stamped) bool { return s.Before(e.Slot, e.Epoch) }

// events returns the events that an observer makes of the records: by record, and all.
func (m *modelPipe) events(attached bool) (by [][]stamped, all []stamped) {
	var o *Observer
	sink := sinkFunc(func(e *event.Event) {
		s := stamped{Event: *e}
		s.Must = e.Must.Clone()
		for tid, th := range o.threads.live {
			if th.id == e.Thread {
				s.tid = tid
			}
		}
		all = append(all, s)
	})
	o = New(Options{Sites: site, Sinks: []Sink{sink}, Attached: attached})
	for i := range m.records {
		from := len(all)
		o.Record(&m.records[i])
		by = append(by, all[from:])
	}
	return by, all
}

func one(events []stamped, op event.Op) *stamped {
	for i := range events {
		if events[i].Op == op {
			return &events[i]
		}
	}
	return nil
}

// first returns the first event of a receive: before its return, or at it.
func (c *modelCall) first(all []stamped) *stamped {
	for i := range all {
		e := &all[i]
		if e.tid == c.tid && e.Time >= uint64(c.in) && (e.Op == event.Receiving || e.Op == event.Receive) {
			return e
		}
	}
	return nil
}

// TestNoByteComesBeforeItWasSent checks, for calls that overlap in any way, that a receive
// happens after the sends of its bytes. What a thread does after a send must happen after the
// receives of all bytes that lie more than roomBytes before the end of the send.
func TestNoByteComesBeforeItWasSent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &modelPipe{room: rapid.SampledFrom([]int{roomBytes, 16 * roomBytes}).Draw(t, "room")}
		m.run(t, true)
		by, all := m.events(rapid.Bool().Draw(t, "attached"))
		for _, c := range m.calls {
			for _, s := range c.from {
				if c.out > 0 && !one(by[c.out], event.Receive).after(one(by[s.in], event.Send)) {
					t.Fatalf("the receive of record %d has bytes of the send of record %d, and does not come after it", c.out, s.in)
				}
			}
		}
		for _, s := range m.sends {
			for _, c := range m.calls {
				if s.out == 0 || !c.done || c.in > s.out || c.begin >= s.end-roomBytes {
					continue
				}
				if !one(by[s.out+1], event.SemPost).after(c.first(all)) {
					t.Fatalf("the send of record %d needed the receive of record %d to return at %d, and does not come after it", s.in, c.in, s.out)
				}
			}
		}
	})
}

// TestOnlyWhatWasSentComesBefore checks that, if no two calls overlap, a receive happens after
// the sends up to that of its last byte, and after no other send unless something else orders
// the two.
func TestOnlyWhatWasSentComesBefore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &modelPipe{room: 1 << 30}
		m.run(t, false)
		by, _ := m.events(false)
		for _, c := range m.calls {
			r := one(by[c.out], event.Receive)
			for _, s := range m.sends {
				if s.in > c.out {
					break
				}
				send := one(by[s.in], event.Send)
				if begun := uint64(s.end-s.bytes) < uint64(c.end); begun != (send.Flags&event.HasValue != 0 && send.Value < r.Value) {
					t.Fatalf("a send of bytes %d to %d, a receive of %d to %d: %d and %d", s.end-s.bytes, s.end, c.begin, c.end, send.Value, r.Value)
				}
			}
		}
	})
}
