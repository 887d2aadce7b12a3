package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// event is a line of go test -json.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64 // seconds
}

// test is the name of a test or subtest.
type test struct{ pkg, name string }

func (t test) String() string { return local(t.pkg) + "." + t.name }

// local returns the name of a package in its module.
func local(pkg string) string {
	return strings.TrimPrefix(pkg, "github.com/tracepredict/tracepredict/")
}

// account is what a run of go test leaves to be told.
type account struct {
	reasons map[test]string   // why a test skipped
	failed  map[test][]string // the outputs of its failures
	passed  map[test]bool     // passed in the end
	took    map[test]float64  // seconds, of the last time that it ran
}

// readAccount reads what go test -json has written to a file; a line that is no event
// is passed over.
func readAccount(path string) (*account, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	a := &account{reasons: map[test]string{}, failed: map[test][]string{}, passed: map[test]bool{}, took: map[test]float64{}}
	output := map[test]*strings.Builder{}
	for in := bufio.NewReader(f); ; {
		line, err := in.ReadBytes('\n')
		if e := (event{}); json.Unmarshal(line, &e) == nil && e.Test != "" {
			a.event(e, output)
		}
		if err == io.EOF {
			return a, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (a *account) event(e event, output map[test]*strings.Builder) {
	key := test{e.Package, e.Test}
	switch e.Action {
	case "run":
		output[key] = &strings.Builder{}
	case "output":
		if output[key] == nil {
			output[key] = &strings.Builder{}
		}
		if !strings.HasPrefix(e.Output, "=== ") {
			output[key].WriteString(e.Output)
		}
	case "pass", "fail", "skip":
		text := ""
		if b := output[key]; b != nil {
			text = b.String()
		}
		delete(output, key)
		a.took[key] = e.Elapsed
		switch e.Action {
		case "pass":
			a.passed[key] = true
		case "fail":
			a.failed[key] = append(a.failed[key], text)
		default:
			a.reasons[key] = reason(text)
		}
	}
}

// flaky returns the tests that failed, and passed when they were run again. Of a test
// whose subtests are flaky, it returns these alone.
func (a *account) flaky() []test {
	var found []test
	for t := range a.failed {
		if !a.failedInTheEnd(t) && !a.hasFailedSubtest(t) {
			found = append(found, t)
		}
	}
	slices.SortFunc(found, compareTests)
	return found
}

func (a *account) hasFailedSubtest(t test) bool {
	for other := range a.failed {
		if other.pkg == t.pkg && strings.HasPrefix(other.name, t.name+"/") {
			return true
		}
	}
	return false
}

// failedInTheEnd reports whether a test that failed never passed. A test of which only
// a subtest was run again has passed if that has.
func (a *account) failedInTheEnd(t test) bool { return !a.passed[t] }

func compareTests(x, y test) int {
	return cmp.Or(cmp.Compare(x.pkg, y.pkg), cmp.Compare(x.name, y.name))
}

// keep adds the skipped tests to DIR/skipped, and writes a file for each flaky test.
func (a *account) keep(dir string) error {
	skipped := make([]string, 0, len(a.reasons))
	for t, why := range a.reasons {
		skipped = append(skipped, fmt.Sprintf("%s\t%s\t%s\n", t.pkg, t.name, why))
	}
	slices.Sort(skipped)
	f, err := os.OpenFile(filepath.Join(dir, "skipped"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strings.Join(skipped, ""))
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return a.keepFlaky(filepath.Join(dir, "flaky"))
}

var unfitForFiles = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

func (a *account) keepFlaky(dir string) error {
	for _, t := range a.flaky() {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		name := filepath.Join(dir, unfitForFiles.ReplaceAllString(t.String(), "_"))
		text := fmt.Sprintf("%s\n%s", t, a.failed[t][0])
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

var logged = regexp.MustCompile(`(?m)^\s+\S+\.go:\d+: (.*)$`)

// reason returns the last line that a test logged before it skipped.
func reason(output string) string {
	all := logged.FindAllStringSubmatch(output, -1)
	if len(all) == 0 {
		return "it does not say why"
	}
	return strings.ReplaceAll(all[len(all)-1][1], "\t", " ")
}
