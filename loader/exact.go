package loader

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/loader/ptrace"
)

// exact stops threads before the very instructions of a plan, each by a hardware breakpoint for its next gate, and has
// them execute these instructions one by one. The thread that traces the program uses it alone. The methods of a nil
// exact that return nothing do nothing.
type exact struct {
	steered *steered
	at      []uint64      // by site: the address in the process; 0: its file is not mapped so far
	behind  []uint64      // by site: the address behind a call
	points  map[int]point // by thread ID
	left    map[int]int   // by thread ID: instructions that the thread is to execute; 0: it does as it likes
	// returns is where the call of its gate returns to, by thread ID, until the thread is in that call.
	returns map[int]uint64
	read    func(addr uint64, b []byte) bool // reads memory of the process
}

// turnSteps is how many instructions a thread executes when its turn comes: that of its gate, and the next one, since the
// probe that records what the first has done is there.
const turnSteps = 2

// point is the breakpoint of a thread.
type point struct {
	fd, gate int
	back     bool // it is where the call of the gate returns to
}

func newExact(d *steered, read func(addr uint64, b []byte) bool) *exact {
	return &exact{steered: d, at: make([]uint64, len(d.plan.Sites)), behind: make([]uint64, len(d.plan.Sites)), points: map[int]point{}, left: map[int]int{}, returns: map[int]uint64{}, read: read}
}

// begin forgets what was known of the process, which has executed a program.
func (x *exact) begin() {
	if x == nil {
		return
	}
	x.close()
	clear(x.at)
	clear(x.left)
	clear(x.returns)
}

func (x *exact) close() {
	if x == nil {
		return
	}
	for tid := range x.points {
		x.disarm(tid)
	}
}

// locate finds the instructions in the files that the process maps.
func (x *exact) locate(segments []Segment) error {
	for i, site := range x.steered.plan.Sites {
		for _, s := range segments {
			if x.at[i] != 0 || s.Module.Path != site.Module {
				continue
			}
			at, err := site.Instruction(s.Module.Bin)
			if err != nil {
				return fmt.Errorf("%s: %w", site.Module, err)
			}
			x.at[i], x.behind[i] = at+s.Bias, site.Return+s.Bias
		}
	}
	return nil
}

// arm sets the breakpoint of a thread for its next gate, if that is not set, and removes that for another one.
func (x *exact) arm(tid int) error {
	gate, ok := x.steered.state.Next(tid)
	if p, set := x.points[tid]; set && (!ok || p.back || p.gate != gate) {
		x.disarm(tid)
	} else if set {
		return nil
	}
	if !ok {
		return nil
	}
	g := &x.steered.plan.Gates[gate]
	if x.at[g.Site] == 0 {
		return nil
	}
	return x.set(tid, x.at[g.Site], point{gate: gate}, max(uint64(g.Count), 1))
}

// set sets the breakpoint of a thread.
func (x *exact) set(tid int, at uint64, p point, nth uint64) (err error) {
	p.fd, err = ptrace.Breakpoint(tid, at, nth)
	switch {
	case errors.Is(err, unix.ESRCH): // it has ended
		return nil
	case err != nil:
		return err
	}
	x.points[tid] = p
	return nil
}

func (x *exact) disarm(tid int) {
	if p, set := x.points[tid]; set {
		unix.Close(p.fd)
		delete(x.points, tid)
	}
}

// turn has a thread execute the instruction of its gate.
func (x *exact) turn(tid, gate int) error {
	if g := &x.steered.plan.Gates[gate]; g.Returns {
		to, err := x.returnsTo(tid, g.Site)
		if err != nil {
			return errors.Join(err, x.steered.tracee.Continue(tid))
		}
		x.returns[tid] = to
	}
	return x.step(tid, turnSteps)
}

