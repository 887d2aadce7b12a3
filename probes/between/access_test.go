package between

import (
	"bytes"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/probes/insn"
)

// store returns the call stack of the access in a function of accesses.c: that of its first call that locks a mutex,
// but for the call.
func (f *fixture) store(t *testing.T, name string, from []uint64) []uint64 {
	t.Helper()
	fn, _ := f.program.FunctionAt(f.program.Lookup(name)[0].Addr)
	code, _ := f.program.Bytes(fn.Lo, int(fn.Hi-fn.Lo))
	for _, in := range insn.DecodeRun(nil, insn.AMD64, code, fn.Lo, nil) {
		if in.NMem == 1 && bytes.HasSuffix(code[in.Addr-fn.Lo:in.End()-fn.Lo], []byte{0xed, 0x5e, 0, 0}) {
			return append([]uint64{in.Addr + programBias}, from[2:]...)
		}
	}
	t.Fatalf("%s stores nothing", name)
	return nil
}

// TestAccess: a query may end at an access. Nothing of other threads decides whether the thread comes there, and at
// which address it is, or all of that was recorded. What follows counts only where the thread may come there again.
func TestAccess(t *testing.T) {
	for _, flags := range []string{"-O0", "-O1", "-O2 -fcf-protection=full"} {
		f, names := build(t, "gcc", "accesses.c", strings.Fields(flags)...)
		for _, name := range names {
			from, _ := f.stacks(t, name)
			q := Query{From: from, To: f.store(t, name, from), Access: true, Releases: 1}
			if strings.Contains(name, "within") || name == "no_branch" || name == "no_address" {
				q.Releases = 0
			}
			want := strings.HasPrefix(name, "yes_")
			if ok, why := New(f).ReadsNothing(q); ok != want {
				t.Errorf("%s %s: %v: %s", flags, name, ok, why.Text(f.where))
			} else {
				t.Logf("%s %s: %s", flags, name, why.Text(f.where))
			}
			if ok, why := New(f).SeesRecorded(q); ok != want {
				t.Errorf("%s %s with nothing recorded: %v: %s", flags, name, ok, why.Text(f.where))
			}
			q.Recorded = everything
			if ok, why := New(f).SeesRecorded(q); !ok {
				t.Errorf("%s %s with everything recorded: %s", flags, name, why.Text(f.where))
			}
			if name != "yes_before_branch" { // what follows counts
				q.To = q.To[:1]
				if ok, why := New(f).SeesRecorded(q); !ok {
					t.Errorf("%s %s with its innermost frame alone: %s", flags, name, why.Text(f.where))
				}
				q.Recorded = nil
				if ok, why := New(f).ReadsNothing(q); ok != want {
					t.Errorf("%s %s with its innermost frame alone: %v: %s", flags, name, ok, why.Text(f.where))
				}
			}
			q.Access = false
			if ok, _ := New(f).SeesRecorded(q); ok {
				t.Errorf("%s %s is not known to be an access", flags, name)
			}
		}
	}
}
