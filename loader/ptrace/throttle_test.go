package ptrace

import (
	"errors"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/moby/sys/capability"
	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/internal/safely"
	"github.com/tracepredict/tracepredict/loader/need"
	"github.com/tracepredict/tracepredict/loader/procfs"
)

// fill is the number of unread bytes in a ring buffer of 1024 bytes.
type fill int

func (f *fill) AvailableBytes() int { return int(*f) }

func (f *fill) BufferSize() int { return 1024 }

func TestMarks(t *testing.T) {
	var unread fill
	b := &Throttle{ring: &unread}
	for _, c := range []struct {
		unread         fill
		wanted, enough bool
	}{{0, false, true}, {256, false, true}, {257, false, false}, {511, false, false}, {512, true, false}, {1024, true, false}} {
		unread = c.unread
		if b.needed() != c.wanted || b.drained() != c.enough {
			t.Errorf("%d unread: wanted %v, enough %v", unread, b.needed(), b.drained())
		}
	}
	b.Release()
	if b.needed() || !b.drained() {
		t.Error("released, it goes on to hold")
	}
	var none *Throttle
	none.Release()
	if none.needed() || none.Notes(true) != nil {
		t.Error("without a throttle there is a hold")
	}
}

// TestHold: the program that is asked to wait while its probes are removed waits until Release, however little is unread,
// and that is not counted as a wait for the ring buffer.
func TestHold(t *testing.T) {
	var unread fill
	b := NewThrottle(&unread, nil)
	b.leaving.Store(true)
	if !b.needed() || b.drained() {
		t.Error("an empty ring buffer ends the hold")
	}
	ends := b.holdBegins()
	if !b.Holding() {
		t.Error("a hold that has begun does not go on")
	}
	b.looked(1)
	select {
	case <-b.still:
		t.Error("it is still while a thread runs")
	default:
	}
	b.looked(0)
	b.looked(0)
	b.Hold() // returns since no thread runs
	b.Release()
	if b.needed() || !b.drained() {
		t.Error("released, it goes on to hold")
	}
	ends(true)
	if n, _ := b.Waits(); n != 0 || b.Holding() {
		t.Errorf("%d waits for the ring buffer, or the hold goes on: %v", n, b.Holding())
	}
	b = NewThrottle(&unread, nil)
	b.Release()
	b.Hold() // returns since it was released
	if b.leaving.Load() {
		t.Error("it begins to hold after Release")
	}
}

// TestHoldUntraced: a program that computes is in a stop of ptrace once Hold returns, and runs untraced after Release.
func TestHoldUntraced(t *testing.T) {
	program := exec.Command("sh", "-c", "echo; while :; do :; done")
	out, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	pid := program.Process.Pid
	defer func() {
		_ = program.Process.Kill()
		_ = program.Wait()
	}()
	if _, err := out.Read(make([]byte, 1)); err != nil { // before, it may sleep for want of its code
		t.Fatal(err)
	}
	var unread fill
	b := NewThrottle(&unread, func() []int { return []int{pid} })
	detached := make(chan bool, 1)
	OnOneThread(func() {
		for !b.needed() {
			pauseBriefly(0)
		}
		detached <- b.HoldUntraced()
	}, func(p *safely.Panic) { panic(p) })
	b.Hold()
	if status, err := procfs.Status(strconv.Itoa(pid)); err != nil || status["State"] != "t (tracing stop)" || !isOwn(procfs.TracerID(pid, pid)) {
		t.Errorf("held: %q, traced by %q (%v)", status["State"], status["TracerPid"], err)
	}
	b.Release()
	if !<-detached {
		t.Error("it is still traced")
	}
	if status, err := procfs.Status(strconv.Itoa(pid)); err != nil || status["State"] != "R (running)" || status["TracerPid"] != "0" {
		t.Errorf("released: %q, traced by %q (%v)", status["State"], status["TracerPid"], err)
	}
	if isOwn(0) || isOwn(pid) {
		t.Error("another process's thread is taken for one of the tool's own")
	}
}

