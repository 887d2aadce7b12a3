// Package printable is the last gate before a terminal. Names in a report come from the observed program, its files or
// a trace, and may hold what moves the cursor, hides text or reverses it. Whoever makes text of them escapes that
// already; the Writer escapes what was overlooked.
package printable

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Escape returns text without characters that do not print, in each of whose places there is its code: \x1b, \u202e.
// Line feeds are among them. The result is valid UTF-8.
func Escape(s string) string {
	if ASCII(s) || strings.IndexFunc(s, unprintable) < 0 {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case !unprintable(r), r == utf8.RuneError && strings.HasPrefix(s[i:], "\uFFFD"):
			b.WriteRune(r)
		case r == utf8.RuneError:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r < utf8.RuneSelf:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// ASCII reports whether text has nothing but printable ASCII characters.
func ASCII(s string) bool { return asciiEnd(s) == len(s) }

func unprintable(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }

// asciiEnd returns the number of printable ASCII characters that s begins with.
func asciiEnd[T string | []byte](s T) int {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return i
		}
	}
	return len(s)
}

// sequences are the escape sequences that the tool itself writes: colours, and the end of a line that is drawn again.
func sequences() []string {
	return []string{"\x1b[m", "\x1b[1m", "\x1b[2m", "\x1b[33m", "\x1b[1;31m", "\x1b[K", "\r\x1b[K"}
}

// Writer writes text, or JSON, without characters that do not print. Line feeds, tabs and the tool's own escape
// sequences stay, and a carriage return that begins a Write, so that a line can be drawn again. Escapes are those of
// JSON (\u001b), so that JSON stays what it was. A character may lie in two Writes. Several goroutines may use it.
type Writer struct {
	to io.Writer

	mu   sync.Mutex // guards the field below, and the order of what is written
	rest []byte     // the beginning of a character
}

// NewWriter returns a Writer that writes to w.
func NewWriter(w io.Writer) *Writer { return &Writer{to: w} }

// File returns the file that a writer writes to, if it is a file or the Writer of one.
func File(w io.Writer) (f *os.File, ok bool) {
	if p, is := w.(*Writer); is {
		w = p.to
	}
	f, ok = w.(*os.File)
	return f, ok
}

// Write implements io.Writer. It writes at most once to the writer below.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.rest) == 0 && clean(p) {
		return w.to.Write(p)
	}
	text := append(slices.Clip(w.rest), p...)
	out := make([]byte, 0, len(text)+len(text)/8)
	w.rest = nil
	for at := 0; at < len(text); {
		if !utf8.FullRune(text[at:]) {
			w.rest = text[at:]
			break
		}
		n := passes(text[at:], at == 0)
		if n > 0 {
			out = append(out, text[at:at+n]...)
			at += n
			continue
		}
		r, size := utf8.DecodeRune(text[at:])
		out = escape(out, r, text[at])
		at += size
	}
	if _, err := w.to.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// clean reports whether text has nothing but printable ASCII, line feeds and tabs, as nearly all has.
func clean(text []byte) bool {
	for len(text) > 0 {
		n := asciiEnd(text)
		if n < len(text) && text[n] != '\n' && text[n] != '\t' {
			return false
		}
		text = text[min(n+1, len(text)):]
	}
	return true
}

// passes returns how many bytes at the beginning of text are written as they are.
func passes(text []byte, first bool) int {
	switch c := text[0]; {
	case c == '\n', c == '\t', c == '\r' && first:
		return 1
	case c == '\x1b', c == '\r':
		for _, s := range sequences() {
			if strings.HasPrefix(string(text[:min(len(text), 16)]), s) {
				return len(s)
			}
		}
		return 0
	}
	if r, size := utf8.DecodeRune(text); unicode.IsPrint(r) && (r != utf8.RuneError || size > 1) {
		return size
	}
	return 0
}

func escape(out []byte, r rune, first byte) []byte {
	switch {
	case r == utf8.RuneError: // no JSON has such a byte
		return fmt.Appendf(out, `\x%02x`, first)
	case r > 0xffff:
		high, low := utf16.EncodeRune(r)
		return fmt.Appendf(out, `\u%04x\u%04x`, high, low)
	}
	return fmt.Appendf(out, `\u%04x`, r)
}
