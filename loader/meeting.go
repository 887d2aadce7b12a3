package loader

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/loader/procfs"
	"github.com/tracepredict/tracepredict/loader/ptrace"
	"github.com/tracepredict/tracepredict/loader/steer"
	"github.com/tracepredict/tracepredict/probes/futex"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// meeting brings two threads before their accesses: it connects the state of a steer.Pair with breakpoints and stops.
// The thread that traces the program uses it alone.
type meeting struct {
	pair    *steer.Pair
	state   *steer.Meeting
	session *Session
	tracee  func() *ptrace.Tracee
	sides   [2]accessSite
	points  map[int][]int // by thread ID: the descriptors of its breakpoints
	counted map[int]bool  // by thread ID: its breakpoint was set, for the hit of its Side.Count
	// order are the threads that have met and are stopped, in the order in which they go on. The first one steps over
	// its access, then the second one, and then both are let go.
	order   []int
	stepped int // how many of them have
	since   time.Time
	met     func(order [2]int) // is called when they have met
}

// accessSite is the access of a side in the process.
type accessSite struct {
	found bool
	in    insn.Inst
	bias  uint64
}

// stepBound is how long an instruction may take, after which threads that have met are let go.
const stepBound = time.Second

// locate finds the accesses in the files that the process maps, the newest last.
func (m *meeting) locate(segments []Segment) error {
	for i := range m.sides {
		want := &m.pair.Sides[i]
		for _, s := range segments {
			if s.Module.Path != want.Module || want.At < s.Lo-s.Bias || want.At >= s.Hi-s.Bias {
				continue
			}
			in, err := steer.AccessAt(s.Module.Bin, want.At)
			if err != nil {
				return err
			}
			m.sides[i] = accessSite{true, in, s.Bias}
		}
	}
	return nil
}

// arm sets the breakpoint of a thread, if it is one of the two.
func (m *meeting) arm(tid int, is func(path []int) bool) error {
	for i, side := range m.sides {
		if !side.found || len(m.points[tid]) > 0 || !is(m.pair.Sides[i].Thread) {
			continue
		}
		nth := uint64(max(m.pair.Sides[i].Count, 1))
		if m.counted[tid] {
			nth = 1
		}
		m.counted[tid] = true
		fd, err := ptrace.Breakpoint(tid, side.in.Addr+side.bias, nth)
		switch {
		case errors.Is(err, unix.ESRCH): // it has ended
			return nil
		case err != nil:
			return err
		}
		m.points[tid] = append(m.points[tid], fd)
	}
	return nil
}

// disarm removes the breakpoint of a thread.
func (m *meeting) disarm(tid int) {
	for _, fd := range m.points[tid] {
		unix.Close(fd)
	}
	delete(m.points, tid)
}

func (m *meeting) close() {
	for tid := range m.points {
		m.disarm(tid)
	}
}

// trapped handles a stop for SIGTRAP. It returns false if the signal is the program's own.
func (m *meeting) trapped(tid int, is func(path []int) bool) (taken bool, err error) {
	switch ptrace.TrapOf(tid) {
	case ptrace.StepTrap:
		if m.stepped < len(m.order) && m.order[m.stepped] == tid {
			return true, m.step(true)
		}
		return false, nil
	case ptrace.BreakpointTrap:
		return true, m.came(tid, is)
	}
	return false, nil
}

// came handles a thread that stands before its access.
func (m *meeting) came(tid int, is func(path []int) bool) error {
	side := slices.IndexFunc(m.pair.Sides[:], func(s steer.Side) bool { return is(s.Thread) })
	next, general, err := ptrace.Registers(tid)
	if err != nil || side < 0 || next != m.sides[side].in.Addr+m.sides[side].bias {
		return errors.Join(err, m.tracee().Continue(tid))
	}
	if m.state.Over() {
		m.disarm(tid)
	} else if m.pair.Sides[side].Count > 1 { // from now on it stops before each access
		m.disarm(tid)
		err = m.arm(tid, is)
	}
	site := &m.sides[side]
	if err != nil {
		return errors.Join(err, m.tracee().Continue(tid))
	}
	switch m.state.Came(tid, side, steer.Accesses(&site.in, site.bias, &general), time.Now()) {
	case steer.Stays:
		return nil
	case steer.Meets:
		order := m.state.Order(tid)
		m.order, m.since = order[:], time.Now()
		m.read()
		m.met(order)
		return m.tracee().Step(order[0])
	}
	return m.tracee().Continue(tid)
}

// step goes on with the threads that have met, when the next of them has executed its access, or, with known false, when
// that is not known.
func (m *meeting) step(known bool) error {
	if m.stepped++; known {
		m.read()
	}
	if m.stepped < len(m.order) {
		return m.tracee().Step(m.order[m.stepped])
	}
	var err error
	for _, tid := range m.order {
		m.disarm(tid)
		err = errors.Join(err, m.tracee().Continue(tid))
	}
	return err
}

// read appends what is in the memory now, unless a value before is missing.
func (m *meeting) read() {
	met := m.state.Met()
	var b [8]byte
	if len(met.Values) == m.stepped && met.Size <= len(b) && m.session.ReadMemory(m.session.PID(), met.Addr, b[:met.Size]) {
		met.Values = append(met.Values, binary.NativeEndian.Uint64(b[:]))
	}
}

// interrupted handles another signal, or the end, of a thread that may be one of those that have met. It goes on without
// having shown its access.
func (m *meeting) interrupted(tid int) error {
	if m.stepped < len(m.order) && m.order[m.stepped] == tid {
		return m.step(false)
	}
	return nil
}

// holds reports whether a thread is held.
func (m *meeting) holds() bool { return m.state.Holds() || m.stepped < len(m.order) }

// blocks reports whether the other thread, one of others, waits for the thread that is held: then it cannot come.
func (m *meeting) blocks(others []int, is func(tid int, path []int) bool) bool {
	holder, side := m.state.Holder()
	return slices.ContainsFunc(others, func(tid int) bool {
		return is(tid, m.pair.Sides[1-side].Thread) && m.waitsFor(tid, holder)
	})
}

// waitsFor reports whether a thread waits for another one, which holds a lock, or whose end it waits for.
func (m *meeting) waitsFor(tid, owner int) bool {
	pid := m.session.PID()
	number, args, ok := procfs.SystemCall(pid, tid)
	if !ok || number != unix.SYS_FUTEX {
		return false
	}
	call, ok := futex.Decode([4]uint64(args[:]))
	return ok && int(futex.WaitOf(call, futex.Memory{
		Read:      func(addr uint64, b []byte) bool { return m.session.ReadMemory(pid, addr, b) },
		KindAt:    func(uint64) (futex.Kind, bool) { return futex.Unknown, false },
		HasThread: func(tid uint32) bool { return int(tid) == owner },
	}).Owner) == owner
}

// tick lets go whom it is time to let go. going is called if that depends on whether the program goes on.
func (m *meeting) tick(now time.Time, going, blocks func() bool) (err error) {
	if m.stepped < len(m.order) && now.Sub(m.since) >= stepBound {
		m.stepped = len(m.order)
		return m.step(false)
	}
	if !m.state.Holds() {
		return nil
	}
	if blocks() {
		return m.tracee().Continue(m.state.Blocks())
	}
	if tid := m.state.Tick(now, going()); tid != 0 {
		return m.tracee().Continue(tid)
	}
	return nil
}
