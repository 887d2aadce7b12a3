package probes

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/symbolize"
	"github.com/tracepredict/tracepredict/probes/variable"
)

// This file finds locks whose code is inlined. Their accesses are planned like those of other atomic variables;
// here those are marked that acquire or release such a lock. The debug information names the functions of a lock's
// type that an instruction was inlined from. Nothing else accesses the word of a lock of that type.

// RustMutex describes the mutexes of Rust's standard library where these wait by futex.
const RustMutex = "std::sync::Mutex"

// RustRWLock describes the read-write locks of that library.
const RustRWLock = "std::sync::RwLock"

// RustSpinLock describes a lock by which that library keeps what it knows of its threads.
const RustSpinLock = "spin lock of Rust's std"

// rustMutex matches the mangled names, legacy and v0, of the functions of that type. Since Rust 1.62 it had
// several places.
var rustMutex = regexp.MustCompile(`3std3sys(?:4sync5mutex5futex|3pal4unix5locks11futex_mutex|4unix5locks11futex_mutex|4unix5locks5futex)(?:NtB[0-9A-Za-z]*_)?5Mutex(4lock|8try_lock|6unlock|14lock_contended|4spin|4wake)`)

// rustRWLock matches those of the functions of a read-write lock.
var rustRWLock = regexp.MustCompile(`3std3sys(?:4sync6rwlock5futex|3pal4unix5locks12futex_rwlock|4unix5locks12futex_rwlock)(?:NtB[0-9A-Za-z]*_)?6RwLock(4read|5write|8try_read|9try_write|11read_unlock|12write_unlock|14read_contended|15write_contended|9downgrade|10spin_until|9spin_read|10spin_write|11wake_writer|22wake_writer_or_readers)`)

// rustGuard matches those of the functions of what holds such a lock.
var rustGuard = regexp.MustCompile(`4sync6poison5mutex(?:NtB[0-9A-Za-z]*_)?10MutexGuard|4sync5mutex(?:NtB[0-9A-Za-z]*_)?10MutexGuard|std\.\.sync\.\.(poison\.\.)?mutex\.\.MutexGuard`)

var rustMutexUses = map[string]bpf.LockUse{"4lock": bpf.LockAcquires, "14lock_contended": bpf.LockAcquires, "8try_lock": bpf.LockTries, "6unlock": bpf.LockReleases, "4spin": bpf.LockKeeps, "4wake": bpf.LockKeeps}

// rustSpinLock matches those of the functions that use a spin lock of the standard library, in whose word is who
// holds it. They hold it whenever they store.
var rustSpinLock = regexp.MustCompile(`3std3sys3pal4unix14stack_overflow11thread_info`)

var rustRWLockUses = map[string]bpf.LockUse{
	"4read": bpf.LockAcquires, "5write": bpf.LockAcquires, "14read_contended": bpf.LockAcquires, "15write_contended": bpf.LockAcquires,
	"8try_read": bpf.LockTries, "9try_write": bpf.LockTries, "11read_unlock": bpf.LockReleases, "12write_unlock": bpf.LockReleases,
	"9downgrade": bpf.LockKeeps, "10spin_until": bpf.LockKeeps, "9spin_read": bpf.LockKeeps, "10spin_write": bpf.LockKeeps, "11wake_writer": bpf.LockKeeps, "22wake_writer_or_readers": bpf.LockKeeps,
}

// lockRole is what an instruction is for, and the type of the lock.
type lockRole struct {
	use  bpf.LockUse
	kind string
}

// rustRole returns the role that the innermost of the frames shows that is a function of a lock of Rust.
func rustRole(frames []symbolize.Frame) lockRole {
	for _, f := range frames {
		if m := rustMutex.FindStringSubmatch(f.Linkage); m != nil {
			return lockRole{rustMutexUses[m[1]], RustMutex}
		}
		if m := rustRWLock.FindStringSubmatch(f.Linkage); m != nil {
			return lockRole{rustRWLockUses[m[1]], RustRWLock}
		}
	}
	return lockRole{}
}

// inAny reports whether one of the frames is of a function whose mangled name matches.
func inAny(frames []symbolize.Frame, names *regexp.Regexp) bool {
	return slices.ContainsFunc(frames, func(f symbolize.Frame) bool { return names.MatchString(f.Linkage) })
}

// lockRole returns what the instruction at an address is for, if an inlined lock's code contains it.
func (b *builder) lockRole(addr uint64) lockRole {
	role, known := b.lockRoles[addr]
	if known {
		return role
	}
	frames := b.plan.frames(addr)
	switch role = rustRole(frames); {
	case role.use != bpf.LockNone:
	case b.unlocksRust(addr, frames):
		role = lockRole{bpf.LockReleases, RustMutex}
	case inAny(frames, rustSpinLock):
		role = lockRole{b.spinLockUse(addr), RustSpinLock}
	}
	if b.lockRoles == nil {
		b.lockRoles = map[uint64]lockRole{}
	}
	b.lockRoles[addr] = role
	return role
}

