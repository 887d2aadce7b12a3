package live

import (
	"encoding/binary"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/loader"
	"github.com/tracepredict/tracepredict/observer"
	"github.com/tracepredict/tracepredict/observer/event"
)

// stopped is a process of two threads in a sequence of looks: the state of each thread, and
// a memory of words.
type stopped struct {
	Process
	looks  [][]bpf.Sleeper
	memory map[uint64]uint32
	caught uint64
}

func (s *stopped) Sleepers() ([]bpf.Sleeper, error) {
	look := s.looks[0]
	if len(s.looks) > 1 {
		s.looks = s.looks[1:]
	}
	return look, nil
}

func (s *stopped) ReadMemory(_ int, addr uint64, b []byte) bool {
	for i := range b {
		at := addr + uint64(i)
		var word [4]byte
		binary.LittleEndian.PutUint32(word[:], s.memory[at&^3])
		b[i] = word[at&3]
	}
	return true
}

func (s *stopped) Sharing(int) func(uint64) bool {
	return func(addr uint64) bool { return addr >= sharedMemory }
}
func (s *stopped) Caught(int) (uint64, bool)                            { return s.caught, true }
func (s *stopped) Between(f func()) bool                                { f(); return true }
func (s *stopped) Segment(int, uint64) (seg loader.Segment, known bool) { return seg, false }

const theProcess = 10

// sharedMemory is the beginning of memory that other processes see.
const sharedMemory = 1 << 40

// sleeper returns a thread of the process that waits on a futex word in the system call of
// glibc's pthread_mutex_lock.
func sleeper(tid uint32, word uint64, switches uint64) bpf.Sleeper {
	const privateWait = 128
	l := bpf.Sleeper{Tid: tid, Tgid: theProcess, OwnTid: tid, State: 1, Call: unix.SYS_FUTEX, Switches: switches}
	setArguments(&l, [4]uint64{word, privateWait, 2})
	return l
}

// owned returns memory with glibc mutexes that are locked and have waiters.
func owned(by map[uint64]uint32) map[uint64]uint32 {
	m := map[uint64]uint32{}
	for at, tid := range by {
		m[at], m[at+8], m[at+12] = 2, tid, 1
	}
	return m
}

// blockedEvents collects the events of hangs.
type blockedEvents []event.Op

func (b *blockedEvents) Event(e *event.Event) {
	if e.Op == event.Holds || e.Op == event.Blocked {
		*b = append(*b, e.Op)
	}
}

func TestHangsAreConfirmed(t *testing.T) {
	const left, right = 0x1000, 0x2000
	both := func(n uint64) []bpf.Sleeper {
		return []bpf.Sleeper{sleeper(theProcess, right, n), sleeper(11, left, 1)}
	}
	awake := both(1)
	awake[0].State = 0
	ring := owned(map[uint64]uint32{left: theProcess, right: 11})
	for _, c := range []struct {
		name   string
		looks  [][]bpf.Sleeper
		memory map[uint64]uint32
		caught uint64
		told   int
		events int
	}{
		{"twice the same", [][]bpf.Sleeper{both(1), both(1)}, ring, 0, 1, 4},
		{"told once", [][]bpf.Sleeper{both(1), both(1), both(1), both(1)}, ring, 0, 1, 4},
		{"once alone", [][]bpf.Sleeper{both(1), awake}, ring, 0, 0, 0},
		{"it ran between", [][]bpf.Sleeper{both(1), both(2), both(3), both(4)}, ring, 0, 0, 0},
		{"one runs", [][]bpf.Sleeper{awake}, ring, 0, 0, 0},
		{"the owner has ended", [][]bpf.Sleeper{{sleeper(theProcess, right, 1)}}, owned(map[uint64]uint32{right: 11}), 0, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var events blockedEvents
			o := observer.New(observer.Options{Sinks: []observer.Sink{&events}, Attached: true})
			for _, tid := range []uint32{theProcess, 11} {
				o.AddTask(bpf.TaskLine{Tid: tid, Tgid: theProcess}, 0, false)
			}
			told := 0
			h := newHangs(Hangs{Threads: &stopped{looks: c.looks, memory: c.memory, caught: c.caught}, Observer: o, OnHangs: func() { told++ }})
			for range 4 {
				if _, going := h.look(); !going {
					t.Fatal("it gave up")
				}
			}
			if told != c.told || len(events) != c.events {
				t.Errorf("told %d times by %v, want %d and %d", told, events, c.told, c.events)
			}
		})
	}
}

