package binary

import (
	"errors"
	"fmt"
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
	Callee string // the imported function that is called, or ""
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
}

// Count gives the number of sites of a kind.
func (u Unseen) Count(k UnseenKind) int {
	n := 0
	for _, s := range u.Sites {
		if s.What == k {
			n++
		}
	}
	return n
}

// First gives the site of a kind with the lowest address; false if there is
// none.
func (u Unseen) First(k UnseenKind) (UnseenSite, bool) {
	for _, s := range u.Sites {
		if s.What == k {
			return s, true
		}
	}
	return UnseenSite{}, false
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
	return u, nil
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
	for addr := fn.Lo; len(code) > 0; {
		in, err := insn.Decode(f.arch, code, addr)
		if err != nil || in.Len <= 0 || in.Len > len(code) {
			u.Unknown = append(u.Unknown, Range{addr, fn.Hi})
			return nil
		}
		if what, callee, ok := f.unseen(&in, plt); ok {
			u.Sites = append(u.Sites, UnseenSite{Func: fn, Addr: addr, What: what, Callee: callee})
		}
		code, addr = code[in.Len:], addr+uint64(in.Len)
	}
	return nil
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