// returnsTo returns where the call of a site returns to. If the site is the entry of what is called, that is on the stack.
func (x *exact) returnsTo(tid, site int) (uint64, error) {
	if x.steered.plan.Sites[site].Return != 0 {
		return x.behind[site], nil
	}
	_, general, err := ptrace.Registers(tid)
	var b [8]byte
	if err == nil && !x.read(general[stackPointer], b[:]) {
		err = fmt.Errorf("read the return address of a call of thread %d", tid)
	}
	return binary.NativeEndian.Uint64(b[:]), err
}

// stackPointer is the number of that register.
const stackPointer = 4

// step has a thread execute instructions, and then calls stepped.
func (x *exact) step(tid, n int) error {
	x.left[tid] = n
	return x.steered.tracee.Step(tid)
}

// atNext reports whether a thread stands before the instruction of its next gate.
func (x *exact) atNext(tid int) bool {
	gate, ok := x.steered.state.Next(tid)
	next, _, err := ptrace.Registers(tid)
	return ok && err == nil && next == x.at[x.steered.plan.Gates[gate].Site]
}

// came handles a stop of a thread for a signal. It returns false if the signal is the program's own.
func (x *exact) came(tid int, sig unix.Signal) (taken bool) {
	d := x.steered
	switch p, set := x.points[tid]; {
	case x.left[tid] > 0:
		// After an instruction with a probe the signal has no cause that would say so.
		taken = sig == unix.SIGTRAP
		if x.left[tid]--; taken && x.left[tid] > 0 && !x.atNext(tid) {
			d.failed = errors.Join(d.failed, d.tracee.Step(tid))
			return true
		}
		if x.stepped(tid); taken {
			d.failed = errors.Join(d.failed, d.tracee.Continue(tid))
		}
		return taken
	case sig != unix.SIGTRAP || !set || ptrace.TrapOf(tid) != ptrace.BreakpointTrap:
		return false
	case p.back:
		if x.disarm(tid); x.atNext(tid) {
			x.backAtNext(tid)
			return true
		}
		d.failed = errors.Join(d.failed, x.step(tid, 1)) // the probe that records what the call has done may be here
		return true
	default:
		x.disarm(tid)
		d.reached(tid, d.plan.Gates[p.gate].Site)
		d.goOn(d.state.Came(tid, d.plan.Gates[p.gate].Site, time.Now())...)
		return true
	}
}

// backAtNext handles that a call has returned to the very instruction of the thread's next gate. A breakpoint there would not
// stop the thread again before it has executed that.
func (x *exact) backAtNext(tid int) {
	d := x.steered
	x.executed(tid)
	gate, _ := d.state.Next(tid)
	g := &d.plan.Gates[gate]
	if x.disarm(tid); g.Count > 1 { // this time is the first one
		d.failed = errors.Join(d.failed, x.set(tid, x.at[g.Site], point{gate: gate}, uint64(g.Count)-1), d.tracee.Continue(tid))
		return
	}
	d.reached(tid, g.Site)
	d.goOn(d.state.Came(tid, g.Site, time.Now())...)
}

// stepped handles the end of what a thread was to execute step by step: the instruction of its gate, or, of a call, that
// instruction or the one behind it.
func (x *exact) stepped(tid int) {
	delete(x.left, tid)
	gate, ok := x.steered.state.Executes(tid)
	if to := x.returns[tid]; ok && to != 0 {
		delete(x.returns, tid)
		x.steered.failed = errors.Join(x.steered.failed, x.set(tid, to, point{gate: gate, back: true}, 1))
		return
	}
	x.executed(tid)
}

// executed notes that a thread has executed the instruction of its gate, and lets those threads go on whose turn comes next.
func (x *exact) executed(tid int) {
	gate, goes := x.steered.state.Executes(tid)
	on := x.steered.state.Executed(tid, time.Now())
	if goes {
		x.steered.done(tid, gate)
	}
	x.steered.arm(tid)
	x.steered.goOn(on...)
}

// ended forgets a thread.
func (x *exact) ended(tid int) {
	if x == nil {
		return
	}
	x.disarm(tid)
	delete(x.left, tid)
	delete(x.returns, tid)
}
