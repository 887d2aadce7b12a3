package synctab

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes/spelling"
)

// Sum returns a hash of all that the table says.
func (t Table) Sum() (sum [sha256.Size]byte) {
	h := sha256.New()
	fmt.Fprintf(h, "%#v %#v %#v %q", t.entries, t.linkage, t.demangled, t.tails) // maps are in the order of their keys
	h.Sum(sum[:0])
	return sum
}

// Match returns the entry of a function by its linkage name (without symbol version) and its
// demangled name, which may have parameters and may be empty. A name in the table without template
// arguments matches every instance. Parts of a function that the compiler split off or cloned
// (".cold", ".constprop.0") match nothing: their arguments may be in other registers. Match takes
// time proportional to the lengths of the names, not to the table.
func (t Table) Match(linkage, demangled string) (Entry, bool) {
	i, ok := t.linkage[linkage]
	if !ok && demangled != "" {
		i, ok = t.matchDemangled(demangled)
	}
	if !ok || t.entries[i].Op == bpf.OpNone {
		return Entry{}, false
	}
	return t.entries[i], true
}

func (t Table) matchDemangled(demangled string) (int, bool) {
	if len(t.demangled) == 0 || strings.Contains(demangled, "[clone ") {
		return 0, false
	}
	name := withoutReturnType(withoutParameters(demangled))
	i, ok := t.demangled[withoutSpaces(name)]
	if !ok {
		i, ok = t.demangled[withoutSpaces(withoutTemplates(name))]
	}
	return i, ok
}

// NeedsDemangling reports whether Match may find the symbol only by its demangled name. It is cheap
// and may return true needlessly; a caller then demangles a few of the hundreds of thousands of
// symbols of a large program.
func (t Table) NeedsDemangling(linkage string) bool {
	if !strings.HasPrefix(linkage, "_Z") && !strings.HasPrefix(linkage, "_R") {
		return false
	}
	for _, tail := range t.tails {
		if strings.Contains(linkage, tail) {
			return true
		}
	}
	return false
}

// mangledTail returns a text that the mangled form of the name certainly contains: its last
// component if that is an ASCII identifier, else "" (which every name contains). Operators and
// constructors are encoded otherwise in mangled names, and Rust encodes other letters in Punycode.
func mangledTail(name string) string {
	name = withoutTemplates(name)
	parts := strings.Split(name, "::")
	last := parts[len(parts)-1]
	if len(parts) > 1 && (last == parts[len(parts)-2] || strings.HasPrefix(last, "~")) {
		return ""
	}
	if strings.HasPrefix(last, "operator") || !isIdentifier(last) {
		return ""
	}
	return last
}

func isIdentifier(s string) bool {
	for i, c := range s {
		letter := c == '_' || c == '$' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// withoutParameters returns a demangled C++ name without its parameter list and what follows it
// (const, &, ABI tags), and a Rust name of the legacy mangling without its hash.
func withoutParameters(name string) string {
	open := parameterList(name)
	if open >= 0 && !strings.HasSuffix(name[:open], "operator") {
		name = name[:open]
	}
	if i := strings.LastIndex(name, "[abi:"); i > 0 && strings.HasSuffix(name, "]") {
		name = name[:i]
	}
	if n := len(name) - len("::h0123456789abcdef"); n > 0 && strings.HasPrefix(name[n:], "::h") && isHex(name[n+3:]) {
		name = name[:n]
	}
	return name
}

// parameterList returns the index of the bracket that opens the last list at the outermost level,
// if no name follows that list; -1 if there is none.
func parameterList(name string) int {
	if strings.Contains(name[strings.LastIndexByte(name, ')')+1:], "::") {
		return -1
	}
	return spelling.LastList(name)
}

func isHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// withoutTemplates returns the name without template arguments. Names of operators with angle
// brackets keep theirs.
func withoutTemplates(name string) string {
	if !strings.ContainsRune(name, '<') {
		return name
	}
	head, operator := name, ""
	if i := strings.LastIndex(name, "operator"); i >= 0 && i+8 < len(name) && strings.ContainsRune("<>-", rune(name[i+8])) {
		head, operator = name[:i], name[i:]
	}
	var out strings.Builder
	depth := 0
	for i := range len(head) {
		switch c := head[i]; {
		case c == '<':
			depth++
		case c == '>' && depth > 0:
			depth--
		case depth == 0:
			out.WriteByte(c)
		}
	}
	return out.String() + operator
}

// withoutReturnType returns the part of the name after the last space that is outside all brackets:
// the demangled name of a template function begins with its return type.
func withoutReturnType(name string) string {
	if strings.Contains(name, "operator") {
		return name
	}
	depth := 0
	for i := len(name) - 1; i >= 0; i-- {
		switch name[i] {
		case '>', ')', '}':
			depth++
		case '<', '(', '{':
			depth--
		case ' ':
			if depth == 0 {
				return name[i+1:]
			}
		}
	}
	return name
}

// withoutSpaces returns the name without spaces, which demanglers insert differently.
func withoutSpaces(name string) string { return strings.ReplaceAll(name, " ", "") }
