package variable

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/tracepredict/tracepredict/probes/spelling"
)

// query is the parsed argument of --watch: [FILE:[LINE:]]NAME[+OFFSET][:TYPE]. NAME consists of
// parts joined by :: and by dots, each optionally with subscripts. The debug information determines
// which parts name the variable and which lead into it: f.n is a static of the function f, or a
// member of the variable f.
type query struct {
	text        string
	file        string // "": any file
	line        int    // 0: any line
	parts       []part
	offset      uint64 // bytes from the variable's beginning
	raw         *rawType
	addressOnly bool // only the address is wanted, so the type does not matter
}

// part is one name of a path, with the separator before it and the subscripts after it.
type part struct {
	sep   string // "::", "." or "->"; "" at the beginning
	name  string
	index []uint64 // subscripts
}

// heads returns the possible numbers of parts that name the variable itself. Only dots and arrows
// lead into a variable, and a scope has no subscripts.
func (q query) heads() []int {
	var out []int
	for k := 1; k <= len(q.parts); k++ {
		if k == len(q.parts) || q.parts[k].sep != "::" {
			out = append(out, k)
		}
		if len(q.parts[k-1].index) > 0 || k < len(q.parts) && q.parts[k].sep == "->" {
			break
		}
	}
	return out
}

// head returns the names of the first k parts.
func (q query) head(k int) []string {
	names := make([]string, k)
	for i := range names {
		names[i] = q.parts[i].name
	}
	return names
}

// tail returns the text of the path that leads into the variable named by the first k parts.
func (q query) tail(k int) string {
	var b strings.Builder
	for i := max(k-1, 0); i < len(q.parts); i++ {
		if i >= k {
			b.WriteString(q.parts[i].sep + q.parts[i].name)
		}
		for _, n := range q.parts[i].index {
			fmt.Fprintf(&b, "[%d]", n)
		}
	}
	return b.String()
}

// rest returns the text that follows the path: offset and type.
func (q query) rest() string {
	s := ""
	if q.offset > 0 {
		s = fmt.Sprintf("+%d", q.offset)
	}
	if q.raw != nil {
		s += ":" + q.raw.name
	}
	return s
}

// rawType is a type that the user states because there is no debug information.
type rawType struct {
	name  string
	size  int
	class Class
}

var rawTypes = map[string]rawType{
	"u8": {size: 1, class: Uint}, "u16": {size: 2, class: Uint}, "u32": {size: 4, class: Uint}, "u64": {size: 8, class: Uint},
	"i8": {size: 1, class: Int}, "i16": {size: 2, class: Int}, "i32": {size: 4, class: Int}, "i64": {size: 8, class: Int},
	"f32": {size: 4, class: Float}, "f64": {size: 8, class: Float}, "bool": {size: 1, class: Bool}, "ptr": {size: 8, class: Pointer},
}

const (
	maxParts      = 64 // of a name
	maxSubscripts = 16 // of a part
)

// parseNames returns the possible readings of a --watch argument, the most likely first. a:u32 is
// the variable a of type u32, or else the variable u32 of file a. For a.c:u32 the order is the
// reverse.
func parseNames(text string) ([]query, *Error) {
	if strings.TrimSpace(text) == "" {
		return nil, badName(text, "the name is empty: write hits, file.c:hits, server.stats.hits or ns::Class::member")
	}
	if len(text) > maxText || strings.ContainsAny(text, "\x00\n\r") {
		return nil, badName(text, "this cannot be a variable's name")
	}
	name := strings.TrimSpace(text)
	var out []query
	if i := fileColon(name); i > 0 {
		if raw, ok := rawTypes[name[i+1:]]; ok {
			raw.name = name[i+1:]
			q, bad := parseName(text, name[:i])
			if bad != nil {
				return nil, bad
			}
			q.raw = &raw
			out = append(out, q)
		}
	}
	q, bad := parseName(text, name)
	if bad != nil {
		if len(out) > 0 {
			return out, nil
		}
		return nil, bad
	}
	if q.offset > 0 {
		return nil, badName(text, fmt.Sprintf("what is at an offset has no type of its own: write %s:u32 (u8 to u64, i8 to i64, f32, f64, bool or ptr)", name))
	}
	if sourceEndings[path.Ext(q.file)] {
		return append([]query{q}, out...), nil
	}
	return append(out, q), nil
}

