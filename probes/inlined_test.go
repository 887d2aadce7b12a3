package probes

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/symbolize"
)

func TestRustRole(t *testing.T) {
	for _, c := range []struct {
		linkage string
		want    bpf.LockUse
		kind    string
	}{
		{"_RNvMNtNtNtNtCsjrHSEGnQ3l9_3std3sys4sync5mutex5futexNtB2_5Mutex4lock", bpf.LockAcquires, RustMutex},
		{"_RNvMNtNtNtNtCsjrHSEGnQ3l9_3std3sys4sync5mutex5futexNtB2_5Mutex14lock_contended", bpf.LockAcquires, RustMutex},
		{"_RNvMNtNtNtNtCsjrHSEGnQ3l9_3std3sys4sync5mutex5futexNtB2_5Mutex8try_lock", bpf.LockTries, RustMutex},
		{"_RNvMNtNtNtNtCsjrHSEGnQ3l9_3std3sys4sync5mutex5futexNtB2_5Mutex6unlock", bpf.LockReleases, RustMutex},
		{"_RNvMNtNtNtNtCsjrHSEGnQ3l9_3std3sys4sync5mutex5futexNtB2_5Mutex4spin", bpf.LockKeeps, RustMutex},
		{"_ZN3std3sys4sync5mutex5futex5Mutex4lock17h0123456789abcdefE", bpf.LockAcquires, RustMutex},
		{"_ZN3std3sys4unix5locks11futex_mutex5Mutex6unlock17h0123456789abcdefE", bpf.LockReleases, RustMutex},
		{"_ZN3std3sys3pal4unix5locks11futex_mutex5Mutex14lock_contended17h0123456789abcdefE", bpf.LockAcquires, RustMutex},
		{"_ZN3std4sync6poison5mutex14Mutex$LT$T$GT$4lock17h0df698ac206c028fE", bpf.LockNone, ""},
		{"_ZN6garden5futex5Mutex4lock17h0123456789abcdefE", bpf.LockNone, ""},
		{"_RNvMNtNtNtNtCsjrHSEGnQ3l9_3std3sys4sync6rwlock5futexNtB2_6RwLock4read", bpf.LockAcquires, RustRWLock},
		{"_RNvMNtNtNtNtCsjrHSEGnQ3l9_3std3sys4sync6rwlock5futexNtB2_6RwLock15write_contended", bpf.LockAcquires, RustRWLock},
		{"_RNvMNtNtNtNtCsjrHSEGnQ3l9_3std3sys4sync6rwlock5futexNtB2_6RwLock9try_write", bpf.LockTries, RustRWLock},
		{"_RNvMNtNtNtNtCsjrHSEGnQ3l9_3std3sys4sync6rwlock5futexNtB2_6RwLock22wake_writer_or_readers", bpf.LockKeeps, RustRWLock},
		{"_RNvMNtNtNtNtCsjrHSEGnQ3l9_3std3sys4sync6rwlock5futexNtB2_6RwLock11wake_writer", bpf.LockKeeps, RustRWLock},
		{"_ZN3std3sys4sync6rwlock5futex6RwLock11read_unlock17h0123456789abcdefE", bpf.LockReleases, RustRWLock},
		{"_ZN3std3sys4unix5locks12futex_rwlock6RwLock12write_unlock17h0123456789abcdefE", bpf.LockReleases, RustRWLock},
		{"_ZN3std4sync6poison6rwlock15RwLock$LT$T$GT$4read17h0df698ac206c028fE", bpf.LockNone, ""},
	} {
		frames := []symbolize.Frame{{Linkage: "_ZN4core4sync6atomic11atomic_swap17hf5d5f03fe59f3d1bE"}, {Linkage: c.linkage}, {Linkage: "_ZN4shop4main17h0123456789abcdefE"}}
		if got := rustRole(frames); got != (lockRole{c.want, c.kind}) {
			t.Errorf("%s: %v, want %v of %q", c.linkage, got, c.want, c.kind)
		}
	}
}

func TestComparesWith(t *testing.T) {
	for _, c := range []struct {
		code string
		reg  insn.Reg
		want bool
	}{
		{"\x83\xf8\x02", insn.RAX, true},
		{"\x83\xf9\x02", insn.RCX, true},
		{"\x41\x83\xf8\x02", 8, true},
		{"\x83\xf8\x01", insn.RAX, false},
		{"\x83\xf9\x02", insn.RAX, false},
		{"\x83\xe8\x02", insn.RAX, false}, // sub
		{"\x83", insn.RAX, false},
	} {
		if got := comparesWith([]byte(c.code), c.reg, 2); got != c.want {
			t.Errorf("% x of %v: %v", c.code, c.reg, got)
		}
	}
}

// TestRustLockSites checks which accesses of a program of Rust are known as those of a lock, and that atomic
// variables of its own are not.
func TestRustLockSites(t *testing.T) {
	testtool.Need(t, "rustc")
	const source = `
use std::sync::{Mutex, RwLock, atomic::{AtomicU32, Ordering}};
#[no_mangle] #[inline(never)] pub fn add(m: &Mutex<u32>) { *m.lock().unwrap() += 1 }
#[no_mangle] #[inline(never)] pub fn attempt(m: &Mutex<u32>) -> bool { m.try_lock().is_ok() }
#[no_mangle] #[inline(never)] pub fn own(a: &AtomicU32) -> u32 { a.swap(0, Ordering::AcqRel) }
#[no_mangle] #[inline(never)] pub fn look(l: &RwLock<u32>) -> u32 { *l.read().unwrap() }
#[no_mangle] #[inline(never)] pub fn change(l: &RwLock<u32>) { *l.write().unwrap() += 1 }
#[no_mangle] #[inline(never)] pub fn offer(l: &RwLock<u32>) -> bool { l.try_write().is_ok() }
fn main() { let m = Mutex::new(1); add(&m); attempt(&m); let l = RwLock::new(1); look(&l); change(&l); offer(&l); own(&AtomicU32::new(3)); }
`
	dir := t.TempDir()
	file, program := filepath.Join(dir, "m.rs"), filepath.Join(dir, "m")
	if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	if text, err := exec.Command("rustc", "-O", "-g", "-o", program, file).CombinedOutput(); err != nil {
		t.Fatalf("rustc: %v\n%s", err, text)
	}
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := NewPlanner(Options{Atomics: true}).Plan(f)
	if err != nil {
		t.Fatal(err)
	}
	uses := map[string][]bpf.LockUse{}
	for _, s := range p.Sites {
		if op := bpf.Op(s.BPF.Op); s.Lock != bpf.LockNone && op == bpf.OpUpdate && !slices.Contains(uses[s.Function], s.Lock) {
			uses[s.Function] = append(uses[s.Function], s.Lock)
			want := ""
			switch s.Function {
			case "add", "attempt":
				want = RustMutex
			case "look", "change", "offer":
				want = RustRWLock
			}
			if want != "" && s.LockType != want {
				t.Errorf("the lock in %s has type %q, want %q", s.Function, s.LockType, want)
			}
		}
	}
	for function, want := range map[string][]bpf.LockUse{
		"add": {bpf.LockAcquires, bpf.LockReleases}, "attempt": {bpf.LockTries, bpf.LockReleases}, "own": nil,
		"look": {bpf.LockAcquires, bpf.LockReleases}, "change": {bpf.LockAcquires, bpf.LockReleases}, "offer": {bpf.LockTries, bpf.LockReleases},
	} {
		if got := uses[function]; !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", function, got, want)
		}
	}
}
