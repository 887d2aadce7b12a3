package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/scripts/trial"
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
	comment := trial.Opening(text, "expect", "run", "build", "hangs", "timed")
	p.title = comment.Title
	expects := false
	for _, line := range comment.Lines {
		words := strings.Fields(line.Rest)
		switch line.Key {
		case "expect":
			expects = expects || len(words) > 0
			if len(words) > 0 && words[0] != "nothing" {
				p.expect = append(p.expect, report{kind: words[0], objects: words[1:]})
			}
		case "run":
			p.flags = words
		case "build":
			p.build = words
		case "hangs":
			p.hangs = true
		case "timed":
			p.timed = true
		}
	}
	if !expects {
		return p, fmt.Errorf("its opening comment has no line expect: KIND or expect: nothing")
	}
	return p, nil
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
	return slices.ContainsFunc(r.objects, func(o string) bool { return trial.LastName(o) == expected.objects[0] })
}