// sourceEndings are the name endings for which a file is more likely than a variable.
var sourceEndings = map[string]bool{".c": true, ".cc": true, ".cpp": true, ".cxx": true, ".c++": true, ".C": true, ".h": true, ".hh": true, ".hpp": true, ".rs": true, ".so": true}

func badName(text, why string) *Error {
	return &Error{Name: strconv.Quote(text), Reason: BadName, Message: why}
}

// parseName parses a name without its type.
func parseName(text, name string) (query, *Error) {
	q := query{text: text}
	if i := fileColon(name); i >= 0 {
		q.file, name = name[:i], name[i+1:]
		if j := strings.LastIndexByte(q.file, ':'); j >= 0 {
			if n, err := strconv.Atoi(q.file[j+1:]); err == nil && n > 0 {
				q.file, q.line = q.file[:j], n
			}
		}
		if q.file == "" {
			return query{}, badName(text, "there is no file before the colon: write file.c:hits, or hits alone")
		}
	}
	if i := strings.LastIndexByte(name, '+'); i > 0 {
		if n, err := strconv.ParseUint(name[i+1:], 0, 32); err == nil {
			name, q.offset = name[:i], n
		}
	}
	if strings.HasPrefix(name, "*") || strings.HasPrefix(name, "&") {
		return query{}, badName(text, "it is an expression: name the variable itself, or a member of what a pointer leads to as 'FIELD of TYPE'")
	}
	var why string
	if q.parts, why = parseParts(strings.TrimPrefix(name, "::")); why != "" {
		return query{}, badName(text, why)
	}
	if len(q.heads()) == 0 {
		return query{}, badName(text, "an element has no scope: behind a subscript comes a dot, as in slots[3].state")
	}
	return q, nil
}

// parseParts parses a path. If it is malformed, why describes the error.
func parseParts(s string) (parts []part, why string) {
	sep := ""
	for {
		n := nextSeparator(s)
		p, why := parsePart(s[:n])
		if why != "" {
			return nil, why
		}
		if p.sep = sep; len(parts) == maxParts {
			return nil, fmt.Sprintf("it has more than %d parts", maxParts)
		}
		parts = append(parts, p)
		switch s = s[n:]; {
		case s == "":
			return parts, ""
		case s[0] == '.':
			sep = "."
		default:
			sep = s[:2]
		}
		s = s[len(sep):]
	}
}

// nextSeparator returns the index of the end of the first part of s.
func nextSeparator(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case strings.HasPrefix(s[i:], "operator") && depth == 0 && (i == 0 || !wordByte(s[i-1])):
			i += operatorName(s[i:]) - 1
		case strings.HasPrefix(s[i:], "->") && depth == 0:
			return i
		case c == '<' || c == '(' || c == '{' || c == '[':
			depth++
		case c == '>' || c == ')' || c == '}' || c == ']':
			depth = max(0, depth-1)
		case depth == 0 && (c == '.' || strings.HasPrefix(s[i:], "::")):
			return i
		}
	}
	return len(s)
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= 0x80
}

// operatorName returns the length of the name of a C++ operator, which may contain brackets and
// arrows. It is at least 1.
func operatorName(s string) int {
	n := len("operator")
	for n < len(s) && strings.IndexByte("<>=!+-*/%^&|~,()[]", s[n]) >= 0 {
		n++
	}
	return n
}

// parsePart parses a name with subscripts: NAME[1][2].
func parsePart(s string) (p part, why string) {
	name := strings.TrimSpace(s)
	for strings.HasSuffix(name, "]") && !strings.HasSuffix(name, "operator[]") {
		i := strings.LastIndexByte(name, '[')
		if i < 0 {
			return p, "a bracket is closed that none opens"
		}
		n, err := strconv.ParseUint(strings.TrimSpace(name[i+1:len(name)-1]), 0, 63)
		if err != nil {
			return p, fmt.Sprintf("%s is no subscript: write a number, as in slots[3].state", name[i:])
		}
		if len(p.index) == maxSubscripts {
			return p, fmt.Sprintf("it has more than %d subscripts", maxSubscripts)
		}
		p.index = append(p.index, n)
		name = strings.TrimSpace(name[:i])
	}
	slices.Reverse(p.index)
	if p.name = squeeze(name); p.name == "" {
		return p, "a part of the name is empty: write server.stats.hits or ns::Class::member"
	}
	return p, ""
}

