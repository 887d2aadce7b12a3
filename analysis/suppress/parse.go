package suppress

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tracepredict/tracepredict/analysis/finding"
)

// The bounds of files, far beyond what people write.
const (
	maxSize  = 32 << 20 // bytes of a file
	maxLine  = 1 << 13  // bytes of a line: twice the longest function name in a report
	maxLines = 512      // lines of patterns in a block
	maxSides = 8        // sides of a block
)

//go:embed default.supp
var builtin []byte

// builtinName is the name of the built-in suppressions in place of a file name.
const builtinName = "built-in"

// BuiltinText returns the built-in suppressions in the form of a file.
func BuiltinText() string { return string(builtin) }

// Builtin returns the built-in suppressions.
func Builtin() (*Set, error) {
	s, err := Parse(bytes.NewReader(builtin), builtinName)
	if err != nil {
		return nil, err
	}
	for _, r := range s.rules {
		r.userDefined = false
	}
	return s, nil
}

// Open reads a file of suppressions.
func Open(name string) (*Set, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Parse(f, name)
}

// Error is an error in a file of suppressions.
type Error struct {
	File      string
	Line, Col int // from 1
	Message   string
}

// Error implements error: file:line:column: message.
func (e *Error) Error() string { return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Col, e.Message) }

// maxErrors bounds the errors of a file that are reported.
const maxErrors = 10

// Parse reads suppressions; name is the file name in messages. The returned error joins the
// first maxErrors errors, each an *Error.
func Parse(r io.Reader, name string) (*Set, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxSize+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(text) > maxSize {
		return nil, &Error{name, 1, 1, fmt.Sprintf("the file is larger than %d MiB: are these suppressions?", maxSize>>20)}
	}
	p := parser{file: name, lines: strings.Split(string(text), "\n"), set: New()}
	for p.next() && len(p.errs) < maxErrors {
		p.block()
	}
	if len(p.errs) > 0 {
		return nil, errors.Join(p.errs...)
	}
	return p.set, nil
}

// parser reads the blocks of a file.
type parser struct {
	file  string
	lines []string
	n     int    // the number of the current line, from 1
	text  string // the current line, without space around it
	col   int    // the column of its first character, from 1
	set   *Set
	errs  []error
}

// next moves to the next line that is neither empty nor a comment; false if there is none.
func (p *parser) next() bool {
	for p.n < len(p.lines) {
		line := p.lines[p.n]
		p.n++
		p.text = strings.TrimSpace(line)
		p.col = len(line) - len(strings.TrimLeft(line, " \t\r\v\f")) + 1
		if p.text != "" && p.text[0] != '#' {
			return true
		}
	}
	return false
}

// fail records an error at an offset in bytes in the current line.
func (p *parser) fail(at int, format string, args ...any) {
	p.errs = append(p.errs, &Error{p.file, p.n, p.col + at, fmt.Sprintf(format, args...)})
}

// block reads one block, whose first line is the current one. After an error it skips to the
// next closing brace.
func (p *parser) block() {
	r := &rule{file: p.file, line: p.n, userDefined: true}
	errsBefore := len(p.errs)
	if p.text != "{" {
		p.fail(0, "%s where a suppression should begin: write { on a line by itself", quote(p.text))
		p.skip()
		return
	}
	if !p.inside("the suppression's name") {
		return
	}
	r.name = p.text
	if !p.inside("what the suppression is for, as tracepredict:race") {
		return
	}
	if p.isForOtherTools() {
		p.set.forOtherTools++
		p.skip()
		return
	}
	p.kinds(r)
	p.patterns(r)
	if len(p.errs) == errsBefore {
		p.set.add(r)
	}
}

// inside moves to the next line, which must be inside the block. If it is not, inside records
// an error that wanted is missing and returns false.
func (p *parser) inside(wanted string) bool {
	if !p.next() {
		p.fail(0, "the file ends where %s is expected", wanted)
		return false
	}
	if p.text == "}" {
		p.fail(0, "the block ends where %s is expected", wanted)
		return false
	}
	if len(p.text) > maxLine {
		p.fail(0, "the line has more than %d bytes", maxLine)
		p.skip()
		return false
	}
	return true
}

// skip moves to the next closing brace, or to the end of the file.
func (p *parser) skip() {
	for p.text != "}" && p.next() {
	}
}

const toolName = "tracepredict"

// isForOtherTools reports whether the current line, which has tools and kinds, names only other
// tools.
func (p *parser) isForOtherTools() bool {
	tools, _, found := strings.Cut(p.text, ":")
	if !found || known(strings.ToLower(tools)) {
		return false
	}
	for tool := range strings.SplitSeq(tools, ",") {
		tool = strings.TrimSpace(tool)
		if maybeMisspelled(tool) || known(strings.ToLower(tool)) {
			return false
		}
	}
	return true
}

// maybeMisspelled reports whether the name of a tool may be a misspelling of tracepredict. Such a
// block is an error, not a block for another tool.
func maybeMisspelled(tool string) bool { return strings.HasPrefix(strings.ToLower(tool), "trace") }

