package report

import (
	"sort"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/tracepredict/tracepredict/internal/printable"
)

// ShortName shortens a name to at most width columns. It removes C++ template arguments and
// parameters first, then scopes from the outside in, since the name of the function itself
// comes last, and then the middle.
func ShortName(s string, width int) string {
	if Columns(s) <= width {
		return s
	}
	s = collapse(collapse(s, '<', '>'), '(', ')')
	if Columns(s) <= width {
		return s
	}
	if i := strings.LastIndexByte(s, '('); i > 0 && !strings.Contains(s[i:], "::") {
		s = s[:i]
	}
	if Columns(s) <= width {
		return s
	}
	for {
		i := strings.Index(s, "::")
		if i < 0 || i+2 == len(s) {
			return withoutMiddle(s, width)
		}
		if short := dots + s[i:]; Columns(short) <= width {
			return short
		}
		s = s[i+2:]
	}
}

const dots = "..."

// maxSentenceName is the width of a name in a sentence, in columns.
const maxSentenceName = 100

// inSentence shortens a name for a sentence. Of C++ template arguments it removes the innermost
// first: Queue<map<string<...>>> says more than Queue<...>.
func inSentence(s string) string {
	if Columns(s) <= maxSentenceName {
		return s
	}
	return ShortName(withoutInner(s, maxSentenceName), maxSentenceName)
}

// withoutInner returns s without its innermost template arguments: as many levels of them as
// leave at most most bytes, if some do; otherwise s.
func withoutInner(s string, most int) string {
	kept := sort.Search(nesting(s), func(depth int) bool { return len(emptied(s, '<', '>', dots, depth+1)) > most })
	if kept == 0 {
		return s
	}
	return emptied(s, '<', '>', dots, kept)
}

// nesting returns the depth to which <> are nested in s; 0 if they do not match.
func nesting(s string) int {
	deepest, depth := 0, 0
	for _, r := range s {
		switch r {
		case '<':
			depth++
			deepest = max(deepest, depth)
		case '>':
			if depth--; depth < 0 {
				return 0
			}
		}
	}
	if depth != 0 {
		return 0
	}
	return deepest
}

// ShortText shortens a text with names to at most width columns. It removes template
// arguments and parameters first, then the middle.
func ShortText(s string, width int) string {
	if Columns(s) <= width {
		return s
	}
	return withoutMiddle(collapse(collapse(s, '<', '>'), '(', ')'), width)
}

func withoutMiddle(s string, width int) string {
	if Columns(s) <= width {
		return s
	}
	if width <= len(dots)+2 {
		return ansi.Truncate(s, max(width, 0), "")
	}
	head := ansi.Truncate(s, (width-len(dots))/2, "")
	return head + dots + tail(s, width-len(dots)-Columns(head))
}

// Columns returns the width of a text on a terminal, in columns; escapes do not count.
func Columns(s string) int {
	if printable.ASCII(s) {
		return len(s)
	}
	return ansi.StringWidth(s)
}

// tail returns the longest end of s, in whole characters, of at most width columns.
func tail(s string, width int) string {
	total := Columns(s)
	for cut := total - width; cut < total; cut++ {
		if t := ansi.TruncateLeft(s, cut, ""); Columns(t) <= width {
			return t
		}
	}
	return ""
}

// collapse empties each outermost bracket: f<int, g<int>>::h gives f<...>::h.
// Text whose brackets do not match (operator<) stays as it is.
func collapse(s string, open, shut rune) string {
	if short := emptied(s, open, shut, dots, 1); len(short) < len(s) {
		return short
	}
	return s
}

// emptied returns s with the contents of each bracket of a depth replaced by inside; those of depth
// 1 are the outermost ones. Text whose brackets do not match stays as it is.
func emptied(s string, open, shut rune, inside string, level int) string {
	var b strings.Builder
	depth := 0
	for _, r := range s {
		if r == shut {
			if depth--; depth < 0 {
				return s
			}
		}
		if depth < level {
			b.WriteRune(r)
		}
		if r == open {
			if depth++; depth == level {
				b.WriteString(inside)
			}
		}
	}
	if depth != 0 {
		return s
	}
	return b.String()
}

// longest is the greatest length, in bytes, of a text that is not shortened.
const longest = 4096

// Clean makes text from a program, a file or a trace harmless to a terminal and to readers of
// the report. Characters that do not print, line feeds included, become their codes, and a
// text of more than 4 KiB loses its innermost template arguments, or its middle. The result is valid UTF-8.
func Clean(s string) string {
	if len(s) > longest {
		s = withoutInner(s, longest)
	}
	if len(s) > longest {
		const end = longest / 2
		s = s[:end] + "..." + s[len(s)-end:]
	}
	return printable.Escape(s)
}

// Sanitize makes text harmless to a terminal, as clean does, but keeps its line feeds: for errors
// and lists with names from a program.
func Sanitize(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\t", "    "), "\n")
	return strings.Join(cleanAll(lines), "\n")
}
