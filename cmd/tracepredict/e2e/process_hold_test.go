package e2e

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/loader"
	"github.com/tracepredict/tracepredict/probes"
)

// tally counts the records of each thread. From the first lock on it blocks until the
// test continues it, as a reader does that waits for an analysis, or for a pipe that
// nobody reads.
type tally struct {
	received, lost map[uint32]int
	all            atomic.Uint64 // number of records received
	blocked        bool
	blocking       chan struct{} // closed when the handler blocks
	unblock        chan struct{} // closed by the test to continue it
}

func newTally() *tally {
	return &tally{received: map[uint32]int{}, lost: map[uint32]int{}, blocking: make(chan struct{}), unblock: make(chan struct{})}
}

func (y *tally) Record(r *bpf.Record) {
	y.all.Add(1)
	switch bpf.Op(r.Op) {
	case bpf.OpHole:
		y.lost[r.Tid] += int(r.Value)
	case bpf.OpExec: // number of records before main
	default:
		y.received[r.Tid]++
	}
	if bpf.Op(r.Op) == bpf.OpAcquire && !y.blocked {
		y.blocked = true
		close(y.blocking)
		<-y.unblock
	}
}

func (y *tally) Call(r *bpf.CallRecord) { y.Record(&r.Head) }
func (y *tally) Stack(*bpf.StackRecord) {}
func (y *tally) Idle()                  {}

// openInput replaces the standard input of the programs that are started from now on by
// a pipe that the test closes.
func openInput(t testing.TB) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	own := os.Stdin
	os.Stdin = r
	t.Cleanup(func() {
		os.Stdin = own
		r.Close()
		w.Close()
	})
	return w
}

// isHeld reports whether no thread of the process runs, and at least one is in a stop
// of its tracer's.
func isHeld(pid int) bool {
	stopped := 0
	for _, s := range threadStates(pid, "State") {
		switch s[0] {
		case 't':
			stopped++
		case 'R', 'D':
			return false
		}
	}
	return stopped > 0
}

// pairsMade returns how many pairs each thread of testdata/process/locks.c says it
// made.
func pairsMade(t testing.TB, output string) map[uint32]int {
	t.Helper()
	m := map[uint32]int{}
	for line := range strings.Lines(output) {
		if rest, ok := strings.CutPrefix(line, "thread "); ok {
			var tid uint32
			var n int
			if _, err := fmt.Sscan(rest, &tid, &n); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			m[tid] = n
		}
	}
	return m
}

// running is an observation that continues while the test acts.
type running struct {
	pid     int
	session *loader.Session
	result  loader.Result
	err     error
	ended   chan struct{}
	output  func() string // the program's output, at the end
	in      io.Closer     // the program's input
}

// startObserving observes a program, from its start or once it has printed its process
// ID.
func startObserving(t testing.TB, attach bool, opts loader.Options, args ...string) *running {
	t.Helper()
	opts.Plan = probes.Options{Table: tables(t, nil)}
	r := &running{ended: make(chan struct{})}
	begun := make(chan struct{}) // closed when the observation has begun, or failed
	hasBegun := sync.OnceFunc(func() { close(begun) })
	hasStarted := func(s *loader.Session) {
		r.session = s
		hasBegun()
	}
	var stdout *os.File
	observe := func() (loader.Result, error) {
		return loader.Start(context.Background(), loader.Program{Path: args[0], Args: args, Stdout: stdout}, opts, hasStarted)
	}
	if attach {
		// It is started by a shell, because a parent that waits for it would receive
		// the stops for which its tracer waits.
		program := startChild(t, childOptions{}, append([]string{"/bin/sh", "-c", `"$@"; exit $?`, "sh"}, args...)...)
		r.pid, r.in = lineNumber(t, program, "pid "), program.in
		r.output = func() string {
			program.want(0)
			return program.out.String()
		}
		observe = func() (loader.Result, error) {
			return loader.Attach(context.Background(), r.pid, opts, nil, hasStarted)
		}
	} else {
		r.in = openInput(t)
		stdout, r.output = captured(t)
	}
	go func() {
		defer close(r.ended)
		r.result, r.err = observe()
		hasBegun()
	}()
	await(t, "the beginning of the observation", begun, nil)
	if r.session == nil {
		t.Fatal(r.err)
	}
	r.pid = r.session.PID()
	boundOf(t).owns(r.pid)
	if attach {
		io.WriteString(r.in.(io.Writer), "go\n")
	}
	return r
}

// end lets the program end, and waits for the end.
func (r *running) end(t testing.TB) (output string) {
	t.Helper()
	r.in.Close()
	await(t, "the end of the observation", r.ended, nil)
	if r.err != nil {
		t.Fatal(r.err)
	}
	return r.output()
}

