// Package function finds functions by the patterns that a user writes for their calls, such as
// "call queue_put(q, _)" and "return Queue::* -> r", and the locations of their parameters and of
// their instance at each entry.
//
// The input is patterns and an open binary. The output is the functions that match, each address
// once, with the operands by the System V ABI from the parameters' types in the debug information,
// or the argument registers where there is none. The notes name what cannot be recorded (a
// floating-point number, a structure passed by value, a parameter that a clone of the function
// lacks). The package knows no probe and no process. Addresses are those of the file as linked,
// before it is loaded.
package function

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Pattern is one event to observe: `call F(x, _)` or `return F(x) -> r`, or of lines of the source `enter FILE:FIRST-LAST`
// or `leave FILE:FIRST-LAST`.
type Pattern struct {
	Text   string // as written
	Return bool   // the return of the function, or the departure from lines; else the call or the entry
	File   string // the source file in file.c:name; "" for any; of lines, theirs
	Name   string // qualified name or glob: * is any text, ? any character; "" of lines
	// First and Last are the first and last line, from 1; 0: the pattern is of functions.
	First, Last int
	// Params are the names that bind parameters, in order; "_" binds none. If the first is "this",
	// it binds the instance of a method.
	Params []string
	// Stored says, by index in Params, which of them stand for what the function has stored at the address that the
	// parameter is.
	Stored map[int]Stored
	Result string // the name that binds the result; "" if none
	// Left says that Return includes what is no return: an exception, longjmp or the end of the thread ends the call.
	Left bool
	// Group is the name of a group of patterns one of which must match, as std/stdio; "": this one must match.
	Group string
}

// Stored is where a function has stored what a pattern of its return binds: *NAME, or NAME[N].
type Stored struct {
	Element int  // of the array to which the parameter points, from 0 to MaxElement
	Int     bool // without debug information it is an int of 4 bytes, and not a pointer
}

// MaxElement is the greatest index of an element that a pattern can bind.
const MaxElement = 255

// MaxParams is the maximum number of parameters that one pattern can bind.
const MaxParams = 6

// maxPattern bounds a pattern, in bytes.
const maxPattern = 4096

// Error reports a pattern that cannot be parsed.
type Error struct {
	Pattern string
	Column  int    // from 1, in characters
	Want    string // what was expected, or what is wrong
}

// Error returns the pattern, the column and the error in one line.
func (e *Error) Error() string {
	return fmt.Sprintf("%q: column %d: %s", e.Pattern, e.Column, e.Want)
}

// parser parses a pattern.
type parser struct {
	text string
	at   int
}

// Parse parses a pattern. Errors are of type *Error.
func Parse(text string) (Pattern, error) {
	p := &parser{text: text}
	out := Pattern{Text: strings.TrimSpace(text)}
	if len(text) > maxPattern {
		return out, p.want("a pattern of at most %d bytes", maxPattern)
	}
	ofLines, err := p.verb(&out)
	if err != nil {
		return out, err
	}
	if ofLines && (!out.Return || !p.atFunction()) {
		return out, p.lines(&out)
	}
	out.Left = ofLines
	if err = p.name(&out); err != nil {
		return out, err
	}
	if err = p.params(&out); err != nil {
		return out, err
	}
	if out.Result, err = p.result(&out); err != nil {
		return out, err
	}
	p.blanks()
	if p.at < len(p.text) {
		return out, p.want("expected nothing more%s", p.instead())
	}
	return out, nil
}

func (p *parser) want(format string, args ...any) error {
	return &Error{Pattern: p.text, Column: utf8.RuneCountInString(p.text[:p.at]) + 1, Want: fmt.Sprintf(format, args...)}
}

// instead returns the text for the character that is at the position of the error.
func (p *parser) instead() string {
	if p.at >= len(p.text) {
		return ", and the pattern ends"
	}
	r, _ := utf8.DecodeRuneInString(p.text[p.at:])
	return fmt.Sprintf(", not %q", r)
}

func (p *parser) blanks() {
	for p.at < len(p.text) && (p.text[p.at] == ' ' || p.text[p.at] == '\t') {
		p.at++
	}
}

