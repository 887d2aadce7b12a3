package cheapsite

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"

	"github.com/tracepredict/tracepredict/probes/insn"
)

// fixture has functions fix_* of every shape of code that gcc generates, and globals whose accesses
// are probed too.
const fixture = `
#include <stdlib.h>
#include <stdio.h>
#include <stdatomic.h>
#define F __attribute__((noinline)) long
int g; long gl; char gc; double gd; float gf; short gs; long arr[8]; volatile int vol; atomic_int at; long *ptr = arr;
F fix_add(long a, long b) { return a + b; }
F fix_store(long a, long b) { g = a; gl = b; gc = a; gs = b; return 0; }
F fix_rmw(long a, long b) { g += a; gl -= b; gc++; gs ^= a; vol++; return g; }
F fix_float(long a, long b) { gd = a * 0.5; gf = b + 1; return gd > gf; }
F fix_cond(long a, long b) { if (a > b) { g = 1; return 3; } if (a == b) return gl; gl = 4; return g; }
F fix_loop(long a, long b) { long s = 0; for (long i = 0; i < (a & 7); i++) { s += arr[i]; gl += i; } return s; }
F fix_switch(long a, long b) { switch (a % 9) { case 0: g = 5; return 1; case 1: gl = b; return 2; case 2: return g; case 3: gc = 9; return 8;
  case 4: vol = 3; return 11; case 5: return gl; case 6: g++; return b; case 7: gl--; return 77; default: return a; } }
F fix_call(long a, long b) { gl = fix_add(a, b); return fix_cond(b, a) + gl; }
F fix_tail(long a, long b) { g = b; return fix_add(b, a); }
F fix_recurse(long a, long b) { if ((a & 15) == 0) return b; gl++; return fix_recurse(a - 1, b) + 1; }
F fix_atomic(long a, long b) { atomic_fetch_add(&at, 3); int e = 5; atomic_compare_exchange_strong(&at, &e, a); return atomic_exchange(&at, b); }
F fix_many(long a, long b, long c, long d, long e, long f, long h, long i) { gl = h + i; arr[a & 7] = c * d; return a + e * f; }
F fix_frame(long a, long b) { volatile char buf[300]; buf[a & 127] = b; g = buf[b & 127]; return buf[a & 127]; }
F fix_alloca(long a, long b) { volatile char *p = __builtin_alloca(32 + (a & 63)); p[0] = b; gl = p[0]; return p[0]; }
F fix_ptr(long a, long b) { *ptr = a; ptr[b & 7] += 2; return *ptr; }
F fix_cold(long a, long b) { if (__builtin_expect(a == 12345, 0)) { puts("no"); abort(); } g = a; return b; }
F fix_leafnop(long a, long b) { asm volatile("nop; nop"); gl = b; asm volatile("nop"); return a; }
int l; long owner, depth;
__attribute__((noinline)) void slow(int *l, long b) { while (atomic_exchange((atomic_int *)l, 2)) *l = 0; owner = b; }
F fix_lock(long a, long b) { int e = 0; while (!atomic_compare_exchange_strong((atomic_int *)&l, &e, 1)) e = l = 0; owner = b; return 0; }
F fix_try(long a, long b) { int e = a & 1; if (!atomic_compare_exchange_strong((atomic_int *)&l, &e, 1)) return 16; owner = b; l = 0; return 0; }
F fix_slow(long a, long b) { int e = a & 1; if (!atomic_compare_exchange_strong((atomic_int *)&l, &e, 1)) slow(&l, b); if (owner == 12345) abort(); owner = a; l = 0; return 0; }
F fix_type(long a, long b) {
  if ((a & 3) == 1) { if (owner == b) { if (depth == 3) return 11; depth++; return 0; } owner = b; depth = 0; }
  if ((a & 3) == 2 && owner == b) return 35;
  int e = 0; if (!atomic_compare_exchange_strong((atomic_int *)&l, &e, 1)) { slow(&l, b); depth = a; }
  if (depth < 0) abort();
  l = 0; return 0; }
int main(void) {
  long s = 0;
  for (long i = 0; i < 24; i++) {
    long a = i * 7 % 31, b = i * 5 % 23;
    s += fix_add(a, b) + fix_store(a, b) + fix_rmw(a, b) + fix_float(a, b) + fix_cond(a, b) + fix_loop(a, b) + fix_switch(i, b) + fix_call(a, b)
      + fix_tail(a, b) + fix_recurse(a & 3, b) + fix_atomic(a, b) + fix_many(a, b, 3, 4, 5, 6, i, 8) + fix_frame(a, b) + fix_alloca(a, b)
      + fix_ptr(a, b) + fix_cold(a, b) + fix_leafnop(a, b)
      + fix_lock(a, b) + fix_try(a, b) + fix_slow(a, b) + fix_type(i, i / 5) + fix_type(i / 7, a & 1);
  }
  printf("%ld %d %ld\n", s, g, gl);
}
`

