package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/scripts/trial"
)

// program is one to judge, as its opening comment describes it:
//
//	// Why it is innocent or defective, in sentences.
//	//
//	// expect: KIND [OBJECT...]    defective: what a finding has to be, and to name
//	// watch: VARIABLE, ...        with -named, each by --watch; shared: what threads share
//	// args: FLAG...               more flags for tracepredict
//	// build: FLAG...              more flags for the compiler
type program struct {
	name, path string
	title      string        // the first sentence of the reason
	expect     []expectation // any of them is the defect; none: innocent
	watch      []string      // flags that watch what the comment names
	flags      []string
	build      []string
}

// expectation is what the finding of a defect has to be.
type expectation struct {
	kind    string
	objects []string // the finding names them all
}

func (p program) innocent() bool { return len(p.expect) == 0 }

// binary is where it is built, below the folder for that.
func (p program) binary() string {
	return filepath.Join(filepath.Base(filepath.Dir(p.path)), p.name)
}

// The folders of the programs. What a program is follows from where it lies.
const (
	innocent  = "innocent"
	defective = "defective"
)

// readPrograms reads the opening comments of the programs of both folders, in the order of
// their names; only those named in only, if any are.
func readPrograms(dir string, only []string) ([]program, error) {
	var programs []program
	for _, folder := range []string{innocent, defective} {
		files, err := sources(filepath.Join(dir, folder))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			p, err := readProgram(file, folder == innocent)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			if slices.ContainsFunc(programs, func(o program) bool { return o.binary() == p.binary() }) {
				return nil, fmt.Errorf("%s: another program has the same name", file)
			}
			if len(only) == 0 || slices.Contains(only, p.name) {
				programs = append(programs, p)
			}
		}
	}
	if len(programs) < len(only) || len(programs) == 0 {
		return nil, fmt.Errorf("%s: of the programs %q there are %d", dir, only, len(programs))
	}
	return programs, nil
}

func sources(dir string) ([]string, error) {
	c, err := filepath.Glob(filepath.Join(dir, "*.c"))
	if err != nil {
		return nil, err
	}
	cc, err := filepath.Glob(filepath.Join(dir, "*.cc"))
	files := append(c, cc...)
	slices.Sort(files)
	return files, err
}

func readProgram(file string, innocent bool) (program, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return program{}, err
	}
	p, err := parseProgram(string(text))
	if err != nil {
		return p, err
	}
	p.path = file
	p.name = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	switch {
	case p.title == "":
		return p, fmt.Errorf("its opening comment does not give the reason of its truth")
	case innocent && !p.innocent():
		return p, fmt.Errorf("an innocent program expects a finding")
	case !innocent && p.innocent():
		return p, fmt.Errorf("its opening comment has no line expect: KIND")
	}
	return p, nil
}

var kinds = []string{"race", "deadlock", "misuse", "property", "typestate"}

func parseProgram(text string) (p program, err error) {
	comment := trial.Opening(text, "expect", "watch", "args", "build")
	reason, _, _ := strings.Cut(comment.Text, ". ")
	p.title = strings.TrimSuffix(reason, ".")
	for _, line := range comment.Lines {
		words := strings.Fields(line.Rest)
		switch line.Key {
		case "expect":
			if len(words) == 0 || !slices.Contains(kinds, words[0]) {
				return p, fmt.Errorf("expect: %s: want one of %s", line.Rest, strings.Join(kinds, ", "))
			}
			p.expect = append(p.expect, expectation{words[0], words[1:]})
		case "watch":
			p.watch = append(p.watch, watch(line.Rest)...)
		case "args":
			p.flags = append(p.flags, words...)
		case "build":
			p.build = append(p.build, words...)
		}
	}
	return p, nil
}

// watch translates the variables of a line, which commas separate, since a field is
// named by several words, with or without the quotes that a shell would need.
func watch(list string) (flags []string) {
	for name := range strings.SplitSeq(list, ",") {
		switch name = strings.Trim(strings.TrimSpace(name), "'"); name {
		case "":
		case "shared":
			flags = append(flags, "--watch-shared")
		default:
			flags = append(flags, "--watch", name)
		}
	}
	return flags
}

// is reports whether a finding is what is expected.
func (e expectation) is(f trial.Finding) bool {
	if f.Kind != e.kind {
		return false
	}
	for _, name := range e.objects {
		if !slices.ContainsFunc(f.Objects, func(o string) bool { return names(o, name) }) {
			return false
		}
	}
	return true
}

// names reports whether a finding's object is what the source names so: with or without the scopes
// around it, as a field of a type, a variable on a stack, or an element.
func names(object, name string) bool {
	object, _, _ = strings.Cut(object, " on the stack of ")
	object, _, _ = strings.Cut(object, " (0x")
	object, _, _ = strings.Cut(strings.TrimPrefix(object, "'"), " of ")
	for _, o := range []string{object, trial.LastName(object)} {
		if whole, _, _ := strings.Cut(o, "["); o == name || whole == name {
			return true
		}
	}
	return false
}
