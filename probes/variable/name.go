package variable

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// query is a variable's name as a user spells it: [FILE:[LINE:]]NAME, where
// NAME has components parted by :: (or, for the static of a C function, by a
// dot).
type query struct {
	text string
	file string // "" is any
	line int    // 0 is any
	path []string
}

// parseName parses what --watch was given.
func parseName(text string) (query, *Error) {
	q := query{text: text}
	bad := func(why string) (query, *Error) {
		return query{}, &Error{Name: strconv.Quote(text), Reason: BadName, Message: why}
	}
	if strings.TrimSpace(text) == "" {
		return bad("the name is empty: write hits, file.c:hits or ns::Class::member")
	}
	if len(text) > 4096 || strings.ContainsAny(text, "\x00\n\r") {
		return bad("this cannot be a variable's name")
	}
	name := strings.TrimSpace(text)
	if i := fileColon(name); i >= 0 {
		q.file, name = name[:i], name[i+1:]
		if j := strings.LastIndexByte(q.file, ':'); j >= 0 {
			if n, err := strconv.Atoi(q.file[j+1:]); err == nil && n > 0 {
				q.file, q.line = q.file[:j], n
			}
		}
		if q.file == "" {
			return bad("there is no file before the colon: write file.c:hits, or hits alone")
		}
	}
	q.path = splitPath(strings.TrimPrefix(name, "::"))
	if slices.Contains(q.path, "") {
		return bad("a part of the name is empty: write ns::Class::member")
	}
	return q, nil
}

// fileColon finds the last colon that stands alone, outside of brackets; -1 if
// there is none.
func fileColon(s string) int {
	depth := 0
	for i := len(s) - 1; i >= 0; i-- {
		switch s[i] {
		case '>', ')':
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

// splitPath parts a name at :: and at dots, outside of brackets.
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

// spellings bring the names of C's integer types in template arguments into
// one form: gcc writes "long unsigned int" where clang and people write
// "unsigned long".
var spellings = strings.NewReplacer(
	"long long unsigned int", "unsigned long long", "long unsigned int", "unsigned long", "short unsigned int", "unsigned short",
	"unsigned long long int", "unsigned long long", "unsigned long int", "unsigned long", "unsigned short int", "unsigned short",
	"long long int", "long long", "long int", "long", "short int", "short", "unsigned int", "unsigned",
)

// squeeze drops what tools write differently: spaces, and the long names of
// integer types.
func squeeze(s string) string {
	if !strings.Contains(s, " ") {
		return s
	}
	return strings.ReplaceAll(spellings.Replace(s), " ", "")
}

// matchLevel is how well a name fits a query: the higher the better.
type matchLevel int

const (
	noMatch     matchLevel = iota
	suffixMatch            // the query leaves out enclosing scopes
	fullMatch
)

// component is a part of a variable's qualified name. An optional one
// (anonymous or inline namespace) may be left out.
type component struct {
	name     string
	optional bool
}

// match compares the query with a qualified name.
func (q query) match(name []component) matchLevel {
	i, j := len(q.path)-1, len(name)-1
	for i >= 0 && j >= 0 {
		switch {
		case sameComponent(q.path[i], name[j].name):
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
	case j >= 0:
		return suffixMatch
	}
	return fullMatch
}

// sameComponent compares a part of the query with one of a name; without
// template arguments it fits every instance.
func sameComponent(want, have string) bool {
	have = squeeze(have)
	if want == have {
		return true
	}
	bare, _, template := strings.Cut(have, "<")
	return template && bare != "" && want == bare
}

// matchFile reports whether the query's file part fits a source file: the
// whole path or its last components.
func (q query) matchFile(source string) bool {
	if q.file == "" {
		return true
	}
	want, have := path.Clean(q.file), path.Clean(source)
	return source != "" && (want == have || strings.HasSuffix(have, "/"+want))
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

// maxNear is how many near names an error offers.
const maxNear = 5

// near gives the known names that are nearest to name by edit distance, at
// most maxNear and none too far, the nearest first.
func near(name string, known []string) []string {
	type scored struct {
		name     string
		distance int
	}
	limit := 1 + len(name)/3
	var best []scored
	seen := map[string]bool{}
	for _, k := range known {
		if seen[k] || k == "" {
			continue
		}
		seen[k] = true
		if d := distance(name, k, limit); d <= limit {
			best = append(best, scored{k, d})
		}
	}
	slices.SortFunc(best, func(a, b scored) int {
		if a.distance != b.distance {
			return a.distance - b.distance
		}
		return strings.Compare(a.name, b.name)
	})
	var out []string
	for _, s := range best[:min(len(best), maxNear)] {
		out = append(out, s.name)
	}
	return out
}

// distance is the edit distance of the names without regard to case, or of
// name and the last component of known, whichever is less.
func distance(name, known string, limit int) int {
	name, known = strings.ToLower(name), strings.ToLower(known)
	d := levenshtein(name, known, limit)
	if i := strings.LastIndex(known, "::"); i >= 0 {
		d = min(d, levenshtein(name, known[i+2:], limit))
	}
	return d
}

// levenshtein is the edit distance, or anything above limit if it is greater.
func levenshtein(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(diagonal+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
