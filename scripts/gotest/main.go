// Command gotest runs go test and keeps account of the tests that skip, which go
// test without -v does not mention.
//
//	gotest -skipped FILE -- ARG...   runs go test ARG..., and adds what skipped to FILE
//	gotest -summary FILE             says what skipped and why, a line for each reason
//
// It prints what go test prints: of a package that passes one line, of a test
// that fails all its output. FILE has a line for each test or subtest that
// skipped: package, name and reason, parted by tabs.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

func main() {
	skipped := flag.String("skipped", "", "add to this file what skips")
	summary := flag.String("summary", "", "say what this file has")
	flag.Parse()
	status, err := run(*skipped, *summary, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		status = 2
	}
	os.Exit(status)
}

func run(skipped, summary string, args []string) (status int, err error) {
	if summary != "" {
		text, err := os.ReadFile(summary)
		if err != nil {
			return 2, err
		}
		fmt.Print(summarize(string(text)))
		return 0, nil
	}
	file, err := os.OpenFile(skipped, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return 2, err
	}
	defer file.Close()
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return 2, err
	}
	if err := cmd.Start(); err != nil {
		return 2, err
	}
	r := newReader(os.Stdout, file)
	r.verbose = slices.Contains(args, "-v")
	readErr := r.read(events)
	_ = cmd.Wait() // its status is asked for below
	return cmd.ProcessState.ExitCode(), readErr
}

// event is a line of go test -json.
type event struct{ Action, Package, Test, Output string }

// reader prints what go test -json says as go test would, and what skips.
type reader struct {
	out, skipped io.Writer
	verbose      bool
	kept         map[[2]string][]string // package and test → output of a test that has not ended
}

func newReader(out, skipped io.Writer) *reader {
	return &reader{out: out, skipped: skipped, kept: map[[2]string][]string{}}
}

func (r *reader) read(events io.Reader) error {
	in := bufio.NewReader(events)
	for {
		line, err := in.ReadString('\n')
		if line != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) != nil {
				fmt.Fprint(r.out, line)
			} else if err := r.event(e); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *reader) event(e event) error {
	key := [2]string{e.Package, e.Test}
	switch e.Action {
	case "output", "build-output":
		if r.verbose || e.Test == "" && e.Output != "PASS\n" {
			fmt.Fprint(r.out, e.Output)
		}
		if e.Test != "" && !strings.HasPrefix(e.Output, "=== ") {
			r.kept[key] = append(r.kept[key], e.Output)
		}
	case "pass":
		delete(r.kept, key)
	case "skip":
		defer delete(r.kept, key)
		if e.Test != "" {
			_, err := fmt.Fprintf(r.skipped, "%s\t%s\t%s\n", e.Package, e.Test, reason(r.kept[key]))
			return err
		}
	case "fail":
		if e.Test == "" {
			r.unended(e.Package)
			return nil
		}
		r.print(key)
	}
	return nil
}

func (r *reader) print(key [2]string) {
	if !r.verbose {
		fmt.Fprint(r.out, strings.Join(r.kept[key], ""))
	}
	delete(r.kept, key)
}

// unended prints the output of the tests that ran when their package's program ended.
func (r *reader) unended(name string) {
	var keys [][2]string
	for key := range r.kept {
		if key[0] == name {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b [2]string) int { return cmp.Compare(a[1], b[1]) })
	for _, key := range keys {
		r.print(key)
	}
}

var logged = regexp.MustCompile(`^\s+\S+\.go:\d+: (.*)`)

// reason returns the last line that a test logged before it skipped.
func reason(output []string) string {
	why := "it does not say why"
	for _, line := range output {
		if m := logged.FindStringSubmatch(line); m != nil {
			why = strings.ReplaceAll(m[1], "\t", " ")
		}
	}
	return why
}

// mostReasons bounds how many reasons a summary names.
const mostReasons = 20

// summarize returns a line for each reason in the text of a file of skipped
// tests, those of the most tests first.
func summarize(text string) string {
	type why struct {
		reason string
		tests  int
		in     []string
	}
	var all []*why
	total := 0
	for line := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimSpace(line), "\t", 3)
		if len(f) != 3 {
			continue
		}
		total++
		i := slices.IndexFunc(all, func(w *why) bool { return w.reason == f[2] })
		if i < 0 {
			i, all = len(all), append(all, &why{reason: f[2]})
		}
		all[i].tests++
		if name := strings.TrimPrefix(f[0], "github.com/tracepredict/tracepredict/"); !slices.Contains(all[i].in, name) {
			all[i].in = append(all[i].in, name)
		}
	}
	if total == 0 {
		return "No test was skipped.\n"
	}
	slices.SortStableFunc(all, func(a, b *why) int { return b.tests - a.tests })
	var b strings.Builder
	fmt.Fprintf(&b, "Skipped, counting subtests: %d\n", total)
	for i, w := range all {
		if i == mostReasons {
			fmt.Fprintf(&b, "      and for %d other reasons\n", len(all)-i)
			break
		}
		fmt.Fprintf(&b, "%4d  %s (%s)\n", w.tests, w.reason, strings.Join(w.in, ", "))
	}
	return b.String()
}