// take skips blanks, and s if it follows, and reports whether it did.
func (p *parser) take(s string) bool {
	p.blanks()
	if !strings.HasPrefix(p.text[p.at:], s) {
		return false
	}
	p.at += len(s)
	return true
}

// verb parses the first word. ofLines means that lines follow it.
func (p *parser) verb(out *Pattern) (ofLines bool, err error) {
	p.blanks()
	start := p.at
	switch word := p.word(isName); word {
	case "call", "enter":
		ofLines = word == "enter"
	case "return", "leave":
		out.Return, ofLines = true, word == "leave"
	default:
		p.at = start
		return false, p.want(`expected "call", "return", "enter" or "leave"`)
	}
	if p.at < len(p.text) && p.text[p.at] != ' ' && p.text[p.at] != '\t' && p.text[p.at] != '`' {
		return false, p.want("expected a blank%s", p.instead())
	}
	return ofLines, nil
}

// functionForm is what may name a function where lines of a file may come too: a file has a dot.
var functionForm = regexp.MustCompile("^`?[^./:(]+(::[^./:(]+)*(\\(|`|$)")

// atFunction reports whether a name of a function comes next, and not one of a file.
func (p *parser) atFunction() bool {
	p.blanks()
	return functionForm.MatchString(strings.TrimSpace(p.text[p.at:]))
}

// maxLine is the greatest number of a line that a pattern can name.
const maxLine = 1 << 24

// lines parses FILE:FIRST-LAST, which may be in backquotes.
func (p *parser) lines(out *Pattern) error {
	p.blanks()
	start := p.at
	text := strings.TrimSpace(p.text[p.at:])
	if inner, ok := strings.CutPrefix(text, "`"); ok {
		if text, ok = strings.CutSuffix(inner, "`"); !ok {
			p.at = len(p.text)
			return p.want("expected the closing ` of the lines")
		}
	}
	file, numbers := text, ""
	if i := strings.LastIndexByte(text, ':'); i > 0 {
		file, numbers = text[:i], text[i+1:]
	}
	from, to, _ := strings.Cut(numbers, "-")
	first, err1 := strconv.ParseUint(from, 10, 32)
	last, err2 := strconv.ParseUint(to, 10, 32)
	p.at = start
	switch {
	case err1 != nil || err2 != nil || strings.Contains(text, "`"):
		return p.want("expected lines of a file, such as bank.c:12-20")
	case first == 0 || last < first || last > maxLine:
		return p.want("expected a first line from 1 on, and a last one from there to %d", maxLine)
	}
	p.at = len(p.text)
	out.File, out.First, out.Last = file, int(first), int(last)
	return nil
}

// OfLines reports whether the pattern is of lines of the source.
func (p *Pattern) OfLines() bool { return p.First > 0 }

func (p *parser) word(of func(c byte) bool) string {
	start := p.at
	for p.at < len(p.text) && of(p.text[p.at]) {
		p.at++
	}
	return p.text[start:p.at]
}

func isName(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80
}

// isPath reports whether a character may stand in a name without backquotes.
func isPath(c byte) bool { return isName(c) || strings.IndexByte(".:[]*?~$", c) >= 0 }

func (p *parser) name(out *Pattern) error {
	p.blanks()
	start := p.at
	text := ""
	if p.take("`") {
		end := strings.IndexByte(p.text[p.at:], '`')
		if end < 0 {
			p.at = len(p.text)
			return p.want("expected the closing ` of the name")
		}
		text = p.text[p.at : p.at+end]
		p.at += end + 1
	} else {
		text = p.word(isPath)
		if p.at < len(p.text) && strings.IndexByte("<>&!=+-/%^|,", p.text[p.at]) >= 0 && !strings.HasPrefix(p.text[p.at:], "->") {
			return p.want("a name with %q is written in backquotes", p.text[p.at])
		}
	}
	out.File, out.Name = splitFile(strings.TrimSpace(text))
	if out.Name == "" {
		p.at = start
		return p.want("expected the name of a function%s", p.instead())
	}
	return nil
}

