// Package ptrace holds threads: those of a started program at its execve and while its libraries
// are mapped (Held, Tracee), and those of any observed program while the ring buffer is too full
// (Throttle). It writes nothing into a program's memory, and the kernel releases the threads
// that it holds when the tool dies.
package ptrace

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/loader/procfs"
	"github.com/tracepredict/tracepredict/loader/target"
)

// The tracing of a started program. Problem: its libraries must have their probes before they
// run, and so must each program that it executes; but a breakpoint of the tool's in its memory,
// or a signal, would kill or stop it if the tool dies. Solution: ptrace alone, which the kernel
// undoes when the tracer dies. The program is seized before it is executed, and stops at each
// execve. From there on, while the dynamic loader runs, it stops at each system call, so that a
// library that has just been mapped gets its probes before any of its code runs. The first
// system call from outside the loader ends that. From then on it runs freely except for stops at
// clone, execve and signals.

// ptraceOptions never contains EXITKILL, because the program outlives the tool.
const ptraceOptions = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_TRACECLONE

// followOptions also traces the processes that are forked. Each begins with a stop, in which it
// gets its probes.
const followOptions = unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK

// Tracee is a program that the tool has started and traces. One thread, which calls Seize, calls
// all other methods too.
type Tracee struct {
	pid        int
	follow     bool
	OnExec     func(pid int) error                // at each execve: the new program is mapped and has not run
	OnMap      func(pid int) error                // during loading: an executable mapping may be new
	OnReady    func(pid int) error                // the dynamic loader has ended; main is next
	OnStop     func()                             // a group stop: all threads stop until SIGCONT
	OnContinue func()                             // the end of a group stop; also a new thread's first stop
	OnFork     func(parent, pid int, shared bool) // shared: in its parent's memory
	OnEnd      func(pid int)                      // a process that was forked has ended
	OnTrap     func(tid int) (ours bool)          // a debug exception that the thread did not cause itself
	// OnCopied is called when a thread has executed a breakpoint that the kernel knows nothing of, at an address. It
	// returns the bytes to be put back; none if it is the program's own.
	OnCopied func(tid int, at uint64) []Original
	// OnLoaded is called when a thread has stopped by SIGURG. It returns false if that is not because it has loaded or
	// unloaded a library; else the library has its probes then.
	OnLoaded     func(tid int) bool
	OnAsk        func(Ask)        // a thread asks to trace, or to be traced, which the tool's tracing forbids
	Steer        Steerer          // nil: threads are not steered
	stepping     map[int]bool     // by thread ID: it executes one instruction for the Steerer
	leaving      bool             // Leave has been called
	waiting      map[int][]asker  // by thread ID: the threads that wait until it is not traced any more
	loading      map[int]*loading // by process ID, while the dynamic loader runs
	forked       map[int]bool     // processes that were forked and have not ended
	executedOnce bool             // the program has been executed
	replaced     map[uint64]bool  // addresses of copied breakpoints in whose place instructions are again
	released     atomic.Bool      // Run returns without waiting for the program's end

	reaper   reaper
	Throttle *Throttle               // nil: the program is never made to wait
	holding  bool                    // running threads are interrupted, stops are kept
	ends     func(held bool)         // is called at the end of the hold
	kept     map[int]unix.WaitStatus // by thread ID: stops to handle after the hold
}

// Exit is how a program ended: with an exit status, or by a signal.
type Exit struct {
	Status int         // exit status, if Signal is 0
	Signal unix.Signal // the signal that ended it; 0: none
	Core   bool        // the signal produced a core dump
}

// Code returns the exit status as a shell does: 128 + n for signal n.
func (e Exit) Code() int {
	if e.Signal != 0 {
		return 128 + int(e.Signal)
	}
	return e.Status
}

