// Package stacks finds call stacks from copies of registers and stacks: a Collector puts the
// parts of a copy together, and a Finder unwinds copies on a goroutine of its own and keeps each
// call stack once.
package stacks

import (
	"encoding/binary"
	"runtime"
	"slices"
	"sync"

	"github.com/tracepredict/tracepredict/internal/safely"
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
// One goroutine calls Add, and then End; any goroutine may call CallStack.
type Finder struct {
	// Failed, if not nil, is called with panics of Run. It must be set before Run.
	Failed func(*safely.Panic)

	space  Space
	tables map[*elf.File]*unwind.Table // used by Run alone
	todo   chan *Copy                  // copies to unwind
	ended  chan struct{}               // closed when all are unwound

	mu       sync.Mutex       // guards the fields below; no other lock is acquired while it is held
	found    *sync.Cond       // signalled when another call stack has been found
	ids      map[uint32]int32 // by call stack ID: index in stacks, -1 while it is being looked for
	complete int              // IDs whose call stack reaches the first function of thread or program
	stacks   [][]uint64       // the distinct call stacks
	numbers  map[string]int32 // index in stacks, by the bytes of the call stack
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
	// maxIDs bounds the call stack IDs. The BPF programs have a table of half as many call
	// stacks; an event whose call stack has no room in it has an ID of its own, and attach.Lost
	// counts it.
	maxIDs = 1 << 16
	// maxFrames bounds the frames of a call stack. A deeper recursion loses its outermost
	// frames.
	maxFrames = 512
)

// New returns a finder for the processes of a space; Run does its work.
func New(space Space) *Finder {
	f := &Finder{
		space: space, todo: make(chan *Copy, maxCopies), ended: make(chan struct{}), tables: map[*elf.File]*unwind.Table{}, ids: map[uint32]int32{}, numbers: map[string]int32{},
	}
	f.found = sync.NewCond(&f.mu)
	return f
}

// Add queues a copy to be unwound, unless its ID is known already or maxIDs IDs are.
func (f *Finder) Add(k *Copy) {
	f.mu.Lock()
	_, known := f.ids[k.head.Stack]
	if known || len(f.ids) >= maxIDs {
		f.mu.Unlock()
		return
	}
	f.ids[k.head.Stack] = -1
	f.mu.Unlock()
	f.todo <- k
}

// End waits until all copies are unwound.
func (f *Finder) End() {
	close(f.todo)
	<-f.ended
}

// Run unwinds copies until End is called.
func (f *Finder) Run() {
	defer close(f.ended)
	for k := range f.todo {
		var pcs []uint64
		var end unwind.End
		if p := safely.Call(func() { pcs, end = f.unwind(k) }); p != nil && f.Failed != nil {
			f.Failed(p) // whoever waits for this call stack gets an empty one
		}
		f.mu.Lock()
		if end == unwind.EndOutermost {
			f.complete++
		}
		f.ids[k.head.Stack] = f.number(pcs)
		f.mu.Unlock()
		f.found.Broadcast()
	}
}

// number returns the index of a call stack in stacks, and adds it if it is new. The caller holds
// mu.
func (f *Finder) number(pcs []uint64) int32 {
	key := make([]byte, 0, 8*len(pcs))
	for _, pc := range pcs {
		key = binary.LittleEndian.AppendUint64(key, pc)
	}
	n, ok := f.numbers[string(key)]
	if !ok {
		n = int32(len(f.stacks))
		f.stacks = append(f.stacks, slices.Clip(pcs))
		f.numbers[string(key)] = n
	}
	return n
}

// CallStack returns the call stack of an ID, innermost frame first: the instruction pointer, and
// then return addresses. It waits until the call stack has been found. It returns nil if the ID
// is unknown.
func (f *Finder) CallStack(id uint32) []uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		n, ok := f.ids[id]
		switch {
		case !ok:
			return nil
		case n >= 0:
			return f.stacks[n]
		}
		f.found.Wait()
	}
}

// Counts returns the number of call stack IDs, and of those whose call stack reaches the first
// function of its thread or of the program.
func (f *Finder) Counts() (total, complete int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.ids), f.complete
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

// unwind returns the call stack of a copy, and why it ends. When a watchpoint trapped, the
// kernel may have been stepping a copy of the instruction out of line; the original address is
// then in Caller.
func (f *Finder) unwind(k *Copy) (pcs []uint64, end unwind.End) {
	n := native()
	regs := unwind.Regs{PC: k.head.Regs[n.pc]}
	for i, v := range k.head.Regs[:n.all] {
		regs.Set(i, v)
	}
	site := f.space.Site(k.head.Site)
	if site != nil && site.Program == probes.ProgramWatch {
		regs.PC = k.head.Caller
	}
	pcs, end = []uint64{regs.PC}, unwind.EndMemory
	if len(k.bytes) > 0 {
		m := unwind.Machine{Arch: n.arch, Memory: k.word, Find: func(pc uint64) (*unwind.Table, uint64, bool) { return f.table(int(k.head.Tgid), pc) }}
		pcs, end = m.Walk(regs, maxFrames, pcs)
		if end == unwind.EndNoFrames && f.atEntry(int(k.head.Tgid), pcs[len(pcs)-1]) {
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
func (f *Finder) atEntry(pid int, pc uint64) bool {
	file, bias, ok := f.space.Code(pid, pc)
	return ok && pc-bias-file.Entry() < entryCode
}

// table returns the unwind table of the file at an address, and the file's load bias.
func (f *Finder) table(pid int, pc uint64) (*unwind.Table, uint64, bool) {
	file, bias, ok := f.space.Code(pid, pc)
	if !ok {
		return nil, 0, false
	}
	t := f.tables[file]
	if t == nil {
		t = unwind.New(file)
		f.tables[file] = t
	}
	return t, bias, true
}
