package spelling

import "strings"

// Instance reports whether have is a name that want stands for. Template arguments at the end, which
// have defaults, may be left out of want, and an argument * stands for any. Both names are without
// insignificant white space.
func Instance(want, have string) bool {
	i, j := strings.IndexByte(want, '<'), strings.IndexByte(have, '<')
	if i < 0 || j < 0 {
		return want == have
	}
	wants, wantRest, ok1 := arguments(want[i:])
	haves, haveRest, ok2 := arguments(have[j:])
	if want[:i] != have[:j] || !ok1 || !ok2 || len(wants) > len(haves) {
		return want == have
	}
	for k, w := range wants {
		if w != "*" && !Instance(w, haves[k]) {
			return false
		}
	}
	return Instance(wantRest, haveRest)
}

// InstanceSuffix reports whether the name that asked stands for is have, or its last components.
func InstanceSuffix(asked, have string) bool {
	for {
		if Instance(asked, have) {
			return true
		}
		i := outermost(have)
		if i < 0 {
			return false
		}
		have = have[i+2:]
	}
}

// outermost returns the index of the first :: outside of brackets; -1 if there is none.
func outermost(name string) int {
	depth := 0
	for i := 0; i+1 < len(name); i++ {
		switch name[i] {
		case '<', '(':
			depth++
		case '>', ')':
			depth--
		case ':':
			if depth == 0 && name[i+1] == ':' {
				return i
			}
		}
	}
	return -1
}

// arguments splits a text that begins with a template argument list into the arguments and the rest;
// ok is false if the list does not end.
func arguments(text string) (args []string, rest string, ok bool) {
	depth, from := 0, 1
	for i := range len(text) {
		switch text[i] {
		case '<', '(', '{', '[':
			depth++
		case '>', ')', '}', ']':
			if depth--; depth == 0 {
				return append(args, text[from:i]), text[i+1:], true
			}
		case ',':
			if depth == 1 {
				args = append(args, text[from:i])
				from = i + 1
			}
		}
	}
	return nil, "", false
}