// pair is a probe at its original address and the same probe moved.
type pair struct {
	what  string
	orig  uint64
	site  Site
	mem   *insn.Mem // for an access: the variable
	value insn.Reg  // for an access: the register loaded or stored, if it is plain
	load  bool
	entry bool
}

// record is the data that a probe recorded.
type record struct {
	Cookie uint64
	Regs   [21]uint64
	Mem    uint64
}

// reg returns a register from struct pt_regs.
func (r *record) reg(n insn.Reg) uint64 {
	return r.Regs[[16]int{10, 11, 12, 5, 19, 4, 13, 14, 9, 8, 7, 6, 3, 2, 1, 0}[n]]
}

// TestMovedProbes runs compiled programs with each probe both at its original and at its moved
// address: both must record the same, hit for hit.
func TestMovedProbes(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the registers compared are those of x86-64")
	}
	for _, flags := range []string{"-O0", "-O1 -fcf-protection=full", "-O2", "-O3 -fno-plt -march=x86-64-v2"} {
		t.Run(flags, func(t *testing.T) {
			exe := build(t, "fix.c", fixture, append(strings.Fields(flags), "-no-pie", "-fno-pie")...)
			pairs := choose(t, exe)
			plain := output(t, exe)
			records, probed := watch(t, exe, pairs)
			if plain != probed {
				t.Errorf("under probes the program prints %q, without %q", probed, plain)
			}
			compare(t, pairs, records)
		})
	}
}

func output(t *testing.T, exe string) string {
	out, err := exec.Command(exe).Output()
	if err != nil {
		t.Fatalf("run %s: %v", exe, err)
	}
	return string(out)
}

// choose places a probe on every function's entry and every access of a
// global, and keeps those that move.
func choose(t *testing.T, exe string) []pair {
	c := openCode(t, exe)
	im := NewImage(c)
	var pairs []pair
	total := 0
	args := rdi | rsi | rsp
	for name, s := range c.symbols {
		if !strings.HasPrefix(name, "fix_") || strings.Contains(name, ".") {
			continue
		}
		for _, w := range []Want{{Sense: Entry}, {Sense: Before}, {Sense: Entry, Return: true}} {
			w.At, w.Reads = s.Value, args
			site, err := im.Place(w)
			if err != nil {
				t.Fatal(err)
			}
			at, err := im.Decode(s.Value)
			if err != nil {
				t.Fatal(err)
			}
			// If the kernel refuses the original probe there is nothing to compare.
			if total++; site.Moved && !at.Refused {
				pairs = append(pairs, pair{what: name, orig: s.Value, site: site, entry: true, value: insn.NoReg})
			}
		}
		im.Sweep(im.ExtentAt(s.Value).Range, func(in *insn.Inst) bool {
			if p, ok := access(t, im, in); ok {
				if total++; p.site.Moved && !in.Refused {
					p.what = fmt.Sprintf("%s+0x%x %s", name, in.Addr-s.Value, im.Format(in.Addr))
					pairs = append(pairs, p)
				}
			}
			return true
		})
	}
	t.Logf("%d probes, %d move", total, len(pairs))
	if len(pairs) == 0 {
		t.Fatal("nothing moves")
	}
	return pairs
}

// access places a probe on an access of a global.
func access(t *testing.T, im *Image, in *insn.Inst) (pair, bool) {
	if !in.Known || in.NMem != 1 || !in.Mem[0].Fixed || in.Mem[0].Size == 0 || in.Mem[0].Size > 8 || in.Kind != insn.Plain {
		return pair{}, false
	}
	m := in.Mem[0]
	p := pair{orig: in.Addr, mem: &m, value: in.ValueReg, load: !m.Write}
	w := Want{At: in.Addr, Sense: After}
	if m.Write {
		w.Mem = in.Mem[:1]
	} else if p.value != insn.NoReg {
		w.Reads = insn.RegSet(0).With(p.value)
	}
	var err error
	if p.site, err = im.Place(w); err != nil {
		t.Fatal(err)
	}
	return p, true
}

