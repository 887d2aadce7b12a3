// Package stacks finds call stacks from copies of registers and stacks: a Collector puts the
// parts of a copy together, and a Finder unwinds copies on a goroutine of its own and keeps each
// call stack once.
package stacks

import (
	"encoding/binary"
	"runtime"
	"slices"
	"sync"

	"github.com/tracepredict/tracepredict/bpf"
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

	// Unwound, if not nil, is called by Run with what the return addresses of a call stack tell of it, if it is the first of
	// a site, caller and depth. It must be set before Run.
	Unwound func(*bpf.StackRecord, []Return)

	space  Space
	tables map[*elf.File]*unwind.Table // used by Run alone
	todo   chan *Copy                  // copies to unwind
	ended  chan struct{}               // closed when all are unwound

	mu       sync.Mutex       // guards the fields below; no other lock is acquired while it is held
	found    *sync.Cond       // signalled when another call stack has been found
	ids      []int32          // by call stack ID - 1: index in stacks, pending while it is being looked for, unknown if it is not known
	known    int              // IDs that are known
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
	// maxIDs bounds the call stack IDs. The BPF programs have a table of the last call stacks; one that comes again when it
	// has left the table has another ID.
	maxIDs = 1 << 24
	// maxFrames bounds the frames of a call stack. A deeper recursion loses its outermost
	// frames.
	maxFrames = 512
)

// New returns a finder for the processes of a space; Run does its work.
func New(space Space) *Finder {
	f := &Finder{
		space: space, todo: make(chan *Copy, maxCopies), ended: make(chan struct{}), tables: map[*elf.File]*unwind.Table{}, numbers: map[string]int32{},
	}
	f.found = sync.NewCond(&f.mu)
	return f
}

// What ids has besides indices.
const (
	unknown = -1
	pending = -2
)

// Return is a return address on a stack.
type Return struct{ Addr, Value uint64 }

// Add queues a copy to be unwound, unless its ID is known already or out of bounds.
func (f *Finder) Add(k *Copy) {
	if f.expect(k.head.Stack) {
		f.todo <- k
	}
}

// expect makes an ID one that is being looked for, and reports whether it was unknown.
func (f *Finder) expect(id uint32) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if id == 0 || id > maxIDs || f.index(id) != unknown {
		return false
	}
	f.ids = append(f.ids, slices.Repeat([]int32{unknown}, max(int(id)-len(f.ids), 0))...)
	f.ids[id-1] = pending
	f.known++
	return true
}

// index returns what ids has of an ID. The caller holds mu.
func (f *Finder) index(id uint32) int32 {
	if id == 0 || uint64(id) > uint64(len(f.ids)) {
		return unknown
	}
	return f.ids[id-1]
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
		p := safely.Call(func() {
			var returns []Return
			pcs, end, returns = f.unwind(k)
			if f.Unwound != nil && k.head.Sp != 0 && (end == unwind.EndOutermost || len(returns) >= bpf.OuterWords) {
				f.Unwound(&k.head, returns)
			}
		})
		if p != nil && f.Failed != nil {
			f.Failed(p) // whoever waits for this call stack gets an empty one
		}
		f.settle(k.head.Stack, pcs, end)
	}
}

// settle sets the call stack of an ID that is being looked for.
func (f *Finder) settle(id uint32, pcs []uint64, end unwind.End) {
	f.mu.Lock()
	if end == unwind.EndOutermost {
		f.complete++
	}
	f.ids[id-1] = f.number(pcs)
	f.mu.Unlock()
	f.found.Broadcast()
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
		n := f.index(id)
		switch {
		case n == unknown:
			return nil
		case n >= 0:
			return f.stacks[n]
		}
		f.found.Wait()
	}
}

// Found returns the same as CallStack if the call stack has been found, and does not wait for it.
func (f *Finder) Found(id uint32) (pcs []uint64, found bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := f.index(id); n >= 0 {
		return f.stacks[n], true
	}
	return nil, false
}

// Counts returns the number of call stack IDs, and of those whose call stack reaches the first
// function of its thread or of the program.
func (f *Finder) Counts() (total, complete int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.known, f.complete
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

// unwind returns the call stack of a copy, why it ends, and where on the stack its return addresses are, the innermost
// first. When a watchpoint trapped, the
// kernel may have been stepping a copy of the instruction out of line; the original address is
// then in Caller.
func (f *Finder) unwind(k *Copy) (pcs []uint64, end unwind.End, returns []Return) {
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
		var read []Return
		memory := func(addr uint64, size int) (uint64, bool) {
			v, ok := k.word(addr, size)
			read = append(read, Return{addr, v})
			return v, ok
		}
		m := unwind.Machine{Arch: n.arch, Memory: memory, Find: func(pc uint64) (*unwind.Table, uint64, bool) { return f.table(int(k.head.Tgid), pc) }}
		pcs, end = m.Walk(regs, maxFrames, pcs)
		returns = k.returnsOf(pcs[1:], read)
		if end == unwind.EndNoFrames && f.atEntry(int(k.head.Tgid), pcs[len(pcs)-1]) {
			end = unwind.EndOutermost
		}
	}
	if len(pcs) == 1 && site != nil && site.BPF.AtEntry != 0 && k.head.Caller != 0 {
		pcs = append(pcs, k.head.Caller)
	}
	return pcs, end, returns
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
