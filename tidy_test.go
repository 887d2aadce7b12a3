// Package tracepredict_test holds the tree to its own rules: which package may
// import which, what no file may contain, and that every exported name is
// documented.
package tracepredict_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// unwanted is what no file may contain. The patterns are split so that this
// file does not contain them either.
var unwanted = []struct {
	pattern *regexp.Regexp
	why     string
}{
	{regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME)\b`), "unfinished work has its place in an issue"},
	{regexp.MustCompile(`(^|[^\w.$}/-])/(wo` + `rk/\w|ro` + `ot/\w|ho` + `me/\w\w)`), "a path of one machine (a user of one letter is made up)"},
	{regexp.MustCompile(`<<<<` + `<<< |>>>>` + `>>> `), "a conflict that was not settled"},
}

func TestFilesHoldNothingUnwanted(t *testing.T) {
	files := projectFiles(t)
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range unwanted {
			if at := u.pattern.FindIndex(text); at != nil {
				line := 1 + bytes.Count(text[:at[0]], []byte("\n"))
				t.Errorf("%s:%d: %q: %s", name, line, text[at[0]:at[1]], u.why)
			}
		}
	}
}

func TestUnwantedPatterns(t *testing.T) {
	for text, want := range map[string]bool{
		"// TO" + "DO: later":                    true,
		"TO" + "DOS":                             false,
		"in /ho" + "me/ann/src":                  true,
		"\"/wo" + "rk/tree\"":                    true,
		"https://example.org/ho" + "me/index":    false,
		"the wo" + "rk/life balance":             false,
		"$HO" + "ME/go, ./ro" + "ot/x":           false,
		"a path /proc/PID/ro" + "ot/lib is fine": false,
	} {
		got := false
		for _, u := range unwanted {
			got = got || u.pattern.MatchString(text)
		}
		if got != want {
			t.Errorf("%q: unwanted %v, want %v", text, got, want)
		}
	}
}

// projectFiles gives the files of the tree but what is built and what Git
// keeps for itself.
func projectFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".git" || name == "build" || name == "bin":
			if d.IsDir() {
				return fs.SkipDir
			}
		case d.Type().IsRegular() && name != "tracepredict" && !strings.HasSuffix(name, ".test"):
			files = append(files, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 50 {
		t.Fatalf("only %d files found", len(files))
	}
	return files
}

func TestExportedNamesAreDocumented(t *testing.T) {
	commented := map[string]bool{}
	fset := token.NewFileSet()
	for _, name := range projectFiles(t) {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.Contains(name, "testdata/") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Dir(name)
		commented[dir] = commented[dir] || file.Doc.Text() != ""
		if ast.IsGenerated(file) {
			continue
		}
		for _, d := range undocumented(file) {
			t.Errorf("%s: %s is exported and has no comment", fset.Position(d.pos), d.name)
		}
	}
	for dir, ok := range commented {
		if !ok {
			t.Errorf("%s: no package comment", dir)
		}
	}
}

type declared struct {
	name string
	pos  token.Pos
}

func undocumented(file *ast.File) []declared {
	var bare []declared
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Doc.Text() == "" && d.Name.IsExported() && exportedReceiver(d) {
				bare = append(bare, declared{d.Name.Name, d.Pos()})
			}
		case *ast.GenDecl:
			bare = append(bare, undocumentedSpecs(d)...)
		}
	}
	return bare
}

// undocumentedSpecs takes a comment above a group of constants or variables
// for all of them, and one at the end of a line for that line.
func undocumentedSpecs(d *ast.GenDecl) []declared {
	var bare []declared
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			own := s.Doc.Text() + s.Comment.Text()
			if !d.Lparen.IsValid() {
				own += d.Doc.Text()
			}
			if s.Name.IsExported() && own == "" {
				bare = append(bare, declared{s.Name.Name, s.Pos()})
			}
		case *ast.ValueSpec:
			if s.Doc.Text()+s.Comment.Text()+d.Doc.Text() != "" {
				continue
			}
			for _, n := range s.Names {
				if n.IsExported() {
					bare = append(bare, declared{n.Name, n.Pos()})
				}
			}
		}
	}
	return bare
}

// exportedReceiver leaves out what only an interface of the standard library
// asks for, such as Error and String, on types that are not exported.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return true
	}
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return unicode.IsUpper([]rune(x.Name)[0])
		default:
			return true
		}
	}
}

func TestUndocumentedIsFound(t *testing.T) {
	const source = `package p
func A() {}
// B is fine.
func B() {}
func (c) C() {}
func (D) E() {}
type D struct{}
const (
	F = 1 // fine
	G = 2
)
// Both are fine.
var (
	H = 1
	I = 2
)
type j int
`
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range undocumented(file) {
		names = append(names, d.name)
	}
	if got, want := strings.Join(names, " "), "A E D G"; got != want {
		t.Errorf("undocumented: %s, want %s", got, want)
	}
}
