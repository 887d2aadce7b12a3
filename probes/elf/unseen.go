package elf

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/probes/insn"
)

// UnseenKind is a way to order threads that a watcher of pthread calls misses.
type UnseenKind uint8

// The kinds.
const (
	UnseenAtomic  UnseenKind = iota // an indivisible read-modify-write, or a fence
	UnseenSyscall                   // a system call instruction, or a call of syscall(2)
	UnseenCall                      // a call of a library's atomic or futex function
)

// String names the kind for people.
func (k UnseenKind) String() string {
	switch k {
	case UnseenAtomic:
		return "atomic instruction"
	case UnseenSyscall:
		return "system call"
	case UnseenCall:
		return "call"
	}
	return "unknown"
}

// UnseenSite is one place of such an ordering.
type UnseenSite struct {
	Func   Range // the extent that contains it
	Addr   uint64
	What   UnseenKind
	Callee string   // the imported function that is called, or ""
	Mem    insn.Mem // what an atomic instruction changes; Size 0 if nothing, as a fence
}

// Unseen is all ordering that a file's own code may make without pthread calls.
// Plain loads and stores of an atomic type are not in it: on x86-64 they look
// like any other.
type Unseen struct {
	Sites   []UnseenSite // sorted by address
	Imports []string     // imported functions that order threads, called here or not
	// Unknown are the extents, or the rest of them, that could not be decoded
	// and may hide more.
	Unknown []Range
	// Hints are places in the file's data that an atomic instruction may change
	// through a register: its function has their address. Sorted, without doubles.
	Hints []Hint
}

// Hint is Size bytes of data at Addr, and the function that may change them.
type Hint struct {
	Addr uint64
	Size int
	Func Range
}

// Count returns the number of sites of a kind.
func (u Unseen) Count(k UnseenKind) int {
	n := 0
	for _, s := range u.Sites {
		if s.What == k {
			n++
		}
	}
	return n
}

// First returns the site of a kind with the lowest address; false if there is
// none.
func (u Unseen) First(k UnseenKind) (UnseenSite, bool) {
	for _, s := range u.Sites {
		if s.What == k {
			return s, true
		}
	}
	return UnseenSite{}, false
}

// ImportsOrdering reports whether the file imports a function that orders threads.
func (f *File) ImportsOrdering() bool {
	return slices.ContainsFunc(f.Undefined(), func(name string) bool {
		_, ok := orderingImport(name)
		return ok
	})
}

// Restartable reports whether the file may have restartable sequences (rseq(2)), which
// the kernel starts again where they were interrupted: stepping a copy of one of their
// instructions takes that protection from the rest. Without sections nobody knows.
func (f *File) Restartable() bool {
	return len(f.elf.Sections) == 0 || f.elf.Section("__rseq_cs") != nil
}

// UnseenSync looks through all functions for ordering that does not go through
// pthread calls. The linkage table is left out; start-up code and a statically
// linked libc are not: their functions are for the caller to recognise. Errors
// are those of reading the code.
func (f *File) UnseenSync() (Unseen, error) {
	u := Unseen{}
	for _, name := range f.Undefined() {
		if _, ok := orderingImport(name); ok {
			u.Imports = append(u.Imports, name)
		}
	}
	stubs := f.pltAreas()
	if len(f.elf.Sections) == 0 {
		stubs = nil
	}
	plt := f.PLTTargets()
	for _, fn := range subtract(f.Functions(), stubs) {
		if err := f.unseenIn(fn, plt, &u); err != nil {
			return u, fmt.Errorf("look for unseen synchronisation: %w", err)
		}
	}
	u.sort()
	return u, nil
}

func (u *Unseen) sort() {
	slices.SortFunc(u.Hints, func(a, b Hint) int {
		return cmp.Or(cmp.Compare(a.Addr, b.Addr), cmp.Compare(a.Size, b.Size), cmp.Compare(a.Func.Lo, b.Func.Lo))
	})
	u.Hints = slices.Compact(u.Hints)
}

// maxHeld bounds the addresses of data that are kept of one function.
const maxHeld = 32

// held is the data whose addresses a function makes, and what its atomic
// instructions do through registers.
type held struct {
	data []uint64
	mems []insn.Mem
}

func (h *held) note(f *File, in *insn.Inst) {
	if in.Known && in.Sum.Const() && len(h.data) < maxHeld && f.IsData(uint64(in.Sum.Imm)) {
		h.data = append(h.data, uint64(in.Sum.Imm))
	}
	for i := range in.NMem {
		m := &in.Mem[i]
		if m.Fixed && m.Read && !m.Write && len(h.data) < maxHeld {
			if at, ok := f.slotTarget(m.Addr); ok {
				h.data = append(h.data, at)
			}
		}
		if in.Locked && !m.Fixed && !m.Segment && m.Index == insn.NoReg && len(h.mems) < maxHeld {
			h.mems = append(h.mems, *m)
		}
	}
}

