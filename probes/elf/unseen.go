package elf

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/libname"
)

// UnseenKind is a kind of synchronisation that is not visible in pthread calls.
type UnseenKind uint8

// The kinds.
const (
	UnseenAtomic  UnseenKind = iota // an atomic read-modify-write instruction, or a fence
	UnseenSyscall                   // a system call instruction, or a call of syscall(2)
	UnseenCall                      // a call of a library's function that orders threads
	UnseenWait                      // a loop that waits for a value that another thread stores; see probes/waiting
	UnseenPointer                   // a pointer to an atomic variable, through which it may be accessed
	UnseenLook                      // a load by which a thread may look at what another one has stored
)

// String returns the kind as text for people.
func (k UnseenKind) String() string {
	switch k {
	case UnseenAtomic:
		return "atomic instruction"
	case UnseenSyscall:
		return "system call"
	case UnseenCall:
		return "call"
	case UnseenWait:
		return "loop that waits"
	case UnseenPointer:
		return "pointer to an atomic variable"
	case UnseenLook:
		return "load that may be an atomic one"
	}
	return "unknown"
}

// UnseenSite is an instruction that synchronises without a pthread call.
type UnseenSite struct {
	Func   Range // the function extent that contains it
	Addr   uint64
	What   UnseenKind
	Callee string // the imported function that is called, or ""
	// Return is the address to which the call returns, if the function orders threads when it
	// returns and not when it is called, as a wait does; else 0.
	Return uint64
	// Mem is the memory that an atomic instruction changes; Size is 0 if there is none, as with a
	// fence.
	Mem insn.Mem
}

// Unseen describes all synchronisation that a file's own code may perform without pthread calls. It
// does not contain plain loads and stores of an atomic type: on x86-64 they look like any other.
type Unseen struct {
	Sites   []UnseenSite // sorted by address
	Imports []string     // imported functions that order threads, called here or not
	// Unknown are the extents, or the rest of them, that could not be decoded and may contain more.
	Unknown []Range
	// Hints are the ranges of the file's data that an atomic instruction may change through a
	// register, because its function makes their address. They are sorted, without duplicates.
	Hints []Hint
}

// Hint is a range of data, Size bytes at Addr, and the function that may change it atomically.
type Hint struct {
	Addr uint64
	Size int
	Func Range
}

// ImportsOrdering reports whether the file imports a function that orders threads, or, as a static
// file, contains one.
func (f *File) ImportsOrdering() bool {
	orders := func(name string) bool {
		_, ok := orderingImport(name)
		return ok
	}
	return slices.ContainsFunc(f.Undefined(), orders) ||
		f.Static() && slices.ContainsFunc(f.Symbols(), func(s Symbol) bool { return s.Kind == Func && s.Addr != 0 && orders(s.Name) })
}

// MakesChannels reports whether the file's code may make channels through which threads pass each
// other messages, or tell each other something through the kernel: it imports, or a static file
// contains, a function that makes pipes, sockets, eventfds, timers, queues of messages, semaphores of
// System V, or locks of files, or that sends or awaits signals.
func (f *File) MakesChannels() bool {
	return f.hasAny(libname.MakesChannel)
}

// WaitsForChildren reports whether the file's code may wait for the end of child processes and start
// threads, or, with children, whether it may wait for them at all.
func (f *File) WaitsForChildren(children bool) bool {
	return f.hasAny(libname.WaitsForChild) && (children || f.startsThreads())
}

// ReusesDescriptors reports whether the file's code may start threads, close descriptors, and be given their numbers
// again.
func (f *File) ReusesDescriptors() bool {
	return f.hasAny(libname.Closes) && f.hasAny(libname.MakesDescriptor) && f.startsThreads()
}

// Asks reports whether the file's code may ask the kernel for what other threads may change.
func (f *File) Asks() bool { return f.hasAny(libname.Asks) }

func (f *File) startsThreads() bool { return f.hasAny(libname.StartsThread) }

// Traces reports whether the file's code may trace other processes, or ask to be traced.
func (f *File) Traces() bool { return f.has("ptrace") }

// hasAny reports whether the file imports a function of a class, or contains it as a static file.
func (f *File) hasAny(c libname.Class) bool { return f.has(libname.With(c)...) }

// has reports whether the file imports one of the functions, or contains it as a static file.
func (f *File) has(names ...string) bool {
	undefined := f.Undefined()
	return slices.ContainsFunc(names, func(name string) bool {
		return slices.Contains(undefined, name) || f.Static() && len(f.Lookup(name)) > 0
	})
}

