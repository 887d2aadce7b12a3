package between

import (
	"regexp"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/probes/insn"
)

var waits = regexp.MustCompile(`^_*pthread_cond_wait`)

// waitCall returns the call stack of the call of pthread_cond_wait that a function makes.
func (f *fixture) waitCall(t *testing.T, name string) []uint64 {
	t.Helper()
	fn, ok := f.program.FunctionAt(f.program.Lookup(name)[0].Addr)
	if !ok {
		t.Fatalf("no %s", name)
	}
	plt, got := f.program.PLTTargets(), f.program.GOTSlots()
	code, _ := f.program.Bytes(fn.Lo, int(fn.Hi-fn.Lo))
	for _, in := range insn.DecodeRun(nil, insn.AMD64, code, fn.Lo, nil) {
		called := ""
		switch {
		case in.Kind == insn.Call:
			if called = plt[in.Target]; called == "" {
				called = f.program.FunctionName(in.Target)
			}
		case in.Kind == insn.IndirectCall && in.NMem == 1:
			called = got[in.Mem[0].Addr]
		}
		if waits.MatchString(called) {
			return []uint64{libcBias, in.End() + programBias}
		}
	}
	t.Fatalf("%s does not wait", name)
	return nil
}

// TestPassesNothingOn checks whether code that waits passes signals on which are not for it.
func TestPassesNothingOn(t *testing.T) {
	for _, flags := range []string{"-O0", "-O1", "-O2", "-O2 -fno-plt", "-Os -no-pie -fno-pie"} {
		t.Run(flags, func(t *testing.T) {
			f, names := build(t, "gcc", "waits.c", strings.Fields(flags)...)
			for _, name := range names {
				ok, why := New(f).PassesNothingOn(f.waitCall(t, name))
				if ok != strings.HasPrefix(name, "yes_") {
					t.Errorf("%s: %v, %s", name, ok, why.Text(f.where))
				}
			}
			x := New(f)
			x.Budget = 3
			if ok, why := x.PassesNothingOn(f.waitCall(t, "yes_only_waits")); ok || why.Kind != TooMuch {
				t.Errorf("with a small budget: %v, %+v", ok, why)
			}
			for _, stack := range [][]uint64{nil, {libcBias}, {libcBias, 5}} {
				if ok, _ := New(f).PassesNothingOn(stack); ok {
					t.Errorf("%v passes nothing on", stack)
				}
			}
		})
	}
}
