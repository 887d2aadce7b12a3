package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/loader"
	"github.com/tracepredict/tracepredict/probes"
)

// tally counts the records of each thread, and stands still from the first lock
// on until it is told to go on: a reader that is kept by an analysis, or by a
// pipe that nobody reads.
type tally struct {
	locks, unlocks map[uint32]int
	seen           atomic.Uint64
	stood          chan struct{} // closed when it stands still
	goOn           chan struct{} // closed by the test
}

func newTally() *tally {
	return &tally{locks: map[uint32]int{}, unlocks: map[uint32]int{}, stood: make(chan struct{}), goOn: make(chan struct{})}
}

func (y *tally) Record(r *bpf.Record) {
	switch bpf.Op(r.Op) {
	case bpf.OpAcquire:
		y.locks[r.Tid]++
	case bpf.OpRelease:
		y.unlocks[r.Tid]++
	default:
		return
	}
	if y.seen.Add(1) == 1 {
		close(y.stood)
		<-y.goOn
	}
}

func (y *tally) Stack(*bpf.StackRecord) {}
func (y *tally) Idle()                  {}

// openInput gives the programs that are started from now on an input that the
// test closes.
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

// held reports whether no thread of the process runs, and one at least stands
// in a stop of its tracer's.
func held(pid int) bool {
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

// saidMade reads what each thread of testdata/process/locks.c says it made.
func saidMade(t testing.TB, output string) map[uint32]int {
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

// running is an observation that goes on while the test acts.
type running struct {
	session *loader.Session
	result  loader.Result
	err     error
	ended   chan struct{}
}

func startObserving(t testing.TB, args []string, opts loader.Options) *running {
	t.Helper()
	opts.Plan = probes.Options{Table: tables(t, nil)}
	r := &running{ended: make(chan struct{})}
	started := make(chan *loader.Session, 1)
	go func() {
		defer close(r.ended)
		r.result, r.err = loader.Start(context.Background(), loader.Program{Path: args[0], Args: args}, opts,
			func(s *loader.Session) { started <- s })
		close(started)
	}()
	r.session = <-started
	if r.session == nil {
		<-r.ended
		t.Fatal(r.err)
	}
	return r
}

func TestNothingIsLostUnderExec(t *testing.T) {
	needBPF(t)
	y, in, output := newTally(), openInput(t), captureOutput(t)
	r := startObserving(t, []string{processFixture(t, "locks.c"), "2", "300000"}, loader.Options{Handler: y})
	<-y.stood
	poll(t, "the program's wait", func() bool { return held(r.session.PID()) })
	close(y.goOn)
	in.Close()
	<-r.ended
	if r.err != nil {
		t.Fatal(r.err)
	}
	if r.result.Lost != (loader.Lost{}) {
		t.Errorf("lost: %+v (%q)", r.result.Lost, r.session.Notes())
	}
	out := output()
	said := saidMade(t, out)
	if len(said) != 2 {
		t.Errorf("the program said %q", out)
	}
	for tid, n := range said {
		if n != 300_000 || y.locks[tid] != n || y.unlocks[tid] != n {
			t.Errorf("thread %d: %d locks and %d unlocks of %d", tid, y.locks[tid], y.unlocks[tid], n)
		}
	}
	if notes := r.session.Notes(); len(notes) != 1 || !strings.HasPrefix(notes[0], "the program was made to wait ") {
		t.Errorf("notes: %q", notes)
	}
}
