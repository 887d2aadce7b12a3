package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/observer/event"
)

// markedLines returns the lines of a test program that its comments mark, "NAME: first" and "NAME: last", as patterns take
// them, by name.
func markedLines(t *testing.T, source string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", source))
	if err != nil {
		t.Fatal(err)
	}
	first, out := map[string]int{}, map[string]string{}
	for i, line := range strings.Split(string(text), "\n") {
		_, mark, _ := strings.Cut(line, "// ")
		switch name, end, _ := strings.Cut(mark, ": "); end {
		case "first":
			first[name] = i + 1
		case "last":
			out[name] = fmt.Sprintf("%s:%d-%d", source, first[name], i+1)
		}
	}
	return out
}

// TestLines: each entry into lines and each departure is observed, whichever way control takes, as often as the program
// counts them.
func TestLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		compiler, source string
		flags            []string
	}{
		{"gcc", "lines.c", []string{"-O0"}},
		{"gcc", "lines.c", []string{"-O0", "-static"}},
		{"clang-19", "lines.c", []string{"-O0"}},
		{"g++", "lines.cc", []string{"-O0"}},
		{"g++", "lines.cc", []string{"-O0", "-static"}},
		{"clang++-19", "lines.cc", []string{"-O0"}},
	} {
		t.Run(fmt.Sprint(c.compiler, c.source, c.flags), func(t *testing.T) {
			program := build(t, c.compiler, c.source, append(c.flags, "-g", "-pthread")...)
			var opts options
			marked := markedLines(t, c.source)
			for _, name := range slices.Sorted(maps.Keys(marked)) {
				opts.On = append(opts.On, "enter "+marked[name], "leave "+marked[name])
			}
			r := observe(t, program, opts)
			r.expectExit(t, 0)
			var entries, departures int64
			r.readNumbers(t, "counts", &entries, &departures)
			got, entered, left := r.tallyCalls(), 0, 0
			for name, at := range marked {
				in, out := got["enter "+at].Events, got["leave "+at].Events
				if in != out || in == 0 {
					t.Errorf("%s: entered %d times, left %d times", name, in, out)
				}
				entered, left = entered+in, left+out
			}
			if int64(entered) != entries || int64(left) != departures {
				t.Errorf("lines were entered %d times and left %d times, want %d and %d: %v", entered, left, entries, departures, got)
			}
		})
	}
}

// TestLinesOrder: an access before the lines comes before their entry, one behind them after the departure, also where the
// probe of an access sits behind it.
func TestLinesOrder(t *testing.T) {
	t.Parallel()
	program := build(t, "gcc", "lines.c", "-O0", "-g", "-pthread")
	at := markedLines(t, "lines.c")["ordered"]
	eachSites(t, func(t *testing.T, opts options) {
		opts.On, opts.Watch = []string{"enter " + at, "leave " + at}, []string{"early", "middle", "late"}
		r := observe(t, program, opts)
		r.expectExit(t, 0)
		var got []string
		for i := range r.Events {
			switch e := &r.Events[i]; e.Op {
			case event.Call, event.Return:
				got = append(got, e.Op.String())
			case event.Read, event.Write:
				got = append(got, fmt.Sprint(e.Op, " ", e.Value))
			}
		}
		var want []string
		for n := 1; n < 4; n++ {
			want = append(want, strings.Split(fmt.Sprintf("write %d,call,read %d,write %d,read %d,write %d,return,read %d,write %d", n, n, n, n, 2*n, 2*n, 2*n), ",")...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("the run is %v, want %v", got, want)
		}
	})
}

// TestLinesRefused: lines whose entries and departures are not all known are refused, with the place in the specification,
// the reason and what to do.
func TestLinesRefused(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "transfer.c", "-O0", "-g", "-pthread")
	spec := filepath.Join(t.TempDir(), "lines.tps")
	for lines, want := range map[string]string{
		"nowhere.c:1-2":    "neither the program nor its libraries have debug information of code in that file",
		"transfer.c:1-1":   "the lines have no code, the first line of transfer.c that has is",
		"transfer.c:1-999": "their code is in",
	} {
		text := "event e = enter " + lines + "\nevent f = leave " + lines + "\nproperty p = always !(e && f)\n"
		if err := os.WriteFile(spec, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		tool := startTool(t, childOptions{}, "exec", "--watch-shared=off", "--spec", spec, "--", program)
		tool.want(2)
		if got := strings.Join(strings.Fields(tool.err.String()), " "); !strings.Contains(got, want) || !strings.Contains(got, "lines.tps:1:17:") {
			t.Errorf("%s: exec says %s", lines, got)
		}
	}
}
