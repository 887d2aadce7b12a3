package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/observer/run"
)

func endedRun(signal Signal) Run {
	r := shopRun()
	r.Signal, r.Pointers = &signal, &run.Pointers{Sites: 3}
	return r
}

// TestSignalFirst checks that the first line names the signal that ended the program, and that
// advice follows only where probes may be the cause.
func TestSignalFirst(t *testing.T) {
	const apart, copied, off = "run it without tracepredict", "outside of the file", "--watch-shared=off"
	for _, c := range []struct {
		signal       Signal
		first        string
		says, not    []string
		withPointers bool
	}{
		{Signal{Number: 11, Name: "SIGSEGV"}, "shop (pid 4242) was ended by signal 11 (SIGSEGV)", []string{apart, off}, []string{copied}, true},
		{Signal{Number: 11, Name: "SIGSEGV"}, "shop (pid 4242) was ended by signal 11 (SIGSEGV)", []string{apart}, []string{copied, off}, false},
		{Signal{Number: 5, Name: "SIGTRAP"}, "shop (pid 4242) was ended by signal 5 (SIGTRAP)", []string{apart, off, copied}, nil, true},
		{Signal{Number: 6, Name: "SIGABRT"}, "shop (pid 4242) was ended by signal 6 (SIGABRT)", []string{apart, off}, []string{copied}, true},
		{Signal{Number: 15, Name: "SIGTERM"}, "shop (pid 4242) was ended by signal 15 (SIGTERM)", nil, []string{apart, copied, off}, true},
		{Signal{Number: 9, Name: "SIGKILL"}, "shop (pid 4242) was ended by signal 9 (SIGKILL)", nil, []string{apart, copied, off}, true},
		{Signal{Number: 40}, "shop (pid 4242) was ended by signal 40", nil, []string{apart, copied, off}, true},
		{Signal{Number: 6, Name: "SIGABRT", Requested: true}, "shop (pid 4242) was ended by signal 6 (SIGABRT), which tracepredict sent as it was asked to", nil, []string{apart, copied, off}, true},
	} {
		r := endedRun(c.signal)
		if !c.withPointers {
			r.Pointers = nil
		}
		got := text(t, Build(r, all(), shopTable()), TextOptions{Width: 400})
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
	r := Build(endedRun(Signal{Number: 5, Name: "SIGTRAP"}), nil, shopTable())
	golden(t, "signal-80.txt", []byte(text(t, r, TextOptions{Width: 80})))
}

func TestSignalJSON(t *testing.T) {
	for _, c := range []struct {
		run  Run
		want *Signal
	}{
		{endedRun(Signal{Number: 11, Name: "SIG\x1bSEGV"}), &Signal{Number: 11, Name: `SIG\x1bSEGV`}},
		{shopRun(), nil},
	} {
		var got struct{ Run struct{ Signal *Signal } }
		text := writeJSON(t, Build(c.run, nil, nil))
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got.Run.Signal); diff != "" || c.want == nil && bytes.Contains(text, []byte(`"signal"`)) {
			t.Errorf("%s\n%s", diff, text)
		}
	}
}