// splitFile splits file.c:name. The colons in a C++ name come in pairs.
func splitFile(text string) (file, name string) {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] != ':':
		case i+1 < len(text) && text[i+1] == ':':
			i++
		default:
			return text[:i], text[i+1:]
		}
	}
	return "", text
}

func (p *parser) params(out *Pattern) error {
	if !p.take("(") || p.take(")") {
		return nil
	}
	bound := 0
	for {
		name, err := p.param(out)
		if err != nil {
			return err
		}
		if name != "_" {
			bound++
		}
		if bound > MaxParams {
			p.at -= len(name)
			return p.want("at most %d parameters can be bound: write _ for the others", MaxParams)
		}
		if err := p.element(out, name); err != nil {
			return err
		}
		out.Params = append(out.Params, name)
		if p.take(")") {
			return nil
		}
		if !p.take(",") {
			return p.want(`expected "," or ")"%s`, p.instead())
		}
	}
}

// param parses what comes before an element's index: NAME, _ or *NAME.
func (p *parser) param(out *Pattern) (name string, err error) {
	p.blanks()
	start := p.at
	if p.take("*") {
		if err := p.stores(out, start, Stored{}); err != nil {
			return "", err
		}
		p.blanks()
		start = p.at
	}
	_, stored := out.Stored[len(out.Params)]
	name = p.word(isName)
	why := ""
	switch {
	case name == "" || name[0] >= '0' && name[0] <= '9':
		p.at = start
		why = "expected a parameter's name, or _ for one that is not wanted" + p.instead()
	case stored && (name == "_" || name == "this"):
		why = "expected a name for what the function has stored"
	case name == "this" && len(out.Params) > 0:
		why = "this is the first parameter of a method"
	case name != "_" && contains(out.Params, name):
		why = "two parameters are called " + name
	default:
		return name, nil
	}
	p.at = start
	return "", p.want("%s", why)
}

// element parses what may follow the name of what a function has stored: the index of an element, and its type.
func (p *parser) element(out *Pattern, name string) error {
	at := len(out.Params)
	start := p.at
	if _, stored := out.Stored[at]; !stored && p.take("[") {
		if name == "_" || name == "this" {
			p.at = start
			return p.want("expected a name for what the function has stored")
		}
		digits := p.at
		n, err := strconv.Atoi(p.word(func(c byte) bool { return c >= '0' && c <= '9' }))
		if err != nil || n > MaxElement {
			p.at = digits
			return p.want("expected the index of an element, from 0 to %d", MaxElement)
		}
		if err := p.stores(out, start, Stored{Element: n}); err != nil {
			return err
		}
		if !p.take("]") {
			return p.want(`expected "]"%s`, p.instead())
		}
	}
	s, stored := out.Stored[at]
	if !stored || !p.take(":") {
		return nil
	}
	p.blanks()
	start = p.at
	if p.word(isName) != "int" {
		p.at = start
		return p.want("expected int, the type of what is stored")
	}
	s.Int = true
	out.Stored[at] = s
	return nil
}

// stores notes that the next parameter stands for what the function has stored.
func (p *parser) stores(out *Pattern, start int, s Stored) error {
	if !out.Return {
		p.at = start
		return p.want("a call has stored nothing yet: write return for it")
	}
	if out.Left {
		p.at = start
		return p.want("a call that an exception ends need not have stored anything: write return for it")
	}
	if out.Stored == nil {
		out.Stored = map[int]Stored{}
	}
	out.Stored[len(out.Params)] = s
	return nil
}

func contains(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}

func (p *parser) result(of *Pattern) (string, error) {
	if !p.take("->") {
		return "", nil
	}
	if !of.Return || of.Left {
		p.at -= 2
		if of.Left {
			return "", p.want("a call that an exception ends has no result: write return for it")
		}
		return "", p.want("a call has no result: write return for it")
	}
	p.blanks()
	start := p.at
	name := p.word(isName)
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		p.at = start
		return "", p.want("expected a name for the result%s", p.instead())
	}
	return name, nil
}