// watch runs the program under the probes of the pairs: cookie 2i for the
// original of pair i, 2i+1 for the moved one.
func watch(t *testing.T, exe string, pairs []pair) ([]record, string) {
	prog, ring := recorder(t, pairs)
	f, err := elf.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var at, cookies []uint64
	for i, p := range pairs {
		at = append(at, fileOffset(f, p.orig), fileOffset(f, p.site.Addr))
		cookies = append(cookies, uint64(2*i), uint64(2*i+1))
	}
	ex, err := link.OpenExecutable(exe)
	if err != nil {
		t.Fatal(err)
	}
	l, err := ex.UprobeMulti(nil, prog, &link.UprobeMultiOptions{Addresses: at, Cookies: cookies})
	if err != nil {
		withoutBPF(t, "no uprobes: %v (run as root on Linux 6.6 or later)", err)
	}
	defer l.Close()
	out := output(t, exe)
	return drain(t, ring), out
}

func fileOffset(f *elf.File, addr uint64) uint64 {
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && addr >= p.Vaddr && addr < p.Vaddr+p.Filesz {
			return addr - p.Vaddr + p.Off
		}
	}
	return 0
}

func drain(t *testing.T, ring *ebpf.Map) []record {
	r, err := ringbuf.NewReader(ring)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.SetDeadline(time.Unix(1, 0))
	var out []record
	for {
		raw, err := r.Read()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		var x record
		if err := binary.Read(bytes.NewReader(raw.RawSample), binary.LittleEndian, &x); err != nil {
			t.Fatal(err)
		}
		out = append(out, x)
	}
}

// recorder returns a BPF program that writes cookie, registers and the pair's variable to a ring
// buffer.
func recorder(t *testing.T, pairs []pair) (*ebpf.Program, *ebpf.Map) {
	addrs, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: uint32(2 * len(pairs))})
	if err != nil {
		withoutBPF(t, "no BPF maps: %v (run as root on a kernel with BPF)", err)
	}
	t.Cleanup(func() { addrs.Close() })
	for i, p := range pairs {
		if p.mem != nil {
			addrs.Put(uint32(2*i), p.mem.Addr)
			addrs.Put(uint32(2*i+1), p.mem.Addr)
		}
	}
	ring, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.RingBuf, MaxEntries: 1 << 24})
	if err != nil {
		withoutBPF(t, "no ring buffer: %v", err)
	}
	t.Cleanup(func() { ring.Close() })
	size := int32(binary.Size(record{}))
	code := asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.FnGetAttachCookie.Call(),
		asm.Mov.Reg(asm.R7, asm.R0),
		asm.LoadMapPtr(asm.R1, ring.FD()), asm.Mov.Imm(asm.R2, size), asm.Mov.Imm(asm.R3, 0),
		asm.FnRingbufReserve.Call(),
		asm.JEq.Imm(asm.R0, 0, "out"),
		asm.Mov.Reg(asm.R8, asm.R0),
		asm.StoreMem(asm.R8, 0, asm.R7, asm.DWord),
	}
	for i := range 21 {
		code = append(code, asm.LoadMem(asm.R1, asm.R6, int16(8*i), asm.DWord), asm.StoreMem(asm.R8, int16(8+8*i), asm.R1, asm.DWord))
	}
	code = append(code,
		asm.Mov.Imm(asm.R1, 0), asm.StoreMem(asm.R8, int16(size-8), asm.R1, asm.DWord),
		asm.StoreMem(asm.RFP, -4, asm.R7, asm.Word),
		asm.LoadMapPtr(asm.R1, addrs.FD()), asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, -4),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "submit"),
		asm.LoadMem(asm.R3, asm.R0, 0, asm.DWord),
		asm.Mov.Reg(asm.R1, asm.R8), asm.Add.Imm(asm.R1, size-8), asm.Mov.Imm(asm.R2, 8),
		asm.FnProbeReadUser.Call(),
		asm.Mov.Reg(asm.R1, asm.R8).WithSymbol("submit"), asm.Mov.Imm(asm.R2, 0),
		asm.FnRingbufSubmit.Call(),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("out"),
		asm.Return(),
	)
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.Kprobe, AttachType: ebpf.AttachTraceUprobeMulti, License: "GPL", Instructions: code})
	if errors.Is(err, os.ErrPermission) || errors.Is(err, ebpf.ErrNotSupported) {
		withoutBPF(t, "no BPF programs for uprobes: %v (run as root on Linux 6.6 or later)", err)
	}
	if err != nil {
		t.Fatalf("%+v", err)
	}
	t.Cleanup(func() { p.Close() })
	return p, ring
}

