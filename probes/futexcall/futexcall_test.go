package futexcall_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/probes/code"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/elftest"
	"github.com/tracepredict/tracepredict/probes/futexcall"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// open returns testdata/calls.S as a library without its labels, to which control might come, and where the labels were.
func open(t *testing.T) (*elf.File, map[string]uint64) {
	t.Helper()
	name := elftest.Build(t, "gcc", "testdata/calls.S", "-nostdlib", "-shared", "-Wl,-Bsymbolic")
	bare := filepath.Join(t.TempDir(), "bare.so")
	elftest.Run(t, "strip", "-w", "-N", "call_*", "-N", "before_*", "-N", "behind_*", "-o", bare, name)
	f, err := elf.Open(bare)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	all := map[string]uint64{}
	for line := range strings.Lines(elftest.Run(t, "nm", name)) {
		if part := strings.Fields(line); len(part) == 3 {
			addr, err := strconv.ParseUint(part[0], 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			all[part[2]] = addr
		}
	}
	return f, all
}

const allBits = ^uint32(0)

// TestFind checks where the probes of calls are, and what they see there, of each function of testdata/calls.S.
func TestFind(t *testing.T) {
	f, at := open(t)
	im := code.NewImage(f)
	found := futexcall.Find(im, futexcall.Options{Stubs: map[uint64]bool{at["wrapper"]: true}, IsCode: im.IsCode})
	rdi, rsi := futexcall.Address{Reg: insn.RDI}, futexcall.Bits{Reg: insn.RSI, Mask: allBits}
	want := map[string]futexcall.Call{
		"plain":    {Word: rdi, Op: rsi},
		"copied":   {Word: rdi, Op: rsi},
		"flipped":  {Word: rdi, Op: futexcall.Bits{Reg: insn.RSI, Mask: allBits, Flip: 0x81}},
		"masked":   {Word: rdi, Op: futexcall.Bits{Reg: insn.RSI, Mask: 0x80}},
		"joined":   {Word: rdi, Op: futexcall.Bits{Reg: insn.RSI, Mask: allBits &^ 1, Flip: 1}},
		"constant": {Word: rdi, Op: futexcall.Bits{Reg: insn.RSI, Flip: 0x89}},
		"moved":    {Word: futexcall.Address{Reg: insn.RBX, Disp: 40}, Op: rsi},
		"fixed":    {Word: futexcall.Address{Reg: insn.NoReg, Disp: int64(at["word"])}, Op: rsi},
		"either":   {NumberReg: 9, Word: rdi, Op: rsi},
		"locked":   {Word: rdi, Op: rsi},
		"wrapped":  {Word: futexcall.Address{Reg: insn.RSI}, Op: futexcall.Bits{Reg: insn.RDX, Mask: allBits}},
	}
	got := map[string]futexcall.Call{}
	name := func(addr uint64) string {
		for label, a := range at {
			if rest, ok := strings.CutPrefix(label, "call_"); ok && a == addr {
				return rest
			}
		}
		return fmt.Sprintf("%#x", addr)
	}
	for _, c := range found.Calls {
		got[name(c.At)] = c
	}
	for n, c := range want {
		c.At, c.Before, c.Behind = at["call_"+n], at["before_"+n], at["behind_"+n]
		if c.NumberReg == 0 {
			c.NumberReg = insn.NoReg // rax is in no case
		}
		want[n] = c
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("calls: -want +got:\n%s", d)
	}
	skipped := map[string]string{}
	for _, s := range found.Skipped {
		skipped[name(s.At)] = s.Why
	}
	if d := cmp.Diff(map[string]string{
		"entered": "control comes to it from elsewhere in its function",
		"loaded":  "its operands are not known at the instruction before it",
	}, skipped); d != "" {
		t.Errorf("calls that are not observed: -want +got:\n%s", d)
	}
	if d := cmp.Diff([]uint64{at["call_passed"], at["call_wrapper"]}, found.Passed); d != "" {
		t.Errorf("numbers that are parameters: -want +got:\n%s", d)
	}
}

// TestRefused checks that a call has no probe where there may be data.
func TestRefused(t *testing.T) {
	f, at := open(t)
	im := code.NewImage(f)
	found := futexcall.Find(im, futexcall.Options{IsCode: func(addr uint64) bool { return addr != at["before_plain"] && addr != at["behind_masked"] }})
	for _, c := range found.Calls {
		if c.Before == at["before_plain"] || c.At == at["call_masked"] {
			t.Errorf("the call at %#x has a probe where there may be data", c.At)
		}
	}
}

// TestTails checks that the functions are found in which others end.
func TestTails(t *testing.T) {
	f, at := open(t)
	got := futexcall.Tails(code.NewImage(f), []uint64{at["tail"], at["moved"]})
	if d := cmp.Diff(map[uint64]uint64{at["plain"]: at["tail"], at["target"]: at["tail"]}, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// TestLibrary checks that in the C library all instructions are found that enter the kernel behind the number of futex(2), by
// objdump, and that none of the probes is at such an instruction.
func TestLibrary(t *testing.T) {
	name := "/lib/x86_64-linux-gnu/libc.so.6"
	if _, err := os.Stat(name); err != nil {
		t.Skip(err)
	}
	f, err := elf.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := strings.Split(elftest.Run(t, "objdump", "-d", "--no-show-raw-insn", name), "\n")
	enters := map[uint64]bool{}
	var certain []uint64
	for i, line := range lines {
		at, instruction, _ := strings.Cut(line, ":")
		if strings.TrimSpace(instruction) != "syscall" {
			continue
		}
		addr, err := strconv.ParseUint(strings.TrimSpace(at), 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		enters[addr] = true
		if strings.Contains(lines[i-1], "$0xca,%eax") {
			certain = append(certain, addr)
		}
	}
	im := code.NewImage(f)
	found := futexcall.Find(im, futexcall.Options{IsCode: im.IsCode})
	for _, c := range found.Calls {
		if enters[c.Before] || enters[c.Behind] || !enters[c.At] {
			t.Errorf("a probe of %#x is at an instruction that enters the kernel: %#x, %#x", c.At, c.Before, c.Behind)
		}
	}
	for _, addr := range certain {
		if !slices.ContainsFunc(found.Calls, func(c futexcall.Call) bool { return c.At == addr }) &&
			!slices.ContainsFunc(found.Skipped, func(s futexcall.Skipped) bool { return s.At == addr }) {
			t.Errorf("the call at %#x is not found", addr)
		}
	}
	t.Logf("%d calls, %d of which have the number before them, %d not observed", len(found.Calls), len(certain), len(found.Skipped))
}
