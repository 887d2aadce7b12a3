// Package ptrace holds threads: a started program at its execve and while its libraries are mapped
// (Held, Tracee), and any observed program while the ring buffer is too full (Brake). It writes
// nothing into a program's memory, and whatever it holds the kernel lets go when the tool dies.
package ptrace

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/loader/procfs"
)

// The tracing of a started program. Problem: its libraries must carry their
// probes before they run, and every program that it becomes must too; but a
// breakpoint of ours in its memory, or a signal, would kill or stop it if the
// tool dies. So: ptrace alone, which the kernel undoes when the tracer dies.
// The program is seized before it is executed; it stops at each execve; then,
// while the dynamic loader runs, at each system call, so that a library that
// has just been mapped gets its probes before any of its code runs; the first
// system call from outside the loader ends that. From then on it runs freely
// but for stops at clone, execve and signals.

// ptraceOptions never holds EXITKILL: the program outlives the tool.
const ptraceOptions = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_TRACECLONE

// followOptions bring the processes that are forked as well. Each begins with a
// stop, in which it gets its probes.
const followOptions = unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK

// Tracee is a program that the tool has started and traces. All its methods
// but kill run on the one thread that seized it.
type Tracee struct {
	pid        int
	follow     bool
	OnExec     func(pid int) error // at each execve: the new program is mapped, nothing of it has run
	OnMap      func(pid int) error // while loading: something executable may have been mapped
	OnReady    func(pid int) error // the loader is done: main is still to come
	OnStop     func()              // a thread has stopped with all others, until SIGCONT
	OnContinue func()              // a thread that stood goes on; a new one too
	OnFork     func(parent, pid int, shared bool)
	OnEnd      func(pid int)
	loading    map[int]procfs.Mapping // the dynamic loader's code, by process, while it runs
	born       map[int]bool           // processes that have been forked and have not ended
	execd      bool

	Brake   *Brake // nil: never made to wait
	holding bool   // the running threads are being interrupted, and who stops stays
	since   time.Time
	kept    map[int]unix.WaitStatus // stops to serve at the end of the hold
}

// Exit is how a program ended.
type Exit struct {
	Status int         // its own exit status
	Signal unix.Signal // or the signal that ended it
	Core   bool
}

// Code returns the exit status in a shell's terms: 128 + n for signal n.
func (e Exit) Code() int {
	if e.Signal != 0 {
		return 128 + int(e.Signal)
	}
	return e.Status
}

