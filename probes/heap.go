package probes

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes/cheapsite"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// allocator is a function that begins or ends the lifetime of memory. Arguments are counted from 1;
// 0 means that there is no such argument.
type allocator struct {
	op       bpf.Op
	object   int  // the argument that points to the block; if indirect, to the word that receives its address
	size     int  // the argument that is the block's size in bytes
	factor   int  // the argument by which the size is multiplied
	old      int  // the argument that is the size of the memory that ends, which is whole pages
	indirect bool // the block's address is returned through object, as posix_memalign does
	unwinds  bool // may throw an exception, so that it can have no uretprobe
	// flags is the argument that decides whether memory ends: if it has all the bits of flag.
	flags int
	flag  uint32
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
	"free_sized":     {op: bpf.OpFree, object: 1, size: 2},

	"free_aligned_sized": {op: bpf.OpFree, object: 1, size: 3},
}

// ownAllocators are functions that libraries add to those: jemalloc(3), and the headers mimalloc.h
// and tcmalloc.h.
var ownAllocators = map[string]allocator{
	"mallocx":  {op: bpf.OpAlloc, size: 1},
	"rallocx":  {op: bpf.OpMove, object: 1, size: 2},
	"dallocx":  {op: bpf.OpFree, object: 1},
	"sdallocx": {op: bpf.OpFree, object: 1, size: 2},

	"mi_malloc_small":        {op: bpf.OpAlloc, size: 1},
	"mi_malloc_aligned":      {op: bpf.OpAlloc, size: 1},
	"mi_zalloc":              {op: bpf.OpAlloc, size: 1},
	"mi_zalloc_small":        {op: bpf.OpAlloc, size: 1},
	"mi_zalloc_aligned":      {op: bpf.OpAlloc, size: 1},
	"mi_mallocn":             {op: bpf.OpAlloc, size: 1, factor: 2},
	"mi_calloc_aligned":      {op: bpf.OpAlloc, size: 1, factor: 2},
	"mi_new":                 {op: bpf.OpAlloc, size: 1, unwinds: true},
	"mi_new_nothrow":         {op: bpf.OpAlloc, size: 1, unwinds: true},
	"mi_new_aligned":         {op: bpf.OpAlloc, size: 1, unwinds: true},
	"mi_new_aligned_nothrow": {op: bpf.OpAlloc, size: 1, unwinds: true},
	"mi_new_n":               {op: bpf.OpAlloc, size: 1, factor: 2, unwinds: true},
	"mi_heap_malloc":         {op: bpf.OpAlloc, size: 2},
	"mi_heap_malloc_small":   {op: bpf.OpAlloc, size: 2},
	"mi_heap_malloc_aligned": {op: bpf.OpAlloc, size: 2},
	"mi_heap_zalloc":         {op: bpf.OpAlloc, size: 2},
	"mi_heap_zalloc_aligned": {op: bpf.OpAlloc, size: 2},
	"mi_heap_mallocn":        {op: bpf.OpAlloc, size: 2, factor: 3},
	"mi_heap_calloc":         {op: bpf.OpAlloc, size: 2, factor: 3},
	"mi_realloc_aligned":     {op: bpf.OpMove, object: 1, size: 2},
	"mi_reallocn":            {op: bpf.OpMove, object: 1, size: 2, factor: 3},
	"mi_rezalloc":            {op: bpf.OpMove, object: 1, size: 2},
	"mi_recalloc":            {op: bpf.OpMove, object: 1, size: 2, factor: 3},
	"mi_heap_realloc":        {op: bpf.OpMove, object: 2, size: 3},
	"mi_heap_reallocn":       {op: bpf.OpMove, object: 2, size: 3, factor: 4},
	"mi_free_size":           {op: bpf.OpFree, object: 1, size: 2},
	"mi_free_size_aligned":   {op: bpf.OpFree, object: 1, size: 2},
	"mi_free_aligned":        {op: bpf.OpFree, object: 1},

	"tc_new":                       {op: bpf.OpAlloc, size: 1, unwinds: true},
	"tc_new_nothrow":               {op: bpf.OpAlloc, size: 1, unwinds: true},
	"tc_new_aligned":               {op: bpf.OpAlloc, size: 1, unwinds: true},
	"tc_newarray":                  {op: bpf.OpAlloc, size: 1, unwinds: true},
	"tc_newarray_nothrow":          {op: bpf.OpAlloc, size: 1, unwinds: true},
	"tc_newarray_aligned":          {op: bpf.OpAlloc, size: 1, unwinds: true},
	"tc_delete":                    {op: bpf.OpFree, object: 1},
	"tc_delete_nothrow":            {op: bpf.OpFree, object: 1},
	"tc_delete_sized":              {op: bpf.OpFree, object: 1, size: 2},
	"tc_delete_aligned":            {op: bpf.OpFree, object: 1},
	"tc_delete_sized_aligned":      {op: bpf.OpFree, object: 1, size: 2},
	"tc_deletearray":               {op: bpf.OpFree, object: 1},
	"tc_deletearray_nothrow":       {op: bpf.OpFree, object: 1},
	"tc_deletearray_sized":         {op: bpf.OpFree, object: 1, size: 2},
	"tc_deletearray_aligned":       {op: bpf.OpFree, object: 1},
	"tc_deletearray_sized_aligned": {op: bpf.OpFree, object: 1, size: 2},
}