// NewTracee returns a Tracee for a process that is not traced yet. With follow, the processes
// that it forks are traced too.
func NewTracee(pid int, follow bool) *Tracee {
	return &Tracee{
		pid: pid, follow: follow, loading: map[int]*loading{}, forked: map[int]bool{},
		replaced: map[uint64]bool{}, OnStop: func() {}, OnContinue: func() {},
		OnFork: func(int, int, bool) {}, OnEnd: func(int) {},
		OnTrap:   func(int) bool { return false },
		OnCopied: func(int, uint64) []Original { return nil },
		OnLoaded: func(int) bool { return false },
		OnAsk:    func(Ask) {}, waiting: map[int][]asker{}, stepping: map[int]bool{},
	}
}

// Seize begins to trace the program, from the calling operating system thread.
func (t *Tracee) Seize() error {
	options := ptraceOptions
	if t.follow {
		options |= followOptions
	}
	if err := ptrace(unix.PTRACE_SEIZE, t.pid, 0, uintptr(options)); err != nil {
		return fmt.Errorf("trace process %d: %w", t.pid, err)
	}
	return nil
}

// SeizeThreads begins to trace, from the calling operating system thread, all threads of a program
// that runs already, and those that they will create. It stops none of them.
func (t *Tracee) SeizeThreads() error {
	t.executedOnce = true
	options := unix.PTRACE_O_TRACECLONE
	if t.follow {
		options |= followOptions
	}
	tried := map[int]bool{}
	for {
		tids, err := procfs.Threads(t.pid)
		if err != nil {
			return fmt.Errorf("trace process %d: %w", t.pid, err)
		}
		tids = slices.DeleteFunc(tids, func(tid int) bool { return tried[tid] })
		if len(tids) == 0 {
			return nil
		}
		for _, tid := range tids {
			tried[tid] = true
			if err := t.seizeThread(tid, options); err != nil {
				return err
			}
		}
	}
}

// seizeThread begins to trace a thread, unless it has ended or is traced since its creation by
// one that was seized before.
func (t *Tracee) seizeThread(tid, options int) error {
	err := ptrace(unix.PTRACE_SEIZE, tid, 0, uintptr(options))
	if err == nil || errors.Is(err, unix.ESRCH) || procfs.HasEnded(t.pid, tid) {
		return nil
	}
	task := fmt.Sprintf("%d/task/%d", t.pid, tid)
	if status, e := procfs.Status(task); e == nil && status["TracerPid"] == strconv.Itoa(unix.Gettid()) {
		return nil
	}
	if who := procfs.TracerOf(task); who != "" {
		return fmt.Errorf("process %d is traced by %s: %w", t.pid, who, err)
	}
	return fmt.Errorf("trace process %d: %w", t.pid, err)
}

// Release makes Run return without waiting for the program's end, once the thread that runs it is
// woken. It may be called from any thread.
func (t *Tracee) Release() { t.released.Store(true) }

// ErrNeverRan means that the process ended before it became the program.
var ErrNeverRan = errors.New("the program was not executed")

// Run handles the program's stops, and makes it wait when the throttle asks for it, until the
// program ends, or Release or Leave is called.
func (t *Tracee) Run() (Exit, error) {
	for !t.released.Load() {
		if t.leaving {
			return t.leave()
		}
		if err := t.updateHold(); err != nil {
			return Exit{}, err
		}
		if t.Steer != nil {
			if t.Steer.Tick(); t.leaving {
				continue
			}
		}
		tid, ws, err := nextStop(!t.holding)
		switch {
		case err != nil:
			return Exit{}, fmt.Errorf("wait for process %d: %w", t.pid, err)
		case tid == 0:
			t.idle()
		case ws.Exited() || ws.Signaled():
			if tid != t.pid {
				if err := t.threadEnded(tid); err != nil {
					return Exit{}, err
				}
				continue
			}
			t.endHold()
			if !t.executedOnce {
				return exitOf(ws), ErrNeverRan
			}
			return exitOf(ws), nil
		default:
			if err := t.stopped(tid, ws); err != nil {
				return Exit{}, err
			}
		}
	}
	return Exit{}, nil
}

// stopped handles a stop, and the ends of threads meanwhile.
func (t *Tracee) stopped(tid int, ws unix.WaitStatus) error {
	t.reaper.begin(t.pid, t.forked)
	err := t.handleOrKeep(tid, ws)
	for _, ended := range t.reaper.finish() {
		err = errors.Join(err, t.threadEnded(ended))
	}
	return err
}