func TestThrottleNotes(t *testing.T) {
	const (
		waited  = "the program was made to wait 2 times, 0.500 s in all, for tracepredict to catch up"
		stopped = "tracepredict itself was stopped, or kept from running, for 1.5 s, so the program could not be made to wait: a larger --ring gives it more time"
		small   = "the ring buffer was full before the program could be made to wait: give a larger --ring"
	)
	holds := func(b *Throttle) { b.countHold(200 * time.Millisecond); b.countHold(300 * time.Millisecond) }
	absent := func(b *Throttle) { b.RecordStall(1500 * time.Millisecond); b.RecordStall(time.Millisecond) }
	traced := func(b *Throttle) {
		b.recordObstacle(7, "seven")
		b.recordObstacle(7, "again")
		b.recordObstacle(3, "three")
	}
	for _, c := range []struct {
		name string
		with []func(*Throttle)
		lost bool
		want []string
	}{
		{"a quiet run", nil, false, nil},
		{"a run that waited", []func(*Throttle){holds, absent}, false, []string{waited}},
		{"late", []func(*Throttle){holds}, true, []string{waited, small}},
		{"the tool was stopped", []func(*Throttle){absent}, true, []string{stopped}},
		{"traced by others", []func(*Throttle){traced, absent}, true, []string{"three", "seven"}},
		{"traced by others, nothing lost", []func(*Throttle){traced}, false, nil},
	} {
		b := &Throttle{}
		for _, f := range c.with {
			f(b)
		}
		if got := b.Notes(c.lost); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestWaker: a waker wakes a thread that waits for its tracees, and the thread can wait
// again.
func TestWaker(t *testing.T) {
	program := exec.Command("cat")
	in, err := program.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	wakers, woken, failed := make(chan waker, 1), make(chan int), make(chan error, 1)
	OnOneThread(func() {
		defer close(wakers)
		defer close(woken)
		if err := errors.Join(program.Start(), seize(program)); err != nil {
			failed <- err
			return
		}
		b, err := NewWaker()
		if err != nil {
			failed <- err
			return
		}
		wakers <- b
		for {
			tid, ws, err := nextStop(true)
			if err != nil || tid != 0 && ws.Exited() {
				failed <- err
				return
			}
			woken <- tid
		}
	}, func(p *safely.Panic) { panic(p) })
	b, ok := <-wakers
	// Wake has no effect before the wait, so it is repeated until there is an answer.
	again := time.NewTicker(busyPause)
	defer again.Stop()
	for rings := 0; ok && rings < 3; {
		b.Wake()
		select {
		case tid := <-woken:
			rings++
			if tid != 0 {
				t.Errorf("it was woken by %d", tid)
			}
		case <-again.C:
		}
	}
	in.Close()
	for range woken { // the last call of Wake may have been one too many
	}
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
}

// seize makes the calling thread the tracer of a command that runs.
func seize(c *exec.Cmd) error {
	if c.Process == nil {
		return nil
	}
	return ptrace(unix.PTRACE_SEIZE, c.Process.Pid, 0, 0)
}

// TestTracersLeaveOthersAlone: two threads have started a program each, and each traces the other
// one's. Neither gets a stop or the end of the program that it has started and does not trace, nor
// of a third one that nobody traces.
func TestTracersLeaveOthersAlone(t *testing.T) {
	type traced struct{ started, other *exec.Cmd }
	start := func() (*exec.Cmd, error) {
		c := exec.Command("cat")
		if _, err := c.StdinPipe(); err != nil {
			return nil, err
		}
		return c, c.Start()
	}
	var sides [2]traced
	var got [2][]int
	errs := make(chan error, 2)
	var started, seized sync.WaitGroup
	started.Add(2)
	seized.Add(2)
	untraced := make(chan *exec.Cmd, 2)
	for i := range sides {
		OnOneThread(func() {
			var err error
			sides[i].started, err = start()
			other, err2 := start()
			untraced <- other
			started.Done()
			started.Wait()
			sides[i].other = sides[1-i].started
			err = errors.Join(err, err2, seize(sides[i].other))
			seized.Done()
			seized.Wait()
			for _, c := range []*exec.Cmd{sides[i].other, other} {
				err = errors.Join(err, c.Process.Kill())
			}
			for err == nil {
				tid, ws, waited := nextStop(true)
				if waited != nil || tid == 0 {
					err = waited
					break
				}
				if got[i] = append(got[i], tid); ws.Exited() || ws.Signaled() {
					break
				}
				err = ptrace(unix.PTRACE_CONT, tid, 0, 0)
			}
			errs <- err
		}, func(p *safely.Panic) { panic(p) })
	}
	if err := errors.Join(<-errs, <-errs); err != nil {
		t.Fatal(err)
	}
	for i := range sides {
		for _, pid := range got[i] {
			if pid != sides[i].other.Process.Pid {
				t.Errorf("tracer %d got process %d, and traces %d", i, pid, sides[i].other.Process.Pid)
			}
		}
		if c := <-untraced; c.Wait() == nil || c.ProcessState == nil || c.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Errorf("the end of a program that nobody traces was taken: %v", c.ProcessState)
		}
	}
}

func TestInterruption(t *testing.T) {
	stop := func(sig unix.Signal, event int) unix.WaitStatus {
		return unix.WaitStatus(event<<16 | int(sig)<<8 | 0x7f)
	}
	for _, c := range []struct {
		ws   unix.WaitStatus
		want bool
	}{
		{stop(unix.SIGTRAP, unix.PTRACE_EVENT_STOP), true},
		{stop(unix.SIGSTOP, unix.PTRACE_EVENT_STOP), true},
		{stop(unix.SIGCHLD, 0), true},
		{stop(syscallStop, 0), false},
		{stop(unix.SIGTRAP, unix.PTRACE_EVENT_CLONE), false},
		{stop(unix.SIGTRAP, unix.PTRACE_EVENT_EXEC), false},
		{0, false},
		{9, false},
	} {
		if got := interruption(c.ws); got != c.want {
			t.Errorf("%#x: %v, want %v", c.ws, got, c.want)
		}
	}
}

// TestThread: what a Thread runs has the priority that raisePriority asks for, it is another thread than the process's
// first, and a panic there is handled. A thread that is not needed ends.
func TestThread(t *testing.T) {
	caps, err := need.OwnCapabilities()
	if err != nil {
		t.Fatal(err)
	}
	mayRaise := caps.C.Get(capability.EFFECTIVE, capability.CAP_SYS_NICE)
	NewThread().End()
	type seen struct{ tid, nice int }
	for _, thread := range []*Thread{NewThread(), nil} {
		came, failed := make(chan seen, 1), make(chan *safely.Panic, 1)
		thread.Run(func() {
			nice, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
			if err != nil {
				t.Error(err)
			}
			came <- seen{unix.Gettid(), 20 - nice} // as the system call returns it
			panic("it ends")
		}, func(p *safely.Panic) { failed <- p })
		got := <-came
		if got.tid == unix.Getpid() {
			t.Error("it runs on the first thread")
		}
		if p := <-failed; p.Value != "it ends" {
			t.Errorf("its panic is %v", p)
		}
		if mayRaise && got.nice != -20 {
			t.Errorf("nice %d", got.nice)
		}
		thread.End()
	}
}
