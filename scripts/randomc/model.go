package main

// kind is what an instruction of the model does.
type kind uint8

const (
	lock      kind = iota // acquire a mutex, or a read-write lock for writing
	readLock              // acquire a read-write lock for reading
	tryLock               // acquire a lock if it is free; otherwise is where a failed attempt goes on
	unlock                // release a lock
	wait                  // release the mutex, sleep on the condition, acquire the mutex again
	signal                // wake one thread that waits on a condition
	broadcast             // wake all of them
	post                  // increment a semaphore
	semWait               // decrement a semaphore that is above 0
	semTry                // the same, or go on at otherwise if it is 0
	read                  // read a variable; with a test, go on at otherwise if its value is another
	write                 // write a variable
	increment             // write the value that the thread read last, plus one
	update                // add one to an atomic variable
	create                // create a thread
	join                  // wait for the end of a thread that this one created
	jump                  // of the compiler; it is skipped when targets are resolved
)

// instruction is one step of a thread, but for wait, which is two: it sleeps, and
// acquires the mutex again.
type instruction struct {
	kind      kind
	object    int // lock, condition, semaphore, variable or thread
	mutex     int // of a wait
	value     int // that is written, or compared with if test is set
	test      bool
	then      int // the next instruction
	otherwise int // the next one of an attempt that failed or a test that did not hold
	line      int // of the source
}

// Bounds of a program.
const (
	mostThreads    = 4
	mostLocks      = 4
	mostSemaphores = 2
	mostVariables  = 6
	mostConditions = 2
)

// program is the model of a C program. Thread 0 runs main.
type program struct {
	locks      []string // names; the first mutexes of them are mutexes, the rest read-write locks
	mutexes    int
	conditions []condition
	guards     []int // the mutex that each plain variable is accessed under; empty if there is no such rule
	semaphores []int // initial values
	variables  []string
	atomics    int   // the first so many variables are atomic
	release    bool  // atomic stores are of release order, which takes no exchange
	optimise   int   // the compiler's level; at 0 an increment is two instructions
	routine    []int // which code each thread runs
	blocks     [][]statement
	code       [][]instruction
	source     []string // lines of C, but for the table of slots
}

// condition is a condition variable with the mutex that its waits release, and the variable and
// value of their predicate.
type condition struct {
	mutex, variable, value int
}

func (p *program) instructions(thread int) []instruction {
	return p.code[p.routine[thread]]
}

// phase is what a thread of a state is about.
type phase uint8

const (
	absent  phase = iota // not created yet
	running              // its next instruction is next; it has ended if there is none
	asleep               // in a wait, until a notification
	woken                // in a wait, about to acquire the mutex
)

// state is a global state of the model. It is comparable, so that it is its own hash key.
type state struct {
	pc         [mostThreads]uint8
	phase      [mostThreads]phase
	last       [mostThreads]uint8 // the value that the next increment of a thread builds upon
	locks      [mostLocks]uint8   // a bit for each reader; in the upper half the writer's number plus one
	semaphores [mostSemaphores]uint8
	variables  [mostVariables]uint8
}

func (p *program) initial() state {
	var s state
	s.phase[0] = running
	for i, v := range p.semaphores {
		s.semaphores[i] = uint8(v)
	}
	return s
}

func (p *program) ended(s *state, thread int) bool {
	return s.phase[thread] == running && int(s.pc[thread]) == len(p.instructions(thread))
}

// over reports whether main has ended, and with it all threads.
func (p *program) over(s *state) bool { return p.ended(s, 0) }

// current returns the instruction that a thread is at, and nil before its creation and after its end.
func (p *program) current(s *state, thread int) *instruction {
	if s.phase[thread] == absent || p.ended(s, thread) {
		return nil
	}
	return &p.instructions(thread)[s.pc[thread]]
}

func writer(lock uint8) int { return int(lock>>4) - 1 }

// holders returns, a bit each, the threads that keep others from acquiring a lock.
func holders(lock uint8, reading bool) uint8 {
	var out uint8
	if w := writer(lock); w >= 0 {
		out = 1 << w
	}
	if !reading {
		out |= lock & 0xf
	}
	return out
}

