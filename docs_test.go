package tracepredict_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// helps are packages that exist for tests alone.
var helps = map[string]bool{
	"analysis/golden": true, "analysis/report/reporttest": true, "cmd/tracepredict/e2e": true, "examples": true, "internal/loadertest": true, "internal/fixedseed": true, "internal/testtool": true, "observer/event/eventtest": true, "probes/elftest": true,
}

// The map of the packages in CONTRIBUTING.md names each, and none that is gone.
func TestPackagesAreOnTheMap(t *testing.T) {
	text, err := os.ReadFile("CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "| package | is |\n")
	if !found {
		t.Fatal("CONTRIBUTING.md has no table of packages")
	}
	named := map[string]bool{}
	for row := range strings.Lines(table) {
		cells := strings.Split(row, "|")
		if len(cells) < 3 {
			break
		}
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1) {
			named[m[1]] = true
		}
	}
	for _, p := range listPackages(t) {
		name := local(p.ImportPath)
		if !named[name] && !helps[name] && name != "." {
			t.Errorf("CONTRIBUTING.md does not name the package %s", name)
		}
		delete(named, name)
	}
	for name := range named {
		t.Errorf("CONTRIBUTING.md names %s, and there is no such package", name)
	}
}

var (
	codeBlock = regexp.MustCompile("(?ms)^```.*?^```$")
	heading   = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	link      = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	notInSlug = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// prose is a page without its blocks of code, which may hold anything.
func prose(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return codeBlock.ReplaceAllString(string(text), "")
}

// slugs are the anchors of a page's headings, as GitHub makes them.
func slugs(text string) map[string]bool {
	out := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		plain := notInSlug.ReplaceAllString(strings.ToLower(strings.TrimSpace(m[1])), "")
		out[strings.ReplaceAll(plain, " ", "-")] = true
	}
	return out
}

// Every link within the tree leads to a file that is there, and to a heading that it has.
func TestLinksResolve(t *testing.T) {
	links := 0
	for _, page := range allPages(t) {
		for _, m := range link.FindAllStringSubmatch(prose(t, page), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			path, anchor, _ := strings.Cut(m[1], "#")
			file := page
			if path != "" {
				file = filepath.Join(filepath.Dir(page), path)
			}
			if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %s leads nowhere", page, m[1])
			} else if anchor != "" && !slugs(prose(t, file))[anchor] {
				t.Errorf("%s: %s: %s has no such heading", page, m[1], file)
			}
		}
	}
	if links == 0 {
		t.Error("no links were found")
	}
}

// allPages returns the paths of the documentation's pages.
func allPages(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	return append(pages, "README.md", "CONTRIBUTING.md", "SECURITY.md", "examples/README.md")
}

// Bounds of prose: columns of a line, and lines of a paragraph or of an item of a list.
const (
	mostColumns = 120
	mostLines   = 8
)

var item = regexp.MustCompile(`^\s*([-*+]|\d+\.) `)

// Lines and paragraphs are short. Tables, whose rows cannot be broken, and code, which shows
// what is printed, are as wide as they must be.
func TestPagesAreNarrow(t *testing.T) {
	for _, page := range allPages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		code, lines := false, 0
		for i, line := range strings.Split(string(text), "\n") {
			fence := strings.HasPrefix(strings.TrimSpace(line), "```")
			code = code != fence
			if code || fence || line == "" || strings.HasPrefix(line, "|") || strings.HasPrefix(line, "#") {
				lines = 0
				continue
			}
			if item.MatchString(line) {
				lines = 0
			}
			if lines++; lines == mostLines+1 {
				t.Errorf("%s:%d: a paragraph of more than %d lines", page, i+1, mostLines)
			}
			if n := utf8.RuneCountInString(line); n > mostColumns {
				t.Errorf("%s:%d: %d columns, more than %d", page, i+1, n, mostColumns)
			}
		}
	}
}

// docs/README.md lists each page.
func TestPagesAreListed(t *testing.T) {
	index := prose(t, "docs/README.md")
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		name := filepath.Base(page)
		if name != "README.md" && !strings.Contains(index, "| ["+name+"]("+name+") |") {
			t.Errorf("docs/README.md does not list %s", name)
		}
	}
}
