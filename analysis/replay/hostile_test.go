package replay

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/tracepredict/tracepredict/analysis/engine"
	"github.com/tracepredict/tracepredict/analysis/report"
	jsonreport "github.com/tracepredict/tracepredict/analysis/report/json"
	textreport "github.com/tracepredict/tracepredict/analysis/report/text"
	"github.com/tracepredict/tracepredict/observer/clock"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
	"github.com/tracepredict/tracepredict/observer/trace"
)

// threads is a run in which thread after thread begins and none ends.
type threads struct{ n uint64 }

func (s *threads) Next(e *event.Event) error {
	s.n++
	*e = event.Event{Seq: s.n, Thread: event.ThreadID(s.n), Op: event.Begin}
	if s.n > 1<<17 {
		return io.EOF
	}
	return nil
}

func (s *threads) Names() *run.Names            { return &run.Names{} }
func (s *threads) Summary() (run.Summary, bool) { return run.Summary{}, true }

type nobody struct{}

func (nobody) Event(*event.Event) {}

// TestThreadsWithoutEnd: threads that never end, and know nothing of each other, need memory in proportion to
// their number.
func TestThreadsWithoutEnd(t *testing.T) {
	must := clock.New()
	n, err := events(&threads{}, nobody{}, &clocks{must: must, limit: 1 << 26}, nil)
	if err != nil || n != 1<<17 || must.Memory() > 1<<20 {
		t.Errorf("%d events, %v, %d bytes", n, err, must.Memory())
	}
}

// strangers is a run of threads without an end: each joins what one of a few variables knows, at random,
// and adds itself, so that each knows something else.
type strangers struct {
	n      uint64
	random *rand.Rand
}

func (s *strangers) Next(e *event.Event) error {
	if s.n++; s.n > 1<<17 {
		return io.EOF
	}
	*e = event.Event{Seq: s.n, Thread: event.ThreadID(s.random.IntN(4096) + 1), Op: event.Update, Flags: event.Atomic, Object: event.ObjectID(s.random.IntN(61) + 1), Kind: event.KindVariable}
	return nil
}

func (s *strangers) Names() *run.Names            { return &run.Names{} }
func (s *strangers) Summary() (run.Summary, bool) { return run.Summary{}, true }

// TestThreadsThatKnowMuch: threads each of which knows something else of all others need memory of the square of
// their number, which is bounded.
func TestThreadsThatKnowMuch(t *testing.T) {
	must := clock.New()
	c := &clocks{must: must, limit: 1 << 23}
	n, err := events(&strangers{random: rand.New(rand.NewPCG(1, 2))}, nobody{}, c, nil)
	if err == nil || !strings.Contains(err.Error(), "too many threads") || n < 1<<11 || must.Memory() > 16*c.limit {
		t.Errorf("%d events, %v, %d bytes", n, err, must.Memory())
	}
}

// oneName returns the same name for everything.
type oneName string

func (s oneName) Frames(event.StackID) []event.Frame {
	return []event.Frame{{Function: string(s), File: string(s), Line: 7, Module: string(s)}}
}
func (s oneName) Object(event.ObjectID) run.Object {
	return run.Object{Name: string(s), Kind: event.KindMutex}
}
func (s oneName) Thread(event.ThreadID) run.Thread {
	return run.Thread{Name: string(s), Start: string(s)}
}

func (s oneName) Func(event.FuncID) event.Func {
	return event.Func{Name: string(s), Params: []event.Param{{Name: string(s)}}, Patterns: []event.Pattern{{Pattern: string(s)}}}
}

// FuzzReport writes a trace of any events and names, which need not be those of a run, and makes
// a report of it.
func FuzzReport(f *testing.F) {
	f.Add([]byte{1, 2, 1, 0, 0, 0, 2, 2, 1, 0, 0, 0, 1, 4, 1, 0, 0, 0}, "\x1b[2J")
	f.Add([]byte{1, 9, 0, 2, 0, 0, 2, 9, 0, 2, 0, 0, 1, 10, 0, 1, 0, 0}, "n")
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		if len(data) > 6*500 {
			return
		}
		var file bytes.Buffer
		w, err := trace.NewWriter(&file, trace.WriterOptions{Names: oneName(name), FlushEvery: -1})
		if err != nil {
			t.Fatal(err)
		}
		n := uint64(0)
		for ; len(data) >= 6; data = data[6:] {
			n++
			w.Event(eventOf(data, n))
		}
		if err := w.Close(run.Summary{Program: name, Events: n, Duration: time.Second, Notes: []string{name}}); err != nil {
			t.Fatal(err)
		}
		r, err := trace.NewReader(&file, "fuzz")
		if err != nil {
			t.Fatal(err)
		}
		rep, err := Report(r, Options{Engine: engine.Options{History: 4}})
		if err != nil {
			return // The trace refuses an event that is impossible.
		}
		var text, js bytes.Buffer
		if err := textreport.Write(&text, rep, report.Options{}); err != nil {
			t.Error(err)
		}
		if err := jsonreport.Write(&js, rep, report.Options{}); err != nil || !json.Valid(js.Bytes()) || !utf8.Valid(js.Bytes()) {
			t.Errorf("JSON: %v", err)
		}
		if got := report.Sanitize(text.String()); got != text.String() {
			t.Errorf("text: %q", got)
		}
	})
}

// eventOf makes an event of six bytes. Its fields have few values, so that events are often on
// the same object.
func eventOf(b []byte, seq uint64) *event.Event {
	e := &event.Event{Seq: seq, Time: seq, Thread: event.ThreadID(b[0]%5 + 1), Op: event.Op(b[1]) % event.NumOps,
		Object: event.ObjectID(b[2] % 6), Peer: event.ThreadID(b[3] % 6), Object2: event.ObjectID(b[3] / 64), Stack: event.StackID(b[4] % 9), Kind: event.Kind(b[4] / 32)}
	e.Flags = event.Flags(binary.LittleEndian.Uint16(b[4:]) &^ 0xf)
	e.Value = uint64(b[5] % 4)
	return e
}