// compare matches the records of each pair's two probes and compares them.
func compare(t *testing.T, pairs []pair, records []record) {
	type state struct {
		orig []record // hits of the original that await the moved one; at most one, as no probe moves past a call
		n    int
	}
	states := make([]state, len(pairs))
	for i := range records {
		x := &records[i]
		s := &states[x.Cookie/2]
		if x.Cookie%2 == 0 {
			s.orig = append(s.orig, *x)
			continue
		}
		if len(s.orig) != 1 {
			t.Fatalf("%s: the moved probe (%s) fires after %d hits of the original", pairs[x.Cookie/2].what, pairs[x.Cookie/2].site.Why, len(s.orig))
		}
		if why := differ(&pairs[x.Cookie/2], &s.orig[0], x); why != "" {
			t.Errorf("%s, moved to %s: %s", pairs[x.Cookie/2].what, pairs[x.Cookie/2].site.Why, why)
		}
		s.orig, s.n = s.orig[:0], s.n+1
	}
	hit := 0
	for i, s := range states {
		if len(s.orig) > 0 {
			t.Errorf("%s: %d hits of the original without the moved one (%s)", pairs[i].what, len(s.orig), pairs[i].site.Why)
		}
		if s.n > 0 {
			hit++
		}
	}
	t.Logf("%d records, %d of %d pairs were hit", len(records), hit, len(pairs))
	if hit*2 < len(pairs) {
		t.Errorf("only %d of %d pairs were hit", hit, len(pairs))
	}
}

func differ(p *pair, orig, moved *record) string {
	if p.entry {
		for _, r := range []insn.Reg{insn.RDI, insn.RSI} {
			if orig.reg(r) != moved.reg(r) {
				return fmt.Sprintf("register %d is 0x%x, was 0x%x", r, moved.reg(r), orig.reg(r))
			}
		}
	}
	if got := moved.reg(insn.RSP) + uint64(p.site.SPDelta); got != orig.reg(insn.RSP) {
		return fmt.Sprintf("sp is 0x%x, was 0x%x", got, orig.reg(insn.RSP))
	}
	if p.mem == nil || p.value == insn.NoReg {
		return ""
	}
	mask := ^uint64(0) >> (64 - 8*p.mem.Size)
	want, got := orig.reg(p.value)&mask, moved.Mem&mask
	if p.load {
		want, got = orig.Mem&mask, moved.reg(p.value)&mask
	}
	if want != got {
		return fmt.Sprintf("the value is 0x%x, was 0x%x", got, want)
	}
	return ""
}

// TestReturnsAreAll counts entries and returns of each function of the fixture in a run: each call
// must leave by exactly one of the exits that Returns returns.
func TestReturnsAreAll(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("x86-64 only")
	}
	for _, flags := range []string{"-O0", "-O2 -fno-optimize-sibling-calls"} {
		exe := build(t, "fix.c", fixture, append(strings.Fields(flags), "-no-pie", "-fno-pie")...)
		c := openCode(t, exe)
		im := NewImage(c)
		var pairs []pair
		for name, s := range c.symbols {
			if !strings.HasPrefix(name, "fix_") || strings.Contains(name, ".") {
				continue
			}
			// If the entry is refused, it is probed further on, and so is each return.
			entry, err := im.Place(Want{At: s.Value, Sense: Entry, Return: true})
			if err != nil {
				t.Fatal(err)
			}
			exits, err := im.Returns(s.Value)
			if err != nil || !exits.Complete || len(exits.TailJumps) > 0 {
				t.Errorf("%s: %+v %v, want all exits known", name, exits, err)
			}
			for _, ret := range exits.Returns {
				pairs = append(pairs, pair{what: name, orig: entry.Addr, site: Site{Addr: ret}})
			}
		}
		records, _ := watch(t, exe, pairs)
		countExits(t, flags, pairs, records)
	}
}

func countExits(t *testing.T, flags string, pairs []pair, records []record) {
	entries, returns := map[string]int{}, map[string]int{}
	for i := range records {
		p := &pairs[records[i].Cookie/2]
		if records[i].Cookie%2 == 1 {
			returns[p.what]++
		}
	}
	counted := map[string]uint64{} // the entries of one pair are enough
	for i := range records {
		p := &pairs[records[i].Cookie/2]
		if first, ok := counted[p.what]; records[i].Cookie%2 == 0 && (!ok || first == records[i].Cookie) {
			counted[p.what] = records[i].Cookie
			entries[p.what]++
		}
	}
	for name, n := range entries {
		if returns[name] != n {
			t.Errorf("%s %s: %d calls, %d returns", flags, name, n, returns[name])
		}
	}
	t.Logf("%s: %d functions were called", flags, len(entries))
	if len(entries) < 15 {
		t.Errorf("only %d functions were called", len(entries))
	}
}

// withoutBPF skips a test that needs BPF, or fails it where BPF is known to work.
func withoutBPF(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("TRACEPREDICT_REQUIRE_BPF") == "1" {
		t.Fatalf("TRACEPREDICT_REQUIRE_BPF=1, but: "+format, args...)
	}
	t.Skipf(format, args...)
}