// handleOrKeep handles a stop, or keeps it during a hold.
func (t *Tracee) handleOrKeep(tid int, ws unix.WaitStatus) error {
	if interruption(ws) {
		resumeCall(tid)
	}
	if t.holding {
		t.kept[tid] = ws
		return nil
	}
	return t.handleUnlessKilled(tid, ws)
}

func (t *Tracee) handleUnlessKilled(tid int, ws unix.WaitStatus) error {
	if err := t.handleStop(tid, ws); err != nil && !killed(tid) {
		return err
	}
	return nil
}

// updateHold begins or ends a hold if the throttle asks for it. It begins none while libraries
// are loaded: then the program has only one thread, which makes no events, and its stops must be
// handled.
func (t *Tracee) updateHold() error {
	switch {
	case t.holding && t.Throttle.drained():
		t.endHold()
		kept := t.kept
		t.kept = nil
		for _, tid := range slices.Sorted(maps.Keys(kept)) {
			if err := t.handleUnlessKilled(tid, kept[tid]); err != nil {
				return err
			}
		}
	case !t.holding && t.executedOnce && !t.starting() && t.Throttle.needed():
		t.holding, t.ends, t.kept = true, t.Throttle.holdBegins(), map[int]unix.WaitStatus{}
		t.interruptRunning()
	}
	return nil
}

// starting reports whether the libraries of the first process are being loaded.
func (t *Tracee) starting() bool {
	_, loading := t.loading[t.pid]
	return loading
}

func (t *Tracee) endHold() {
	if t.holding {
		t.holding = false
		t.ends(true)
	}
}

// idle is called when there is no stop to handle. During a hold threads wake up and run; idle
// interrupts them.
func (t *Tracee) idle() {
	if t.holding {
		before := time.Now()
		t.interruptRunning()
		pauseBriefly(time.Since(before))
	}
}

func (t *Tracee) interruptRunning() {
	running := 0
	for _, pid := range t.Throttle.pids() {
		procfs.EachRunning(pid, func(tid int) {
			_ = ptrace(unix.PTRACE_INTERRUPT, tid, 0, 0) // the thread may have ended
			running++
		})
	}
	t.Throttle.looked(running)
}

// killed reports whether a thread that was in a stop has been killed. Its memory is gone then,
// which makes other things fail; its end will be reported by wait4.
func killed(tid int) bool {
	var msg uint64
	err := ptrace(unix.PTRACE_GETEVENTMSG, tid, 0, uintptr(unsafe.Pointer(&msg)))
	return errors.Is(err, unix.ESRCH)
}

// WaitUntraced waits for the end of a process that the tool has started and does not trace any more.
func WaitUntraced(pid int) (Exit, error) {
	for {
		var ws unix.WaitStatus
		switch _, err := unix.Wait4(pid, &ws, 0, nil); {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return Exit{}, fmt.Errorf("wait for process %d: %w", pid, err)
		case ws.Exited() || ws.Signaled():
			return exitOf(ws), nil
		}
	}
}

func exitOf(ws unix.WaitStatus) Exit {
	if ws.Signaled() {
		return Exit{Signal: ws.Signal(), Core: ws.CoreDump()}
	}
	return Exit{Status: ws.ExitStatus()}
}

// syscallStop is the signal of a stop at a system call, with PTRACE_O_TRACESYSGOOD.
const syscallStop = unix.SIGTRAP | 0x80

