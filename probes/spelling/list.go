package spelling

import "strings"

// LastList is where the last list in round brackets of a name opens, which its last
// closing bracket ends; -1 if there is none. Of a demangled C++ name that is the list of
// its parameters, if no name follows.
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
