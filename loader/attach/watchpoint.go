package attach

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/loader/need"
	"github.com/tracepredict/tracepredict/loader/procfs"
	"github.com/tracepredict/tracepredict/probes/watchpoint"
)

// Hardware watchpoints. Problem: each thread has four of its own, and must have them from its
// first instruction on. Solution: a perf event of the kernel for each thread that exists. The
// threads that it creates inherit the event at their creation; other processes do not. The
// kernel removes the watchpoints when their descriptors are closed, however the tool ends, and
// at an execve. Threads that a running process creates while its threads get their events may or
// may not have inherited one. The kernel's list of a thread's events shows that (list_watched),
// so that it is read again until no thread is without.

// ErrNoWatchpoint is the error that errors.Is finds in errors about hardware watchpoints.
var ErrNoWatchpoint = errors.New("no hardware watchpoint")

// Flags of struct perf_event_attr that golang.org/x/sys/unix does not name (Linux 5.13).
const (
	perfInheritThread = 1 << 35
	perfRemoveOnExec  = 1 << 36

	breakpointRW = 3 // HW_BREAKPOINT_RW; x86 cannot watch reads alone
)

// watchLink is a hardware watchpoint in all threads of a process.
type watchLink struct {
	watches *ebpf.Map
	key     bpf.WatchKey
	events  []int // descriptors of the perf events
}

// Close removes the watchpoint.
func (l *watchLink) Close() error {
	err := closeEvents(l.events)
	l.events = nil
	if e := l.watches.Delete(l.key); e != nil && !errors.Is(e, ebpf.ErrKeyNotExist) {
		err = errors.Join(err, e)
	}
	if err != nil {
		return fmt.Errorf("remove the hardware watchpoint at 0x%x: %w", l.key.Addr, err)
	}
	return nil
}

func closeEvents(events []int) error {
	var err error
	for _, fd := range events {
		err = errors.Join(err, unix.Close(fd))
	}
	return err
}

// Watch sets a hardware watchpoint on size bytes at an address of a process, in all its threads
// and those that they create, until the probes of the process are removed.
func (t *Tracer) Watch(pid int, addr uint64, size int, w bpf.Watch) error {
	if err := t.attachWatchedCalls(); err != nil {
		return err
	}
	key := bpf.WatchKey{Addr: addr, Tgid: uint32(pid)}
	if err := t.objs.Watches.Put(key, w); err != nil {
		return fmt.Errorf("watch 0x%x of process %d: %w", addr, pid, err)
	}
	l := &watchLink{watches: t.objs.Watches, key: key}
	if err := t.cover(l, pid, size); err != nil {
		return errors.Join(err, l.Close())
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closers[pid] = append(t.closers[pid], l)
	return nil
}

// HasWatched reports whether a hardware watchpoint has ever been set.
func (t *Tracer) HasWatched() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.watchedCallsAttached
}

// attachWatchedCalls attaches, before the first watchpoint, the programs that record that a thread begins
// its next system call, or ends: one system call may access a variable several times.
func (t *Tracer) attachWatchedCalls() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.watchedCallsAttached {
		return nil
	}
	if err := t.attachRawTracepoint("sys_enter", bpf.TracepredictProgOnWatchedCall); err != nil {
		return err
	}
	t.watchedCallsAttached = true
	if err := t.attachTracing(bpf.TracepredictProgOnWatchedExit); err != nil {
		return fmt.Errorf("attach the tracepoint of threads that end: %w", err)
	}
	return nil
}

// cover opens a watchpoint for each thread that has none.
func (t *Tracer) cover(l *watchLink, pid, size int) error {
	watch, err := t.programs.get(bpf.TracepredictProgOnWatch)
	if err != nil {
		return err
	}
	tried := map[int]bool{}
	for {
		without, err := t.unwatched(pid, l.key.Addr)
		if err != nil {
			return err
		}
		without = slices.DeleteFunc(without, func(tid int) bool { return tried[tid] })
		if len(without) == 0 {
			return nil
		}
		for _, tid := range without {
			tried[tid] = true
			fd, err := openWatchpoint(tid, l.key.Addr, size, watch.FD())
			switch {
			case err == nil:
				l.events = append(l.events, fd)
			case !errors.Is(err, unix.ESRCH): // otherwise the thread has ended
				return explainWatchpoint(tid, err)
			}
		}
	}
}

// unwatched returns the threads of a process that have no watchpoint of the tool's at addr.
func (t *Tracer) unwatched(pid int, addr uint64) ([]int, error) {
	// The threads are listed first: those that are created between the two lists inherit.
	tasks, err := t.Tasks()
	if err != nil {
		return nil, err
	}
	lines, err := iterate[bpf.WatchedLine](t.programs, bpf.TracepredictProgListWatched)
	if err != nil {
		return nil, fmt.Errorf("list hardware watchpoints: %w", err)
	}
	watched := map[uint32]bool{}
	for _, l := range lines {
		if l.Addr == addr {
			watched[l.Tid] = true
		}
	}
	var without []int
	for _, task := range tasks {
		if int(task.Tgid) == pid && !watched[task.Tid] {
			without = append(without, int(task.Tid))
		}
	}
	return without, nil
}

