package tracepredict_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// scripts/race has each package, or its tests, in which a goroutine is started, each
// with a reason, and none that is not there.
func TestPackagesWithGoroutinesRunWithRace(t *testing.T) {
	text, err := os.ReadFile("scripts/race")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		name, why, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "" || name == "#" {
			continue
		}
		if why == "" {
			t.Errorf("scripts/race gives no reason for %s", name)
		}
		listed[name] = true
	}
	for _, p := range listPackages(t) {
		name := local(p.ImportPath)
		if !listed[name] && name != "cmd/tracepredict/e2e" && startsGoroutines(t, name) {
			t.Errorf("%s starts goroutines, and scripts/race lacks it", name)
		}
		delete(listed, name)
	}
	for name := range listed {
		t.Errorf("scripts/race names %s, and there is no such package", name)
	}
}

// startsGoroutines reports whether a go file of the folder has a go statement, or calls
// WaitGroup.Go.
func startsGoroutines(t *testing.T, folder string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				found = true
			case *ast.CallExpr:
				s, ok := n.Fun.(*ast.SelectorExpr)
				found = found || ok && s.Sel.Name == "Go"
			}
			return !found
		})
		return found
	})
}

// Goroutines start in internal/safely alone, which recovers their panics: elsewhere a panic ends the tool without a
// report. Tests may start others.
func TestGoroutinesAreSafe(t *testing.T) {
	for _, p := range listPackages(t) {
		name := local(p.ImportPath)
		if name == "internal/safely" {
			continue
		}
		files, err := filepath.Glob(filepath.Join(name, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			set := token.NewFileSet()
			parsed, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, at := range unsafeGoroutines(parsed) {
				t.Errorf("%s: a goroutine outside of internal/safely", set.Position(at))
			}
		}
	}
}

// unsafeGoroutines returns where a file has a go statement or a sync.WaitGroup.
func unsafeGoroutines(file *ast.File) (found []token.Pos) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = append(found, n.Pos())
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "sync" && n.Sel.Name == "WaitGroup" {
				found = append(found, n.Pos())
			}
		}
		return true
	})
	return found
}

func TestUnsafeGoroutines(t *testing.T) {
	for text, want := range map[string]int{
		"go f()": 1,
		"var g sync.WaitGroup; g.Go(f); g.Wait()": 1,
		"var g safely.Group; g.Go(f); g.Wait()":   0,
		"safely.Go(f, failed)":                    0,
	} {
		parsed, err := parser.ParseFile(token.NewFileSet(), "", "package p; func init() { "+text+" }", parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(unsafeGoroutines(parsed)); got != want {
			t.Errorf("%s: found %d, want %d", text, got, want)
		}
	}
}

// A package whose tests use rapid imports internal/fixedseed.
func TestPropertyTestsHaveAFixedSeed(t *testing.T) {
	for _, p := range listPackages(t) {
		name := local(p.ImportPath)
		files, err := filepath.Glob(filepath.Join(name, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		random, fixed := false, false
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range parsed.Imports {
				random = random || i.Path.Value == `"pgregory.net/rapid"`
				fixed = fixed || i.Path.Value == `"github.com/tracepredict/tracepredict/internal/fixedseed"`
			}
		}
		if random && !fixed {
			t.Errorf("the tests of %s use rapid, and do not import internal/fixedseed", name)
		}
	}
}
