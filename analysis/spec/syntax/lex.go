package syntax

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// tokenKind is the sort of a token.
type tokenKind uint8

const (
	tokEOF    tokenKind = iota
	tokName             // also with :: inside
	tokNumber           // integer, character
	tokFloat
	tokString
	tokQuoted // a path in backquotes
	tokOp
	tokBad // its error is reported already
)

// token is one word of the text. Newlines are no tokens: nl is set if one precedes the
// token.
type token struct {
	kind  tokenKind
	nl    bool
	blank bool // a blank or newline stands before
	text  string
	off   int
	end   int
	value uint64
	float float64
}

// lexer splits a text into tokens. Its only state is its position, so that the parser can
// read the same part of the text again as a path.
type lexer struct {
	src   *Source
	at    int
	limit int // end of the part that is read
	fail  func(Span, string, ...any)
	alert func(Span, string, ...any) // reports an error that affects the rest of the file
}

// operators lists the operators, with the longer first where one is a prefix of another.
var operators = []string{
	"<->", "<=>", "<*>", "[*]", "(*)",
	"->", "=>", "<=", "<<", "<>", ">=", ">>", "==", "!=", "&&", "||", `/\`, `\/`, "[]", ":=",
	"<", ">", "=", "!", "&", "|", "^", "~", "[", "]", "(", ")", "{", "}", ",", ";", ":", ".", "+", "-", "*", "/", "%", "?", "@",
}

// pasted maps mathematical signs to operators.
var pasted = map[rune]string{
	'¬': "!", '∧': "&&", '∨': "||", '→': "->", '⇒': "->", '↔': "<->", '⇔': "<->", '⊕': "^", '□': "[]", '◇': "<>", '◊': "<>", '⊙': "(*)", '𝒮': "S",
	'≤': "<=", '≥': ">=", '≠': "!=", '○': "X",
}

func isNameStart(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isNameByte(c byte) bool { return isNameStart(c) || isDigit(c) }

// next reads the next token.
func (l *lexer) next() token {
	t := l.blanks()
	t.off = l.at
	if l.at >= l.limit {
		t.end = l.at
		return t
	}
	switch c := l.src.Text[l.at]; {
	case isNameStart(c):
		t.kind, t.text = tokName, l.name()
	case isDigit(c), c == '.' && l.at+1 < l.limit && isDigit(l.src.Text[l.at+1]):
		l.number(&t)
	case c == '\'':
		l.char(&t)
	case c == '"':
		l.str(&t)
	case c == '`':
		l.quoted(&t)
	default:
		l.operator(&t)
	}
	t.end = l.at
	return t
}

// blanks passes over blanks and comments.
func (l *lexer) blanks() (t token) {
	for l.at < l.limit {
		rest := l.src.Text[l.at:l.limit]
		switch {
		case rest[0] == '\n':
			t.nl, t.blank = true, true
			l.at++
		case rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\r' || rest[0] == '\f' || rest[0] == '\v':
			t.blank = true
			l.at++
		case strings.HasPrefix(rest, "\ufeff") && l.at == 0:
			l.at += len("\ufeff")
		case rest[0] == '#', strings.HasPrefix(rest, "//"):
			t.blank = true
			if i := strings.IndexByte(rest, '\n'); i >= 0 {
				l.at += i
			} else {
				l.at = l.limit
			}
		case strings.HasPrefix(rest, "/*"):
			t.blank = true
			t.nl = l.comment(rest) || t.nl
		default:
			return t
		}
	}
	return t
}

// comment passes over a comment in /* */; one that holds a newline ends a line.
func (l *lexer) comment(rest string) (nl bool) {
	i := strings.Index(rest[2:], "*/")
	if i < 0 {
		l.alert(Span{Pos{l.src, l.at}, l.at + 2}, "this comment has no end")
		l.at = l.limit
		return true
	}
	l.at += i + 4
	return strings.Contains(rest[:i+2], "\n")
}

// name reads a name; a::b is one, the constant b of a.
func (l *lexer) name() string {
	start := l.at
	for l.at < l.limit {
		switch {
		case isNameByte(l.src.Text[l.at]):
			l.at++
		case l.at+2 < l.limit && l.src.Text[l.at:l.at+2] == "::" && isNameStart(l.src.Text[l.at+2]):
			l.at += 2
		default:
			return l.src.Text[start:l.at]
		}
	}
	return l.src.Text[start:l.at]
}

func (l *lexer) number(t *token) {
	start := l.at
	for l.at < l.limit && l.inNumber(start) {
		l.at++
	}
	t.text = l.src.Text[start:l.at]
	t.kind = tokNumber
	digits := strings.TrimRight(t.text, "uUlL")
	v, err := strconv.ParseUint(digits, 0, 64)
	if err == nil && !octal(digits) {
		t.value = v
		return
	}
	if octal(digits) {
		t.kind = tokBad
		l.fail(Span{Pos{l.src, start}, l.at}, "%s: an integer is decimal, 0x… or 0b…", digits)
		return
	}
	f, ferr := strconv.ParseFloat(strings.TrimRight(t.text, "fF"), 64)
	if strings.ContainsAny(digits, ".eEpP") && ferr == nil && !strings.Contains(digits, "_") {
		t.kind, t.float = tokFloat, f
		return
	}
	t.kind = tokBad
	why := "is no number"
	if ne, ok := err.(*strconv.NumError); ok && ne.Err == strconv.ErrRange {
		why = "is beyond 64 bits"
	}
	l.fail(Span{Pos{l.src, start}, l.at}, "%s %s", t.text, why)
}

