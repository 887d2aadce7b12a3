package spec

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// SameName reports whether a path, as --watch takes it (docs/variables.md), is that of
// the object of this name, which has all its scopes and no file. A path may begin with
// a file and a line (file.c:12:hits), end with a type (hits:u32), leave out enclosing
// scopes, unnamed ones and the arguments of templates, and name a function's static
// with a dot.
func SameName(path, name string) bool {
	if name == "" {
		return false
	}
	bare := bareName(path)
	return path == name || bare == decimal(name) || fits(split(bare), split(name))
}

// Name returns which of Spec.Vars a variable of this name in the program is; -1 for none.
// One whose path says the whole name goes before one that leaves something out.
func (s *Spec) Name(name string) int {
	if name == "" {
		return -1
	}
	if i := slices.IndexFunc(s.Vars, func(v Var) bool { return v.Path == name || bareName(v.Path) == name }); i >= 0 {
		return i
	}
	return slices.IndexFunc(s.Vars, func(v Var) bool { return SameName(v.Path, name) })
}

// rawTypes are those that may stand behind a path.
var rawTypes = []string{"u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f32", "f64", "bool", "ptr"}

// bareName returns a path without its file, line and type.
func bareName(p string) string {
	for {
		i := single(p)
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

// isSource: what stands before the colon of a.c:u32 is a file, and u32 a variable.
func isSource(p string) bool {
	ext := path.Ext(p)
	return slices.Contains([]string{".c", ".cc", ".cpp", ".cxx", ".c++", ".C", ".h", ".hh", ".hpp", ".rs", ".so"}, ext) && single(p) < 0
}

// decimal writes an offset behind a name as names of objects have it.
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

// single finds the first colon of a path that is not one of a pair, outside of
// brackets; -1 if there is none.
func single(p string) int {
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

// component is a part of a name with what joins it to the one before: "::", "." or "".
type component struct{ sep, text string }

// split parts a name at :: and at dots, outside of brackets.
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

// fits compares a path with a whole name from their ends.
func fits(path, name []component) bool {
	if len(path) > 1 && path[0].text == "" { // ::hits
		path = slices.Clone(path[1:])
		path[0].sep = ""
	}
	i, j := len(path)-1, len(name)-1
	for ; i >= 0 && j >= 0; j-- {
		switch {
		case sameText(path[i].text, name[j].text):
			if i > 0 && j > 0 && path[i].sep == "::" && name[j].sep == "." {
				return false // what a dot leads into is no scope
			}
			i--
		case !strings.HasPrefix(name[j].text, "(anonymous") || j == len(name)-1:
			return false
		}
	}
	return i < 0 && (j < 0 || name[j+1].sep == "::")
}

// sameText compares a part of a path with one of a name; without the arguments of a
// template it fits every instance.
func sameText(want, have string) bool {
	if want == have || strings.ReplaceAll(want, " ", "") == strings.ReplaceAll(have, " ", "") {
		return true
	}
	bare, _, template := strings.Cut(have, "<")
	return template && bare != "" && want == bare
}
