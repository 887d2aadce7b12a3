// Package stacks finds the stacks of call sites from copies of registers and stacks: a Collector
// puts the parts of a copy together, and a Finder unwinds copies on a goroutine of its own and
// keeps each chain once.
package stacks

import (
	"encoding/binary"
	"runtime"
	"slices"
	"sync"

	"github.com/tracepredict/tracepredict/probes"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/unwind"
)

// Finder finds the call stacks of places from copies of registers and stacks, in a
// goroutine of its own: a chain takes longer than an event, and the reader of the ring buffer
// must not wait. Copies are large, so they are kept no longer than that takes; what
// stays is the chain, once for all places that have it.
//
// One goroutine calls take, and then end; chain may be called by any.
type Finder struct {
	code   Space
	tables map[*elf.File]*unwind.Table // of run alone
	todo   chan *Copy
	ended  chan struct{} // closed when all are found

	mu      sync.Mutex       // guards what follows; a leaf
	found   *sync.Cond       // places has another chain
	places  map[uint32]int32 // the place's chain in known, -1 while it is being looked for
	whole   int              // places whose chain reaches the thread's or the program's first function
	known   [][]uint64
	numbers map[string]int32 // of known, by its bytes
}

// Space is what code lies where in the processes.
type Space interface {
	// Code returns the file whose code lies at an address of a process, and how far
	// it lies from where it was linked.
	Code(pid int, addr uint64) (file *elf.File, bias uint64, ok bool)
	// Site returns the site of an index in records; nil if there is none.
	Site(index uint32) *probes.Site
}

const (
	// maxCopies bounds the copies that wait, of 64 KiB each at most. The reader waits when
	// there are more, and the program with it.
	maxCopies = 512
	// maxPlaces bounds the chains that are kept. The BPF programs have a table of half
	// as many places; an event beyond it comes as a place of its own, and Lost
	// counts it.
	maxPlaces = 1 << 16
	// maxChain bounds a chain. A recursion that is deeper loses its outer end.
	maxChain = 512
)

// New returns a finder for the processes of a space; Run does its work.
func New(code Space) *Finder {
	c := &Finder{
		code: code, todo: make(chan *Copy, maxCopies), ended: make(chan struct{}), tables: map[*elf.File]*unwind.Table{}, places: map[uint32]int32{}, numbers: map[string]int32{},
	}
	c.found = sync.NewCond(&c.mu)
	return c
}

// Take has the chain of a place found.
func (c *Finder) Take(k *Copy) {
	c.mu.Lock()
	_, again := c.places[k.head.Stack]
	if again || len(c.places) >= maxPlaces {
		c.mu.Unlock()
		return
	}
	c.places[k.head.Stack] = -1
	c.mu.Unlock()
	c.todo <- k
}

// End waits until all chains are found.
func (c *Finder) End() {
	close(c.todo)
	<-c.ended
}

// Run finds chains until end is called.
func (c *Finder) Run() {
	defer close(c.ended)
	for k := range c.todo {
		pcs, end := c.unwind(k)
		c.mu.Lock()
		if end == unwind.EndOutermost {
			c.whole++
		}
		c.places[k.head.Stack] = c.number(pcs)
		c.mu.Unlock()
		c.found.Broadcast()
	}
}

// number returns a chain its number in known; with mu held.
func (c *Finder) number(pcs []uint64) int32 {
	key := make([]byte, 0, 8*len(pcs))
	for _, pc := range pcs {
		key = binary.LittleEndian.AppendUint64(key, pc)
	}
	n, ok := c.numbers[string(key)]
	if !ok {
		n = int32(len(c.known))
		c.known = append(c.known, slices.Clip(pcs))
		c.numbers[string(key)] = n
	}
	return n
}

// Chain returns the call stack of a place, innermost first: the instruction pointer,
// then return addresses. It waits until it is found; nil if the place is not known.
func (c *Finder) Chain(place uint32) []uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		n, ok := c.places[place]
		switch {
		case !ok:
			return nil
		case n >= 0:
			return c.known[n]
		}
		c.found.Wait()
	}
}

// Counts returns how many places have been looked at, and how many of them have a chain
// that reaches its thread's, or the program's, first function.
func (c *Finder) Counts() (places, whole int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.places), c.whole
}

// layout says which registers, by DWARF's numbers, a walk is told of.
type layout struct {
	arch insn.Arch
	pc   int
	all  int // how many there are but for pc
}

// native returns the layout of the programs that this machine runs.
func native() layout {
	if runtime.GOARCH == "arm64" {
		return layout{insn.ARM64, 32, 32}
	}
	return layout{insn.AMD64, 16, 16}
}

// unwind returns the chain of a copy, and why it ends. A watchpoint's trap may have come in a
// copy of the instruction that the kernel stepped, elsewhere: the record tells where it was.
func (c *Finder) unwind(k *Copy) (pcs []uint64, end unwind.End) {
	n := native()
	regs := unwind.Regs{PC: k.head.Regs[n.pc]}
	for i, v := range k.head.Regs[:n.all] {
		regs.Set(i, v)
	}
	site := c.code.Site(k.head.Site)
	if site != nil && site.Program == probes.ProgramWatch {
		regs.PC = k.head.Caller
	}
	pcs, end = []uint64{regs.PC}, unwind.EndMemory
	if len(k.bytes) > 0 {
		m := unwind.Machine{Arch: n.arch, Memory: k.word, Find: func(pc uint64) (*unwind.Table, uint64, bool) { return c.table(int(k.head.Tgid), pc) }}
		pcs, end = m.Walk(regs, maxChain, pcs)
		if end == unwind.EndNoFrames && c.atEntry(int(k.head.Tgid), pcs[len(pcs)-1]) {
			end = unwind.EndOutermost
		}
	}
	if len(pcs) == 1 && site != nil && site.BPF.AtEntry != 0 && k.head.Caller != 0 {
		pcs = append(pcs, k.head.Caller)
	}
	return pcs, end
}

// entryCode is how much code, in bytes, a file has at its entry that nothing calls. In the
// dynamic loader it calls libraries' constructors, and has no call frame information.
const entryCode = 256

func (c *Finder) atEntry(pid int, pc uint64) bool {
	file, bias, ok := c.code.Code(pid, pc)
	return ok && pc-bias-file.Entry() < entryCode
}

// table returns what is known of how to unwind the code at an address.
func (c *Finder) table(pid int, pc uint64) (*unwind.Table, uint64, bool) {
	file, bias, ok := c.code.Code(pid, pc)
	if !ok {
		return nil, 0, false
	}
	t := c.tables[file]
	if t == nil {
		t = unwind.New(file)
		c.tables[file] = t
	}
	return t, bias, true
}