func octal(digits string) bool {
	return len(digits) > 1 && digits[0] == '0' && isDigit(digits[1]) && !strings.ContainsAny(digits, ".eE") || strings.HasPrefix(digits, "0o") || strings.HasPrefix(digits, "0O")
}

// inNumber reports whether the next byte belongs to the number that began at start:
// signs do behind an exponent's letter, a dot before a digit or at the number's end.
func (l *lexer) inNumber(start int) bool {
	c := l.src.Text[l.at]
	if isNameByte(c) {
		return true
	}
	text := l.src.Text[start:l.at]
	hex := strings.HasPrefix(text, "0x") || strings.HasPrefix(text, "0X")
	if c == '.' {
		return !strings.Contains(text, ".") && !(l.at+1 < l.limit && isNameStart(l.src.Text[l.at+1]))
	}
	if (c == '+' || c == '-') && text != "" {
		last := text[len(text)-1] | 0x20
		return last == 'e' && !hex || last == 'p' && hex
	}
	return false
}

// char reads a character in single quotes.
func (l *lexer) char(t *token) {
	start := l.at
	rest := l.src.Text[l.at+1 : l.limit]
	r, _, tail, err := strconv.UnquoteChar(rest, '\'')
	if err != nil || !strings.HasPrefix(tail, "'") {
		l.at++
		t.kind = tokBad
		l.fail(Span{Pos{l.src, start}, l.at}, "expected a character in single quotes")
		return
	}
	l.at = l.limit - len(tail) + 1
	t.kind, t.text, t.value = tokNumber, l.src.Text[start:l.at], uint64(r)
}

// formulaPrefix begins a string that holds a formula, as Listing 1.1 writes them;
// such a one may go over lines.
const formulaPrefix = "LTL="

// str reads a string with C's escapes.
func (l *lexer) str(t *token) {
	start := l.at
	lines := strings.HasPrefix(l.src.Text[start+1:l.limit], formulaPrefix)
	for l.at++; ; l.at++ {
		if l.at >= l.limit || l.src.Text[l.at] == '\n' && !lines {
			t.kind = tokBad
			l.fail(Span{Pos{l.src, start}, start + 1}, "this string has no end")
			return
		}
		if l.src.Text[l.at] == '"' {
			break
		}
		if l.src.Text[l.at] == '\\' && l.at+1 < l.limit {
			l.at++
		}
	}
	l.at++
	t.kind = tokString
	t.text, t.kind = l.unescape(start+1, l.at-1)
}

func (l *lexer) unescape(from, to int) (string, tokenKind) {
	var b strings.Builder
	rest := l.src.Text[from:to]
	for rest != "" {
		if rest[0] != '\\' {
			b.WriteByte(rest[0])
			rest = rest[1:]
			continue
		}
		r, multibyte, tail, err := strconv.UnquoteChar(rest, '"')
		if err != nil {
			at := to - len(rest)
			l.fail(Span{Pos{l.src, at}, min(at+2, to)}, "this is no escape of C's")
			return "", tokBad
		}
		if multibyte {
			b.WriteRune(r)
		} else {
			b.WriteByte(byte(r))
		}
		rest = tail
	}
	return b.String(), tokString
}

// quoted reads a path in backquotes.
func (l *lexer) quoted(t *token) {
	start := l.at
	n := strings.IndexAny(l.src.Text[l.at+1:l.limit], "`\n")
	if n < 0 || l.src.Text[l.at+1+n] != '`' {
		l.at++
		t.kind = tokBad
		l.fail(Span{Pos{l.src, start}, l.at}, "this backquote has no second on its line")
		return
	}
	l.at += n + 2
	t.kind, t.text = tokQuoted, strings.TrimSpace(l.src.Text[start+1:l.at-1])
	if t.text == "" {
		t.kind = tokBad
		l.fail(Span{Pos{l.src, start}, l.at}, "expected a name between the backquotes")
	}
}

func (l *lexer) operator(t *token) {
	rest := l.src.Text[l.at:l.limit]
	for _, op := range operators {
		if strings.HasPrefix(rest, op) {
			l.at += len(op)
			t.kind, t.text = tokOp, op
			return
		}
	}
	r, n := utf8.DecodeRuneInString(rest)
	l.at += n
	op, ok := pasted[r]
	switch {
	case ok && isNameStart(op[0]):
		t.kind, t.text = tokName, op
	case ok:
		t.kind, t.text = tokOp, op
	default:
		t.kind = tokBad
		l.fail(Span{Pos{l.src, t.off}, l.at}, "the character %s has no meaning here", describeRune(r))
	}
}

func describeRune(r rune) string {
	if r == utf8.RuneError {
		return "that is not UTF-8"
	}
	return fmt.Sprintf("%q", r)
}

// isPathByte reports whether a byte may be part of a path without backquotes. ~ is for
// destructors, $ for names that compilers make.
func isPathByte(c byte) bool { return isNameByte(c) || strings.IndexByte(".:[]~$", c) >= 0 }

// path reads a path from a position. In patterns of functions * and ? are part of it.
func (l *lexer) path(off int, glob bool) (text string) {
	l.at = off
	for l.at < l.limit {
		c := l.src.Text[l.at]
		if !isPathByte(c) && !(glob && (c == '*' || c == '?')) {
			break
		}
		l.at++
	}
	return l.src.Text[off:l.at]
}
