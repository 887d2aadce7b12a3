package report

import "bytes"

// indentJSON appends compact JSON, which must be valid, as json.Indent with two spaces
// makes it, so far to the right. It takes strings whole, where json.Indent judges
// each byte, and so takes a tenth of the time; a report is mostly strings.
func indentJSON(dst, src []byte, prefix string) []byte {
	depth := 0
	for i := 0; i < len(src); i++ {
		switch c := src[i]; c {
		case '"':
			end := i + stringEnd(src[i:])
			dst = append(dst, src[i:end]...)
			i = end - 1
		case '{', '[':
			dst = append(dst, c)
			if src[i+1] == c+2 { // its counterpart
				i++
				dst = append(dst, src[i])
				continue
			}
			depth++
			dst = newLine(dst, prefix, depth)
		case '}', ']':
			depth--
			dst = append(newLine(dst, prefix, depth), c)
		case ',':
			dst = newLine(append(dst, c), prefix, depth)
		case ':':
			dst = append(dst, ": "...)
		default:
			dst = append(dst, c)
		}
	}
	return dst
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