// request returns the lock that a thread is about to acquire and would wait for, and whether for reading.
func (p *program) request(s *state, thread int) (object int, reading, ok bool) {
	in := p.current(s, thread)
	switch {
	case in == nil || s.phase[thread] == asleep:
		return 0, false, false
	case s.phase[thread] == woken:
		return in.mutex, false, true
	case in.kind == lock || in.kind == readLock:
		return in.object, in.kind == readLock, true
	}
	return 0, false, false
}

// enabled reports whether a thread can take its next step. A thread that is asleep cannot by itself.
func (p *program) enabled(s *state, thread int) bool {
	in := p.current(s, thread)
	if in == nil || s.phase[thread] == asleep {
		return false
	}
	if object, reading, ok := p.request(s, thread); ok {
		return holders(s.locks[object], reading) == 0
	}
	switch in.kind {
	case semWait:
		return s.semaphores[in.object] > 0
	case join:
		return p.ended(s, in.object)
	}
	return true
}

// step appends the states that the next step of a thread that is enabled can lead to: one,
// but for a signal with several threads to wake.
func (p *program) step(s state, thread int, out []state) []state {
	in := p.current(&s, thread)
	if s.phase[thread] == woken {
		s.phase[thread] = running
		s.locks[in.mutex] = uint8(thread+1) << 4
		s.pc[thread] = uint8(in.then)
		return append(out, s)
	}
	next := in.then
	switch in.kind {
	case lock:
		s.locks[in.object] = uint8(thread+1) << 4
	case readLock:
		s.locks[in.object] |= 1 << thread
	case tryLock:
		if s.locks[in.object] != 0 {
			next = in.otherwise
		} else {
			s.locks[in.object] = uint8(thread+1) << 4
		}
	case unlock:
		release(&s, thread, in.object)
	case wait:
		release(&s, thread, in.mutex)
		s.phase[thread] = asleep
		return append(out, s) // the instruction ends with the acquisition
	case signal:
		s.pc[thread] = uint8(next)
		return p.signalled(s, in.object, out)
	case broadcast:
		for t := range p.routine {
			if p.sleepsOn(&s, t, in.object) {
				s.phase[t] = woken
			}
		}
	case post:
		s.semaphores[in.object]++
	case semWait:
		s.semaphores[in.object]--
	case semTry:
		if s.semaphores[in.object] == 0 {
			next = in.otherwise
		} else {
			s.semaphores[in.object]--
		}
	case read:
		if in.test && int(s.variables[in.object]) != in.value {
			next = in.otherwise
		}
		s.last[thread] = 0
		if following := p.after(thread, next); following != nil && following.kind == increment {
			s.last[thread] = s.variables[in.object]
		}
	case write:
		s.variables[in.object] = uint8(in.value)
	case increment:
		s.variables[in.object] = s.last[thread] + 1
		s.last[thread] = 0
	case update:
		s.variables[in.object]++
	case create:
		s.phase[in.object] = running
	}
	s.pc[thread] = uint8(next)
	return append(out, s)
}

func (p *program) after(thread, pc int) *instruction {
	if code := p.instructions(thread); pc < len(code) {
		return &code[pc]
	}
	return nil
}

func release(s *state, thread, object int) {
	if writer(s.locks[object]) == thread {
		s.locks[object] = 0
	} else {
		s.locks[object] &^= 1 << thread
	}
}

func (p *program) sleepsOn(s *state, thread, object int) bool {
	return s.phase[thread] == asleep && p.current(s, thread).object == object
}

// signalled appends the states after a signal, which wakes any one of the threads that wait.
func (p *program) signalled(s state, object int, out []state) []state {
	woke := false
	for t := range p.routine {
		if p.sleepsOn(&s, t, object) {
			next := s
			next.phase[t] = woken
			out, woke = append(out, next), true
		}
	}
	if !woke {
		out = append(out, s)
	}
	return out
}

// access is a plain access that a thread is about to make.
type access struct {
	variable, line int
	writes         bool
}

// access returns the plain access that is the next step of a thread.
func (p *program) access(s *state, thread int) (access, bool) {
	in := p.current(s, thread)
	if in == nil || s.phase[thread] != running {
		return access{}, false
	}
	return p.plain(in)
}

func (p *program) plain(in *instruction) (access, bool) {
	switch in.kind {
	case read, write, increment:
		return access{in.object, in.line, in.kind != read}, in.object >= p.atomics
	}
	return access{}, false
}
