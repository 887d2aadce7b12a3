package function

import (
	"debug/dwarf"
	"fmt"
	"slices"
	"strings"

	dw "github.com/tracepredict/tracepredict/probes/dwarf"
	"github.com/tracepredict/tracepredict/probes/elf"
)

// Handled is a function that gets, or returns, an object of a type by its address.
type Handled struct {
	Name string // qualified, without parameters
	// Params are the names of its parameters in the source; the first of a method is "this". Object is the index of the
	// object among them; -1: it is the result.
	Params []string
	Object int
}

// Handling returns the functions with code in f that get the address of an object of a type, as the source names the type
// ("struct conn", "shop::Till"; of two types of one name in different namespaces it takes both), or return one, sorted by name. One that gets several objects has the first.
func Handling(f *elf.File, typeName string) (out []Handled, err error) {
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, fmt.Errorf("read debug information of %s: damaged: %v", f.Name(), r)
		}
	}()
	d, err := newDebug(f)
	if err != nil {
		return nil, err
	}
	if d == nil {
		return nil, fmt.Errorf("%s has no debug information, which says what its functions get: build it with -g, or name them", f.Name())
	}
	want := pointee(typeName)
	seen := map[string]bool{}
	for _, s := range d.subs {
		if s.entry == 0 || s.inlined {
			continue
		}
		chain := d.chain(s)
		names, _ := d.names(chain)
		if len(names) == 0 || seen[names[0]] {
			continue
		}
		if h, ok := d.handles(chain, names[0], want); ok {
			seen[names[0]] = true
			out = append(out, h)
		}
	}
	slices.SortFunc(out, func(a, b Handled) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// pointee returns the name of the type to which the text of a pointer, or the type's own text, refers: without qualifiers,
// tags, which C++ leaves out, and namespaces.
func pointee(text string) string {
	text = strings.TrimRight(strings.TrimSpace(text), "* &")
	for _, word := range []string{"const ", "volatile ", "struct ", "class ", "union "} {
		text = strings.ReplaceAll(text, word, "")
	}
	text = strings.TrimSpace(text)
	return text[strings.LastIndex(text, ":")+1:] // types of the debug information are told apart by their own name alone
}

// handles returns which parameter of a function, or its result, is the address of an object of a type.
func (d *debug) handles(chain []*subprogram, name, want string) (h Handled, ok bool) {
	ps, result := d.params(chain)
	h = Handled{Name: name, Object: -1}
	for i, p := range ps {
		n := p.name
		if p.artificial {
			n = "this"
		}
		h.Params = append(h.Params, n)
		if h.Object < 0 && d.isAddressOf(p.typ, want) {
			h.Object = i
		}
	}
	return h, h.Object >= 0 || result != 0 && d.isAddressOf(result, want)
}

// isAddressOf reports whether a type is a pointer or a reference to one of a name.
func (d *debug) isAddressOf(off dwarf.Offset, want string) bool {
	text := d.textOf(off, 0)
	return strings.Count(text, "*")+strings.Count(text, "&") == 1 && pointee(text) == want
}

// pointed returns the names of the type to which a pointer or a reference leads: typedefs, and what they stand for. There
// are none if the type is unknown, void, or has no name.
func (d *debug) pointed(off dwarf.Offset) (names []string) {
	at := func() *dw.Type { return d.TypeAt(off) }
	for t, depth := at(), 0; t != nil && t.IsName() && depth < maxTypeDepth; t, depth = at(), depth+1 {
		off = t.Of
	}
	t := at()
	if t == nil || t.Tag != dwarf.TagPointerType && t.Tag != dwarf.TagReferenceType && t.Tag != dwarf.TagRvalueReferenceType {
		return nil
	}
	off = t.Of
	for depth := 0; depth < maxTypeDepth; depth++ {
		switch t = at(); {
		case t == nil:
			return nil
		case t.IsStructure():
			return append(names, structureText(t))
		case !t.IsName():
			return names
		case t.Tag == dwarf.TagTypedef:
			names = append(names, t.Name)
		}
		off = t.Of
	}
	return names
}

// IsNamed reports whether one of the names of a type is that of the text of a type, a pointer to it, or a reference, but
// for qualifiers, tags, which C++ leaves out, and namespaces.
func IsNamed(names []string, text string) bool {
	want := pointee(text)
	return slices.ContainsFunc(names, func(n string) bool { return pointee(n) == want })
}