func known(kind string) bool {
	return kind == "*" || slices.Contains([]finding.Kind{finding.Race, finding.Deadlock, finding.Misuse, finding.Property, finding.Typestate, finding.Knowledge, finding.Scoped}, finding.Kind(kind))
}

// kinds reads "tracepredict:race,deadlock".
func (p *parser) kinds(r *rule) {
	rest, at := p.text, 0
	if tools, kinds, found := strings.Cut(rest, ":"); found && slices.Contains(strings.Split(tools, ","), toolName) {
		rest, at = kinds, len(tools)+1
	}
	for part := range strings.SplitSeq(rest, ",") {
		text, qualifier, qualified := strings.Cut(strings.TrimSpace(part), ":")
		kind := strings.ToLower(text)
		switch {
		case !known(kind):
			p.fail(at, "%s is no kind of finding: it is race, deadlock, misuse, property, typestate, knowledge, scope or *", quote(text))
		case qualified && !finding.Kind(kind).Specified() && kind != string(finding.Misuse):
			p.fail(at, "%s: only misuse, property, typestate, knowledge and scope have a name after the kind", quote(part))
		case qualified && qualifier == "":
			p.fail(at+len(part), "after %s: a name or a glob is expected", quote(part))
		}
		r.kinds = append(r.kinds, kindPattern{finding.Kind(kind), qualifier})
		at += len(part) + 1
	}
}

// patterns reads the lines below the kind, up to the closing brace.
func (p *parser) patterns(r *rule) {
	firstLine := p.n
	side := []frames{nil}
	anyPattern := false
	for p.next() && p.text != "}" {
		anyPattern = anyPattern || !strings.HasPrefix(p.text, "until:")
		switch {
		case p.n-firstLine > maxLines:
			p.fail(0, "more than %d lines in a suppression", maxLines)
			p.skip()
			return
		case len(p.text) > maxLine:
			p.fail(0, "the line has more than %d bytes", maxLine)
		case p.text == "...":
			side = append(side, nil)
		case p.text == "and":
			r.addSide(side)
			side = []frames{nil}
			if len(r.sides) >= maxSides {
				p.fail(0, "more than %d sides in a suppression", maxSides)
			}
		default:
			p.pattern(r, side)
		}
	}
	if p.text != "}" {
		p.fail(0, "the file ends inside of the suppression %s: } is expected", quote(r.name))
		return
	}
	if !anyPattern {
		p.fail(0, "a suppression needs a line of what it matches: object:, fun:, obj:, src:, fingerprint: or ...")
	}
	r.addSide(side)
}

// pattern reads one "fun:GLOB" into the last run of frames, or into the objects.
func (p *parser) pattern(r *rule, side []frames) {
	key, pattern, found := strings.Cut(p.text, ":")
	pattern = strings.TrimSpace(pattern)
	run := &side[len(side)-1]
	switch {
	case found && pattern == "":
		p.fail(len(key)+1, "after %s: a name or a glob is expected", key)
	case found && key == "fingerprint":
		p.fingerprint(r, len(key)+1, pattern)
	case found && key == "until":
		p.until(r, len(key)+1, pattern)
	case found && key == "object":
		r.object = append(r.object, pattern)
	case found && key == "fun":
		*run = append(*run, framePattern{function, pattern})
	case found && key == "obj":
		*run = append(*run, framePattern{module, pattern})
	case found && key == "src":
		*run = append(*run, framePattern{source, pattern})
	default:
		p.fail(0, "%s: object:, fun:, obj:, src:, fingerprint:, until:, ..., and or } is expected", quote(p.text))
	}
}

// minFingerprint is how many digits of a fingerprint tell findings apart.
const minFingerprint = 8

func (p *parser) fingerprint(r *rule, at int, text string) {
	switch {
	case r.fingerprint != "":
		p.fail(0, "a suppression has one fingerprint: write a block for each finding")
	case len(text) < minFingerprint || strings.Trim(text, "0123456789abcdef") != "":
		p.fail(at, "%s is no fingerprint: at least %d of its digits are expected, 0 to 9 and a to f", quote(text), minFingerprint)
	}
	r.fingerprint = text
}

// until reads the last day on which a suppression applies.
func (p *parser) until(r *rule, at int, text string) {
	day, err := time.Parse(time.DateOnly, text)
	switch {
	case err != nil:
		p.fail(at, "%s is no day: it is written as 2027-01-31", quote(text))
	case !r.until.IsZero():
		p.fail(0, "a suppression has one day on which it ends")
	}
	r.until = day.AddDate(0, 0, 1)
}

// addSide adds the patterns that one side must match, unless there are none.
func (r *rule) addSide(runs []frames) {
	runs = slices.DeleteFunc(runs, func(run frames) bool { return len(run) == 0 })
	if len(runs) > 0 {
		r.sides = append(r.sides, runs)
	}
}

// quote returns the beginning of a text of the file, for a message.
func quote(text string) string {
	const most = 60
	if len(text) > most {
		return fmt.Sprintf("%q...", text[:most])
	}
	return fmt.Sprintf("%q", text)
}
