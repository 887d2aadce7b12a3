package probes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes/cheapsite"
	"github.com/tracepredict/tracepredict/probes/elf"
)

// allocator is a function that begins or ends the lifetime of memory. Arguments are counted from 1;
// 0 means that there is no such argument.
type allocator struct {
	op       bpf.Op
	object   int  // the argument that points to the block; if indirect, to the word that receives its address
	size     int  // the argument that is the block's size in bytes
	factor   int  // the argument by which the size is multiplied
	indirect bool // the block's address is returned through object, as posix_memalign does
	unwinds  bool // may throw an exception, so that it can have no uretprobe
}

// allocators are the functions of C that allocate and free (C23, 7.24.3; POSIX),
// wherever they are defined: a program may have its own.
var allocators = map[string]allocator{
	"malloc":         {op: bpf.OpAlloc, size: 1},
	"calloc":         {op: bpf.OpAlloc, size: 1, factor: 2},
	"aligned_alloc":  {op: bpf.OpAlloc, size: 2},
	"memalign":       {op: bpf.OpAlloc, size: 2},
	"valloc":         {op: bpf.OpAlloc, size: 1},
	"pvalloc":        {op: bpf.OpAlloc, size: 1},
	"posix_memalign": {op: bpf.OpAlloc, object: 1, size: 3, indirect: true},
	"realloc":        {op: bpf.OpMove, object: 1, size: 2},
	"reallocarray":   {op: bpf.OpMove, object: 1, size: 2, factor: 3},
	"free":           {op: bpf.OpFree, object: 1},
	"cfree":          {op: bpf.OpFree, object: 1},
	"free_sized":     {op: bpf.OpFree, object: 1},
}

// operators are the allocation functions of C++, by the beginning of their mangled names (Itanium
// C++ ABI, 5.1.3): new, new[], delete, delete[]. The size is a long or an int.
var operators = map[string]allocator{
	"_Znwm": {op: bpf.OpAlloc, size: 1, unwinds: true},
	"_Znam": {op: bpf.OpAlloc, size: 1, unwinds: true},
	"_ZdlP": {op: bpf.OpFree, object: 1},
	"_ZdaP": {op: bpf.OpFree, object: 1},
}

// plainAllocator returns an allocator's name without the prefix that a library which may
// replace libc's allocator puts before it (jemalloc's je_, mimalloc's mi_, tcmalloc's tc_).
func plainAllocator(name string) string {
	for _, prefix := range []string{"je_", "mi_", "tc_"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			return rest
		}
	}
	return name
}

func allocatorNamed(name string) (allocator, bool) {
	name = plainAllocator(name)
	if a, ok := allocators[name]; ok {
		return a, true
	}
	if len(name) < 5 {
		return allocator{}, false
	}
	a, ok := operators[name[:5]]
	return a, ok
}

// heap plans the probes of the functions that allocate and free memory, for objects of at least
// this number of bytes.
func (b *builder) heap(least int64) error {
	at := map[uint64]string{}
	for _, s := range b.plan.File.Symbols() {
		if s.Kind != elf.Func || s.Addr == 0 {
			continue
		}
		if _, ok := allocatorNamed(s.Name); ok && (at[s.Addr] == "" || s.Name < at[s.Addr]) {
			at[s.Addr] = s.Name
		}
	}
	var entries []uint64
	for addr := range at {
		entries = append(entries, addr)
	}
	slices.Sort(entries)
	for _, addr := range entries {
		if b.delegates(addr, at) {
			continue
		}
		if err := b.allocator(addr, at[addr], least); err != nil {
			return fmt.Errorf("%s at 0x%x: %w", at[addr], addr, err)
		}
	}
	return nil
}

// delegates reports whether a function calls another one of the same operation that is probed too
// and does the work: C++'s operators call malloc and free, and each other, and a library may define
// libc's names to call its own functions.
func (b *builder) delegates(addr uint64, at map[uint64]string) bool {
	op := func(name string) bpf.Op {
		a, _ := allocatorNamed(name)
		return a.op
	}
	for _, target := range b.image.Callees(addr) {
		inner, known := at[target]
		if stub, ok := b.stubs[target]; ok && !known {
			inner = stub
		}
		if target != addr && inner != "" && op(inner) == op(at[addr]) {
			return strings.HasPrefix(at[addr], "_Z") || plainAllocator(at[addr]) == "reallocarray" || plainAllocator(inner) == plainAllocator(at[addr])
		}
	}
	return false
}

func (b *builder) allocator(addr uint64, name string, least int64) error {
	a, _ := allocatorNamed(name)
	want := cheapsite.Want{At: addr, Reads: b.entryReads(a.object, a.size, a.factor), Sense: cheapsite.Entry}
	if a.op == bpf.OpFree {
		want.Sense = cheapsite.Before
	}
	want.Return = a.op != bpf.OpFree && !a.unwinds
	where, err := b.place(want)
	if err != nil {
		return err
	}
	if where.Class == cheapsite.Refused || want.Return && where.Loops {
		b.note("%s cannot be probed (%s): what it does to the lifetimes of objects is not seen", name, where.Why)
		return nil
	}
	s := newSite(addr, where, name)
	s.Program, s.Return = ProgramHeap, want.Return
	s.BPF = bpf.Site{Op: uint8(a.op), Action: uint8(bpf.ActionSave), AtEntry: 1, SpDelta: int32(where.SPDelta)}
	d := s.BPF.Heap()
	d.Least = uint64(least)
	if a.op == bpf.OpFree {
		s.BPF.Action = uint8(bpf.ActionEmit)
	}
	if a.object > 0 {
		s.BPF.ObjectFrom, s.BPF.ObjectReg = uint8(bpf.FromReg), uint8(b.argument(a.object))
	}
	if a.size > 0 {
		d.SizeReg = 1 + uint8(b.argument(a.size))
	}
	if a.factor > 0 {
		d.FactorReg = 1 + uint8(b.argument(a.factor))
	}
	if a.indirect {
		s.BPF.Flags = bpf.SiteIndirect
	}
	b.plan.Sites = append(b.plan.Sites, s)
	if a.op == bpf.OpFree || want.Return {
		return nil
	}
	return b.heapReturns(call{addr: addr, name: name}, ProgramHeap)
}

// heapReturns plans probes at the returns of a function whose calls the BPF program on_heap stores
// until they return.
func (b *builder) heapReturns(c call, p Program) error {
	from := len(b.plan.Sites)
	err := b.returns(c)
	for i := from; i < len(b.plan.Sites); i++ {
		b.plan.Sites[i].Program = p
	}
	return err
}
