package report

import "bytes"

// indentJSON appends compact JSON, which must be valid, with line feeds and two spaces a
// level, so far to the right. An object that holds no other value than text and numbers
// stands on one line, as does an array of numbers: a frame of a chain is a line. It takes strings
// whole, where json.Indent judges each byte, and so takes a tenth of the time; a
// report is mostly strings.
func indentJSON(dst, src []byte, prefix string) []byte {
	depth, flat := 0, 0 // so far what is begun stands on one line
	for i := 0; i < len(src); i++ {
		switch c := src[i]; c {
		case '"':
			end := i + stringEnd(src[i:])
			dst = append(dst, src[i:end]...)
			i = end - 1
		case '{', '[':
			dst = append(dst, c)
			if end := flatEnd(src[i:]); end > 0 {
				flat = i + end
				continue
			}
			depth++
			dst = newLine(dst, prefix, depth)
		case '}', ']':
			if i >= flat {
				depth--
				dst = newLine(dst, prefix, depth)
			}
			dst = append(dst, c)
		case ',':
			dst = append(dst, c)
			if i < flat {
				dst = append(dst, ' ')
			} else {
				dst = newLine(dst, prefix, depth)
			}
		case ':':
			dst = append(dst, ": "...)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// flatEnd is where the object or array at the beginning of s ends, if it stands on one line;
// else 0.
func flatEnd(s []byte) int {
	for i := 1; ; i++ {
		switch s[i] {
		case '"':
			if s[0] == '[' {
				return 0
			}
			i += stringEnd(s[i:]) - 1
		case '{', '[':
			return 0
		case '}', ']':
			return i + 1
		}
	}
}

const spaces = "                                                                "

func newLine(dst []byte, prefix string, depth int) []byte {
	dst = append(append(dst, '\n'), prefix...)
	for ; 2*depth > len(spaces); depth -= len(spaces) / 2 {
		dst = append(dst, spaces...)
	}
	return append(dst, spaces[:2*depth]...)
}

// stringEnd is where the string at the beginning of s ends, its quotes included.
func stringEnd(s []byte) int {
	for i := 1; ; {
		i += bytes.IndexByte(s[i:], '"') + 1
		escapes := 0
		for s[i-2-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
	}
}