// Restartable reports whether the file may contain restartable sequences (rseq(2)), which the
// kernel restarts if they are interrupted. Single-stepping a copy of one of their instructions
// removes that protection from the rest. If the file has no section headers, the result is true.
func (f *File) Restartable() bool {
	return len(f.elf.Sections) == 0 || f.elf.Section("__rseq_cs") != nil
}

// UnseenSync finds, in all functions, synchronisation that does not use pthread calls. The
// procedure linkage table is left out. Start-up code and a statically linked libc are included: the
// caller must recognise their functions. The errors are those of reading the code.
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
	if err := f.search(subtract(f.Functions(), stubs), f.orderingTargets(), &u); err != nil {
		return u, fmt.Errorf("look for unseen synchronisation: %w", err)
	}
	u.sort()
	return u, nil
}

// search adds what functions, in the order of their addresses, synchronise. Several processors share the work.
func (f *File) search(functions []Range, plt map[uint64]string, u *Unseen) error {
	f.slots() // computed here: afterwards the search only reads
	parts := inParts(len(functions), func(lo, hi int) (part Unseen, err error) {
		code := codeReader{file: f}
		for _, fn := range functions[lo:hi] {
			if err := f.unseenIn(fn, &code, plt, &part); err != nil {
				return part, err
			}
		}
		return part, nil
	})
	for _, p := range parts {
		if p.err != nil {
			return p.err
		}
		u.Sites = append(u.Sites, p.result.Sites...)
		u.Unknown = append(u.Unknown, p.result.Unknown...)
		u.Hints = append(u.Hints, p.result.Hints...)
	}
	return nil
}

// orderingTargets returns the names of the functions that are called at addresses of the file: its
// stubs of imports, and in a static file the functions that order threads.
func (f *File) orderingTargets() map[uint64]string {
	targets := f.PLTTargets()
	if !f.Static() {
		return targets
	}
	targets = maps.Clone(targets)
	if targets == nil {
		targets = map[uint64]string{}
	}
	for _, s := range f.Symbols() {
		if s.Kind == Func && s.Addr != 0 && targets[s.Addr] == "" {
			if _, ok := orderingImport(s.Name); ok {
				targets[s.Addr] = s.Name
			}
		}
	}
	return targets
}

func (u *Unseen) sort() {
	slices.SortFunc(u.Hints, func(a, b Hint) int {
		return cmp.Or(cmp.Compare(a.Addr, b.Addr), cmp.Compare(a.Size, b.Size), cmp.Compare(a.Func.Lo, b.Func.Lo))
	})
	u.Hints = slices.Compact(u.Hints)
}

// maxDataRefs bounds the number of data addresses that are kept for one function.
const maxDataRefs = 32

// dataRefs contains the data addresses that a function makes, and the operands of its atomic
// instructions that use a register.
type dataRefs struct {
	data []uint64
	mems []insn.Mem
}

func (h *dataRefs) note(f *File, in *insn.Inst) {
	if in.Known && in.Sum.Const() && len(h.data) < maxDataRefs && f.IsData(uint64(in.Sum.Imm)) {
		h.data = append(h.data, uint64(in.Sum.Imm))
	}
	for i := range in.NMem {
		m := &in.Mem[i]
		if m.Fixed && m.Read && !m.Write && len(h.data) < maxDataRefs {
			if at, ok := f.slotTarget(m.Addr); ok {
				h.data = append(h.data, at)
			}
		}
		if in.Locked && byRegister(m) && len(h.mems) < maxDataRefs {
			h.mems = append(h.mems, *m)
		}
	}
}

// byRegister reports whether an operand is where one register points to.
func byRegister(m *insn.Mem) bool { return !m.Fixed && !m.Segment && m.Index == insn.NoReg }

// throughRegister reports whether an instruction is atomic and has such an operand.
func throughRegister(in *insn.Inst) bool {
	for i := range in.NMem {
		if in.Locked && byRegister(&in.Mem[i]) {
			return true
		}
	}
	return false
}

// hint adds the hints of a function, whose instructions code has.
func (f *File) hint(fn Range, code []byte, u *Unseen) {
	var refs dataRefs
	for addr := fn.Lo; len(code) > 0; {
		in, err := insn.Decode(f.arch, code, addr)
		if err != nil || in.Len <= 0 || in.Len > len(code) {
			break
		}
		refs.note(f, &in)
		code, addr = code[in.Len:], addr+uint64(in.Len)
	}
	for _, m := range refs.mems {
		for _, at := range refs.data {
			if to := at + uint64(m.Disp); f.IsData(to) && m.Size > 0 {
				u.Hints = append(u.Hints, Hint{to, m.Size, fn})
			}
		}
	}
}

// IsData reports whether an address is in a writable, not executable segment of the file, including
// its zero-initialised part.
func (f *File) IsData(addr uint64) bool {
	for i := range f.segments {
		if s := &f.segments[i]; s.addr <= addr && addr-s.addr < s.memsz {
			return s.write && !s.exec
		}
	}
	return false
}

