package observer

import (
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/observer/event"
)

// TestLeaveOut leaves out the code of call stack 5 while the program runs: what it holds is released, and that it waits with a
// mutex whose acquisition is not recorded is no misuse.
func TestLeaveOut(t *testing.T) {
	const records = `
		1 fork 11
		1 fork 12
		11 acquire A stack=5
		12 acquire B stack=6
		12 release B
		12 acquire B stack=6
		12 wait C with=A sp=90
		12 wait C with=A sp=90 leave
		12 release B
		12 release B`
	for _, c := range []struct {
		name string
		at   uint64
		want string
	}{
		{"never", 0, `
			T1 begin inferred
			T1 fork T2
			T2 begin
			T1 fork T3
			T3 begin
			T2 acquire A1
			T3 acquire B2
			T3 release B2
			T3 acquire B2
			T3 release-unheld A1 C3 in-wait
			T3 wait C3 A1
			T3 wake C3 A1
			T2 release A1 inferred
			T3 acquire A1 in-wait
			T3 release B2
			T3 release-unheld B2`},
		{"in the middle", 5, `
			T1 begin inferred
			T1 fork T2
			T2 begin
			T1 fork T3
			T3 begin
			T2 acquire A1
			T3 acquire B2
			T2 release A1
			T3 release B2
			T3 acquire B2
			T3 wait C3 A1
			T3 wake C3 A1
			T3 release B2
			T3 release-unheld B2`},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newListener()
			if c.at != 0 {
				l.o.LeaveOut(c.at, func(s event.StackID) bool { return s == 5 })
			}
			for _, r := range parseRecords(t, records) {
				l.o.Record(&r)
			}
			if got, want := strings.Join(l.lines, "\n"), strings.ReplaceAll(strings.TrimSpace(c.want), "\t", ""); got != want || len(l.broken) > 0 {
				t.Errorf("got\n%s\nwant\n%s\n%v", got, want, l.broken)
			}
		})
	}
}

// TestLeftOut leaves code out from the beginning.
func TestLeftOut(t *testing.T) {
	l := listenWith(Options{LeftOut: true})
	for _, r := range parseRecords(t, `
		11 wait C with=A sp=90
		11 wait C with=A sp=90 leave
		12 acquire B
		12 release B
		12 release B`) {
		l.o.Record(&r)
	}
	all := strings.Join(l.lines, "\n")
	if strings.Contains(all, "release-unheld A") || !strings.Contains(all, "release-unheld B") {
		t.Error(all)
	}
}
