package loader

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/internal/safely"
	"github.com/tracepredict/tracepredict/loader/attach"
	"github.com/tracepredict/tracepredict/loader/procfs"
	"github.com/tracepredict/tracepredict/loader/ptrace"
	"github.com/tracepredict/tracepredict/loader/steer"
)

// steered has the threads of a started program follow a plan: it connects the plan's state with the stops of ptrace
// and the probes. The thread that traces the program uses it alone, until that has ended. All methods of a nil steered
// do nothing.
type steered struct {
	plan     *steer.Plan
	probes   *steer.Probes
	state    *steer.Steering
	tracee   *ptrace.Tracee
	pid      int
	signal   unix.Signal
	attached []bool        // by site
	early    map[int]bool  // threads at their first stop whose creation has not been reported
	looked   time.Time     // when it was looked last who runs
	failed   error         // why threads could not be steered; nil: they could
	meeting  *meeting      // nil: the plan has no pair
	exact    *exact        // nil: the plan is not exact
	delays   *steer.Delays // nil: the plan has no jitter
	turns    *steer.Turns  // nil: threads do not take turns
	holding  atomic.Bool   // a thread is held
	told     Following     // nil: nobody is told
	complete bool          // told has been told so
	leaves   atomic.Bool   // the program is to be left stopped
	session  *Session
	staying  staying
	watched  atomic.Bool // it is looked whether threads stay in their calls
}

// tickEvery is the time between two looks at what goes on while threads are held, and turnEvery where they take turns: each
// time that a thread sleeps, the next one goes on after some of these.
const (
	tickEvery = 20 * time.Millisecond
	turnEvery = 2 * time.Millisecond
)

// every returns the time between two looks.
func (d *steered) every() time.Duration {
	if d.plan.Serial != nil {
		return turnEvery
	}
	return tickEvery
}

func newSteered(s *Session, plan *steer.Plan) (*steered, error) {
	if err := plan.Check(); err != nil {
		return nil, err
	}
	probes, err := steer.NewProbes()
	if err != nil {
		return nil, err
	}
	d := &steered{plan: plan, probes: probes, attached: make([]bool, len(plan.Sites)), early: map[int]bool{}, told: s.opts.Following, session: s}
	if plan.Exact {
		d.exact = newExact(d, func(addr uint64, b []byte) bool { return s.ReadMemory(s.PID(), addr, b) })
	}
	if plan.Pair != nil {
		d.meeting = &meeting{pair: plan.Pair, session: s, points: map[int][]int{}, counted: map[int]bool{}, tracee: func() *ptrace.Tracee { return d.tracee }, met: d.met}
	}
	return d, nil
}

// close removes what was put in for the plan. The program is not traced any more.
func (d *steered) close() error {
	if d.meeting != nil {
		d.meeting.close()
	}
	d.exact.close()
	return d.probes.Close()
}

// steer makes a tracee's threads follow the plan, if there is one.
func (s *Session) steer(t *ptrace.Tracee) {
	if s.steered != nil {
		s.steered.tracee, t.Steer = t, s.steered
	}
}

// tick has the tracing thread woken regularly, while threads are held or the program is to be left, until stop is called. At
// other times it must not be: a signal ends the kernel's verification of a BPF program that the thread loads, which then begins anew.
func (d *steered) tick(wake func(), failed func(*safely.Panic)) (stop func()) {
	if d == nil {
		return func() {}
	}
	done := make(chan struct{})
	safely.Go(func() {
		ticker := time.NewTicker(d.every())
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				if d.holding.Load() || d.leaves.Load() || d.watched.Load() {
					wake()
				}
			case <-done:
				return
			}
		}
	}, failed)
	return func() { close(done) }
}

// begin starts the plan anew: the process has executed a program.
func (d *steered) begin(pid int) {
	if d == nil {
		return
	}
	d.pid, d.state, d.complete, d.staying = pid, steer.New(*d.plan), false, staying{stays: map[int]stay{}}
	clear(d.attached)
	d.signal, d.failed = steer.Signal(pid)
	d.state.First(pid)
	d.exact.begin()
	if d.plan.Jitter != nil {
		d.delays = steer.NewDelays(*d.plan.Jitter, len(d.plan.Sites))
	}
	if d.plan.Serial != nil {
		d.turns = steer.NewTurns(*d.plan.Serial, len(d.plan.Sites))
	}
	if m := d.meeting; m != nil {
		m.close()
		clear(m.counted)
		m.state, m.sides, m.order, m.stepped = steer.NewMeeting(*m.pair), [2]accessSite{}, nil, 0
	}
	d.arm(pid)
}

