package steer

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Pair is two accesses before which two threads are to stand at the same time. That they do shows a race: no lock keeps
// them apart, and neither comes before the other. This is the active testing of RaceFuzzer (Sen, PLDI 2008): the thread
// that comes first is held until another one is about to access the same memory.
type Pair struct {
	Sides [2]Side `json:"sides"`
	// First is the side whose thread goes on first.
	First int `json:"first"`
	// Skip is how often a thread passes its access before one is held. After a hold in vain it grows.
	Skip uint32 `json:"skip,omitempty"`
}

// Side is an access by a thread.
type Side struct {
	Thread []int  `json:"thread"` // as in a Gate
	Module string `json:"module"` // path of the file, as the process names it
	At     uint64 `json:"at"`     // the address of the instruction, as linked
	// Count is the thread's hit of the instruction since its last gate of an Exact plan, from 1, before which it is held
	// first; 0: the first.
	Count uint32 `json:"count,omitempty"`
	What  string `json:"what"` // for people: "T2 writes hits at shop.c:20"
}

// Check returns an error if the pair is none that a Meeting can bring about.
func (p *Pair) Check() error {
	switch {
	case p.First != 0 && p.First != 1:
		return fmt.Errorf("side %d of a pair is to go on first", p.First)
	case slices.Equal(p.Sides[0].Thread, p.Sides[1].Thread):
		return fmt.Errorf("both sides of a pair are the thread %v", p.Sides[0].Thread)
	}
	return nil
}

// maxHolds is how often threads are held in vain. Each time twice as many accesses pass before the next hold, so that
// the last comes after a thousand. maxBrief is how often they are held besides until it turns out that the other thread
// waits for the one that is held: after these, fewer than briefPass accesses pass, as many as chance says, so that the
// other one may come first.
const (
	maxHolds  = 10
	maxBrief  = 100
	briefPass = 4
)

// Met is a meeting: both threads stood before their accesses of the same memory.
type Met struct {
	First int    `json:"first"` // the side whose thread went on first
	Addr  uint64 `json:"addr"`  // of the memory that both access
	Size  int    `json:"size"`  // bytes
	// Values are what was there before both accesses, between them, and after them, in the byte order of the machine;
	// fewer if they are not known.
	Values []uint64 `json:"values,omitempty"`
}

// Meeting is the state of a pair in one run. It knows no process: the caller passes to it what happens. It is not for
// concurrent use.
type Meeting struct {
	pair   Pair
	pass   uint32 // accesses that pass before the next hold
	holds  int    // those that were in vain, but for brief ones
	brief  int    // those that kept the other thread from coming
	random *rand.Rand
	holder stand // tid 0: nobody is held
	idle   time.Time
	came   [2]bool
	apart  bool // both stood there, before accesses of other memory
	met    *Met
}

// stand is a thread that is held before an access.
type stand struct {
	tid, side int
	accesses  []Access
	since     time.Time
}

// NewMeeting returns the state of a pair, which Check has accepted, at the beginning of a run.
func NewMeeting(p Pair) *Meeting {
	return &Meeting{pair: p, pass: p.Skip, random: rand.New(rand.NewPCG(uint64(p.Skip), 0))}
}

// Over reports that nobody will be held any more.
func (m *Meeting) Over() bool { return m.met != nil || m.holds >= maxHolds || m.brief >= maxBrief }

// Arrival is what becomes of a thread that has come to its access.
type Arrival uint8

// The arrivals.
const (
	Passes Arrival = iota // it goes on
	Stays                 // it is held until Tick or Ended returns it, or another one meets it
	Meets                 // both are there now: it and the one that was held, see Order
)

// Came says that the thread of a side has come to its access. It is known what the access is, unless accesses is empty.
func (m *Meeting) Came(tid, side int, accesses []Access, now time.Time) Arrival {
	m.came[side] = true
	switch {
	case m.Over() || len(accesses) == 0:
		return Passes
	case m.holder.tid == 0 && m.pass > 0:
		m.pass--
		return Passes
	case m.holder.tid == 0:
		m.holder, m.idle = stand{tid, side, accesses, now}, time.Time{}
		return Stays
	}
	addr, size, ok := conflict(m.holder.accesses, accesses)
	if !ok || m.holder.side == side {
		m.apart = true
		return Passes
	}
	m.met = &Met{First: m.pair.First, Addr: addr, Size: size}
	return Meets
}

// Order returns the two threads that have met, in the order in which they go on. other is the one that came last.
func (m *Meeting) Order(other int) [2]int {
	if m.holder.side == m.pair.First {
		return [2]int{m.holder.tid, other}
	}
	return [2]int{other, m.holder.tid}
}

// Holder returns the thread that is held and has met no other, and its side; 0 if there is none.
func (m *Meeting) Holder() (tid, side int) {
	if !m.Holds() {
		return 0, 0
	}
	return m.holder.tid, m.holder.side
}

// Blocks says that the thread of the other side waits for the thread that is held, which is returned and let go.
func (m *Meeting) Blocks() (goesOn int) {
	goesOn = m.holder.tid
	m.holder = stand{}
	m.pass = m.random.Uint32N(briefPass)
	m.brief++
	return goesOn
}

// Holds reports whether a thread is held that has met no other.
func (m *Meeting) Holds() bool { return m.holder.tid != 0 && m.met == nil }

// Tick says what time it is, and whether some thread runs or waits for a time to pass. It returns the thread that is
// let go, if it has been held for too long; else 0.
func (m *Meeting) Tick(now time.Time, going bool) (goesOn int) {
	switch {
	case !m.Holds():
		return 0
	case now.Sub(m.holder.since) >= heldBound:
	case going:
		m.idle = time.Time{}
		return 0
	case m.idle.IsZero():
		m.idle = now
		return 0
	case now.Sub(m.idle) < idleBound:
		return 0
	}
	goesOn = m.holder.tid
	m.leave()
	return goesOn
}

// leave ends a hold in vain.
func (m *Meeting) leave() {
	m.holder = stand{}
	m.pass = 1 << m.holds
	m.holds++
}

// Ended says that a thread has ended.
func (m *Meeting) Ended(tid int) {
	if m.Holds() && m.holder.tid == tid {
		m.leave()
	}
}

// Met returns the meeting; nil if there was none.
func (m *Meeting) Met() *Met { return m.met }

// Reason says why there was no meeting.
func (m *Meeting) Reason() string {
	for i, came := range m.came {
		if !came {
			return m.pair.Sides[i].What + ": the run ended without it"
		}
	}
	if m.apart {
		return "the threads stood before accesses of different memory"
	}
	if m.brief > m.holds {
		return "while one thread was held before its access, the other waited for it"
	}
	return "while one thread was held before its access, the other did not come to its own"
}