// spinLockUse returns what an instruction of such a function is for, if it accesses a word as that of the spin
// lock: a compare-and-exchange, or a store.
func (b *builder) spinLockUse(addr uint64) bpf.LockUse {
	in, err := b.image.Decode(addr)
	switch {
	case err != nil || in.NMem != 1 || in.Mem[0].Size != 8 || !in.Mem[0].Fixed:
	case in.Locked && in.WritesIf != 0:
		return bpf.LockAcquires
	case !in.Locked && in.Mem[0].Write && !in.Mem[0].Read && in.HasImm && in.ValueImm == 0:
		return bpf.LockReleases
	}
	return bpf.LockNone
}

// unlocksRust reports whether an instruction unlocks a mutex of Rust, although no line of the debug information
// says so: compilers merge the ends of several paths into one that belongs to none. It exchanges 0 for what
// is compared with 2, which says that threads wait, and lies in a function of what holds such a lock, or
// leads to a function of the lock.
func (b *builder) unlocksRust(addr uint64, frames []symbolize.Frame) bool {
	if b.arch != insn.AMD64 {
		return false
	}
	in, err := b.image.Decode(addr)
	if err != nil || in.NMem != 1 || in.Mem[0].Size != 4 {
		return false
	}
	bytes, err := b.plan.File.Bytes(addr, in.Len)
	if err != nil {
		return false
	}
	m := decodeModify(bytes)
	w := syncWant{}
	if m.op != modifyExchange || !b.operandBefore(variable.Access{Addr: addr, Len: in.Len, Width: 4}, m.reg, &w) || w.second != bpf.FromImm || w.imm != 0 {
		return false
	}
	compare, err := b.plan.File.Bytes(in.End(), 4)
	if err != nil || !comparesWith(compare, m.reg, 2) {
		return false
	}
	if inAny(frames, rustGuard) {
		return true
	}
	then, err := b.image.Decode(in.End())
	if err != nil {
		return false
	}
	jump, err := b.image.Decode(then.End())
	return err == nil && jump.Kind == insn.CondJump && rustRole(b.plan.frames(jump.Target)).kind == RustMutex
}

// comparesWith reports whether code begins with a comparison of the lower half of a register of x86-64
// with a small constant.
func comparesWith(code []byte, reg insn.Reg, constant byte) bool {
	rex := byte(0)
	if len(code) > 0 && code[0]&0xf8 == 0x40 {
		rex, code = code[0], code[1:]
	}
	return len(code) >= 3 && code[0] == 0x83 && code[1]&0xf8 == 0xf8 && insn.Reg(code[1]&7|rex&1<<3) == reg && code[2] == constant
}

// inlinedLocks marks the sites of accesses that inlined locks make.
func (b *builder) inlinedLocks() {
	if !b.seesPointers() {
		return // of some accesses it would not be known whose they are
	}
	for i := range b.plan.Sites {
		s := &b.plan.Sites[i]
		if s.Program != ProgramAtomic && s.Program != ProgramPointerAtomic {
			continue
		}
		role := b.lockRole(s.At)
		if s.Lock = role.use; s.Lock == bpf.LockNone {
			continue
		}
		if bpf.Op(s.BPF.Op) == bpf.OpRead && s.BPF.When == 0 {
			s.Lock = bpf.LockKeeps // a plain load
		}
		s.LockType = role.kind
		s.Internal = b.ofRustRuntime(s.At)
		s.Why = fmt.Sprintf("%s; of a lock of type %s", s.Why, s.LockType)
	}
}

// internalNames match the mangled names of functions by which Rust's standard library manages threads, its
// thread-local storage and panics. What they synchronise, the program cannot rely on.
var internalNames = regexp.MustCompile(`3std(?:3sys12thread_local|3sys3pal4unix14stack_overflow|2rt[^a-z]|9panicking|6thread9spawnhook|6thread7current|6thread2id|5alloc[^a-z])`)

// servingNames match the beginning of a mangled name of Rust up to where its path begins, if that is one of the
// crates core and alloc, or the modules of the standard library for what threads share.
var servingNames = regexp.MustCompile(`^(?:_ZN|_R[0-9A-Za-z_]*?Cs[0-9A-Za-z]*_)(4core|5alloc|3std4sync|3std3sys4sync|)`)

// ofRustRuntime reports whether an instruction belongs to such a function. What is inlined into it from the
// crates and modules that serve others belongs to whoever calls it.
func (b *builder) ofRustRuntime(addr uint64) bool {
	frames := b.plan.frames(addr)
	i := slices.IndexFunc(frames, func(f symbolize.Frame) bool {
		m := servingNames.FindStringSubmatch(f.Linkage)
		return m == nil || m[1] == ""
	})
	return i >= 0 && internalNames.MatchString(frames[i].Linkage)
}

// threadVariables match the names of variables by which that library numbers its threads and their thread-local
// storage. No data are handed over by them.
var threadVariables = regexp.MustCompile(`^std::sys::thread_local::|^<std::thread::id::ThreadId>::new::COUNTER`)

// ofRustThreads reports whether a variable is one of these.
func ofRustThreads(v variable.Variable) bool {
	return v.AtomicByUse && threadVariables.MatchString(v.Name)
}
