package predict

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// pipe is a channel with room for pipeRoom bytes that records which send sent each byte.
type pipe struct {
	content        []int         // by byte that is not received yet: its send
	sent, received uint64        // bytes
	begins         []uint64      // by receive: the number of its first byte
	got            map[int][]int // by receive, the send of each byte
	size           map[int]int   // by send
	sender         map[int]int   // by return of a send, the send
}

const pipeRoom = 4

// message sends some bytes, receives some, or fails to receive from an empty pipe.
func (m *machine) message(c eventtest.Choices, id event.ThreadID) {
	p, n := m.pipe, c.Between(1, 3, "bytes")
	switch {
	case c.Bool("send"):
		if len(p.content)+n <= pipeRoom {
			m.sends(id, n)
		}
	case len(p.content) == 0:
		m.emit(event.Event{Thread: id, Op: event.ReceiveFailed, Object: thePipe, Kind: event.KindChannel})
	default:
		n = min(n, len(p.content))
		p.begins = append(p.begins, p.received)
		p.received += uint64(n)
		i := m.emit(event.Event{Thread: id, Op: event.Receive, Object: thePipe, Kind: event.KindChannel, Flags: event.HasValue, Value: p.received})
		p.got[i], p.content = slices.Clone(p.content[:n]), p.content[n:]
	}
}

func (m *machine) sends(id event.ThreadID, n int) {
	p := m.pipe
	i := m.emit(event.Event{Thread: id, Op: event.Send, Object: thePipe, Kind: event.KindChannel, Flags: event.HasValue, Value: p.sent})
	p.sent += uint64(n)
	p.size[i] = n
	for range n {
		p.content = append(p.content, i)
	}
	if p.sent <= pipeRoom {
		return
	}
	made := uint64(0)
	for _, begin := range p.begins {
		if begin < p.sent-pipeRoom {
			made++
		}
	}
	j := m.emit(event.Event{Thread: id, Op: event.Sent, Object: thePipe, Kind: event.KindChannel, Flags: event.HasValue, Value: made})
	p.sender[j] = i
}

// mayMessage executes the operations of the pipe: a receive receives the bytes that it received
// in the run, one that found nothing finds nothing, and a send returns when there is room.
func (m *machine) mayMessage(before []int, i int) bool {
	p := m.pipe
	var content []int
	for _, j := range before {
		switch m.out[j].Op {
		case event.Send:
			for range p.size[j] {
				content = append(content, j)
			}
		case event.Receive:
			content = content[len(p.got[j]):]
		}
	}
	switch m.out[i].Op {
	case event.Receive:
		want := p.got[i]
		return len(content) >= len(want) && slices.Equal(content[:len(want)], want)
	case event.ReceiveFailed:
		return len(content) == 0
	case event.Sent:
		last := -1
		for k, j := range content {
			if j == p.sender[i] {
				last = k
			}
		}
		return last < pipeRoom
	}
	return true
}

// TestPredictedMessagesArrive: no prediction is false where threads send each other messages:
// its witness, executed with a pipe, transfers the same bytes.
func TestPredictedMessagesArrive(t *testing.T) {
	count := map[Verdict]int{}
	rapid.Check(t, func(t *rapid.T) {
		c := eventtest.Drawn(t)
		m := newMachine(c, false)
		m.pipe = &pipe{got: map[int][]int{}, size: map[int]int{}, sender: map[int]int{}}
		for range c.Between(10, 70, "events") {
			m.step(c, eventtest.OneOf(c, m.live, "thread"))
		}
		eventtest.Stamp(m.out)
		m.ask(record(m.out, Options{}), func(kind finding.Kind, p Pattern, r Result) {
			count[r.Verdict]++
			m.verify(t, r, kind)
			if r.Verdict == Unknown {
				t.Fatalf("%s %v: unknown: %s", kind, p, r.Reason)
			}
		})
	})
	if count[Predicted] == 0 || count[Refuted] == 0 {
		t.Errorf("verdicts %v: the test shows nothing", count)
	}
}

// TestMessagesKeepTheirOrder: of two messages in a channel the one that was sent first stays
// first, also where a schedule leaves out a message between them.
func TestMessagesKeepTheirOrder(t *testing.T) {
	const lock, data = 1, 5
	send := func(thread event.ThreadID, before uint64) event.Event {
		return event.Event{Thread: thread, Op: event.Send, Object: thePipe, Kind: event.KindChannel, Flags: event.HasValue, Value: before}
	}
	events := []event.Event{
		{Thread: 1, Op: event.Fork, Peer: 2},
		{Thread: 1, Op: event.Fork, Peer: 3},
		{Thread: 3, Op: event.Acquire, Object: lock},
		send(2, 0),
		{Thread: 2, Op: event.Receive, Object: thePipe, Kind: event.KindChannel, Flags: event.HasValue, Value: 1},
		send(2, 1), // no schedule that the question needs contains it
		send(1, 2), // waits for the receive, by what comes next
		send(1, 3), send(1, 4),
		{Thread: 1, Op: event.Sent, Object: thePipe, Kind: event.KindChannel, Flags: event.HasValue, Value: 1},
		{Thread: 3, Op: event.Read, Object: data},
		{Thread: 3, Op: event.Release, Object: lock},
		{Thread: 1, Op: event.Acquire, Object: lock},
		{Thread: 1, Op: event.Release, Object: lock},
		{Thread: 1, Op: event.Write, Object: data},
	}
	for i := range events {
		events[i].Seq = uint64(i + 1)
	}
	eventtest.Stamp(events)
	if r := record(events, Options{}).Race(11, 15); r.Verdict != Predicted {
		t.Errorf("%s: %s", r.Verdict, r.Reason)
	}
}
