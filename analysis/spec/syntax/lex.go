package syntax

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// tokenKind is the kind of a token.
type tokenKind uint8

const (
	tokEOF    tokenKind = iota
	tokName             // a name; it may contain ::
	tokNumber           // an integer or a character
	tokFloat
	tokString
	tokQuoted // a path in backquotes
	tokOp
	tokBad // the lexer has reported an error
)

// token is a token of the text. Newlines and comments are no tokens.
type token struct {
	kind  tokenKind
	nl    bool // a newline precedes it
	blank bool // a blank, a comment or a newline precedes it
	text  string
	off   int // offset of its first byte
	end   int // offset after its last byte
	value uint64
	float float64
}

// lexer splits a text into tokens. Its only state is its position, so that the parser can
// read the same part of the text again as a path.
type lexer struct {
	src   *Source
	at    int // offset of the next byte
	limit int // offset after the last byte that is read
	// fail reports an error. failAlways reports one that affects the rest of the file, even
	// while the rest of a statement is skipped.
	fail, failAlways func(Span, string, ...any)
}

// operators lists the operators, with the longer first where one is a prefix of another.
var operators = []string{
	"<->", "<=>", "<*>", "[*]", "(*)",
	"->", "=>", "<=", "<<", "<>", ">=", ">>", "==", "!=", "&&", "||", `/\`, `\/`, "[]", ":=",
	"<", ">", "=", "!", "&", "|", "^", "~", "[", "]", "(", ")", "{", "}", ",", ";", ":", ".", "+", "-", "*", "/", "%", "?", "@",
}

// symbols maps mathematical symbols to operators, or to names with the meaning of one.
var symbols = map[rune]string{
	'¬': "!", '∧': "&&", '∨': "||", '→': "->", '⇒': "->", '↔': "<->", '⇔': "<->", '⊕': "^", '□': "[]", '◇': "<>", '◊': "<>", '⊙': "(*)", '𝒮': "S",
	'≤': "<=", '≥': ">=", '≠': "!=", '○': "X",
}

func isNameStart(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isNameByte(c byte) bool { return isNameStart(c) || isDigit(c) }

// next reads the next token.
func (l *lexer) next() token {
	t := l.skipBlanks()
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
		l.charLiteral(&t)
	case c == '"':
		l.stringLiteral(&t)
	case c == '`':
		l.quoted(&t)
	default:
		l.operator(&t)
	}
	t.end = l.at
	return t
}

// skipBlanks skips blanks and comments, and returns a token with nl and blank set.
func (l *lexer) skipBlanks() (t token) {
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
			t.nl = l.skipComment(rest) || t.nl
		default:
			return t
		}
	}
	return t
}

// skipComment skips a comment in /* */, with which rest begins. It reports whether the comment
// contains a newline.
func (l *lexer) skipComment(rest string) (nl bool) {
	i := strings.Index(rest[2:], "*/")
	if i < 0 {
		l.failAlways(Span{Pos{l.src, l.at}, l.at + 2}, "this comment has no end")
		l.at = l.limit
		return true
	}
	l.at += i + 4
	return strings.Contains(rest[:i+2], "\n")
}

// name reads a name. The constant b of the enumeration a, a::b, is one name.
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

// number reads an integer or a floating-point number, with the suffixes of C.
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

// octal reports whether a number is written as an octal one.
func octal(digits string) bool {
	return len(digits) > 1 && digits[0] == '0' && isDigit(digits[1]) && !strings.ContainsAny(digits, ".eE") || strings.HasPrefix(digits, "0o") || strings.HasPrefix(digits, "0O")
}

// inNumber reports whether the next byte belongs to the number that began at start. A sign
// belongs to it after the letter of an exponent, and the first dot unless a name follows it.
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

// charLiteral reads a character in single quotes.
func (l *lexer) charLiteral(t *token) {
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

// formulaPrefix begins a string that contains a formula, as in Listing 1.1 of the paper on
// opportunistic monitoring. Such a string may continue over several lines.
const formulaPrefix = "LTL="

// stringLiteral reads a string with C's escapes.
func (l *lexer) stringLiteral(t *token) {
	start := l.at
	multiline := strings.HasPrefix(l.src.Text[start+1:l.limit], formulaPrefix)
	for l.at++; ; l.at++ {
		if l.at >= l.limit || l.src.Text[l.at] == '\n' && !multiline {
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

// unescape returns the text of a string between two offsets, with its escapes replaced.
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
	op, ok := symbols[r]
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

// path reads a path from an offset. With glob, for patterns of functions, * and ? are part of
// it.
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
