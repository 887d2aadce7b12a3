// Package syntax reads the text of specifications (docs/specification.md). It has a lexer, a
// recursive-descent parser that continues after errors, and the tree of declarations that the
// parser makes, each with its position in the text.
//
// The input is text; the output is declarations and diagnostics. The package knows the syntax
// and not the meaning: it looks up no name, and the caller of Arrange decides which names are
// numbers, on which the meaning of `&` depends. It opens no file.
package syntax

import (
	"fmt"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxSource bounds the text of one file, in bytes.
const MaxSource = 1 << 20

// MaxErrors is the number of errors of a specification that are reported.
const MaxErrors = 20

// Source is the text of one file.
type Source struct {
	Name  string // for errors
	Text  string
	lines []int // the offset of the beginning of each line
}

// NewSource returns the source with a name and a text.
func NewSource(name, text string) *Source {
	s := &Source{Name: name, Text: text, lines: []int{0}}
	for i := 0; i < len(text); i++ {
		if text[i] == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	return s
}

// Pos is a position in a text. The zero value is no position.
type Pos struct {
	Src *Source
	Off int // in bytes
}

// IsValid reports whether p is a position in a text.
func (p Pos) IsValid() bool { return p.Src != nil }

// Line returns the number of the line, from 1.
func (p Pos) Line() int {
	return sort.SearchInts(p.Src.lines, p.Off+1)
}

// Column returns the number of the character in its line, from 1.
func (p Pos) Column() int {
	return utf8.RuneCountInString(p.Src.Text[p.Src.lines[p.Line()-1]:p.Off]) + 1
}

// String returns file:line:column, or "-" for no position.
func (p Pos) String() string {
	if !p.IsValid() {
		return "-"
	}
	return fmt.Sprintf("%s:%d:%d", p.Src.Name, p.Line(), p.Column())
}

// line returns the text of the line, and the offset in it of the position, in bytes.
func (p Pos) line() (text string, at int) {
	start := p.Src.lines[p.Line()-1]
	text, _, _ = strings.Cut(p.Src.Text[start:], "\n")
	return strings.TrimSuffix(text, "\r"), p.Off - start
}

// Span is a range of one text.
type Span struct {
	Pos
	End int // offset after its last byte
}

// Text returns the text of the span on one line, with single blanks.
func (s Span) Text() string {
	if !s.IsValid() {
		return ""
	}
	return strings.Join(strings.Fields(s.Src.Text[s.Off:min(max(s.End, s.Off), len(s.Src.Text))]), " ")
}

// Kind is the kind of a diagnostic.
type Kind uint8

// The kinds of diagnostic.
const (
	Syntax          Kind = iota // something else was expected
	Ambiguous                   // the text has two readings
	UnknownName                 // nothing of that name is declared
	DeclaredTwice               // a name has two declarations
	TypeMismatch                // a value does not have the type that is needed
	NotSafety                   // a formula is not a safety property
	FutureUnderPast             // a future operator is under a past one
	NeverViolated               // no run violates a property
	AlwaysViolated              // the first state of every run violates a property
	Unreachable                 // no word leads to a state of an automaton
	TooLarge                    // a size is above its limit
	NotEvaluated                // there is no analysis for a declaration yet
	BadFile                     // a file cannot be read
	Doubtful                    // the text can be read, but may not be what was meant
)

var kindNames = [...]string{
	"syntax", "ambiguous", "unknown-name", "declared-twice", "type-mismatch", "not-a-safety-property", "future-under-past",
	"never-violated", "always-violated", "unreachable-state", "size-limit",
	"not-evaluated", "file", "doubtful",
}

// String returns the kind's name as `check --format json` spells it.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "error"
}

// Diagnostic is an error or a warning about a specification.
type Diagnostic struct {
	Kind    Kind
	Warning bool
	Span    Span
	Message string
	Notes   []string // further lines
}

// Error returns file:line:column and the message, in one line.
func (d *Diagnostic) Error() string {
	text := d.Message
	if d.Warning {
		text = "warning: " + text
	}
	if d.Span.IsValid() {
		text = d.Span.Pos.String() + ": " + text
	}
	return printable(text)
}

// maxShown bounds the width, in characters, of a source line that is shown.
const maxShown = 120

// Detail returns the message, the source line with carets below the span, and the notes.
func (d *Diagnostic) Detail() string {
	var b strings.Builder
	b.WriteString(d.Error())
	b.WriteByte('\n')
	if d.Span.IsValid() {
		d.excerpt(&b)
	}
	for _, n := range d.Notes {
		fmt.Fprintf(&b, "      %s\n", printable(n))
	}
	return b.String()
}

// excerpt writes the source line with carets below the span. It shortens a long line.
func (d *Diagnostic) excerpt(b *strings.Builder) {
	text, at := d.Span.line()
	end := min(max(d.Span.End-d.Span.Off, 1)+at, max(len(text), at+1))
	before, marked := text[:min(at, len(text))], text[min(at, len(text)):min(end, len(text))]
	after := text[min(end, len(text)):]
	if n := utf8.RuneCountInString(before); n > maxShown/2 {
		before = "…" + string([]rune(before)[n-maxShown/2:])
	}
	marked, after = truncate(marked, maxShown/2), truncate(after, maxShown/2)
	fmt.Fprintf(b, " %4d | %s\n", d.Span.Line(), printable(before+marked+after))
	pad := strings.Map(func(r rune) rune {
		if r == '\t' {
			return '\t'
		}
		return ' '
	}, before)
	fmt.Fprintf(b, "      | %s%s\n", pad, strings.Repeat("^", max(utf8.RuneCountInString(marked), 1)))
}

// truncate returns the first n characters of a text, with … for the rest.
func truncate(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n]) + "…"
}

// printable replaces the characters that a terminal would interpret.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return '·'
	}, text)
}

// List holds the errors and warnings about a specification.
type List []*Diagnostic

// Error returns the Detail of every entry.
func (l List) Error() string {
	var b strings.Builder
	for _, d := range l {
		b.WriteString(d.Detail())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// HasErrors reports whether some entry is not a warning.
func (l List) HasErrors() bool {
	for _, d := range l {
		if !d.Warning {
			return true
		}
	}
	return false
}

// Sort sorts the list in place, by file in the order of rank, then by position. It returns the
// sorted list with at most MaxErrors errors, and the number of errors that it omitted.
func (l List) Sort(rank func(*Source) int) (kept List, omitted int) {
	sort.SliceStable(l, func(i, j int) bool {
		a, b := l[i].Span, l[j].Span
		if a.Src != b.Src {
			return rank(a.Src) < rank(b.Src)
		}
		return a.Off < b.Off
	})
	errors := 0
	for _, d := range l {
		if !d.Warning {
			errors++
			if errors > MaxErrors {
				omitted++
				continue
			}
		}
		kept = append(kept, d)
	}
	return kept, omitted
}