// TestHangThatGoesOnMeanwhile checks that a hang whose thread makes an event or ends after the look
// that confirms it, and before it is reported, is none.
func TestHangThatGoesOnMeanwhile(t *testing.T) {
	const left, right, other = 0x1000, 0x2000, 0x3000
	ring := owned(map[uint64]uint32{left: theProcess, right: 11})
	both := []bpf.Sleeper{sleeper(theProcess, right, 1), sleeper(11, left, 1)}
	record := func(op bpf.Op) func(*observer.Observer) {
		return func(o *observer.Observer) {
			o.Record(&bpf.Record{Tid: 11, Tgid: theProcess, Op: uint8(op), Object: other, Site: 1})
		}
	}
	for _, c := range []struct {
		name      string
		meanwhile func(*observer.Observer)
		told      int
	}{
		{"nothing", func(*observer.Observer) {}, 4},
		{"an event", record(bpf.OpAcquire), 0},
		{"its end", record(bpf.OpExit), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var events blockedEvents
			o := observer.New(observer.Options{Sinks: []observer.Sink{&events}, Attached: true, Sites: func(uint32) *observer.SiteInfo { return &observer.SiteInfo{Kind: event.KindMutex} }})
			for _, tid := range []uint32{theProcess, 11} {
				o.AddTask(bpf.TaskLine{Tid: tid, Tgid: theProcess}, 0, false)
			}
			p := &goesOn{stopped: stopped{looks: [][]bpf.Sleeper{both}, memory: ring}, at: 6, meanwhile: func() { c.meanwhile(o) }}
			h := newHangs(Hangs{Threads: p, Observer: o, OnHangs: func() {}})
			for range 3 {
				if _, going := h.look(); !going {
					t.Fatal("it gave up")
				}
			}
			if p.calls < p.at || len(events) != c.told {
				t.Errorf("told %v after %d calls of Between, want %d events", events, p.calls, c.told)
			}
		})
	}
}

// goesOn is a process that goes on before a call of Between.
type goesOn struct {
	stopped
	at, calls int // the number of that call, and of the calls so far
	meanwhile func()
}

func (g *goesOn) Between(f func()) bool {
	if g.calls++; g.calls == g.at {
		g.meanwhile()
	}
	return g.stopped.Between(f)
}

// Only events show the readers that hold a lock, and the writers that hold one of musl's.
func TestHoldersByEvents(t *testing.T) {
	const table, mutex = 0x3000, 0x1000
	o := observer.New(observer.Options{Attached: true, Sites: func(uint32) *observer.SiteInfo { return &observer.SiteInfo{Kind: event.KindRWLock} }})
	for _, tid := range []uint32{theProcess, 11} {
		o.AddTask(bpf.TaskLine{Tid: tid, Tgid: theProcess}, 0, false)
	}
	o.Record(&bpf.Record{Tid: theProcess, Tgid: theProcess, Op: uint8(bpf.OpAcquireRead), Object: table, Site: 1})
	writer := sleeper(11, table+8, 1)
	const privateBits = 9 | 128 | 256
	setArguments(&writer, [4]uint64{table + 8, privateBits, 2})
	memory := owned(map[uint64]uint32{mutex: 11})
	memory[table+8] = 2
	h := newHangs(Hangs{Threads: &stopped{memory: memory}, Observer: o})
	found := h.hangs([]bpf.Sleeper{sleeper(theProcess, mutex, 1), writer})
	if len(found) != 1 || len(found[0].threads) != 2 || found[0].Hang.NoCycle || !found[0].cycle {
		t.Fatalf("%+v", found)
	}
}
