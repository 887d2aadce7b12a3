package report

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// A fingerprint says which defect of the source a finding is, whoever was caught at it:
// it is the same for other threads, other objects of the same type or array, other
// callers, other address layouts, and for builds that leave the functions involved as
// they are. What a finding is made of is therefore reduced to roles: what a thread does in
// which place to what kind of object, and, of a deadlock, holding which kind of lock from
// where. A ring of locks is the set of its roles, so five philosophers and a thousand, who all
// have the same one, are one defect.

// fingerprint hashes what Build documents. Every part is quoted, so that no
// name can imitate a border between parts.
func fingerprint(f *Finding) string {
	objects := make([]string, 0, len(f.Objects))
	for i := range f.Objects {
		objects = append(objects, identity(&f.Objects[i], f))
	}
	message := f.Message
	if len(f.Evidence) > 0 {
		message = "" // it may hold addresses; the sides say enough
	}
	whole := fmt.Appendf(nil, "2 %q %q %q %q %q %q", f.Kind, f.Property, f.Rule, message, sortedSet(objects), sortedSet(slices.Clone(f.roles)))
	sum := sha256.Sum256(whole)
	return hex.EncodeToString(sum[:])
}

// rolesOf gives the role of each side.
func rolesOf(f *Finding) []string {
	roles := make([]string, len(f.Evidence))
	for i := range f.Evidence {
		roles[i] = role(f, i)
	}
	return roles
}

func role(f *Finding, i int) string {
	step := &f.Evidence[i]
	parts := []string{site(step.Stack)}
	if step.Object != nil {
		parts = append(parts, identity(step.Object, f))
	}
	if f.Kind == finding.Misuse {
		parts = append(parts, step.Op.String())
	}
	var held []string
	for j := range step.Held {
		h := &step.Held[j]
		if f.Kind == finding.Deadlock && wantedByOther(f, i, h.Object) {
			held = append(held, fmt.Sprintf("%q", []string{identity(&h.Object, f), site(h.Stack)}))
		}
	}
	return fmt.Sprintf("%q", append(parts, sortedSet(held)...))
}

// fewSides is how many are all shown, even if they do the same.
const fewSides = 3

// explaining gives the sides that it takes to explain the finding: all, but of a longer
// ring of locks one of each role, and two if there is but one role.
func explaining(f *Finding) []int {
	seen := map[string]bool{}
	var sides []int
	for i, r := range f.roles {
		if f.Kind != finding.Deadlock || len(f.roles) <= fewSides || !seen[r] || i == 1 && len(sides) == 1 && allAlike(f.roles) {
			sides = append(sides, i)
		}
		seen[r] = true
	}
	return sides
}

func allAlike(roles []string) bool {
	return !slices.ContainsFunc(roles, func(r string) bool { return r != roles[0] })
}

// identity names an object the same in every run, and as other objects that the program
// makes in the same way: by its class, an element of an array as the array's, an anonymous one by where
// it was initialised, and where that is unknown only by its kind. Where no place is known
// either, nothing says that two findings are the same, and they are told apart by number.
func identity(o *Object, of *Finding) string {
	switch {
	case o.numbered && placed(of):
		return o.Kind.String()
	case o.Anonymous:
		return fmt.Sprintf("%s initialised at %s", o.Kind, site(o.Init))
	case o.Class != "":
		return AnyElement(o.Class, "")
	}
	name, _, _ := strings.Cut(o.Name, "+0x")
	return AnyElement(name, "")
}

// placed reports whether it is known where a side of the finding was.
func placed(f *Finding) bool {
	return slices.ContainsFunc(f.Evidence, func(s Step) bool { return site(s.Stack) != "" })
}

// AnyElement writes index for the number of each element of an array: with "*",
// slots[3].mu becomes slots[*].mu.
func AnyElement(name, index string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(name, "[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteByte('[')
		if rest := strings.TrimLeft(after, "0123456789"); strings.HasPrefix(rest, "]") && rest != after {
			b.WriteString(index)
			after = rest
		}
		name = after
	}
}

// site names a place as builds do that leave its function as it is: by the line within
// the function, else the line, else the distance in its code.
func site(s Stack) string {
	f := s.Top()
	if f.Function == "" && f.File == "" && f.Module == "" {
		return "" // an address alone moves
	}
	name := functionName(f.Function)
	switch {
	case f.File == "" || f.Line == 0:
		return fmt.Sprintf("%s %s+%#x", moduleName(f), name, f.Offset)
	case name != "" && f.Start > 0 && f.Line >= f.Start:
		return fmt.Sprintf("%s %s+%d", lambdaName(name), path.Base(f.File), f.Line-f.Start)
	}
	return fmt.Sprintf("%s %s:%d", name, path.Base(f.File), f.Line)
}

// functionName is a function's name without what compilers and instantiations of
// templates add: f.constprop.0 is f; f<int>(int) and f<long>(long) are both f<>.
func functionName(name string) string {
	for _, suffix := range []string{".constprop.", ".isra.", ".part.", ".cold", ".lto_priv.", ".llvm."} {
		name, _, _ = strings.Cut(name, suffix)
	}
	name = strings.ReplaceAll(name, "[abi:cxx11]", "")
	short := emptied(name, '<', '>', "")
	if short == name {
		return name
	}
	if i := strings.LastIndexByte(short, '('); i > 0 && strings.HasSuffix(short[:i], ">") {
		return short[:i] // the parameters of a template's instance
	}
	return short
}

// lambdaName leaves of a lambda the function around it, from which its lines are counted and
// which tells it apart with them: compilers number lambdas, and where one was inlined, its number is not known.
func lambdaName(name string) string {
	const call = "}::operator()"
	if !strings.Contains(name, "{lambda") || !strings.Contains(name, call) {
		return name
	}
	parts := strings.Split(emptied(name, '{', '}', "lambda"), call)
	for i := range parts[1:] { // between two calls, and behind the last, are parameters
		if _, inner, ok := strings.Cut(parts[i+1], "::{"); ok {
			parts[i+1] = "::{" + inner
		} else {
			parts[i+1] = ""
		}
	}
	parts[0] = strings.Replace(parts[0], " const::{", "::{", 1)
	return strings.Join(parts, call)
}

// moduleName is a module's file without the version: libz.so of libz.so.1.3.
func moduleName(f event.Frame) string {
	base := path.Base(f.Module)
	if i := strings.Index(base, ".so"); i > 0 {
		name := base[:i]
		if j := strings.LastIndexByte(name, '-'); j > 0 && strings.Contains(name[j:], ".") && strings.Trim(name[j+1:], "0123456789.") == "" {
			name = name[:j] // libc-2.31.so
		}
		return name + ".so"
	}
	return base
}
