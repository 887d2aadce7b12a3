package verdict

import (
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// TestDoubtMisuse: a lock that may have been acquired unobserved may be held.
func TestDoubtMisuse(t *testing.T) {
	for rule, doubted := range map[finding.Rule]bool{finding.UnlockNotHeld: true, finding.WaitNotHeld: true, finding.JoinTwice: false} {
		for _, unfollowed := range []uint64{0, 3} {
			found := []finding.Finding{{Kind: finding.Misuse, Rule: rule, Confidence: finding.Observed}}
			j := Judge{Run: Run{Misuse: Of(run.Summary{UnreturnedCalls: unfollowed}, &run.Names{}, nil).Misuse}}
			j.misused(&found[0])
			if got := found[0].Confidence == finding.Likely && found[0].Reason.Given(); got != (doubted && unfollowed > 0) {
				t.Errorf("%s, %d calls: %+v", rule, unfollowed, found[0])
			}
		}
	}
}

// TestDoubtReinit: what is initialised again may be another object in memory that was freed, unless
// it has a name.
func TestDoubtReinit(t *testing.T) {
	var names run.Names
	names.AddObject(run.Object{Name: "lock"})
	names.AddObject(run.Object{Addr: 0x5000, Member: "struct session.lock"})
	for id, doubted := range map[event.ObjectID]bool{1: false, 2: true} {
		for _, rule := range []finding.Rule{finding.ReinitHeld, finding.ReinitWaited} {
			found := []finding.Finding{{Kind: finding.Misuse, Rule: rule, Confidence: finding.Observed, Objects: []event.ObjectID{id}}}
			j := Judge{Run: Run{Misuse: Of(run.Summary{}, &names, nil).Misuse}}
			j.misused(&found[0])
			if got := found[0].Confidence == finding.Likely && found[0].Reason.Given(); got != doubted {
				t.Errorf("%s of %d: %+v", rule, id, found[0])
			}
		}
	}
}

// TestMainReturned: only a call of exit by the C library's own code shows that main has returned.
func TestMainReturned(t *testing.T) {
	frames := func(functions ...string) (stack []event.Frame) {
		for _, f := range functions {
			module, name, _ := strings.Cut(f, " ")
			stack = append(stack, event.Frame{Module: map[string]string{"c": "/lib/libc.so.6", "p": "/bin/p", "l": "/lib/libown.so"}[module], Function: name})
		}
		return stack
	}
	for _, c := range []struct {
		stack []event.Frame
		want  bool
	}{
		{frames("c exit", "c __libc_start_call_main", "c __libc_start_main", "p _start"), true},
		{frames("c exit", "c ", "c __libc_start_main", "p _start"), true}, // libc without local symbols
		{frames("c ", "c __libc_start_main", "p _start"), true},
		{frames("p exit", "p __libc_start_call_main", "p __libc_start_main", "p _start"), true}, // static
		{frames("p exit", "p main", "p __libc_start_call_main", "p __libc_start_main", "p _start"), false},
		{frames("c exit", "p fails", "p main", "c __libc_start_call_main", "p _start"), false},
		{frames("c exit", "p ", "c ", "c __libc_start_main", "p _start"), false}, // a stripped program
		{frames("c exit", "c err", "p main", "c __libc_start_main", "p _start"), false},
		{frames("c exit", "l fails", "l serves", "c ", "c clone"), false},
		{frames("c exit"), false},
		{nil, false},
	} {
		if got := mainReturned(c.stack); got != c.want {
			t.Errorf("%+v: %v", c.stack, got)
		}
	}
}
