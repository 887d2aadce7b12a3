package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// report is one thing that a tool said.
type report struct {
	kind    string   // race, deadlock, misuse, hang or other
	objects []string // the variables or locks that it names; none if it names none
	text    string   // its first line
}

// program is one to compare the tools on, as its opening comment describes it:
//
//	// What is wrong, in sentences.
//	//
//	// expect: KIND [VARIABLE]     what a tool is right to report; or: nothing
//	// run: FLAG...                more flags for tracepredict
//	// hangs                       it does not end by itself
type program struct {
	name, path string
	title      string   // its first sentence
	expect     []report // any of them finds the defect; none: innocent
	flags      []string
	build      []string
	hangs      bool
	timed      bool
}

// readPrograms reads the opening comments of the programs in a folder, each defect
// before its innocent twin; only those named in only, if any are.
func readPrograms(dir string, only []string) ([]program, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.c*"))
	if err != nil {
		return nil, err
	}
	var programs []program
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		if len(only) > 0 && !slices.Contains(only, name) {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		p, err := parseProgram(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		p.name, p.path = name, file
		programs = append(programs, p)
	}
	if len(programs) < len(only) || len(programs) == 0 {
		return nil, fmt.Errorf("%s: of the programs %q there are %d", dir, only, len(programs))
	}
	slices.SortFunc(programs, func(a, b program) int { return strings.Compare(a.name, b.name) })
	return programs, nil
}

func parseProgram(text string) (p program, err error) {
	var sentences strings.Builder
	expects := false
	for line := range strings.Lines(text) {
		comment, ok := strings.CutPrefix(strings.TrimSpace(line), "//")
		if !ok {
			break
		}
		key, rest, isKey := strings.Cut(strings.TrimSpace(comment), ":")
		words := strings.Fields(rest)
		switch {
		case isKey && key == "expect" && len(words) > 0:
			expects = true
			if words[0] != "nothing" {
				p.expect = append(p.expect, report{kind: words[0], objects: words[1:]})
			}
		case isKey && key == "run":
			p.flags = words
		case isKey && key == "build":
			p.build = words
		case strings.TrimSpace(comment) == "hangs":
			p.hangs = true
		case strings.TrimSpace(comment) == "timed":
			p.timed = true
		default:
			sentences.WriteString(comment)
		}
	}
	if !expects {
		return p, fmt.Errorf("its opening comment has no line expect: KIND or expect: nothing")
	}
	p.title = firstSentence(strings.TrimSpace(sentences.String()))
	return p, nil
}

// sentenceEnd is where enough of a sentence has been said for a table.
var sentenceEnd = regexp.MustCompile(`[.;:] `)

func firstSentence(text string) string {
	if at := sentenceEnd.FindStringIndex(text); at != nil {
		text = text[:at[0]]
	}
	return strings.TrimSuffix(text, ".")
}

// verdict is what the reports of one tool on one program come to.
type verdict struct {
	found   bool     // one of them is the defect
	false   []report // those that are none of what was expected
	unended bool     // the program ends by itself, but did not within its time
}

// judge compares what a tool reported with what was expected. A report that names
// objects has to name the expected one.
func (p program) judge(reports []report) (v verdict) {
	for _, r := range reports {
		if slices.ContainsFunc(p.expect, r.is) {
			v.found = true
		} else if !slices.ContainsFunc(v.false, func(o report) bool { return o.kind == r.kind && slices.Equal(o.objects, r.objects) }) {
			v.false = append(v.false, r)
		}
	}
	return v
}

func (r report) is(expected report) bool {
	if r.kind != expected.kind {
		return false
	}
	if len(expected.objects) == 0 || len(r.objects) == 0 {
		return true
	}
	return slices.ContainsFunc(r.objects, func(o string) bool { return lastName(o) == expected.objects[0] })
}

// lastName takes the innermost name of what tools write with more or fewer of the
// scopes around it.
func lastName(s string) string {
	if i := strings.LastIndexAny(s, ":."); i >= 0 {
		s = s[i+1:]
	}
	return s
}
