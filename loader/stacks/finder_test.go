package stacks

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes"
	"github.com/tracepredict/tracepredict/probes/elf"
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
func copyAt(place, site uint32, pc, caller uint64) *Copy {
	k := &Copy{head: bpf.StackRecord{Stack: place, Site: site, Caller: caller}}
	k.head.Regs[native().pc] = pc
	return k
}

// TestChains: without a copied stack the call stack is what the record has. Equal call stacks
// are kept once. Chain waits until the call stack is found.
func TestChains(t *testing.T) {
	c := New(newCode(t))
	asked := make(chan []uint64)
	c.Take(copyAt(1, 1, 100, 200))
	go func() { asked <- c.Chain(1) }()
	go c.Run()
	if got := <-asked; !slices.Equal(got, []uint64{100, 200}) {
		t.Errorf("place 1: %d", got)
	}
	c.Take(copyAt(2, 1, 100, 200))
	c.Take(copyAt(3, 1, 100, 201))
	c.Take(copyAt(4, 0, 100, 200))
	c.Take(copyAt(5, 2, 100, 300))
	c.Take(copyAt(5, 2, 7, 7)) // ignored: ID 5 is known
	c.End()
	for place, want := range map[uint32][]uint64{1: {100, 200}, 2: {100, 200}, 3: {100, 201}, 4: {100}, 5: {300}, 6: nil} {
		if diff := cmp.Diff(want, c.Chain(place)); diff != "" {
			t.Errorf("place %d: %s", place, diff)
		}
	}
	if len(c.known) != 4 {
		t.Errorf("%d chains are kept: %d", len(c.known), c.known)
	}
}

// TestChainsBounded: the call stacks of a program with endlessly many IDs take bounded memory.
func TestChainsBounded(t *testing.T) {
	c := New(&code{})
	go c.Run()
	for place := range uint32(maxPlaces + 1000) {
		c.Take(copyAt(place+1, 0, 100, 0))
	}
	c.End()
	if len(c.places) != maxPlaces || c.Chain(maxPlaces+1) != nil {
		t.Errorf("%d places are kept", len(c.places))
	}
}
