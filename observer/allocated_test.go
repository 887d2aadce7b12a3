package observer

import (
	"testing"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// TestAllocated checks that a variable behind a pointer has the block in which it lies, if the record of that block's
// allocation came before, and the block has not ended since.
func TestAllocated(t *testing.T) {
	const block, at = 0x5000, 0x5010
	record := func(time uint64, op bpf.Op, flags uint8, object, value uint64) bpf.Record {
		return bpf.Record{Time: time, Tid: 2, Tgid: 1, Op: uint8(op), Flags: flags, Object: object, Value: value, Site: siteNames["pointer"]}
	}
	allocated := func(time, made, size uint64, stack uint32) bpf.Record {
		r := record(time, bpf.OpAlloc, bpf.RecPast, block, size)
		r.Extra, r.Stack, r.Tid = made, stack, 1
		return r
	}
	access := record(90, bpf.OpWrite, 0, at, 0)
	access.Extra = 0xff
	known := run.Block{Size: 64, Offset: 16, Thread: 1}
	for _, c := range []struct {
		name    string
		records []bpf.Record
		frees   bool
		want    run.Block
		stack   event.StackID
	}{
		{"known", []bpf.Record{allocated(50, 20, 64, 7), access}, true, known, 7},
		{"unknown", []bpf.Record{access}, true, run.Block{}, 0},
		{"too small", []bpf.Record{allocated(50, 20, 16, 7), access}, true, run.Block{}, 0},
		{"freed", []bpf.Record{allocated(50, 20, 64, 7), record(60, bpf.OpFree, 0, block, 64), access}, true, run.Block{}, 0},
		{"unmapped with what is around", []bpf.Record{allocated(50, 20, 64, 7), {Time: 60, Tid: 2, Tgid: 1, Op: uint8(bpf.OpFree), Object: 0x4000, Value: 0x2000, Result: 1}, access}, true, run.Block{}, 0},
		{"allocated again", []bpf.Record{allocated(50, 20, 64, 7), record(60, bpf.OpFree, 0, block, 64), allocated(70, 65, 32, 8), access}, true, run.Block{Size: 32, Offset: 16, Thread: 1}, 8},
		{"recorded again", []bpf.Record{allocated(50, 20, 64, 7), allocated(70, 65, 32, 8), access}, true, run.Block{Size: 32, Offset: 16, Thread: 1}, 8},
		{"freed before it was recorded", []bpf.Record{record(60, bpf.OpFree, 0, block, 64), allocated(70, 20, 64, 7), access}, true, run.Block{}, 0},
		{"moved before it was recorded", []bpf.Record{record(60, bpf.OpMove, 0, block, 64), allocated(70, 20, 64, 7), access}, true, run.Block{}, 0},
		{"another was freed before", []bpf.Record{record(15, bpf.OpFree, 0, block, 64), allocated(70, 20, 64, 7), access}, true, known, 7},
		{"frees are not observed", []bpf.Record{allocated(50, 20, 64, 7), access}, false, run.Block{}, 0},
		{"before frees were observed", []bpf.Record{allocated(50, 9, 64, 7), access}, true, run.Block{}, 0},
		{"ends are not recorded any more", []bpf.Record{{Time: 40, Tid: 2, Tgid: 1, Op: uint8(bpf.OpHeapCost), Result: 1}, allocated(50, 20, 64, 7), access}, true, run.Block{}, 0},
		{"by a thread that is not known", []bpf.Record{{Time: 50, Tid: 99, Tgid: 1, Op: uint8(bpf.OpAlloc), Flags: bpf.RecPast, Object: block, Value: 64, Extra: 20, Stack: 7}, access}, true, run.Block{Size: 64, Offset: 16}, 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			var object event.ObjectID
			o := New(Options{Sites: site, SeesFrees: func(uint32) bool { return c.frees }, Past: func(*event.Event) {}, Sinks: []Sink{sinkFunc(func(e *event.Event) {
				if e.Op == event.Write {
					object = e.Object
				}
			})}})
			o.StartAt(10)
			for i, tid := range []uint32{1, 2} {
				o.Record(&bpf.Record{Time: uint64(11 + i), Tid: tid, Tgid: 1, Op: uint8(bpf.OpAcquire), Object: uint64(tid) << 20, Site: siteNames["mutex"]})
			}
			for _, r := range c.records {
				o.Record(&r)
			}
			info, _ := o.ObjectInfo(object)
			if info.Block != c.want || info.Init != c.stack {
				t.Errorf("block %+v at stack %d, want %+v at %d", info.Block, info.Init, c.want, c.stack)
			}
		})
	}
}

// TestAllocatedWithoutStack checks that a block whose call stack is not known has that of the call alone.
func TestAllocatedWithoutStack(t *testing.T) {
	o := New(Options{Sites: site, Past: func(*event.Event) {}, SiteAddr: func(_, index uint32) uint64 { return 0x1000 + uint64(index) }})
	o.Record(&bpf.Record{Time: 1, Tid: 1, Tgid: 1, Op: uint8(bpf.OpAcquire), Object: 1 << 20, Site: siteNames["mutex"]})
	o.Record(&bpf.Record{Time: 3, Tid: 1, Tgid: 1, Op: uint8(bpf.OpAlloc), Flags: bpf.RecPast, Object: 0x5000, Value: 64, Extra: 2, Site: 9})
	_, b := o.threads.processes[1].blockAt(0x5020)
	if s, ok := o.StackOf(b.stack); !ok || len(s.Found) != 1 || s.Found[0] != 0x1009 {
		t.Errorf("stack %+v", s)
	}
}
