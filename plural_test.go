package tracepredict_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// countedPlural matches a count before a noun in the plural, perhaps with a word between them.
var countedPlural = regexp.MustCompile(`(?:^|[^T])%d (?:[a-z]+ )?(accesses|acquisitions|arguments|bits|blocks|bytes|calls|chains|cycles|elements|errors|events|fields|` +
	`files|functions|headers|instructions|levels|letters|lines|locks|names|objects|operands|parameters|parts|places|probes|processes|properties|` +
	`races|readers|reads|records|releases|schedules|sections|sites|slots|states|steps|suppressions|symbols|threads|times|types|units|` +
	`values|variables|versions|violations|watchpoints|writes)\b`)

// aboveBound matches formats that are used only if a count exceeds a bound.
var aboveBound = regexp.MustCompile(`at most|too (many|large)|(more|longer|larger) than|Linux takes|only 1, 2, 4 or 8|cannot be covered|the file's %d|as --|its %d bits`)

// pluralOnly are formats that are used only for counts above one.
var pluralOnly = []string{
	"the %d blocked threads do not wait for each other in a cycle",
	"the search for cycles of locks ended after %d steps, at cycles of %d threads", // a budget
	"%s: %d errors", // as are those that follow, beside the singular
	"%d atomic variables (%s and others) were",
	"%d processes that it had started before are not observed (the first: process %s): attach to each",
	"%d processes that the program started were not observed: --follow observes such too",
	"all %d threads wait, and nobody is left to wake them: ",
	", which %d readers hold (which threads, memory does not keep)",
	"%d times", "     ... %d times",
	"2^%d letters", "%d letters", // two, four, and so on
	"%d different types in %s are called %s: the accesses of all are seen",
	"%d bytes at 0x%x take %d watchpoints, and a thread has %d",
	"%s take %d hardware watchpoints, and a thread has %d: name fewer of them with --watch-hw, the others with --watch",
	"%q is a float of %d bits, which cannot be computed with",
	"ends after %d of %d bytes: %w", // of a section
}

// TestCountsHaveBothForms looks in the formats of the tree for counts whose noun is in the plural
// whatever the count: "1 events".
func TestCountsHaveBothForms(t *testing.T) {
	for _, dir := range []string{"analysis", "cmd", "loader", "observer", "probes"} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testdata") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				lit, ok := n.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					return true
				}
				text, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Errorf("%s: %s: %v", path, lit.Value, err)
				}
				if countedPlural.MatchString(text) && !aboveBound.MatchString(text) && !slices.Contains(pluralOnly, text) {
					t.Errorf("%s: %q: write both forms, with internal/plural", path, text)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
