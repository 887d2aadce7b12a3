package attempt

import "github.com/tracepredict/tracepredict/probes/insn"

// This file finds the calls of functions that try to acquire a lock, such as pthread_mutex_trylock, which a thread makes
// again and again, for the same lock, until one succeeds.

// Callee is a function that tries to acquire the lock that its first argument points to.
type Callee struct {
	// Entry is its address, as linked, in the file that calls it; 0: it is in another file.
	Entry uint64
	// Imports reports whether an imported function of that name is it. Nil: none is.
	Imports func(name string) bool
	// Zero reports that its result is 0 if it succeeds, and another number if it fails: Busy, unless that is 0, if
	// another thread has the lock. Otherwise the result is 0 if it fails, of Width bytes.
	Zero  bool
	Busy  int64
	Width int8
}

// is reports whether an instruction calls or jumps to the function.
func (t *Callee) is(c *Code, in *insn.Inst) bool {
	if name := c.imported(in); name != "" {
		return t.Imports != nil && t.Imports(name)
	}
	return t.Entry != 0 && (in.Kind == insn.Call || in.Kind == insn.Jump) && in.Target == t.Entry
}

// FindCall reports whether a thread that tries to acquire a lock, and fails since another thread has it, tries the same lock
// again on every path, and does nothing else that another thread could see. returns is the address behind a call that leads to the attempt: of the
// function itself, or of one of the same file that calls it.
func FindCall(c *Code, returns uint64, to Callee) bool {
	at, ok := c.callBefore(returns)
	if !ok {
		return false
	}
	x := explorer{code: c, looks: map[uint64]bool{}, attempts: map[uint64]bool{}, seen: map[uint64][]state{}, callee: &to}
	s, ok := x.before(at)
	if !ok {
		return false
	}
	x.add(at, s)
	return x.run() && len(x.arrivals) > 1
}

// callBefore returns the address of the call that ends at an address.
func (c *Code) callBefore(returns uint64) (at uint64, ok bool) {
	fn, known := c.file.FunctionAt(returns - 1)
	if !known || fn.Hi-fn.Lo > maxFunction {
		return 0, false
	}
	c.Sweep(fn, func(in *insn.Inst) bool {
		if in.End() == returns && in.Kind.Calls() {
			at, ok = in.Addr, true
		}
		return in.End() < returns
	})
	return at, ok
}

// again follows a call of the function after it has failed. The lock must be the same one each time.
func (x *explorer) again(in *insn.Inst, s state) bool {
	lock := s.regs[insn.RDI]
	if !lock.same() || len(x.arrivals) > 0 && lock != x.lock {
		return false
	}
	x.lock = lock
	x.arrivals = append(x.arrivals, arrival{in.Addr, s})
	s.clobber(callerSaved)
	failed := value{kind: constant, width: 4, n: x.callee.Busy}
	switch {
	case !x.callee.Zero:
		failed = value{kind: constant, width: x.callee.Width}
	case x.callee.Busy == 0:
		failed = value{kind: nonzero, width: 4}
	}
	s.set(insn.RAX, failed)
	if in.Kind == insn.Jump || in.Kind == insn.IndirectJump {
		return x.back(in.Addr, s)
	}
	return x.add(in.End(), s)
}

// readsErrno is the function of the C library that returns the address of a thread's own errno.
const readsErrno = "__errno_location"
