package spelling

import "strings"

// LastList returns the index of the opening bracket that matches the last ')' of a name; -1 if
// there is none. In a demangled C++ name these brackets enclose the parameter list, if no name
// follows.
func LastList(name string) int {
	depth := 0
	for i := strings.LastIndexByte(name, ')'); i >= 0; i-- {
		switch name[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}
