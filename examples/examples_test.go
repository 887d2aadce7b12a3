// Package examples_test checks the example programs themselves: they build,
// they succeed without tracepredict and say the same each time, and what is
// expected of them is well formed.
package examples_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/internal/testtool"
)

type expected struct {
	Watch  []string `json:"watch"`
	Spec   string   `json:"spec"`
	Shared bool     `json:"watch_shared"`
	Follow bool     `json:"follow"`
	Order  string   `json:"order"`
	Calls  []struct {
		Pattern string `json:"pattern"`
		Events  int    `json:"events"`
		Objects int    `json:"objects"`
	} `json:"calls"`
	Findings []expectedFinding `json:"findings"`
	// Sometimes has what only some runs show; its objects may differ.
	Sometimes []expectedFinding `json:"sometimes"`
}

type expectedFinding struct {
	Kind      string   `json:"kind"`
	Rule      string   `json:"rule"` // of a misuse
	Property  string   `json:"property"`
	Objects   []string `json:"objects"`
	Functions []string `json:"functions"`
	// Confidence is what else than predicted is expected; "" for predicted.
	Confidence string `json:"confidence"`
}

func folders(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*/*.c*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples found: %v", err)
	}
	return files
}

func TestExpectationsAreWellFormed(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range folders(t) {
		dir := filepath.Dir(file)
		if !strings.Contains(string(readme), "`"+dir+"`") {
			t.Errorf("README.md does not mention %s", dir)
		}
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		checkExpected(t, dir, read(t, filepath.Join(dir, "expected.json")), string(source))
	}
}

func read(t *testing.T, file string) expected {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	var e expected
	if err := dec.Decode(&e); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if e.Watch == nil && e.Spec == "" || e.Findings == nil {
		t.Errorf("%s: watch or findings missing", file)
	}
	return e
}

// element is between the names of which the name of an object is made.
var element = regexp.MustCompile(` of |\[\d+\]\.`)

func checkExpected(t *testing.T, dir string, e expected, source string) {
	t.Helper()
	names := slices.Clone(e.Watch)
	for _, f := range slices.Concat(e.Findings, e.Sometimes) {
		if f.Kind != "race" && f.Kind != "deadlock" && (f.Kind != "misuse" || f.Rule == "") && (f.Kind != "property" && f.Kind != "typestate" && f.Kind != "knowledge" && f.Kind != "scope" || f.Property == "" || e.Spec == "") {
			t.Errorf("%s: kind %q", dir, f.Kind)
		}
		anonymous := f.Kind == "typestate" || f.Kind == "knowledge" // objects on the heap, or none
		if len(f.Objects) == 0 && !anonymous || len(f.Functions) == 0 || !slices.IsSorted(f.Objects) || !slices.IsSorted(f.Functions) {
			t.Errorf("%s: objects and functions must be there and sorted", dir)
		}
		names = slices.Concat(names, f.Objects, f.Functions)
	}
	for _, c := range e.Calls {
		if verb, _, _ := strings.Cut(c.Pattern, " "); c.Events == 0 || !slices.Contains([]string{"call", "return", "enter", "leave"}, verb) {
			t.Errorf("%s: calls %+v", dir, c)
		}
	}
	for _, name := range names {
		for _, part := range element.Split(name, -1) { // of a field and its type, of an element and its array
			if !strings.Contains(source, part) {
				t.Errorf("%s: the source has no %s", dir, part)
			}
		}
	}
}

func TestExamplesSucceedAlone(t *testing.T) {
	testtool.Need(t, "make", "gcc", "g++")
	out := t.TempDir()
	if log, err := exec.Command("make", "OUT="+out, "CFLAGS=-O2 -g -Wall -Wextra -Werror -pthread -std=gnu11").CombinedOutput(); err != nil {
		t.Fatalf("make: %v\n%s", err, log)
	}
	for _, file := range folders(t) {
		name := filepath.Base(filepath.Dir(file))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := run(t, filepath.Join(out, name)), run(t, filepath.Join(out, name))
			if first == "" || first != second {
				t.Errorf("printed %q, then %q", first, second)
			}
		})
	}
}

func run(t *testing.T, program string) string {
	t.Helper()
	out, err := exec.Command(program).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", program, err, out)
	}
	return string(out)
}