func (h *held) hints(f *File, fn Range, u *Unseen) {
	for _, m := range h.mems {
		for _, at := range h.data {
			if to := at + uint64(m.Disp); f.IsData(to) && m.Size > 0 {
				u.Hints = append(u.Hints, Hint{to, m.Size, fn})
			}
		}
	}
}

// IsData reports whether an address is of data that the file is loaded with and may
// write, zeroed data included.
func (f *File) IsData(addr uint64) bool {
	for i := range f.segments {
		if s := &f.segments[i]; s.addr <= addr && addr-s.addr < s.memsz {
			return s.write && !s.exec
		}
	}
	return false
}

// slotTarget returns the file's own variable whose address a slot of the global
// offset table holds.
func (f *File) slotTarget(slot uint64) (uint64, bool) {
	name := f.slots()[slot]
	if name == "" {
		return 0, false
	}
	for _, s := range f.Lookup(name) {
		if s.Kind == Object && s.Addr != 0 {
			return s.Addr, true
		}
	}
	return 0, false
}

func (f *File) unseenIn(fn Range, plt map[uint64]string, u *Unseen) error {
	code, err := f.exactly(fn.Lo, fn.Hi-fn.Lo)
	if errors.Is(err, ErrAddress) { // a section that is not loaded
		u.Unknown = append(u.Unknown, fn)
		return nil
	}
	if err != nil {
		return err
	}
	var regs held
	defer func() { regs.hints(f, fn, u) }()
	for addr := fn.Lo; len(code) > 0; {
		in, err := insn.Decode(f.arch, code, addr)
		if err != nil || in.Len <= 0 || in.Len > len(code) {
			u.Unknown = append(u.Unknown, Range{addr, fn.Hi})
			return nil
		}
		regs.note(f, &in)
		if what, callee, ok := f.unseen(&in, plt); ok && !fenceOnStack(&in, code) {
			site := UnseenSite{Func: fn, Addr: addr, What: what, Callee: callee}
			if what == UnseenAtomic && in.NMem > 0 {
				site.Mem = in.Mem[0]
			}
			u.Sites = append(u.Sites, site)
		}
		code, addr = code[in.Len:], addr+uint64(in.Len)
	}
	return nil
}

// fenceOnStack finds the fence that compilers make of an indivisible operation
// on the stack's top that changes nothing (lock orq $0, (%rsp)): it orders what
// is written otherwise, and tells nobody anything.
func fenceOnStack(in *insn.Inst, code []byte) bool {
	if !in.Locked || in.NMem == 0 || in.Mem[0].Base != insn.RSP || in.Mem[0].Fixed {
		return false
	}
	bytes := code[:in.Len]
	return shortConstant(bytes) && bytes[len(bytes)-1] == 0
}

// shortConstant reports whether an instruction's operand is a constant of one
// byte: its opcode, behind prefixes, is 0x83.
func shortConstant(code []byte) bool {
	for _, b := range code {
		if b != 0xf0 && b&0xf0 != 0x40 {
			return b == 0x83
		}
	}
	return false
}

func (f *File) unseen(in *insn.Inst, plt map[uint64]string) (what UnseenKind, callee string, ok bool) {
	switch {
	case in.Kind == insn.Syscall:
		return UnseenSyscall, "", true
	case in.Locked:
		return UnseenAtomic, "", true
	}
	callee = f.callee(in, plt)
	what, ok = orderingImport(callee)
	return what, callee, ok
}

// callee names the import that an instruction calls or jumps to, by a stub or
// by the slot itself (-fno-plt).
func (f *File) callee(in *insn.Inst, plt map[uint64]string) string {
	switch in.Kind {
	case insn.Call, insn.Jump, insn.CondJump:
		return plt[in.Target]
	case insn.IndirectCall, insn.IndirectJump:
		for _, m := range in.Mem[:in.NMem] {
			if m.Fixed {
				return f.slots()[m.Addr]
			}
		}
	}
	return ""
}

// orderingImports are prefixes of functions that order threads by atomics or
// futexes: libatomic's, and what libstdc++ and libc++ keep out of line for
// futures and atomic waits.
var orderingImports = [...]string{
	"__atomic_", "__sync_", "atomic_flag_", "atomic_thread_fence",
	"_ZNSt28__atomic_futex_unsigned_base",
	"_ZNSt3__123__cxx_atomic_notify_", "_ZNSt3__117__cxx_atomic_wait",
}

func orderingImport(name string) (UnseenKind, bool) {
	if name == "" {
		return 0, false
	}
	if name == "syscall" {
		return UnseenSyscall, true
	}
	if name == "futex" || name == "membarrier" {
		return UnseenCall, true
	}
	for _, p := range orderingImports {
		if strings.HasPrefix(name, p) {
			return UnseenCall, true
		}
	}
	return 0, false
}
