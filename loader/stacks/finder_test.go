package stacks

import (
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/probes"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/unwind"
)

// code is a Space with the code of the test's own binary at a load bias, and two sites.
type code struct {
	file  *elf.File
	bias  uint64
	pc    uint64 // of an instruction in it
	sites []*probes.Site
}

func newCode(t testing.TB) *code {
	t.Helper()
	file, err := elf.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	const bias = 0x1000_0000_0000
	text := file.Text()
	if len(text) == 0 {
		t.Fatal("no code")
	}
	return &code{
		file:  file,
		bias:  bias,
		pc:    bias + text[0].Lo,
		sites: []*probes.Site{nil, {BPF: bpf.Site{AtEntry: 1}}, {Program: probes.ProgramWatch}},
	}
}

func (c *code) Code(_ int, addr uint64) (*elf.File, uint64, bool) {
	return c.file, c.bias, c.bias <= addr && addr < c.bias+1<<32
}

func (c *code) Site(index uint32) *probes.Site {
	if int(index) < len(c.sites) {
		return c.sites[index]
	}
	return nil
}

// copyAt returns a copy that has registers and no stack.
func copyAt(id, site uint32, pc, caller uint64) *Copy {
	k := &Copy{head: bpf.StackRecord{Stack: id, Site: site, Caller: caller}}
	k.head.Regs[native().pc] = pc
	return k
}

// TestCallStacks: without a copied stack the call stack is what the record has. Equal
// call stacks are kept once. CallStack waits until the call stack is found.
func TestCallStacks(t *testing.T) {
	c := New(newCode(t))
	asked := make(chan []uint64)
	c.Add(copyAt(1, 1, 100, 200))
	go func() { asked <- c.CallStack(1) }()
	go c.Run()
	if got := <-asked; !slices.Equal(got, []uint64{100, 200}) {
		t.Errorf("ID 1: %d", got)
	}
	c.Add(copyAt(2, 1, 100, 200))
	c.Add(copyAt(3, 1, 100, 201))
	c.Add(copyAt(4, 0, 100, 200))
	c.Add(copyAt(5, 2, 100, 300))
	c.Add(copyAt(5, 2, 7, 7)) // ignored: ID 5 is known
	c.End()
	for id, want := range map[uint32][]uint64{1: {100, 200}, 2: {100, 200}, 3: {100, 201}, 4: {100}, 5: {300}, 6: nil} {
		if diff := cmp.Diff(want, c.CallStack(id)); diff != "" {
			t.Errorf("ID %d: %s", id, diff)
		}
	}
	if len(c.stacks) != 4 {
		t.Errorf("%d call stacks are kept: %d", len(c.stacks), c.stacks)
	}
}

// TestCallStacksBounded: the call stacks of a program with endlessly many IDs take
// bounded memory.
func TestCallStacksBounded(t *testing.T) {
	c := New(&code{})
	go c.Run()
	for _, id := range []uint32{1, maxIDs, maxIDs + 1, math.MaxUint32, 0} {
		c.Add(copyAt(id, 0, 100, 0))
	}
	c.End()
	if total, _ := c.Counts(); total != 2 || len(c.ids) != maxIDs || c.CallStack(maxIDs) == nil || c.CallStack(maxIDs+1) != nil || c.CallStack(0) != nil {
		t.Errorf("%d of %d IDs are kept", total, len(c.ids))
	}
}

// TestCallStacksOnce: ten million IDs, of pairs of a thread and a place, that have a hundred thousand call stacks of 20
// frames take no more than their numbers and the call stacks: 200 MB, half of what the tool may take for them with what
// the observer keeps of them.
func TestCallStacksOnce(t *testing.T) {
	ids, distinct := 10_000_000, 100_000
	if !testtool.All() {
		ids = 1_000_000
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	c := New(&code{})
	pcs := make([]uint64, 20)
	for i := range ids {
		for at := range pcs {
			pcs[at] = uint64(i%distinct + at)
		}
		if !c.expect(uint32(i + 1)) {
			t.Fatalf("ID %d is known", i+1)
		}
		c.settle(uint32(i+1), slices.Clone(pcs), unwind.EndOutermost)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if took := after.HeapAlloc - before.HeapAlloc; took > 200<<20 || len(c.stacks) != distinct {
		t.Errorf("%d IDs take %d MB, %d call stacks", ids, took>>20, len(c.stacks))
	} else {
		t.Logf("%d IDs take %d MB", ids, took>>20)
	}
	if got := c.CallStack(uint32(ids)); len(got) != 20 || got[0] != uint64((ids-1)%distinct) {
		t.Errorf("the last: %d", got)
	}
}