// handleStop handles one stop and lets the thread continue.
func (t *Tracee) handleStop(tid int, ws unix.WaitStatus) error {
	sig := ws.StopSignal()
	event := int(uint32(ws) >> 16)
	delete(t.stepping, tid)
	if _, asked := t.waiting[tid]; asked {
		return t.yieldStopped(tid, ws)
	}
	switch {
	case sig == syscallStop:
		return t.systemCall(tid)
	case event == unix.PTRACE_EVENT_EXEC:
		return t.executed(tid)
	case event == unix.PTRACE_EVENT_STOP:
		if sig == unix.SIGSTOP || sig == unix.SIGTSTP || sig == unix.SIGTTIN || sig == unix.SIGTTOU {
			// A group stop: the thread stays stopped until SIGCONT, as it would without a
			// tracer.
			err := ignoreEnded(ptrace(unix.PTRACE_LISTEN, tid, 0, 0))
			t.OnStop()
			return err
		}
		t.OnContinue()
		t.firstStop(tid)
		if t.Steer != nil && t.Steer.Begins(tid) {
			return nil
		}
		return t.resume(tid, 0)
	case event == unix.PTRACE_EVENT_CLONE && t.Steer != nil:
		t.created(tid)
		return t.resume(tid, 0)
	case event != 0:
		return t.resume(tid, 0)
	case t.Steer != nil && t.Steer.Came(tid, sig):
		return nil
	case sig == unix.SIGTRAP && (unexplainedTrap(tid) && t.OnTrap(tid) || t.restored(tid)):
		return t.resume(tid, 0)
	case sig == unix.SIGURG && t.OnLoaded(tid):
		return t.resume(tid, 0)
	case sig == unix.SIGURG:
		if asked, err := t.asks(tid); asked {
			return err
		}
	}
	return t.resume(tid, sig)
}

// Original is a byte of code in whose place a breakpoint was copied.
type Original struct {
	Addr uint64
	Byte byte
}

// restored reports whether a thread, which is in a stop for SIGTRAP, has executed a copied breakpoint. The
// instruction is there again then, and the thread executes it next.
func (t *Tracee) restored(tid int) bool {
	at, there, ok := breakpointAt(tid)
	switch {
	case !ok:
		return false
	case !there: // another thread has executed it at the same time
		return t.replaced[at] && stepBack(tid, at)
	}
	for _, o := range t.OnCopied(tid, at) {
		if _, err := unix.PtracePokeText(tid, uintptr(o.Addr), []byte{o.Byte}); err == nil {
			t.replaced[o.Addr] = true
		}
	}
	return t.replaced[at] && stepBack(tid, at)
}

func (t *Tracee) resume(tid int, sig unix.Signal) error {
	request := unix.PTRACE_CONT
	if _, loading := t.loading[tid]; loading {
		request = unix.PTRACE_SYSCALL
	}
	return ignoreEnded(ptrace(request, tid, 0, uintptr(sig)))
}

func (t *Tracee) executed(tid int) error {
	t.executedOnce = true
	delete(t.loading, tid)
	if err := t.OnExec(tid); err != nil {
		return err
	}
	maps, err := procfs.Maps(tid)
	if err != nil {
		return err
	}
	if loader, ok := dynamicLoader(tid, maps); ok {
		t.loading[tid] = &loading{loader: loader}
	} else if err := t.OnReady(tid); err != nil {
		return err
	}
	return t.resume(tid, 0)
}

// firstStop handles the first stop of a process that was forked.
func (t *Tracee) firstStop(tid int) {
	// The first stop of a thread, and the stop at the end of a group stop, look the same.
	if !t.follow || tid == t.pid || t.forked[tid] || unix.Tgkill(tid, tid, 0) != nil {
		return
	}
	t.forked[tid] = true
	status, err := procfs.Status(strconv.Itoa(tid))
	if err != nil {
		return
	}
	parent, _ := strconv.Atoi(status["PPid"])
	t.OnFork(parent, tid, sharesMemory(parent, tid))
}

// sharesMemory reports whether a process runs in its parent's memory until its execve, because
// it was made by vfork or posix_spawn. A process whose parent has ended has memory of its own,
// since a caller of vfork waits.
func sharesMemory(parent, pid int) bool {
	const vm = 1 // KCMP_VM
	r, _, e := unix.Syscall6(unix.SYS_KCMP, uintptr(parent), uintptr(pid), vm, 0, 0, 0)
	if e != 0 {
		return e != unix.ESRCH
	}
	return r == 0
}

// threadEnded handles the end of a thread, which may be the last of its process.
func (t *Tracee) threadEnded(tid int) error {
	delete(t.kept, tid)
	delete(t.loading, tid)
	delete(t.stepping, tid)
	if t.forked[tid] {
		delete(t.forked, tid)
		t.OnEnd(tid)
	}
	if t.Steer != nil {
		t.Steer.Ended(tid)
	}
	t.forgetAsker(tid)
	return t.answer(tid)
}

