package synctab

import "strings"

// The TOML library records one position for each key, so for an array of tables only that of the
// last row. This file finds the others: in a text that the library has accepted, it searches for
// the lines that begin rows and those that begin keys. A row or key that it does not find (rows
// written as inline tables) gets the position of the nearest row or key that it found, so that
// every message has a line.

// position is a line and column of the text, counted from 1.
type position struct{ line, col int }

// item is a key of a row (-1: of the document); the key "" stands for the row's beginning.
type item struct {
	row int
	key string
}

type positions map[item]position

// key returns the position of a row's key; if that is not known, of the row; else of the first row,
// or of the first line.
func (p positions) key(row int, key string) position {
	for _, at := range []item{{row, key}, {row, ""}, {-1, "call"}} {
		if pos, ok := p[at]; ok {
			return pos
		}
	}
	return position{1, 1}
}

// locate returns the positions of the rows and keys of a valid TOML text.
func locate(text string) positions {
	l := locator{positions: positions{}, row: -1}
	for i, line := range strings.Split(text, "\n") {
		l.line(i+1, strings.TrimSuffix(line, "\r"))
	}
	return l.positions
}

// locator reads a text line by line, and records what is still open at the end of a line.
type locator struct {
	positions
	row   int
	other bool   // the current table is no row
	depth int    // open brackets of a value
	quote string // the delimiter of a multi-line string that is open
}

func (l *locator) line(number int, line string) {
	rest := line
	if l.depth == 0 && l.quote == "" {
		trimmed := strings.TrimLeft(line, " \t")
		at := position{number, len(line) - len(trimmed) + 1}
		switch {
		case strings.HasPrefix(trimmed, "["):
			l.header(at, trimmed)
			return
		case trimmed == "" || trimmed[0] == '#':
			return
		}
		var key string
		key, rest = splitKey(trimmed)
		if !l.other {
			l.note(item{l.row, key}, at)
		}
	}
	l.value(rest)
}

func (l *locator) note(p item, at position) {
	if _, ok := l.positions[p]; !ok {
		l.positions[p] = at
	}
}

func (l *locator) header(at position, text string) {
	name := strings.TrimLeft(text, "[ \t")
	key, _, _ := strings.Cut(name, "]")
	key = strings.Trim(key, " \t\"'")
	l.other = key != "call"
	l.note(item{-1, key}, at)
	if !l.other && strings.HasPrefix(text, "[[") {
		l.row++
		l.note(item{l.row, ""}, at)
	}
}

// splitKey splits a line at the equals sign after its key.
func splitKey(line string) (key, rest string) {
	if q := line[0]; q == '"' || q == '\'' {
		if end := strings.IndexByte(line[1:], q); end >= 0 {
			return line[1 : 1+end], line[end+2:]
		}
	}
	key, rest, _ = strings.Cut(line, "=")
	return strings.TrimSpace(key), rest
}

// value tracks open strings and brackets to the end of a line.
func (l *locator) value(s string) {
	for s != "" {
		switch {
		case l.quote != "":
			s = l.closeQuote(s)
		case s[0] == '#':
			return
		case strings.HasPrefix(s, `"""`), strings.HasPrefix(s, `'''`):
			l.quote, s = s[:3], s[3:]
		case s[0] == '"' || s[0] == '\'':
			l.quote, s = s[:1], s[1:]
		default:
			switch s[0] {
			case '[', '{':
				l.depth++
			case ']', '}':
				l.depth = max(0, l.depth-1)
			}
			s = s[1:]
		}
	}
	if len(l.quote) == 1 { // impossible in a valid text
		l.quote = ""
	}
}

func (l *locator) closeQuote(s string) string {
	if l.quote[0] == '"' && s[0] == '\\' {
		return s[min(2, len(s)):]
	}
	if strings.HasPrefix(s, l.quote) {
		s = s[len(l.quote):]
		l.quote = ""
		return s
	}
	return s[1:]
}
