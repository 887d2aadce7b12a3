package between

import (
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// Inlined implements Process: a compare-and-exchange acquires a lock, and the variable recorded is recorded.
func (f *fixture) Inlined(file *elf.File, pc uint64) Inlined {
	recorded := f.program.Lookup("recorded")
	if file != f.program || len(recorded) == 0 {
		return InlinedNone
	}
	code, err := file.Bytes(pc, insn.AMD64.MaxLen())
	if err != nil {
		return InlinedNone
	}
	in, err := insn.Decode(insn.AMD64, code, pc)
	switch {
	case err != nil || in.NMem != 1:
	case in.Locked && in.WritesIf != 0:
		return InlinedLock
	case in.Mem[0].Fixed && in.Mem[0].Addr == recorded[0].Addr:
		return InlinedAccess
	}
	return InlinedNone
}

// inlinedStacks returns the call stacks of the first and the last atomic instruction of a function that main
// calls.
func (f *fixture) inlinedStacks(t *testing.T, name string) (from, to []uint64) {
	t.Helper()
	decode := func(name string) []insn.Inst {
		fn, ok := f.program.FunctionAt(f.program.Lookup(name)[0].Addr)
		if !ok {
			t.Fatalf("no %s", name)
		}
		code, _ := f.program.Bytes(fn.Lo, int(fn.Hi-fn.Lo))
		return insn.DecodeRun(nil, insn.AMD64, code, fn.Lo, nil)
	}
	for _, call := range decode("main") {
		if call.Kind != insn.Call || call.Target != f.program.Lookup(name)[0].Addr {
			continue
		}
		for _, in := range decode(name) {
			if in.Locked {
				to = []uint64{in.Addr + programBias, call.End() + programBias}
				if from == nil {
					from = to
				}
			}
		}
		return from, to
	}
	t.Fatalf("no call of %s", name)
	return nil, nil
}

// TestInlined checks what code between two locks that are acquired without calls depends on.
func TestInlined(t *testing.T) {
	for _, flags := range []string{"-O1", "-O2", "-O2 -fno-plt", "-O2 -no-pie -fno-pie"} {
		t.Run(flags, func(t *testing.T) {
			f, names := build(t, "gcc", "inlined.c", strings.Fields(flags)...)
			for _, name := range names {
				from, to := f.inlinedStacks(t, name)
				ok, why := New(f).ReadsNothing(Query{From: from, To: to, Last: true})
				if want := strings.HasPrefix(name, "yes_"); ok != want {
					t.Errorf("%s: %v: %s", name, ok, why.Text(f.where))
				}
				if ok, _ := New(f).ReadsNothing(Query{From: from, To: to, Last: true, Unrecorded: true}); ok {
					t.Errorf("%s: yes, although locks may be no events", name)
				}
			}
		})
	}
}