// dynamicLoader returns the mapping of the code of the program's interpreter at execve: then it
// is the only file that is mapped besides the program, or the only one of all, if it was executed itself (ld.so ./program).
func dynamicLoader(pid int, maps []procfs.Mapping) (procfs.Mapping, bool) {
	exe, err := procfs.Executable(pid)
	if err != nil {
		return procfs.Mapping{}, false
	}
	code := func(wanted func(path string) bool) (procfs.Mapping, bool) {
		i := slices.IndexFunc(maps, func(m procfs.Mapping) bool { return m.Exec && m.File.Inode != 0 && wanted(m.Path) })
		if i < 0 {
			return procfs.Mapping{}, false
		}
		return maps[i], true
	}
	if m, ok := code(func(path string) bool { return path != exe }); ok || !target.IsLoader(pid) {
		return m, ok
	}
	return code(func(path string) bool { return path == exe })
}

// loading is a process whose dynamic loader runs.
type loading struct {
	loader procfs.Mapping // the loader's code
	maps   bool           // the system call that it is in may make an executable mapping
}

// systemCall handles a stop at the entry or exit of a system call while the dynamic loader runs.
func (t *Tracee) systemCall(tid int) error {
	l := t.loading[tid]
	if l == nil {
		return t.resume(tid, 0)
	}
	info, err := SyscallInfo(tid)
	if err != nil {
		return ignoreEnded(err)
	}
	switch {
	case info.ip < l.loader.Lo || info.ip >= l.loader.Hi:
		delete(t.loading, tid)
		if err := t.OnMap(tid); err != nil {
			return err
		}
		if err := t.OnReady(tid); err != nil {
			return err
		}
	case info.op == unix.PTRACE_SYSCALL_INFO_ENTRY:
		l.maps = info.mapsCode()
	case info.op == unix.PTRACE_SYSCALL_INFO_EXIT && l.maps:
		l.maps = false
		if err := t.OnMap(tid); err != nil {
			return err
		}
	}
	return t.resume(tid, 0)
}

// ptraceSyscallInfo is the start of struct ptrace_syscall_info.
type ptraceSyscallInfo struct {
	op   uint8
	_    [3]uint8
	arch uint32
	ip   uint64
	sp   uint64
	data [8]uint64 // of an entry: the number of the system call, and six arguments
}

// mapsCode reports whether the system call that is entered may make a mapping that is executable. A program with a
// thousand libraries makes ten thousand other calls while they are loaded, and to read its mappings after each takes
// minutes.
func (i *ptraceSyscallInfo) mapsCode() bool {
	switch i.data[0] {
	case unix.SYS_MMAP, unix.SYS_MPROTECT, unix.SYS_PKEY_MPROTECT:
		return i.data[3]&unix.PROT_EXEC != 0
	case unix.SYS_MREMAP:
		return true
	}
	return false
}

// SyscallInfo returns the system call at whose entry or exit a thread has stopped.
func SyscallInfo(tid int) (ptraceSyscallInfo, error) {
	var info ptraceSyscallInfo
	_, _, e := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_GET_SYSCALL_INFO, uintptr(tid), unsafe.Sizeof(info),
		uintptr(unsafe.Pointer(&info)), 0, 0)
	if e != 0 {
		return info, fmt.Errorf("ask for the system call of thread %d (Linux 5.3 or later): %w", tid, e)
	}
	return info, nil
}

// ignoreEnded returns nil if the error is "no such process": a thread may be killed at any
// moment, and wait4 reports its end all the same.
func ignoreEnded(err error) error {
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

func ptrace(request int, pid int, addr, data uintptr) error {
	_, _, e := unix.Syscall6(unix.SYS_PTRACE, uintptr(request), uintptr(pid), addr, data, 0, 0)
	if e != 0 {
		return fmt.Errorf("ptrace request %#x of %d: %w", request, pid, e)
	}
	return nil
}
