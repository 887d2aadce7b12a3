package loader

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// fill is a ring buffer of 1024 bytes with so much unread.
type fill int

func (f *fill) AvailableBytes() int { return int(*f) }
func (f *fill) BufferSize() int     { return 1024 }

func TestMarks(t *testing.T) {
	var unread fill
	b := &brake{ring: &unread}
	for _, c := range []struct {
		unread         fill
		wanted, enough bool
	}{{0, false, true}, {256, false, true}, {257, false, false}, {511, false, false}, {512, true, false}, {1024, true, false}} {
		unread = c.unread
		if b.wanted() != c.wanted || b.enough() != c.enough {
			t.Errorf("%d unread: wanted %v, enough %v", unread, b.wanted(), b.enough())
		}
	}
	b.release()
	if b.wanted() || !b.enough() {
		t.Error("released, it goes on to hold")
	}
	var none *brake
	none.release()
	if none.wanted() || none.notes(true) != nil {
		t.Error("without a brake there is a hold")
	}
}

func TestBrakeNotes(t *testing.T) {
	const (
		waited  = "the program was made to wait 2 times, 0.500 s in all, for tracepredict to catch up"
		stopped = "tracepredict itself was stopped, or kept from running, for 1.5 s, so the program could not be made to wait: a larger --ring gives it more time"
		small   = "the ring buffer was full before the program could be made to wait: give a larger --ring"
	)
	holds := func(b *brake) { b.count(200 * time.Millisecond); b.count(300 * time.Millisecond) }
	absent := func(b *brake) { b.wasAbsent(1500 * time.Millisecond); b.wasAbsent(time.Millisecond) }
	traced := func(b *brake) {
		b.obstacle(7, "seven")
		b.obstacle(7, "again")
		b.obstacle(3, "three")
	}
	for _, c := range []struct {
		name string
		with []func(*brake)
		lost bool
		want []string
	}{
		{"a quiet run", nil, false, nil},
		{"a run that waited", []func(*brake){holds, absent}, false, []string{waited}},
		{"late", []func(*brake){holds}, true, []string{waited, small}},
		{"the tool was stopped", []func(*brake){absent}, true, []string{stopped}},
		{"traced by others", []func(*brake){traced, absent}, true, []string{"three", "seven"}},
		{"traced by others, nothing lost", []func(*brake){traced}, false, nil},
	} {
		b := &brake{}
		for _, f := range c.with {
			f(b)
		}
		if got := b.notes(c.lost); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestThreadState(t *testing.T) {
	for text, want := range map[string]byte{
		"17 (cat) S 1 17":           'S',
		"17 (a) R (b) D 1 17":       'D',
		"17 (tail) R":               'R',
		"17 (cut) ":                 0,
		"":                          0,
		"17 (x) t 1 17 17 0 -1 400": 't',
	} {
		name := filepath.Join(t.TempDir(), "stat")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := threadState(name, make([]byte, 256)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := threadState(filepath.Join(t.TempDir(), "none"), make([]byte, 256)); got != 0 {
		t.Errorf("a thread that has ended: %q", got)
	}
	running := false
	eachRunning(os.Getpid(), func(tid int) { running = running || tid > 0 })
	if !running {
		t.Error("no thread of the test runs")
	}
	eachRunning(1<<30, func(int) { t.Error("a thread of no process runs") })
}

// TestBell: a thread that waits for its tracees is woken, and can wait again.
func TestBell(t *testing.T) {
	program := exec.Command("cat")
	in, err := program.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	bells, woken, failed := make(chan bell, 1), make(chan int), make(chan error, 1)
	onOneThread(func() {
		defer close(bells)
		defer close(woken)
		if err := program.Start(); err != nil { // its parent is this thread
			failed <- err
			return
		}
		b, err := newBell()
		if err != nil {
			failed <- err
			return
		}
		bells <- b
		for {
			tid, ws, err := nextStop(true)
			if err != nil || tid != 0 && ws.Exited() {
				failed <- err
				return
			}
			woken <- tid
		}
	})
	b, ok := <-bells
	// A ring before the wait is missed, so it rings until there is an answer.
	again := time.NewTicker(busyPause)
	defer again.Stop()
	for rings := 0; ok && rings < 3; {
		b.ring()
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
	for range woken { // a ring that was one too many
	}
	if err := <-failed; err != nil {
		t.Fatal(err)
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
