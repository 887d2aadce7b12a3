package textreport

import (
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
)

// TestSignalFirst checks that the first line names the signal that ended the program, and that
// advice follows only where probes may be the cause.
func TestSignalFirst(t *testing.T) {
	const apart, copied, off = "run it without tracepredict", "outside of the file", "--watch-shared=off"
	for _, c := range []struct {
		signal       report.Signal
		first        string
		says, not    []string
		withPointers bool
	}{
		{report.Signal{Number: 11, Name: "SIGSEGV"}, "shop (pid 4242) was ended by signal 11 (SIGSEGV)", []string{apart, off}, []string{copied}, true},
		{report.Signal{Number: 11, Name: "SIGSEGV"}, "shop (pid 4242) was ended by signal 11 (SIGSEGV)", []string{apart}, []string{copied, off}, false},
		{report.Signal{Number: 5, Name: "SIGTRAP"}, "shop (pid 4242) was ended by signal 5 (SIGTRAP)", []string{apart, off, copied}, nil, true},
		{report.Signal{Number: 6, Name: "SIGABRT"}, "shop (pid 4242) was ended by signal 6 (SIGABRT)", []string{apart, off}, []string{copied}, true},
		{report.Signal{Number: 15, Name: "SIGTERM"}, "shop (pid 4242) was ended by signal 15 (SIGTERM)", nil, []string{apart, copied, off}, true},
		{report.Signal{Number: 9, Name: "SIGKILL"}, "shop (pid 4242) was ended by signal 9 (SIGKILL)", nil, []string{apart, copied, off}, true},
		{report.Signal{Number: 40}, "shop (pid 4242) was ended by signal 40", nil, []string{apart, copied, off}, true},
		{report.Signal{Number: 6, Name: "SIGABRT", Requested: true}, "shop (pid 4242) was ended by signal 6 (SIGABRT), which tracepredict sent as it was asked to", nil, []string{apart, copied, off}, true},
	} {
		r := reporttest.EndedRun(c.signal)
		if !c.withPointers {
			r.Pointers = nil
		}
		got := text(t, report.Build(r, reporttest.All(), reporttest.ShopTable()), report.Options{Width: 400})
		lines := strings.Split(got, "\n")
		if want := "tracepredict: " + c.first; lines[0] != want {
			t.Errorf("%+v: the first line is %q, want %q", c.signal, lines[0], want)
		}
		head, _, found := strings.Cut(got, "1 race potential")
		if !found {
			t.Errorf("%+v: no verdict in\n%s", c.signal, got)
		}
		for _, s := range c.says {
			if !strings.Contains(head, s) {
				t.Errorf("%+v: %q is not in %q", c.signal, s, head)
			}
		}
		for _, s := range c.not {
			if strings.Contains(head, s) {
				t.Errorf("%+v: %q is in %q", c.signal, s, head)
			}
		}
	}
}

func TestSignalGolden(t *testing.T) {
	r := report.Build(reporttest.EndedRun(report.Signal{Number: 5, Name: "SIGTRAP"}), nil, reporttest.ShopTable())
	compare(t, "signal-80.txt", text(t, r, report.Options{Width: 80}))
}
