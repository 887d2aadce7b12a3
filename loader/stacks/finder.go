// Package stacks finds call stacks from copies of registers and stacks: a Collector puts the
// parts of a copy together, and a Finder unwinds copies on a goroutine of its own and keeps each
// call stack once.
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

// Finder finds the call stacks of call stack IDs from copies of registers and stacks, on a
// goroutine of its own: unwinding takes longer than handling an event, and the reader of the
// ring buffer must not wait. Copies are large, so they are freed once they are unwound. What
// stays is the call stack, once for all IDs that have it.
//
// One goroutine calls Take, and then End; any goroutine may call Chain.
type Finder struct {
	code   Space
	tables map[*elf.File]*unwind.Table // used by Run alone
	todo   chan *Copy                  // copies to unwind
	ended  chan struct{}               // closed when all are unwound

	mu      sync.Mutex       // guards the fields below; no other lock is acquired while it is held
	found   *sync.Cond       // signalled when another call stack has been found
	places  map[uint32]int32 // by call stack ID: index in known, -1 while it is being looked for
	whole   int              // IDs whose call stack reaches the first function of thread or program
	known   [][]uint64       // the distinct call stacks
	numbers map[string]int32 // index in known, by the bytes of the call stack
}

// Space finds the code at addresses of processes.
type Space interface {
	// Code returns the file whose code is at an address of a process, and its load bias.
	Code(pid int, addr uint64) (file *elf.File, bias uint64, ok bool)
	// Site returns the site of an index in records; nil if there is none.
	Site(index uint32) *probes.Site
}

const (
	// maxCopies bounds the copies that wait, each of at most 64 KiB. When there are more, the
	// reader waits, and with it the program.
	maxCopies = 512
	// maxPlaces bounds the call stack IDs. The BPF programs have a table of half as many call
	// stacks; an event whose call stack has no room in it has an ID of its own, and attach.Lost
	// counts it.
	maxPlaces = 1 << 16
	// maxChain bounds the frames of a call stack. A deeper recursion loses its outermost frames.
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

// Take queues a copy to be unwound, unless its ID is known already or maxPlaces IDs are.
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

// End waits until all copies are unwound.
func (c *Finder) End() {
	close(c.todo)
	<-c.ended
}

// Run unwinds copies until End is called.
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

// number returns the index of a call stack in known, and adds it if it is new. The caller holds
// mu.
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

// Chain returns the call stack of an ID, innermost frame first: the instruction pointer, and
// then return addresses. It waits until the call stack has been found. It returns nil if the ID
// is unknown.
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

// Counts returns the number of call stack IDs, and of those whose call stack reaches the first
// function of its thread or of the program.
func (c *Finder) Counts() (places, whole int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.places), c.whole
}

// layout describes the registers that a copy has, by DWARF's numbers.
type layout struct {
	arch insn.Arch
	pc   int // index of the instruction pointer
	all  int // number of the other registers
}

// native returns the layout of the programs that this machine runs.
func native() layout {
	if runtime.GOARCH == "arm64" {
		return layout{insn.ARM64, 32, 32}
	}
	return layout{insn.AMD64, 16, 16}
}

// unwind returns the call stack of a copy, and why it ends. The kernel may have stepped a copy
// of the instruction elsewhere when a watchpoint trapped; the record then has the original
// address in Caller.
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

// entryCode is the size, in bytes, of the code at a file's entry that no function calls. In the
// dynamic loader it calls the constructors of libraries, and has no call frame information.
const entryCode = 256

// atEntry reports whether an address is in that code.
func (c *Finder) atEntry(pid int, pc uint64) bool {
	file, bias, ok := c.code.Code(pid, pc)
	return ok && pc-bias-file.Entry() < entryCode
}

// table returns the unwind table of the file at an address, and the file's load bias.
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
