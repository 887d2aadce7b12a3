package spelling

import "strings"

// LastList returns the index of the bracket that opens the list which the last closing round
// bracket of a name ends; -1 if there is none. In a demangled C++ name that list is the parameter
// list, if no name follows it.
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
