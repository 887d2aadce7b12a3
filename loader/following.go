package loader

// Following is told what becomes of Options.Steer while the program runs. The thread that traces the program calls its
// methods, and waits for them.
type Following interface {
	// Reached says that a thread, by the kernel's ID, stands before a gate of the plan, by its index.
	Reached(tid, gate int)
	// Done says that the thread has executed the instruction of a gate of an exact plan.
	Done(tid, gate int)
	// Complete says that the threads have done all that the plan, which is exact, does not call optional. If it returns
	// true, the program is left stopped there, as by Session.Leave.
	Complete() (leave bool)
	// Met says that the threads of the plan's pair stand before their accesses, by side. If it returns true, the program
	// is left stopped there.
	Met(tids [2]int) (leave bool)
	// Stayed says that the threads stay in the calls of their last gates, in which they spin. If it returns true, the
	// program is left stopped there, and else it is ended.
	Stayed() (leave bool)
}

// Leave has the program, which is steered, stopped where it is, by SIGSTOP, and not traced any more. Start ends the
// observation then, and returns without waiting for the end of the program (Result.Left).
func (s *Session) Leave() {
	if s.steered != nil {
		s.steered.leaves.Store(true)
	}
}

// reached calls Following.Reached if a thread that has come to a site stands before a gate. Call it before steer.State.Came,
// which changes that.
func (d *steered) reached(tid, site int) {
	if d.told == nil {
		return
	}
	if gate, ok := d.state.Ahead(tid, site); ok {
		d.told.Reached(tid, gate)
	}
}

// done calls Following.Done for a thread that has executed the instruction of a gate, and Following.Complete once all gates
// are done.
func (d *steered) done(tid, gate int) {
	if d.told == nil {
		return
	}
	d.told.Done(tid, gate)
	if d.complete || !d.state.Done() {
		return
	}
	if d.complete = true; d.told.Complete() {
		d.leave()
	}
}

// met calls Following.Met for the two threads of the plan's pair, which are given in the order in which they go on.
func (d *steered) met(order [2]int) {
	if d.told == nil {
		return
	}
	if d.plan.Pair.First == 1 {
		order[0], order[1] = order[1], order[0]
	}
	if d.told.Met(order) {
		d.leave()
	}
}

// leave has the program left stopped, by the thread that traces it.
func (d *steered) leave() {
	d.leaves.Store(true)
	d.tracee.Leave()
}