// attachSteering puts probes at the calls of the plan in the files that have been mapped since.
func (s *Session) attachSteering() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.steered.exact != nil {
		if err := s.steered.exact.locate(s.Segments(s.PID())); err != nil {
			return err
		}
		s.steered.arm(s.PID())
	}
	for _, m := range s.first.modules {
		if err := s.steered.attach(s, m); err != nil {
			return err
		}
	}
	if m := s.steered.meeting; m != nil {
		if err := m.locate(s.Segments(s.PID())); err != nil {
			return err
		}
		s.steered.arm(s.PID())
	}
	return nil
}

func (d *steered) attach(s *Session, m *Module) error {
	var offsets, cookies []uint64
	for i, site := range d.plan.Sites {
		if d.attached[i] || d.plan.Exact || site.Module != m.Path {
			continue
		}
		at, err := steer.CallBefore(m.Bin, site.Return)
		if err != nil {
			return fmt.Errorf("%s: %w", m.Path, err)
		}
		offset, err := m.Bin.Offset(at)
		if err != nil {
			return fmt.Errorf("%s: %w", m.Path, err)
		}
		d.attached[i] = true
		offsets, cookies = append(offsets, offset), append(cookies, uint64(i))
	}
	if len(offsets) == 0 {
		return nil
	}
	to, err := s.linkTarget(s.first, m)
	if err != nil {
		return err
	}
	l, err := attach.LinkProgram(to, d.probes.Program(), offsets, cookies)
	if err != nil {
		return err
	}
	s.tracer.SetOwner(to.Owner, l)
	return nil
}

// arm has a thread stopped at its next gates.
func (d *steered) arm(tid int) {
	if all := d.state.Arm(tid); len(all) > 0 && d.failed == nil {
		d.failed = d.probes.Arm(tid, d.signal, all)
	}
	if d.exact != nil && d.failed == nil {
		d.failed = d.exact.arm(tid)
	}
	if d.meeting != nil && d.failed == nil && !d.hasGates(tid) {
		d.failed = d.meeting.arm(tid, d.is(tid))
	}
	if d.delays != nil && d.failed == nil && !d.delays.Knows(tid) {
		d.failed = d.probes.Arm(tid, d.signal, d.delays.Created(tid, d.state.Path(tid)))
	}
	if d.turns != nil && d.failed == nil && !d.turns.Knows(tid) {
		d.failed = d.probes.Arm(tid, d.signal, d.turns.Created(tid, d.state.Path(tid)))
	}
}

// hasGates reports whether a thread has gates of an exact plan before it.
func (d *steered) hasGates(tid int) bool {
	_, next := d.state.Next(tid)
	_, executes := d.state.Executes(tid)
	return next || executes
}

// is returns a function that reports whether a thread is the one of a path.
func (d *steered) is(tid int) func(path []int) bool {
	return func(path []int) bool { return d.state.Is(tid, path) }
}

// Created implements ptrace.Steerer.
func (d *steered) Created(parent, tid int) {
	if d.state == nil {
		return
	}
	d.state.Created(parent, tid)
	d.arm(tid)
	if d.early[tid] {
		delete(d.early, tid)
		if !d.delayed(tid) {
			d.goOn(tid)
		}
	}
}

// Begins implements ptrace.Steerer. A thread whose creation is yet to be reported waits for that, so that it does not
// run past its gates. One of another process, of which this process has no files, does not.
func (d *steered) Begins(tid int) (stays bool) {
	if d.state == nil || procfs.HasEnded(d.pid, tid) {
		return false
	}
	if d.state.Known(tid) {
		return d.delayed(tid)
	}
	d.early[tid] = true
	return true
}

// delayed reports whether a thread that begins is held for some time.
func (d *steered) delayed(tid int) bool {
	defer d.noteHeld()
	if d.turns != nil {
		stays, on := d.turns.Begins(tid)
		d.goOn(on...)
		return stays
	}
	return d.delays != nil && d.delays.Begins(tid, time.Now())
}

// Came implements ptrace.Steerer.
func (d *steered) Came(tid int, sig unix.Signal) (taken bool) {
	if d.state == nil {
		return false
	}
	defer d.noteHeld()
	if d.exact != nil && d.exact.came(tid, sig) {
		return true
	}
	if d.meeting != nil {
		return d.cameToAccess(tid, sig)
	}
	if sig != d.signal {
		return false
	}
	site, ok := d.probes.Fired(tid, len(d.plan.Sites))
	if !ok {
		return false
	}
	if d.delays != nil {
		if !d.delays.Knows(tid) {
			d.goOn(tid)
			return true
		}
		d.failed = errors.Join(d.failed, d.probes.Arm(tid, d.signal, d.delays.Came(tid, site, time.Now())))
		return true
	}
	if d.turns != nil {
		return d.cameToTurn(tid, site)
	}
	d.reached(tid, site)
	d.enters(tid)
	on := d.state.Came(tid, site, time.Now())
	d.arm(tid)
	d.goOn(on...)
	return true
}