// TestAccounting checks that each record that the program made was either received or
// counted as lost, also for each thread, whatever delays the reader, and that by
// default none is lost.
func TestAccounting(t *testing.T) {
	needBPF(t)
	first := 0 // records of the first thread: the C library also locks in pthread_create
	for _, c := range []struct {
		name          string
		attach, lossy bool
	}{{"exec", false, false}, {"exec lossy", false, true}, {"attach", true, false}, {"attach lossy", true, true}} {
		t.Run(c.name, func(t *testing.T) {
			y, threads, pairs := newTally(), 3, 100_000 // more than half of the ring buffer
			opts := loader.Options{Handler: y, Lossy: c.lossy}
			if c.lossy {
				opts.RingBytes, pairs = 1<<20, 20_000
			}
			args := []string{processFixture(t, "locks.c"), fmt.Sprint(threads), fmt.Sprint(pairs)}
			if c.attach {
				args = append(args, "wait")
			}
			r := startObserving(t, c.attach, opts, args...)
			await(t, "a reader that blocks", y.blocking, nil)
			if c.lossy {
				poll(t, "the end of the threads", func() bool { return len(threadStates(r.pid, "State")) == 1 })
			} else {
				// A thread that begins is in a stop, too.
				poll(t, "the program's wait", func() bool { return r.session.Holding() && isHeld(r.pid) })
			}
			close(y.unblock)
			out := r.end(t)
			wantAllAccounted(t, y, r, out, threads, pairs)
			n := y.received[uint32(r.pid)] + y.lost[uint32(r.pid)]
			if first == 0 {
				first = n
			}
			if n != first || n < 3*threads+1 {
				t.Errorf("the first thread: %d records received or lost, want %d as in the first run", n, first)
			}
			if lossless := r.result.Lost == (loader.Lost{}); lossless == c.lossy {
				t.Errorf("lost: %+v (%q)", r.result.Lost, r.session.Notes())
			}
			notes := r.session.Notes()
			if waited := len(notes) == 1 && strings.HasPrefix(notes[0], "the program was made to wait "); waited == c.lossy {
				t.Errorf("notes: %q", notes)
			}
		})
	}
}

func wantAllAccounted(t testing.TB, y *tally, r *running, out string, threads, pairs int) {
	t.Helper()
	said := pairsMade(t, out)
	if len(said) != threads {
		t.Errorf("the program said %q", out)
	}
	for tid, n := range said {
		// Each pair has two records, and the end of the thread has one.
		if n != pairs || y.received[tid]+y.lost[tid] != 2*n+1 {
			t.Errorf("thread %d made %d pairs: %d records received and %d lost", tid, n, y.received[tid], y.lost[tid])
		}
	}
	sum := 0
	for _, n := range y.lost {
		sum += n
	}
	if uint64(sum) != r.result.Lost.Records || r.result.Lost.LifeRecords != 0 {
		t.Errorf("lost of all threads %d, in all %+v", sum, r.result.Lost)
	}
}

// slowHandler is a handler that falls behind the program a number of times: each time
// it blocks until the program is made to wait.
type slowHandler struct {
	times  int           // how many times are left
	after  int           // number of records that it reads before it blocks: more than the ring buffer has room for
	read   int           // number of records since it last blocked
	behind chan struct{} // closed after the last time
}

func (l *slowHandler) Record(r *bpf.Record) {
	if l.read++; l.times == 0 || l.read < l.after {
		return
	}
	l.read = 0
	for end := time.Now().Add(time.Minute); !isHeld(int(r.Tgid)); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			l.times = 1 // the program did not wait: the test counts the waits
			break
		}
	}
	if l.times--; l.times == 0 {
		close(l.behind)
	}
}

func (l *slowHandler) Call(r *bpf.CallRecord) { l.Record(&r.Head) }
func (l *slowHandler) Stack(*bpf.StackRecord) {}
func (l *slowHandler) Idle()                  {}

// TestWaitsAreNotInterrupted checks that no system call of a program that is made to
// wait many times ends with EINTR because of that.
func TestWaitsAreNotInterrupted(t *testing.T) {
	needBPF(t)
	const turns, kinds, times = 5000, 11, 20
	for _, attach := range []bool{false, true} {
		t.Run(fmt.Sprintf("attach %v", attach), func(t *testing.T) {
			const ring = 1 << 20
			lag := &slowHandler{times: times, after: ring / int(unsafe.Sizeof(bpf.Record{})), behind: make(chan struct{})}
			opts := loader.Options{Handler: lag, RingBytes: ring}
			args := []string{processFixture(t, "waits.c"), fmt.Sprint(turns)}
			if attach {
				args = append(args, "wait")
			}
			r := startObserving(t, attach, opts, args...)
			await(t, "a program that is made to wait often enough", lag.behind, nil)
			out := r.end(t)
			_, result, _ := strings.Cut(out, "rounds ")
			var rounds, wanted, interrupted, odd int
			_, err := fmt.Sscanf(result, "%d of %d, interrupted %d, odd %d\n", &rounds, &wanted, &interrupted, &odd)
			if err != nil || rounds != wanted || wanted < turns*kinds || interrupted != 0 || odd != 0 {
				t.Errorf("it said %q (%v), and is to do all of at least %d rounds without any interrupted or odd", out, err, turns*kinds)
			}
			n := timesHeld(t, r.session)
			t.Logf("it was made to wait %d times, in %d rounds", n, rounds)
			if n < times {
				t.Errorf("it was made to wait %d times, want %d at least", n, times)
			}
		})
	}
}

// timesHeld returns how often the program was made to wait, from the notes.
func timesHeld(t testing.TB, s *loader.Session) int {
	t.Helper()
	for _, note := range s.Notes() {
		rest, ok := strings.CutPrefix(note, "the program was made to wait ")
		if !ok {
			continue
		}
		if strings.HasPrefix(rest, "once") {
			return 1
		}
		var n int
		if _, err := fmt.Sscan(rest, &n); err != nil {
			t.Fatalf("%q: %v", note, err)
		}
		return n
	}
	return 0
}