// operators are the allocation functions of C++, by the beginning of their mangled names (Itanium
// C++ ABI, 5.1.3): new, new[], delete, delete[]. The size is a long or an int.
var operators = map[string]allocator{
	"_Znwm": {op: bpf.OpAlloc, size: 1, unwinds: true},
	"_Znam": {op: bpf.OpAlloc, size: 1, unwinds: true},
	"_ZdlP": {op: bpf.OpFree, object: 1},
	"_ZdaP": {op: bpf.OpFree, object: 1},
}

// mapFixed is MAP_FIXED: a new mapping replaces what is at its address.
const mapFixed = 0x10

// mappings are the functions of the C library that end mappings of memory.
var mappings = map[string]allocator{
	"munmap": {op: bpf.OpFree, object: 1, old: 2},
	"mremap": {op: bpf.OpMove, object: 1, old: 2, size: 3},
	"mmap":   {op: bpf.OpFree, object: 1, old: 2, flags: 4, flag: mapFixed},
	"mmap64": {op: bpf.OpFree, object: 1, old: 2, flags: 4, flag: mapFixed},
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

// maxAllocatorName is the length of the longest name of an allocator of C, prefix included.
const maxAllocatorName = len("tc_deletearray_sized_aligned")

func allocatorNamed(name string) (allocator, bool) {
	if strings.HasPrefix(name, "_Z") {
		if len(name) < 5 {
			return allocator{}, false
		}
		a, ok := operators[name[:5]]
		return a, ok
	}
	if len(name) > maxAllocatorName {
		return allocator{}, false
	}
	if a, ok := ownAllocators[strings.TrimPrefix(name, "je_")]; ok {
		return a, true
	}
	a, ok := allocators[plainAllocator(name)]
	return a, ok
}

// heap says what is recorded of the functions of a file that allocate and free memory.
type heap struct {
	program Program
	least   uint64 // allocations of at least this number of bytes are recorded
	keep    uint64 // the sizes of blocks of at least this number of bytes are remembered
	// header reports that the size of a block is in the word before it, so that it need not be
	// remembered.
	header bool
	// always reports that the end of a mapping is recorded, whatever is in it.
	always bool
}

const (
	never = math.MaxUint64 // no block is so large
	// smallestObject is the least number of bytes of a block that is remembered: a semaphore, the
	// smallest object that a deadlock may be about, and no spin lock, which has 4.
	smallestObject = 32
)

// planHeap plans the probes of the functions that allocate and free memory. With fields, the
// allocations of objects of at least least bytes are recorded, and the probes remain whatever they
// cost. Without, only ends of memory are recorded.
func (b *builder) planHeap(fields bool, least int64) error {
	h := heap{program: ProgramLives, least: never, keep: smallestObject, header: b.hasHeaders()}
	if fields {
		h = heap{program: ProgramHeap, least: uint64(least), keep: min(uint64(least), smallestObject), header: h.header}
		if h.header {
			h.keep = h.least
		}
	} else if h.header {
		h.keep = never
	}
	at := b.allocatorsByAddress()
	for _, addr := range slices.Sorted(maps.Keys(at)) {
		a, _ := allocatorNamed(at[addr])
		if b.delegates(addr, at) || a.op == bpf.OpAlloc && h.keep == never {
			continue
		}
		if err := b.allocator(addr, at[addr], a, h); err != nil {
			return fmt.Errorf("%s at 0x%x: %w", at[addr], addr, err)
		}
	}
	return b.planMappings(h, len(at) > 0)
}

// allocatorsByAddress returns the names of the file's functions that allocate and free.
func (b *builder) allocatorsByAddress() map[uint64]string {
	at := map[uint64]string{}
	for _, s := range b.plan.File.Symbols() {
		if s.Kind != elf.Func || s.Addr == 0 {
			continue
		}
		if _, ok := allocatorNamed(s.Name); ok && (at[s.Addr] == "" || s.Name < at[s.Addr]) {
			at[s.Addr] = s.Name
		}
	}
	return at
}

// planMappings plans the probes of the functions that end mappings: those of the C library, and of an
// allocator, as tcmalloc, that puts its own before them.
func (b *builder) planMappings(h heap, allocator bool) error {
	h.least, h.keep, h.header = never, never, false
	planned := map[uint64]bool{}
	for _, name := range slices.Sorted(maps.Keys(mappings)) {
		for _, s := range b.plan.File.Lookup(name) {
			if s.Kind != elf.Func || s.Addr == 0 || planned[s.Addr] || !allocator && b.clib().Foreign(name, s.Addr, b.sourceFile) != "" {
				continue
			}
			planned[s.Addr] = true
			if err := b.allocator(s.Addr, name, mappings[name], h); err != nil {
				return fmt.Errorf("%s at 0x%x: %w", name, s.Addr, err)
			}
			break
		}
	}
	return b.planUnloads(h)
}

// unmaps are the instructions with which a function begins that unmaps memory by the system call
// munmap: without marks for the branches to it.
var unmaps = map[insn.Arch][]byte{
	insn.AMD64: {0xb8, 11, 0, 0, 0, 0x0f, 0x05},                  // mov $11, %eax; syscall
	insn.ARM64: {0xe8, 0x1a, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4}, // mov x8, #215; svc #0
}

// planUnloads plans a probe of the function by which a dynamic loader unmaps libraries. The loader
// of glibc, which has no symbol for it, calls it rarely: the probe remains whatever it costs.
func (b *builder) planUnloads(h heap) error {
	f := b.plan.File
	if f.Interp() != "" || len(f.Lookup(loaderHook)) == 0 || len(f.Lookup("munmap")) > 0 {
		return nil
	}
	h.program, h.always = ProgramHeap, true
	for _, fn := range f.Functions() {
		if !b.beginsWith(fn, unmaps[f.Arch()]) {
			continue
		}
		if err := b.allocator(fn.Lo, "munmap", mappings["munmap"], h); err != nil {
			return fmt.Errorf("munmap at 0x%x: %w", fn.Lo, err)
		}
	}
	return nil
}

// beginsWith reports whether a function begins with some instructions, after a mark that branches may
// come there.
func (b *builder) beginsWith(fn elf.Range, want []byte) bool {
	at := fn.Lo
	if b.image.IsMark(at) {
		at += 4
	}
	got, err := b.image.Bytes(at, len(want))
	return err == nil && len(want) > 0 && bytes.Equal(got, want)
}

// sizeDistance is how many bytes before a block glibc's malloc stores its size.
const sizeDistance = 8

// hasHeaders reports whether the allocator of the file is glibc's, as the code of its function
// malloc_usable_size shows: it reads the word before the block.
func (b *builder) hasHeaders() bool {
	f := b.plan.File
	if len(f.Lookup("__libc_free")) == 0 || b.arch.Arguments() == nil {
		return false
	}
	for _, s := range f.Lookup("malloc_usable_size") {
		if s.Kind == elf.Func && b.image.Loads(s.Addr, b.argument(1), -sizeDistance, sizeDistance) {
			return true
		}
	}
	return false
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

func (b *builder) allocator(addr uint64, name string, a allocator, h heap) error {
	want := cheapsite.Want{At: addr, Reads: b.entryReads(a.object, a.size, a.factor, a.old, a.flags), Sense: cheapsite.Entry}
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
	s.Program, s.Return = h.program, want.Return
	s.BPF = bpf.Site{Op: uint8(a.op), Action: uint8(bpf.ActionSave), AtEntry: 1, SpDelta: int32(where.SPDelta)}
	b.setAllocator(&s, a, h)
	b.plan.Sites = append(b.plan.Sites, s)
	if a.op == bpf.OpFree || want.Return {
		return nil
	}
	return b.heapReturns(call{addr: addr, name: name}, h.program)
}

// setAllocator sets what the BPF program knows of a function that allocates or frees.
func (b *builder) setAllocator(s *Site, a allocator, h heap) {
	d := s.BPF.Heap()
	d.Least, d.Keep = h.least, h.keep
	if a.op == bpf.OpFree {
		s.BPF.Action = uint8(bpf.ActionEmit)
	}
	if a.object > 0 {
		s.BPF.ObjectFrom, s.BPF.ObjectReg = uint8(bpf.FromReg), uint8(b.argument(a.object))
	}
	register := func(argument int) uint8 {
		if argument == 0 {
			return 0
		}
		return 1 + uint8(b.argument(argument))
	}
	d.SizeReg, d.FactorReg, d.OldReg = register(a.size), register(a.factor), register(a.old)
	d.IfReg, d.IfMask, d.IfValue = register(a.flags), a.flag, a.flag
	if h.always {
		d.Always = 1
	}
	switch {
	case a.indirect:
		s.BPF.Flags = bpf.SiteIndirect
	case a.old > 0:
		s.BPF.Flags = bpf.SiteRange
	case h.header && a.op != bpf.OpAlloc:
		s.BPF.Flags = bpf.SiteHeader
	}
	switch {
	case h.program != ProgramLives:
	case a.op == bpf.OpFree:
		d.Cost = uint8(costOf(s.Class))
	default:
		d.Cost = uint8(costOfCall(s.Class, s.Return))
	}
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