// slotTarget returns the address of the file's own variable whose address a slot of the global
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

func (f *File) unseenIn(fn Range, from *codeReader, plt map[uint64]string, u *Unseen) error {
	code, err := from.code(fn)
	if errors.Is(err, ErrAddress) { // a section that is not loaded
		u.Unknown = append(u.Unknown, fn)
		return nil
	}
	if err != nil {
		return err
	}
	pointed := false // an atomic instruction finds its operand by a register
	at := 0
	for at < len(code) {
		addr := fn.Lo + uint64(at)
		s, ok := insn.Skim(f.arch, code[at:], addr)
		if !ok || s.Len <= 0 || s.Len > len(code)-at {
			u.Unknown = append(u.Unknown, Range{addr, fn.Hi})
			break
		}
		if maySynchronise(&s, plt) {
			in, err := insn.Decode(f.arch, code[at:], addr)
			if err != nil {
				return fmt.Errorf("decode the instruction at 0x%x again: %w", addr, err)
			}
			pointed = pointed || throughRegister(&in)
			f.noteUnseen(fn, &in, code[at:], plt, u)
		}
		at += s.Len
	}
	if pointed {
		f.hint(fn, code[:at], u)
	}
	return nil
}

// maySynchronise reports whether an instruction may be one that unseen accepts, or an atomic one.
func maySynchronise(s *insn.Step, plt map[uint64]string) bool {
	switch s.Kind {
	case insn.Call, insn.Jump, insn.CondJump:
		return s.MayLock || plt[s.Target] != ""
	case insn.Syscall, insn.IndirectCall, insn.IndirectJump:
		return true
	}
	return s.MayLock
}

// noteUnseen adds an instruction to the places that synchronise, if it does. Code begins with it.
func (f *File) noteUnseen(fn Range, in *insn.Inst, code []byte, plt map[uint64]string, u *Unseen) {
	what, callee, ok := f.unseen(in, plt)
	if !ok || fenceOnStack(in, code) {
		return
	}
	site := UnseenSite{Func: fn, Addr: in.Addr, What: what, Callee: callee}
	if next := in.Addr + uint64(in.Len); waitingCall(callee) && isCall(in) && next < fn.Hi {
		site.Return = next
	}
	if what == UnseenAtomic && in.NMem > 0 {
		site.Mem = in.Mem[0]
	}
	u.Sites = append(u.Sites, site)
}

// fenceOnStack reports whether an instruction is the fence that compilers make from an atomic
// operation on the top of the stack that changes nothing (lock orq $0, (%rsp)). It orders other
// accesses, but does not communicate with other threads by itself.
func fenceOnStack(in *insn.Inst, code []byte) bool {
	if !in.Locked || in.NMem == 0 || in.Mem[0].Base != insn.RSP || in.Mem[0].Fixed {
		return false
	}
	bytes := code[:in.Len]
	return shortConstant(bytes) && bytes[len(bytes)-1] == 0
}

// shortConstant reports whether an instruction has an immediate operand of one byte: its opcode,
// after prefixes, is 0x83.
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

// callee returns the name of the import that an instruction calls or jumps to, through a stub or
// directly through the slot (-fno-plt).
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

// waitingCall reports whether a function of the C library waits for what another thread or process
// does, or asks whether it has happened, by other means than those of the table: the end of a child,
// a signal, a descriptor, a message, a connection.
func waitingCall(name string) bool { return libname.Is(name, libname.KernelWait) }

// wakingCall reports whether a function of the C library wakes, interrupts or excludes other threads
// by other means than those of the table: a signal, a timer, a connection, a message, the lock of a
// file, a semaphore of System V.
func wakingCall(name string) bool { return libname.Is(name, libname.KernelWake) }

// OrdersByKernel reports whether all that a function of the C library orders is ordered by the kernel
// where records of system calls and signals show it, if they are made (bpf/notices.h, signal.h).
func OrdersByKernel(name string) bool {
	return name != "pthread_cancel" && (waitingCall(name) || wakingCall(name))
}

// isCall reports whether an instruction calls a function, and does not jump to it.
func isCall(in *insn.Inst) bool { return in.Kind == insn.Call || in.Kind == insn.IndirectCall }

func orderingImport(name string) (UnseenKind, bool) {
	if name == "" {
		return 0, false
	}
	if name == "syscall" {
		return UnseenSyscall, true
	}
	if name == "futex" || name == "membarrier" || waitingCall(name) || wakingCall(name) {
		return UnseenCall, true
	}
	if libname.BeginsAs(name, libname.Orders) {
		return UnseenCall, true
	}
	return 0, false
}