// fileColon returns the index of the last single colon outside of brackets; -1 if there is none.
func fileColon(s string) int {
	depth := 0
	for i := len(s) - 1; i >= 0; i-- {
		switch s[i] {
		case '>', ')':
			if i > 0 && s[i-1] == '-' {
				continue // an arrow
			}
			depth++
		case '<', '(':
			depth--
		case ':':
			if i > 0 && s[i-1] == ':' {
				i--
			} else if depth <= 0 {
				return i
			}
		}
	}
	return -1
}

// splitPath splits a name at :: and at dots outside of brackets.
func splitPath(s string) []string {
	var parts []string
	depth, start := 0, 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '<' || c == '(' || c == '{':
			depth++
		case c == '>' || c == ')' || c == '}':
			depth = max(0, depth-1)
		case depth > 0:
		case strings.HasPrefix(s[i:], "::"):
			parts = append(parts, squeeze(s[start:i]))
			i++
			start = i + 1
		case c == '.':
			parts = append(parts, squeeze(s[start:i]))
			start = i + 1
		}
	}
	return append(parts, squeeze(s[start:]))
}

// spellings normalises the names of C's integer types in template arguments: gcc writes "long
// unsigned int" where clang and people write "unsigned long".
var spellings = strings.NewReplacer(
	"long long unsigned int", "unsigned long long", "long unsigned int", "unsigned long", "short unsigned int", "unsigned short",
	"unsigned long long int", "unsigned long long", "unsigned long int", "unsigned long", "unsigned short int", "unsigned short",
	"long long int", "long long", "long int", "long", "short int", "short", "unsigned int", "unsigned",
)

// squeeze removes differences between the spellings of tools: spaces, and the long names of integer
// types.
func squeeze(s string) string {
	if !strings.Contains(s, " ") {
		return s
	}
	return strings.ReplaceAll(spellings.Replace(s), " ", "")
}

// matchLevel is how well a name matches a query; higher is better.
type matchLevel int

const (
	noMatch     matchLevel = iota
	suffixMatch            // the query omits enclosing scopes
	fullMatch
)

// component is a part of a variable's qualified name. An optional component (an anonymous or inline
// namespace) may be omitted.
type component struct {
	name     string
	optional bool
}

// match compares the names in a query with a qualified name.
func match(path []string, name []component) matchLevel {
	i, j := len(path)-1, len(name)-1
	exact := true // no template argument is left out
	for i >= 0 && j >= 0 {
		switch {
		case sameComponent(path[i], name[j].name):
			exact = exact && (!strings.Contains(path[i], "<") || path[i] == squeeze(name[j].name))
			i--
			j--
		case name[j].optional:
			j--
		default:
			return noMatch
		}
	}
	for j >= 0 && name[j].optional {
		j--
	}
	switch {
	case i >= 0:
		return noMatch
	case j >= 0 || !exact:
		return suffixMatch
	}
	return fullMatch
}

// sameComponent compares a part of the query with a component of a name. A part without template
// arguments matches every instance.
func sameComponent(want, have string) bool {
	have = squeeze(have)
	if spelling.Instance(want, have) {
		return true
	}
	bare, _, template := strings.Cut(have, "<")
	return template && bare != "" && want == bare
}

// matchFile reports whether the query's file part matches a source file: the whole path or its last
// components.
func (q query) matchFile(source string) bool {
	return q.file == "" || source != "" && spelling.File(source, q.file)
}

// matchBinary reports whether the query's file part names a binary.
func (q query) matchBinary(name string) bool {
	return q.file == name || q.file == path.Base(name)
}

func qualified(name []component) string {
	parts := make([]string, len(name))
	for i, c := range name {
		parts[i] = c.name
	}
	return strings.Join(parts, "::")
}

// maxNear is the maximum number of similar names that an error lists.
const maxNear = 5

// near returns the known names that are nearest to name by edit distance, nearest first: at most
// maxNear, and none that is too far.
func near(name string, known []string) []string {
	limit := 1 + len(name)/3
	return spelling.Nearest(slices.Values(known), maxNear, func(k string) int {
		if d := distance(name, k, limit); k != "" && d <= limit {
			return d
		}
		return -1
	})
}

// distance returns the edit distance of the names, ignoring case, or of name and the last component
// of known, whichever is less.
func distance(name, known string, limit int) int {
	name, known = strings.ToLower(name), strings.ToLower(known)
	d := spelling.Distance(name, known, limit)
	if i := strings.LastIndex(known, "::"); i >= 0 {
		d = min(d, spelling.Distance(name, known[i+2:], limit))
	}
	return d
}