// openWatchpoint opens and enables an event for a thread and for those that it will create.
func openWatchpoint(tid int, addr uint64, size, prog int) (fd int, err error) {
	if fd, err = openEvent(tid, addr, size); err != nil {
		return -1, err
	}
	err = unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_BPF, prog)
	if err == nil {
		err = unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_ENABLE, 0)
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// openEvent opens the event of a watchpoint, disabled, for a thread and for those that it will
// create.
func openEvent(tid int, addr uint64, size int) (fd int, err error) {
	if runtime.GOARCH != "amd64" {
		return -1, unix.EOPNOTSUPP // on other architectures they trap before the access
	}
	attr := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_BREAKPOINT, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Sample: 1,
		Bp_type: breakpointRW, Ext1: addr, Ext2: uint64(size),
		Bits: unix.PerfBitDisabled | unix.PerfBitInherit | unix.PerfBitExcludeHv | perfInheritThread | perfRemoveOnExec,
	}
	return unix.PerfEventOpen(&attr, tid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
}

// trialAddr is the address of watchpoints that are opened to try and never enabled.
const trialAddr = 0x1000

// trialThreads bounds the threads whose free watchpoints FreeWatchpoints counts.
const trialThreads = 256

// FreeWatchpoints returns how many hardware watchpoints each thread of a process can still have,
// and the reason if that is not all. It finds out by opening some.
func FreeWatchpoints(pid int) (free int, why error) {
	tids, err := procfs.Threads(pid)
	if err != nil {
		return 0, err
	}
	if why := tryHit(); errors.Is(why, errSilent) {
		return 0, explainWatchpoint(unix.Gettid(), why)
	}
	free = watchpoint.Registers
	for _, tid := range tids[:min(len(tids), trialThreads)] {
		n, err := tryWatchpoints(tid, free)
		if err != nil && !errors.Is(err, unix.ESRCH) {
			free, why = n, explainWatchpoint(tid, err)
		}
	}
	return free, why
}

// tryWatchpoints opens up to most watchpoints, never enables them, and closes them. It returns
// how many it could open.
func tryWatchpoints(tid, most int) (n int, err error) {
	var events []int
	for n < most && err == nil {
		var fd int
		if fd, err = openEvent(tid, trialAddr, 1); err == nil {
			events = append(events, fd)
			n++
		}
	}
	return n, errors.Join(err, closeEvents(events))
}

// explainWatchpoint returns an error with the reason why a thread gets no watchpoint, and a
// remedy.
func explainWatchpoint(tid int, err error) error {
	e := &need.Error{What: fmt.Sprintf("thread %d cannot be given a hardware watchpoint", tid), Err: err, Kind: ErrNoWatchpoint}
	switch {
	case errors.Is(err, unix.ENOSPC):
		e.What = fmt.Sprintf("thread %d has no hardware watchpoint left: a processor has four, and another (a debugger?) uses some", tid)
		e.Remedy = "end the other, or watch fewer variables with --watch-hw"
	case errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM):
		if c := need.Read(); len(c.Missing) > 0 {
			e.Remedy = c.PrivilegeRemedy()
		}
	case errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE):
		e.Remedy = "raise the limit of open files: ulimit -n"
	case errors.Is(err, errSilent):
		e.What = "this machine accepts hardware watchpoints, but they report nothing: it is probably a virtual machine that has none"
		e.Remedy = "watch with --watch and --no-watch-hw, which need none"
	case errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENODEV) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EINVAL):
		e.What = "this machine, or virtual machine, gives no hardware watchpoints"
		e.Remedy = "watch with --watch and --no-watch-hw, which need none"
	}
	return e
}

// KernelCode returns some bytes of the kernel's code before the instruction of an OpTouch record
// with RecKernel, and some from it on.
func (t *Tracer) KernelCode(ip uint64) (before, at []byte, ok bool) {
	var code bpf.KernelCode
	if err := t.objs.KernelCodes.Lookup(ip, &code); err != nil {
		return nil, nil, false
	}
	return code.Bytes[:bpf.KernelCodeBefore], code.Bytes[bpf.KernelCodeBefore:], true
}

// Unwatch removes the watchpoints of a process at some addresses.
func (t *Tracer) Unwatch(pid int, addrs map[uint64]bool) error {
	var removed []io.Closer
	t.mu.Lock()
	t.closers[pid] = slices.DeleteFunc(t.closers[pid], func(c io.Closer) bool {
		l, ok := c.(*watchLink)
		if !ok || !addrs[l.key.Addr] {
			return false
		}
		removed = append(removed, l)
		return true
	})
	t.mu.Unlock()
	return CloseAll(removed)
}

// TryWatchpoint sets a watchpoint for the tool itself, and has it hit. It returns a refusal unexplained: a refusal concerns
// the user, and not whether the machine has watchpoints.
func TryWatchpoint() error {
	err := tryHit()
	if _, denied := need.AsRefusal(err); denied || err == nil {
		return err
	}
	return explainWatchpoint(unix.Gettid(), err)
}

// errSilent means that a watchpoint was set, and an access of its memory was not counted.
var errSilent = errors.New("an access was not reported")

// tryHit sets a watchpoint for the calling thread on memory, which it then writes. Some virtual machines accept
// watchpoints and lose them: the kernel cannot tell.
func tryHit() error {
	runtime.LockOSThread() // a perf event is of one thread
	defer runtime.UnlockOSThread()
	memory, err := unix.Mmap(-1, 0, unix.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return fmt.Errorf("map memory to watch: %w", err)
	}
	defer unix.Munmap(memory)
	fd, err := openEvent(0, uint64(uintptr(unsafe.Pointer(&memory[0]))), 1)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_ENABLE, 0); err != nil {
		return fmt.Errorf("enable a watchpoint: %w", err)
	}
	memory[0]++
	var hits [8]byte
	if _, err := unix.Read(fd, hits[:]); err != nil {
		return fmt.Errorf("read how often a watchpoint was hit: %w", err)
	}
	if hits == [8]byte{} {
		return errSilent
	}
	return nil
}
