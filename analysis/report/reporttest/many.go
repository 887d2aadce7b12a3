package reporttest

import (
	"fmt"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// A report of many findings: each has sides and a schedule of its own, in C++ code with
// long names and deep stacks.
const (
	ManyFindings = 1000
	manyStacks   = 4000
	manyObjects  = 2000
	manyThreads  = 16
	witnessSteps = 20
	stackDepth   = 64
)

// ManyTable returns the names for Many.
func ManyTable() Table {
	t := Table{Objects: map[event.ObjectID]run.Object{}, Threads: map[event.ThreadID]run.Thread{}, Stacks: map[event.StackID][]event.Frame{}}
	for i := range manyStacks {
		var frames []event.Frame
		for d := range stackDepth {
			frames = append(frames, Src(
				fmt.Sprintf("store::Table<std::__cxx11::basic_string<char>, store::Row<%d>, std::allocator<std::pair<int const, int>>>::visit_%d(std::function<void (int)>)", i%97, i),
				fmt.Sprintf("/home/u/store/src/part%d/table%d.cc", d, i%300), 10+i%900))
		}
		t.Stacks[event.StackID(i+1)] = StackOf(frames...)
	}
	for i := range manyObjects {
		info := run.Object{Addr: uint64(0x10000 + 64*i), Kind: event.KindMutex, Init: event.StackID(i + 1), First: event.StackID(i + 1), FirstThread: 1}
		if i%2 == 0 {
			info.Name, info.Kind = fmt.Sprintf("store::tables[%d].rows", i), event.KindVariable
		}
		t.Objects[event.ObjectID(i+1)] = info
	}
	for i := range manyThreads {
		t.Threads[event.ThreadID(i+1)] = run.Thread{TID: uint32(5000 + i), Name: "store", Start: "worker", Parent: 1, Created: 1}
	}
	return t
}

// Many returns findings that are all different: races and deadlocks in turn.
func Many(n int) []finding.Finding {
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

// RacesOf returns races in functions of files, two of each function, on objects of their own.
func RacesOf(n int) ([]finding.Finding, Table) {
	tab := ShopTable()
	var fs []finding.Finding
	for i := range n {
		object, stack := event.ObjectID(100+i), event.StackID(100+2*i)
		tab.Objects[object] = run.Object{Name: fmt.Sprintf("totals_%d", i), Addr: uint64(0x6000 + 8*i), Kind: event.KindVariable}
		file := fmt.Sprintf("/home/u/shop/part%d.c", i/6)
		tab.Stacks[stack] = StackOf(Src(fmt.Sprintf("add_%d", i/2), file, 10+i), Src("front_desk", "/home/u/shop/shop.c", 41))
		tab.Stacks[stack+1] = StackOf(Src(fmt.Sprintf("show_%d", i/2), file, 100+i), Src("back_desk", "/home/u/shop/desk/shop.c", 57))
		f := Race()
		f.Objects, f.Confidence, f.Count = []event.ObjectID{object}, finding.Predicted, 1
		if i%3 == 2 {
			f.Confidence = finding.Likely
		}
		f.Assumes = []string{finding.RaceFree}
		for k := range f.Evidence {
			f.Evidence[k].Object, f.Evidence[k].Stack, f.Evidence[k].Seq = object, stack+event.StackID(k), uint64(10*i+k+1)
		}
		fs = append(fs, f)
	}
	return fs, tab
}
