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

// A fingerprint identifies the defect in the source that a finding shows, whichever threads
// showed it. It is the same for other threads, other objects of the same type or array, other
// callers and other address layouts, and for builds that leave the functions involved
// unchanged. For this the sides of a finding are reduced to roles: what a thread does, in
// which function and line, to what kind of object, and, of a deadlock, which kind of lock it
// holds and where it acquired that. A cycle of locks is the set of its roles. So a cycle of
// five philosophers and one of a thousand, who all have the same role, are one defect.

// fingerprint returns the hash that Build documents. Every part is quoted, so that a name
// cannot imitate the border between two parts.
func fingerprint(f *Finding) string {
	objects := make([]string, 0, len(f.Objects))
	for i := range f.Objects {
		objects = append(objects, identity(&f.Objects[i], f))
	}
	message := f.Message
	if len(f.Evidence) > 0 {
		message = "" // it may contain addresses, and the sides identify the defect
	}
	if f.Scope != nil {
		message = f.Scope.Check // others may be violated in the same region
	}
	whole := fmt.Appendf(nil, "2 %q %q %q %q %q %q", f.Kind, f.Property, f.Rule, message, sortedSet(objects), sortedSet(slices.Clone(f.roles)))
	sum := sha256.Sum256(whole)
	return hex.EncodeToString(sum[:])
}

// rolesOf returns the role of each side.
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
		if f.Kind == finding.Deadlock && requestedByOther(f, i, *h.Object) {
			held = append(held, fmt.Sprintf("%q", []string{identity(h.Object, f), site(h.Stack)}))
		}
	}
	return fmt.Sprintf("%q", append(parts, sortedSet(held)...))
}

// fewSides is the number of sides up to which all are shown, even if they do the same.
const fewSides = 3

// explaining returns the sides that are needed to explain the finding: all of them, except
// that for a longer cycle of locks it returns one for each role, or two if there is only one
// role.
func explaining(f *Finding) []int {
	seen := map[string]bool{}
	var sides []int
	for i, r := range f.roles {
		if f.Kind != finding.Deadlock || len(f.roles) <= fewSides || !seen[r] || i == 1 && len(sides) == 1 && allEqual(f.roles) {
			sides = append(sides, i)
		}
		seen[r] = true
	}
	return sides
}

func allEqual(roles []string) bool {
	return !slices.ContainsFunc(roles, func(r string) bool { return r != roles[0] })
}

// identity returns a name of an object that is the same in every run, and the same for other
// objects that the program makes in the same way: its class; for an element of an array the
// name of the array; for an object without a name the location of its initialisation, or only
// its kind if that is unknown. If the source locations of the sides are unknown too, nothing
// shows that two findings are the same defect, and numbers distinguish them.
func identity(o *Object, of *Finding) string {
	switch {
	case o.Numbered && located(of), o.Kind == event.KindInstance && of.Subject != nil: // any object of the protocol or property
		return o.Kind.String()
	case o.Anonymous && o.InBlock(): // in another run its allocation may not be known
		return fmt.Sprintf("%s initialised at ", o.Kind)
	case o.Anonymous:
		return fmt.Sprintf("%s initialised at %s", o.Kind, site(o.Init))
	case o.Class != "":
		return AnyElement(o.Class, "")
	}
	name, _, _ := strings.Cut(o.Name, "+0x")
	return AnyElement(name, "")
}

// located reports whether the source location of a side of the finding is known.
func located(f *Finding) bool {
	return slices.ContainsFunc(f.Evidence, func(s Step) bool { return site(s.Stack) != "" })
}

// AnyElement replaces the index of each array element in a name: with "*", slots[3].mu becomes
// slots[*].mu.
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

// site returns a name of a source location that is the same in builds that leave its function
// unchanged: the line within the function, else the line, else the offset in the code.
func site(s Stack) string {
	f := s.Top()
	if f.Function == "" && f.File == "" && f.Module == "" {
		return "" // a bare address differs between runs
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

// functionName returns the name of a function without the parts that compilers and template
// instantiation add: f.constprop.0 is f; f<int>(int) and f<long>(long) are both f<>.
func functionName(name string) string {
	for _, suffix := range []string{".constprop.", ".isra.", ".part.", ".cold", ".lto_priv.", ".llvm."} {
		name, _, _ = strings.Cut(name, suffix)
	}
	name = strings.ReplaceAll(name, "[abi:cxx11]", "")
	short := emptied(name, '<', '>', "", 1)
	if short == name {
		return name
	}
	if i := strings.LastIndexByte(short, '('); i > 0 && strings.HasSuffix(short[:i], ">") {
		return short[:i] // the parameters of a template's instance
	}
	return short
}

// lambdaName replaces a lambda by the function around it, from whose first line the lines of
// the lambda are counted. Compilers number lambdas, but the number of one that was inlined is
// not known.
func lambdaName(name string) string {
	const call = "}::operator()"
	if !strings.Contains(name, "{lambda") || !strings.Contains(name, call) {
		return name
	}
	parts := strings.Split(emptied(name, '{', '}', "lambda", 1), call)
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

// moduleName returns the file of a module without its version: libz.so of libz.so.1.3.
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
