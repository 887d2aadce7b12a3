package report

import (
	"fmt"
	"io"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// A report of many findings: each has sides and a schedule of its own, in C++ code with
// long names and deep stacks.
const (
	manyFindings = 1000
	manyStacks   = 4000
	manyObjects  = 2000
	manyThreads  = 16
	witnessSteps = 20
	stackDepth   = 64
)

func manyTable() table {
	t := table{objects: map[event.ObjectID]run.Object{}, threads: map[event.ThreadID]run.Thread{}, stacks: map[event.StackID][]event.Frame{}}
	for i := range manyStacks {
		var frames []event.Frame
		for d := range stackDepth {
			frames = append(frames, src(
				fmt.Sprintf("store::Table<std::__cxx11::basic_string<char>, store::Row<%d>, std::allocator<std::pair<int const, int>>>::visit_%d(std::function<void (int)>)", i%97, i),
				fmt.Sprintf("/home/u/store/src/part%d/table%d.cc", d, i%300), 10+i%900))
		}
		t.stacks[event.StackID(i+1)] = stackOf(frames...)
	}
	for i := range manyObjects {
		info := run.Object{Addr: uint64(0x10000 + 64*i), Kind: event.KindMutex, Init: event.StackID(i + 1), First: event.StackID(i + 1), FirstThread: 1}
		if i%2 == 0 {
			info.Name, info.Kind = fmt.Sprintf("store::tables[%d].rows", i), event.KindVariable
		}
		t.objects[event.ObjectID(i+1)] = info
	}
	for i := range manyThreads {
		t.threads[event.ThreadID(i+1)] = run.Thread{TID: uint32(5000 + i), Name: "store", Start: "worker", Parent: 1, Created: 1}
	}
	return t
}

// many returns findings that are all different: races and deadlocks in turn.
func many(n int) []finding.Finding {
	var fs []finding.Finding
	for i := range n {
		object := func(k int) event.ObjectID { return event.ObjectID(2*((i*7+k)%(manyObjects/2)) + 1 + i%2) }
		stack := func(k int) event.StackID { return event.StackID((i*2+k*3)%manyStacks + 1) }
		step := func(k int) finding.Step {
			return finding.Step{Seq: uint64(i*1000 + k), Thread: event.ThreadID(1 + (i+k)%manyThreads), Op: event.Acquire, Object: object(k), Stack: stack(k)}
		}
		f := finding.Finding{
			Kind: []finding.Kind{finding.Race, finding.Deadlock}[i%2], Confidence: finding.Predicted, Order: finding.OrderSyncPreserving,
			Assumes: []string{"race-free"}, Count: 1,
		}
		for k := range 2 {
			side := step(k)
			if i%2 == 0 {
				side.Op, side.Value, side.Flags, side.Object = event.Write, uint64(k), event.HasValue, object(0)
			} else {
				side.Held, side.HeldAt = []event.ObjectID{object(1 - k)}, []event.StackID{stack(9 + k)}
			}
			f.Evidence = append(f.Evidence, side)
			f.Threads, f.Objects = append(f.Threads, side.Thread), append(f.Objects, side.Object)
		}
		if i%2 == 0 {
			f.Objects = f.Objects[:1]
		}
		for k := range witnessSteps {
			f.Witness = append(f.Witness, step(k))
		}
		fs = append(fs, f)
	}
	return fs
}

func TestManyFindings(t *testing.T) {
	if rep := Build(shopRun(), many(manyFindings), manyTable()); len(rep.Findings) != manyFindings {
		t.Errorf("%d findings, want %d that differ", len(rep.Findings), manyFindings)
	}
}

// bytesOut counts what is written.
type bytesOut int

func (n *bytesOut) Write(p []byte) (int, error) {
	*n += bytesOut(len(p))
	return len(p), nil
}

// BenchmarkReport builds the report of a thousand findings, whose names and stacks exist
// already, and writes it.
func BenchmarkReport(b *testing.B) {
	fs, names := many(manyFindings), manyTable()
	for _, c := range []struct {
		name  string
		write func(io.Writer, Report) error
	}{
		{"text", func(w io.Writer, r Report) error { return WriteText(w, r, TextOptions{Width: 120}) }},
		{"json", WriteJSON},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			size := bytesOut(0)
			for b.Loop() {
				if err := c.write(&size, Build(shopRun(), fs, names)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(size)/1e6/float64(b.N), "MB")
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/report")
		})
	}
}