// cameToTurn handles a thread that has come to a call before which it waits for its turn.
func (d *steered) cameToTurn(tid, site int) (taken bool) {
	if !d.turns.Knows(tid) {
		d.goOn(tid)
		return true
	}
	again, on := d.turns.Came(tid, site)
	d.failed = errors.Join(d.failed, d.probes.Arm(tid, d.signal, again))
	d.goOn(on...)
	return true
}

// noteHeld records whether a thread is held.
func (d *steered) noteHeld() {
	d.watched.Store(d.waitsForStay())
	d.holding.Store(d.state.Held() > 0 || d.meeting != nil && d.meeting.holds() || d.delays != nil && d.delays.Holds() || d.turns != nil && d.turns.Holds())
}

// cameToAccess handles the stop of a thread that may be one of a pair.
func (d *steered) cameToAccess(tid int, sig unix.Signal) (taken bool) {
	var err error
	if sig == unix.SIGTRAP {
		taken, err = d.meeting.trapped(tid, d.is(tid))
	}
	if !taken {
		err = errors.Join(err, d.meeting.interrupted(tid))
	}
	d.failed = errors.Join(d.failed, err)
	return taken
}

// Ended implements ptrace.Steerer.
func (d *steered) Ended(tid int) {
	if d.state == nil {
		return
	}
	defer d.noteHeld()
	delete(d.early, tid)
	delete(d.staying.stays, tid)
	d.probes.Forget(tid, len(d.plan.Sites))
	d.exact.ended(tid)
	if m := d.meeting; m != nil {
		m.disarm(tid)
		m.state.Ended(tid)
		d.failed = errors.Join(d.failed, m.interrupted(tid))
	}
	if d.delays != nil {
		d.delays.Ended(tid)
	}
	if d.turns != nil {
		d.goOn(d.turns.Ended(tid)...)
	}
	d.goOn(d.state.Ended(tid, time.Now())...)
	d.armAll()
}

// armAll has the threads stopped before their accesses, once no gate is left, since the run has left the plan.
func (d *steered) armAll() {
	if d.exact == nil || d.meeting == nil || !d.state.Free() {
		return
	}
	for _, tid := range d.state.Threads() {
		d.arm(tid)
	}
}

// Tick implements ptrace.Steerer.
func (d *steered) Tick() {
	if d.leaves.Load() {
		d.tracee.Leave()
		return
	}
	now := time.Now()
	if d.lookForStay(now); d.watched.Load() {
		d.noteHeld()
	}
	if !d.holding.Load() || now.Sub(d.looked) < d.every()/2 {
		return
	}
	defer d.noteHeld()
	d.looked = now
	if d.meeting != nil {
		d.failed = errors.Join(d.failed, d.meeting.tick(now, d.going, d.heldBlocks))
	}
	if d.delays != nil {
		d.goOn(d.delays.Tick(now)...)
	}
	if d.turns != nil {
		d.goOn(d.turns.Tick(d.look)...)
	}
	if d.state.Held() == 0 {
		return
	}
	d.goOn(d.state.Tick(now, d.going())...)
	d.armAll()
}

// look returns what a thread does.
func (d *steered) look(tid int) steer.Look {
	state := procfs.ThreadState(d.pid, tid)
	return steer.Look{Asleep: state == 'S' || state == 'D', Ran: procfs.RanFor(d.pid, tid)}
}

// going reports whether a thread of the process runs, or waits for a time to pass.
func (d *steered) going() bool {
	going := false
	procfs.EachRunning(d.pid, func(int) { going = true })
	if going {
		return true
	}
	tids, err := procfs.Threads(d.pid)
	return err == nil && slices.ContainsFunc(tids, func(tid int) bool { return procfs.Sleeps(d.pid, tid) })
}

// heldBlocks reports whether the thread that is held before its access keeps the other one from coming.
func (d *steered) heldBlocks() bool { return d.meeting.blocks(d.state.Threads(), d.state.Is) }

// goOn lets threads go.
func (d *steered) goOn(tids ...int) {
	for _, tid := range tids {
		if gate, ok := d.state.Executes(tid); ok {
			d.failed = errors.Join(d.failed, d.exact.turn(tid, gate))
			continue
		}
		d.failed = errors.Join(d.failed, d.tracee.Continue(tid))
	}
}

// Steered returns what became of Options.Steer. It is valid once the program has ended.
func (s *Session) Steered() (steer.Outcome, error) {
	if s.steered == nil || s.steered.state == nil {
		return steer.Outcome{}, errors.New("the program was not steered")
	}
	out := s.steered.state.Outcome()
	out.Stayed = s.steered.staying.stayed()
	if m := s.steered.meeting; m != nil {
		if out.Met = m.state.Met(); out.Met == nil && out.Diverged == 0 {
			out.Reason = m.state.Reason()
		}
	}
	return out, s.steered.failed
}
