package spec

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// SameName reports whether a path, as --watch takes it (docs/variables.md), denotes the object
// with a name. The name has all scopes and no file. The path may begin with a file and a line
// (file.c:12:hits), end with a type (hits:u32), leave out enclosing scopes, unnamed scopes and
// the arguments of templates, and separate a static variable from its function by a dot.
func SameName(path, name string) bool {
	if name == "" {
		return false
	}
	bare := bareName(path)
	return path == name || bare == decimal(name) || denotes(split(bare), split(name))
}

// Name returns the index in Spec.Vars of the variable that has a name in the program; -1 for
// none. A variable whose path is the whole name is preferred to one whose path leaves something
// out.
func (s *Spec) Name(name string) int {
	if name == "" {
		return -1
	}
	if i := slices.IndexFunc(s.Vars, func(v Var) bool { return v.Path == name || bareName(v.Path) == name }); i >= 0 {
		return i
	}
	return slices.IndexFunc(s.Vars, func(v Var) bool { return SameName(v.Path, name) })
}

// rawTypes are the types that may follow the colon at the end of a path.
var rawTypes = []string{"u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f32", "f64", "bool", "ptr"}

// bareName returns a path without its file, line and type, and with its offset in decimal.
func bareName(p string) string {
	for {
		i := singleColon(p)
		switch {
		case i < 0:
			return decimal(p)
		case i > 0 && slices.Contains(rawTypes, p[i+1:]) && !isSource(p[:i]):
			p = p[:i]
		default:
			p = p[i+1:]
		}
	}
}

// isSource reports whether the part of a path before a colon is a file: in a.c:u32, u32 is a
// variable and no type.
func isSource(p string) bool {
	ext := path.Ext(p)
	return slices.Contains([]string{".c", ".cc", ".cpp", ".cxx", ".c++", ".C", ".h", ".hh", ".hpp", ".rs", ".so"}, ext) && singleColon(p) < 0
}

// decimal returns a path with its offset, +N at the end, written as in the names of objects: in
// decimal, and left out if it is 0.
func decimal(p string) string {
	i := strings.LastIndexByte(p, '+')
	if i <= 0 {
		return p
	}
	n, err := strconv.ParseUint(p[i+1:], 0, 32)
	switch {
	case err != nil:
		return p
	case n == 0:
		return p[:i]
	}
	return p[:i] + "+" + strconv.FormatUint(n, 10)
}

// singleColon returns the index of the first colon of a path that is not part of a :: and not
// in brackets; -1 if there is none.
func singleColon(p string) int {
	depth := 0
	for i := 0; i < len(p); i++ {
		switch {
		case p[i] == '<' || p[i] == '(':
			depth++
		case p[i] == '>' || p[i] == ')':
			depth--
		case p[i] != ':':
		case i+1 < len(p) && p[i+1] == ':':
			i++
		case depth <= 0:
			return i
		}
	}
	return -1
}

// component is a part of a name, with the separator before it: "::", "." or, for the first, "".
type component struct{ sep, text string }

// split splits a name at :: and at dots, outside of brackets.
func split(name string) []component {
	var out []component
	depth, start, sep := 0, 0, ""
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case c == '<' || c == '(' || c == '{' || c == '[':
			depth++
		case c == '>' || c == ')' || c == '}' || c == ']':
			depth = max(0, depth-1)
		case depth > 0:
		case strings.HasPrefix(name[i:], "::"):
			out = append(out, component{sep, name[start:i]})
			sep, start = "::", i+2
			i++
		case c == '.':
			out = append(out, component{sep, name[start:i]})
			sep, start = ".", i+1
		}
	}
	return append(out, component{sep, name[start:]})
}

// denotes reports whether a path denotes a whole name. It compares their components from the
// last to the first; the path may leave out unnamed scopes, and the outermost scopes.
func denotes(path, name []component) bool {
	if len(path) > 1 && path[0].text == "" { // ::hits
		path = slices.Clone(path[1:])
		path[0].sep = ""
	}
	i, j := len(path)-1, len(name)-1
	for ; i >= 0 && j >= 0; j-- {
		switch {
		case sameText(path[i].text, name[j].text):
			if i > 0 && j > 0 && path[i].sep == "::" && name[j].sep == "." {
				return false // A dot selects a member, not a scope.
			}
			i--
		case !strings.HasPrefix(name[j].text, "(anonymous") || j == len(name)-1:
			return false
		}
	}
	return i < 0 && (j < 0 || name[j+1].sep == "::")
}

// sameText reports whether a component of a path denotes a component of a name. Without the
// arguments of a template it denotes every instance.
func sameText(want, have string) bool {
	if want == have || strings.ReplaceAll(want, " ", "") == strings.ReplaceAll(have, " ", "") {
		return true
	}
	bare, _, template := strings.Cut(have, "<")
	return template && bare != "" && want == bare
}