// NewTracee returns a tracee that is not traced yet. With follow the processes that it forks are
// traced too.
func NewTracee(pid int, follow bool) *Tracee {
	return &Tracee{pid: pid, follow: follow, loading: map[int]procfs.Mapping{}, born: map[int]bool{}}
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

// ErrNeverRan says that the process ended before it became the program.
var ErrNeverRan = errors.New("the program was not executed")

// Run waits for the program's end, serving its stops and making it wait where
// the brake says so.
func (t *Tracee) Run() (Exit, error) {
	for {
		if err := t.press(); err != nil {
			return Exit{}, err
		}
		tid, ws, err := nextStop(!t.holding)
		switch {
		case err != nil:
			return Exit{}, fmt.Errorf("wait for process %d: %w", t.pid, err)
		case tid == 0:
			t.idle()
		case ws.Exited() || ws.Signaled():
			delete(t.kept, tid)
			if tid != t.pid {
				t.ended(tid)
				continue
			}
			t.endHold()
			if !t.execd {
				return exitOf(ws), ErrNeverRan
			}
			return exitOf(ws), nil
		default:
			if err := t.arrived(tid, ws); err != nil {
				return Exit{}, err
			}
		}
	}
}

// arrived serves a stop, or keeps it during a hold.
func (t *Tracee) arrived(tid int, ws unix.WaitStatus) error {
	if interruption(ws) {
		resumeCall(tid)
	}
	if t.holding {
		t.kept[tid] = ws
		return nil
	}
	return t.serve(tid, ws)
}

func (t *Tracee) serve(tid int, ws unix.WaitStatus) error {
	if err := t.stopped(tid, ws); err != nil && !killed(tid) {
		return err
	}
	return nil
}

// press begins a hold, and ends it. There is none while libraries are loaded:
// the one thread that there is makes no events, and its stops must be served.
func (t *Tracee) press() error {
	switch {
	case t.holding && t.Brake.enough():
		t.endHold()
		kept := t.kept
		t.kept = nil
		for _, tid := range slices.Sorted(maps.Keys(kept)) {
			if err := t.serve(tid, kept[tid]); err != nil {
				return err
			}
		}
	case !t.holding && t.execd && !t.starting() && t.Brake.wanted():
		t.holding, t.since, t.kept = true, time.Now(), map[int]unix.WaitStatus{}
		t.interruptRunning()
	}
	return nil
}

// starting: the first program's libraries are being loaded.
func (t *Tracee) starting() bool {
	_, loading := t.loading[t.pid]
	return loading
}

func (t *Tracee) endHold() {
	if t.holding {
		t.holding = false
		t.Brake.count(time.Since(t.since))
	}
}

// idle is called when nothing is to be told. During a hold threads wake up and
// run: they are stopped as they show up.
func (t *Tracee) idle() {
	if t.holding {
		t.interruptRunning()
		nap()
	}
}

func (t *Tracee) interruptRunning() {
	for _, pid := range t.Brake.pids() {
		procfs.EachRunning(pid, func(tid int) {
			_ = ptrace(unix.PTRACE_INTERRUPT, tid, 0, 0) // it may have ended
		})
	}
}

// killed reports whether a thread that stood in a stop has been killed, which
// takes its memory and so makes other things fail: its end is still to be told.
func killed(tid int) bool {
	var msg uint64
	err := ptrace(unix.PTRACE_GETEVENTMSG, tid, 0, uintptr(unsafe.Pointer(&msg)))
	return errors.Is(err, unix.ESRCH)
}

func exitOf(ws unix.WaitStatus) Exit {
	if ws.Signaled() {
		return Exit{Signal: ws.Signal(), Core: ws.CoreDump()}
	}
	return Exit{Status: ws.ExitStatus()}
}

// syscallStop marks, with PTRACE_O_TRACESYSGOOD, a stop at a system call.
const syscallStop = unix.SIGTRAP | 0x80

// stopped serves one stop and lets the thread go on.
func (t *Tracee) stopped(tid int, ws unix.WaitStatus) error {
	sig := ws.StopSignal()
	event := int(uint32(ws) >> 16)
	switch {
	case sig == syscallStop:
		return t.systemCall(tid)
	case event == unix.PTRACE_EVENT_EXEC:
		return t.executed(tid)
	case event == unix.PTRACE_EVENT_STOP:
		if sig == unix.SIGSTOP || sig == unix.SIGTSTP || sig == unix.SIGTTIN || sig == unix.SIGTTOU {
			// A group stop: stay stopped, as without a tracer, until SIGCONT.
			err := gone(ptrace(unix.PTRACE_LISTEN, tid, 0, 0))
			t.OnStop()
			return err
		}
		t.OnContinue()
		t.birth(tid)
		return t.resume(tid, 0)
	case event != 0:
		return t.resume(tid, 0)
	}
	return t.resume(tid, sig)
}

func (t *Tracee) resume(tid int, sig unix.Signal) error {
	request := unix.PTRACE_CONT
	if _, loading := t.loading[tid]; loading {
		request = unix.PTRACE_SYSCALL
	}
	return gone(ptrace(request, tid, 0, uintptr(sig)))
}

func (t *Tracee) executed(tid int) error {
	t.execd = true
	delete(t.loading, tid)
	if err := t.OnExec(tid); err != nil {
		return err
	}
	maps, err := procfs.Maps(tid)
	if err != nil {
		return err
	}
	if loader, ok := dynamicLoader(tid, maps); ok {
		t.loading[tid] = loader
	} else if err := t.OnReady(tid); err != nil {
		return err
	}
	return t.resume(tid, 0)
}

// birth serves the first stop of a process that was forked.
func (t *Tracee) birth(tid int) {
	// A thread's first stop, and each at the end of a group stop, looks the same.
	if !t.follow || tid == t.pid || t.born[tid] || unix.Tgkill(tid, tid, 0) != nil {
		return
	}
	t.born[tid] = true
	status, err := procfs.Status(strconv.Itoa(tid))
	if err != nil {
		return
	}
	parent, _ := strconv.Atoi(status["PPid"])
	t.OnFork(parent, tid, sharesMemory(parent, tid))
}

// sharesMemory tells a process that vfork or posix_spawn made, which runs in its
// parent's memory until its execve. One that has no parent any more has its own:
// who calls vfork waits.
func sharesMemory(parent, pid int) bool {
	const vm = 1 // KCMP_VM
	r, _, e := unix.Syscall6(unix.SYS_KCMP, uintptr(parent), uintptr(pid), vm, 0, 0, 0)
	if e != 0 {
		return e != unix.ESRCH
	}
	return r == 0
}

// ended serves the end of a thread, which may be the last of its process.
func (t *Tracee) ended(tid int) {
	delete(t.loading, tid)
	if t.born[tid] {
		delete(t.born, tid)
		t.OnEnd(tid)
	}
}

// dynamicLoader finds the code of the program's interpreter at execve: the
// one file besides the program itself.
func dynamicLoader(pid int, maps []procfs.Mapping) (procfs.Mapping, bool) {
	exe, err := procfs.Executable(pid)
	if err != nil {
		return procfs.Mapping{}, false
	}
	for _, m := range maps {
		if m.Exec && m.File.Inode != 0 && m.Path != exe {
			return m, true
		}
	}
	return procfs.Mapping{}, false
}

// systemCall serves a stop at a system call's entry or exit while the dynamic
// loader runs.
func (t *Tracee) systemCall(tid int) error {
	loader, loading := t.loading[tid]
	if !loading {
		return t.resume(tid, 0)
	}
	info, err := SyscallInfo(tid)
	if err != nil {
		return gone(err)
	}
	switch {
	case info.ip < loader.Lo || info.ip >= loader.Hi:
		delete(t.loading, tid)
		if err := t.OnMap(tid); err != nil {
			return err
		}
		if err := t.OnReady(tid); err != nil {
			return err
		}
	case info.op == unix.PTRACE_SYSCALL_INFO_EXIT:
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
	_    [64]byte
}

// SyscallInfo returns what a thread that stands at a system call is about to do, or has done.
func SyscallInfo(tid int) (ptraceSyscallInfo, error) {
	var info ptraceSyscallInfo
	_, _, e := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_GET_SYSCALL_INFO, uintptr(tid), unsafe.Sizeof(info),
		uintptr(unsafe.Pointer(&info)), 0, 0)
	if e != 0 {
		return info, fmt.Errorf("ask for the system call of thread %d (Linux 5.3 or later): %w", tid, e)
	}
	return info, nil
}

// gone takes "no such process" for success: a thread may be killed at any
// moment, and its end is reported all the same.
func gone(err error) error {
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

// OnOneThread runs f on an operating system thread of its own, as ptrace
// demands; the thread ends with f.
func OnOneThread(f func()) {
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			f()
			return
		}
		// The process's first thread does not end with its goroutine: keep
		// it from being taken for f, and give it back.
		taken := make(chan struct{})
		OnOneThread(func() {
			close(taken)
			f()
		})
		<-taken
		runtime.UnlockOSThread()
	}()
}
