package syntax

import (
	"regexp"
	"strconv"
	"strings"
)

// MaxLine is the greatest number of a line that a pattern can name.
const MaxLine = 1 << 24

var (
	linesForm = regexp.MustCompile(`^(.+):([0-9]+)-([0-9]+)$`)
	lineForm  = regexp.MustCompile(`^.+:[0-9]+$`)
	// functionForm is what may name a function where lines of a file may come too: a file has a dot.
	functionForm = regexp.MustCompile(`^[^./:]+(::[^./:]+)*$`)
)

// isFileByte reports whether a byte may be part of the name of a file without backquotes.
func isFileByte(c byte) bool {
	return isNameByte(c) || strings.IndexByte("./:+-~$", c) >= 0 || c >= 0x80
}

// IsPlainFile reports whether the name of a file, with its lines, needs no backquotes.
func IsPlainFile(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r < 0x80 && !isFileByte(byte(r)) }) < 0
}

// fileText returns the text at the present token that may name lines of a file: in backquotes, or up to what no name of a
// file has without them.
func (p *parser) fileText() Path {
	if p.tok.kind == tokQuoted {
		return Path{p.tok.text, p.span(p.tok.off, p.tok.end)}
	}
	end := p.tok.off
	for end < p.lexer.limit && isFileByte(p.lexer.src.Text[end]) {
		end++
	}
	return Path{p.lexer.src.Text[p.tok.off:end], p.span(p.tok.off, end)}
}

// atLines reports whether lines of a file come next.
func (p *parser) atLines() bool { return linesForm.MatchString(p.fileText().Text) }

// atFunction reports whether a name of a function comes next, and not one of a file.
func (p *parser) atFunction() bool { return functionForm.MatchString(p.fileText().Text) }

// OfLines reports whether a pattern as --on takes it is of lines.
func OfLines(pattern string) bool { return linesForm.MatchString(strings.Trim(pattern, "`")) }

// lines reads FILE:FIRST-LAST.
func (p *parser) lines() Path {
	at := p.fileText()
	parts := linesForm.FindStringSubmatch(at.Text)
	switch {
	case parts == nil && lineForm.MatchString(at.Text):
		p.failAt(at.Span, "expected the first line and the last: one line is written %s-%s", at.Text, at.Text[strings.LastIndexByte(at.Text, ':')+1:])
	case parts == nil && at.Text != "":
		p.failAt(at.Span, "expected lines of a file, such as bank.c:12-20, not %q", at.Text)
	case parts == nil:
		p.expected("lines of a file, such as bank.c:12-20")
	}
	first, err1 := strconv.Atoi(parts[2])
	last, err2 := strconv.Atoi(parts[3])
	switch {
	case err1 != nil || err2 != nil || last > MaxLine:
		p.failAt(at.Span, "no file has that many lines: at most %d", MaxLine)
	case first == 0:
		p.failAt(at.Span, "lines are counted from 1")
	case last < first:
		p.failAt(at.Span, "the last line, %d, comes before the first, %d", last, first)
	}
	p.lexer.at = at.Span.End
	p.tok = token{end: p.lexer.at}
	p.advance()
	return at
}
