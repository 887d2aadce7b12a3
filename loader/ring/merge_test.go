package ring

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/bpf"
	_ "github.com/tracepredict/tracepredict/internal/fixedseed"
)

// simulated are ring buffers in ordinary memory, with threads that write into them as the programs do: a thread reserves
// room, then draws a number, then submits, and may be preempted before each.
type simulated struct {
	*Buffer
	drawn   uint64
	writers []writer
	got     []uint64 // what the reader was given: the value of each record, or hole
}

// hole stands for a record that is missing.
const hole = ^uint64(0)

// writer is a thread that writes a record.
type writer struct {
	part     *part
	at       uint64
	reserved bool
	number   uint64
	drawn    bool
	discards bool
}

func newSimulated(parts, size int) *simulated {
	s := &simulated{Buffer: &Buffer{fd: -1, wakeup: -1, requests: make(chan betweenRequest)}}
	for range parts {
		s.parts = append(s.parts, &part{size: uint64(size), data: make([]byte, 2*size), consumed: new(uint64), produced: new(uint64)})
	}
	s.begin()
	return s
}

const simulatedRecord = uint64(unsafe.Sizeof(bpf.Record{}))

// write copies bytes to where both mappings of the memory show them.
func (p *part) write(at uint64, b []byte) {
	for i, x := range b {
		where := (at + uint64(i)) % p.size
		p.data[where], p.data[where+p.size] = x, x
	}
}

func (p *part) header(at uint64, flags uint32) {
	length := uint32(simulatedRecord) | flags
	p.write(at, unsafe.Slice((*byte)(unsafe.Pointer(&length)), 4))
}

// step lets a writer do what comes next. It returns false if there is no room.
func (s *simulated) step(w *writer) (done, room bool) {
	switch p := w.part; {
	case !w.reserved:
		if *p.produced-*p.consumed+recordHeader+simulatedRecord > p.size {
			return true, false
		}
		w.at, w.reserved = *p.produced, true
		p.header(w.at, busyBit)
		*p.produced += recordHeader + simulatedRecord
	case w.discards:
		p.header(w.at, discardBit)
		return true, true
	case !w.drawn:
		w.number, w.drawn = s.drawn, true
		s.drawn++
	default:
		r := bpf.Record{Kind: bpf.RecordEvent, Op: uint8(bpf.OpRead), Tid: 7, Tgid: 5, Number: w.number, Value: w.number}
		p.write(w.at+recordHeader, unsafe.Slice((*byte)(unsafe.Pointer(&r)), simulatedRecord))
		p.header(w.at, 0)
		return true, true
	}
	return false, true
}

func (s *simulated) handle(raw []byte) error {
	r := (*bpf.Record)(unsafe.Pointer(&raw[0]))
	if bpf.Op(r.Op) == bpf.OpHole {
		s.got = append(s.got, hole)
	} else {
		s.got = append(s.got, r.Value)
	}
	return nil
}

// TestOrder: whatever delays there are between reserving room, drawing a number and submitting, on up to 64 CPUs, the
// reader is given each record once, in the order of the numbers, and all space is released.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(c *rapid.T) {
		s := newSimulated(1<<rapid.IntRange(0, 6).Draw(c, "parts"), 1<<rapid.IntRange(8, 13).Draw(c, "size"))
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(c, "seed"), 0))
		threads, reads := rapid.IntRange(1, 40).Draw(c, "threads"), rapid.IntRange(2, 200).Draw(c, "reads")
		refused := 0
		for n := 0; n < 3000 || len(s.writers) > 0; n++ {
			if n < 3000 && len(s.writers) < threads {
				s.writers = append(s.writers, writer{part: s.parts[random.IntN(len(s.parts))], discards: random.IntN(10) == 0})
			}
			i := random.IntN(len(s.writers))
			if done, room := s.step(&s.writers[i]); done {
				s.writers = append(s.writers[:i], s.writers[i+1:]...)
				if !room {
					refused++
				}
			}
			if random.IntN(reads) == 0 {
				s.readOnce(c)
			}
		}
		s.readOnce(c)
		if uint64(len(s.got)) != s.drawn || s.unsettled() || s.AvailableBytes() != 0 || s.Late() != 0 {
			c.Fatalf("%d of %d records, %d refused, %d late, %d bytes are left", len(s.got), s.drawn, refused, s.Late(), s.AvailableBytes())
		}
		for i, n := range s.got {
			if n != uint64(i) {
				c.Fatalf("record %d has number %d", i, n)
			}
		}
	})
}

// readOnce does what the reader does until it would wait.
func (s *simulated) readOnce(t interface{ Fatal(...any) }) {
	for {
		placed, err := s.look(s.handle)
		passed, err2 := s.order.pass(s.handle)
		s.release()
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		if !placed && passed == 0 {
			return
		}
	}
}

// TestLate: a record whose thread was preempted for long after it drew its number delays the others, but not for ever. It
// leaves a hole, and its memory is not used again before it is written.
func TestLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated(2, 1<<12)
		slow := writer{part: s.parts[0]}
		s.step(&slow)
		s.step(&slow)
		put := func(part int) bool {
			w := writer{part: s.parts[part]}
			for {
				if done, room := s.step(&w); done {
					return room
				}
			}
		}
		put(0)
		put(1)
		s.readOnce(t)
		for range 2 {
			if len(s.got) > 0 || !s.order.wait(s.parts, spins) {
				t.Fatalf("%v was passed on, or nothing is waited for", s.got)
			}
			time.Sleep(patience + 1)
		}
		for put(0) {
		}
		s.readOnce(t)
		before := len(s.got)
		if *s.parts[0].consumed != 0 {
			t.Errorf("the memory of a record that is being written was released")
		}
		s.step(&slow)
		if _, err := s.drain(s.handle); err != nil {
			t.Fatal(err)
		}
		if len(s.got) != before+1 || s.got[before] != hole || s.Late() != 1 || s.unsettled() {
			t.Errorf("%v behind %d records, %d late, unsettled: %v", s.got[before:], before, s.Late(), s.unsettled())
		}
		for i, n := range s.got[:before] {
			if n != uint64(i+1) {
				t.Fatalf("record %d has number %d", i, n)
			}
		}
	})
}
