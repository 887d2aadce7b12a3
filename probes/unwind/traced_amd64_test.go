package unwind_test

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/unwind"
)

func (p *traced) regs() unwind.Regs {
	p.t.Helper()
	var u unix.PtraceRegs
	if err := unix.PtraceGetRegs(p.tid, &u); err != nil {
		p.t.Fatal(err)
	}
	r := unwind.Regs{PC: u.Rip}
	for n, v := range map[int]uint64{unwind.RBX: u.Rbx, unwind.RBP: u.Rbp, unwind.RSP: u.Rsp, unwind.RDI: u.Rdi, unwind.R8 + 2: u.R10,
		unwind.R12: u.R12, unwind.R12 + 1: u.R13, unwind.R12 + 2: u.R14, unwind.R15: u.R15} {
		r.Set(n, v)
	}
	return r
}

// TestKnownChains checks that the functions of the program are in the call stack in their order,
// whatever lies between, and that the call stack ends at the outermost frame.
func TestKnownChains(t *testing.T) {
	for _, flags := range [][]string{
		{"-O0"}, {"-O1"}, {"-O2", "-fomit-frame-pointer"}, {"-O3", "-fno-omit-frame-pointer"}, {"-O2", "-static"},
		{"-O2", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fno-exceptions", "-g"}, // .debug_frame alone
		{"-O2", "-Wl,--no-eh-frame-hdr"},
	} {
		path := build(t, "gcc", "nested.c", flags...)
		for where, want := range map[string]string{
			"q": "trap compare sorts main _start",
			"s": "trap handler aligned signals main _start",
			"a": "trap handler aligned signals main _start",
			"t": "trap thread",
		} {
			t.Run(strings.Join(flags, "")+"/"+where, func(t *testing.T) {
				p := start(t, path, where)
				regs := p.regs()
				chain, end := p.machine().Walk(regs, 100, nil)
				got := append([]string{p.name(regs.PC)}, p.names(chain)...)
				next := 0
				names := strings.Fields(want)
				for _, name := range got {
					if next < len(names) && name == names[next] {
						next++
					}
				}
				if end != unwind.EndOutermost || next < len(names) {
					t.Errorf("%s: chain %v, want %v in it", end, got, names)
				}
			})
		}
	}
}

// TestEveryInstruction steps through code of the program, of libc and of the dynamic linker, and
// keeps a shadow stack of the return addresses that calls push and returns pop: at each instruction
// the unwinder must return exactly these.
func TestEveryInstruction(t *testing.T) {
	for _, flags := range [][]string{{"-O2", "-Wl,-z,lazy", "-fcf-protection=none"}, {"-O0", "-Wl,-z,lazy", "-fcf-protection=full"}} {
		t.Run(strings.Join(flags, ""), func(t *testing.T) {
			p := start(t, build(t, "gcc", "nested.c", flags...), "p")
			m := p.machine()
			shadow, end := m.Walk(p.regs(), 100, nil)
			if end != unwind.EndOutermost || !slices.Contains(p.names(shadow), "main") {
				t.Fatalf("%s: %v", end, p.names(shadow))
			}
			depth, wrong := len(shadow), 0
			n := 0
			for ; n < 30000 && len(shadow) >= depth-1 && wrong < 10; n++ {
				shadow = p.stepOver(shadow)
				regs := p.regs()
				got, end := m.Walk(regs, 100, nil)
				if end != unwind.EndOutermost || !slices.Equal(got, shadow) {
					wrong++
					t.Errorf("step %d, at %s (0x%x): %s\n%v\nwant\n%v", n, p.name(regs.PC), regs.PC, end, p.names(got), p.names(shadow))
				}
			}
			t.Logf("%d instructions", n)
		})
	}
}

// stepOver executes one instruction, and applies to the shadow stack what the instruction does to
// the stack.
func (p *traced) stepOver(shadow []uint64) []uint64 {
	p.t.Helper()
	pc := p.regs().PC
	var code [15]byte
	if _, err := p.mem.ReadAt(code[:], int64(pc)); err != nil {
		p.t.Fatal(err)
	}
	in, err := insn.Decode(insn.AMD64, code[:], pc)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := unix.PtraceSingleStep(p.tid); err != nil {
		p.t.Fatal(err)
	}
	p.wait()
	switch in.Kind {
	case insn.Call, insn.IndirectCall:
		return append([]uint64{pc + uint64(in.Len)}, shadow...)
	case insn.Return:
		return shadow[1:]
	}
	return shadow
}
