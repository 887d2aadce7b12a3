package function

import (
	"bytes"
	"cmp"
	"debug/dwarf"
	"fmt"
	"maps"
	"slices"
	"strings"

	dw "github.com/tracepredict/tracepredict/probes/dwarf"
	"github.com/tracepredict/tracepredict/probes/elf"
)

// described finds the functions by their names in the debug information, and records for each
// function the entries that describe its parameters.
func (x *finder) described() (err error) {
	if !x.hasWords() {
		return nil
	}
	x.debug, err = newDebug(x.file)
	if err != nil {
		x.note("%v: functions are known by their symbols alone", err)
	}
	if x.debug == nil {
		for i, p := range x.patterns {
			if p.File != "" && !p.OfLines() {
				x.note("%q: %s has no debug information that says which file its functions are from", x.patterns[i].Text, x.file.Name())
			}
		}
		return nil
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("read debug information of %s: damaged: %v", x.file.Name(), r)
		}
	}()
	for _, s := range x.debug.subs {
		x.matchEntry(s)
	}
	x.noteRemoved()
	return nil
}

// hasWords reports whether the debug information contains all words of some pattern. Without this
// test, reading that of a C library would take long.
func (x *finder) hasWords() bool {
	var texts [][]byte
	for _, section := range []string{"str", "info"} {
		b, err := dw.Of(x.file).Section(section)
		if err != nil {
			return true // reading the entries reports the error
		}
		texts = append(texts, b)
	}
	return slices.ContainsFunc(x.words, func(need []string) bool {
		return !slices.ContainsFunc(need, func(w string) bool {
			return !bytes.Contains(texts[0], []byte(w)) && !bytes.Contains(texts[1], []byte(w))
		})
	})
}

// matchEntry matches one entry of a function with the patterns.
func (x *finder) matchEntry(s *subprogram) {
	if s.entry == 0 && !s.abstract || s.entry != 0 && !x.isCode(s.entry) {
		return
	}
	chain := x.debug.chain(s)
	names, linkage := x.debug.names(chain)
	if fn := x.byAddr[s.entry]; fn != nil && !s.inlined && s.entry != 0 && x.chains[s.entry] == nil {
		x.chains[s.entry] = chain
	}
	if names == nil {
		return
	}
	if linkage != "" && x.typed && x.mayMatch(linkage) {
		names = append(names, spellings(linkage, 3)...)
	}
	var on []int
	best := 0
	for i, p := range x.patterns {
		if r := rank(p.Name, names); r > 0 && !p.OfLines() && (p.File == "" || x.debug.inFile(chain, p.File)) {
			on, best = append(on, i), max(best, r)
		}
	}
	switch {
	case len(on) == 0:
	case s.entry == 0:
		for _, i := range on {
			x.abstract[i] = names[0]
		}
	case s.inlined:
		x.inline(s, chain, names[0], on)
	case x.clones[s.entry] >= clonePart:
	default:
		x.add(s.entry, names[0], on, best)
		if x.chains[s.entry] == nil {
			x.chains[s.entry] = chain
		}
	}
}

// inline records an inlined copy of a function.
func (x *finder) inline(s *subprogram, chain []*subprogram, name string, on []int) {
	fn := &Function{Name: name, Addr: s.entry, Inlined: true, Patterns: on}
	fn.Constructor, fn.Destructor = lifeOf(name)
	if slices.ContainsFunc(x.copies, func(c inlinedCopy) bool { return c.fn.Addr == s.entry && c.fn.Name == name }) {
		return
	}
	if e := x.debug.entry(s.off); e != nil {
		if rs, err := x.debug.Parts[0].Data.Ranges(e); err == nil {
			for _, r := range rs {
				fn.Ranges = append(fn.Ranges, elf.Range{Lo: r[0], Hi: r[1]})
			}
		}
	}
	x.copies = append(x.copies, inlinedCopy{fn, chain})
	for _, i := range on {
		x.out.Matched[i] = true
	}
}

// noteRemoved adds notes on the functions that match but have no code.
func (x *finder) noteRemoved() {
	for i, name := range x.abstract {
		if name != "" && !x.out.Matched[i] {
			x.out.Matched[i] = true
			x.note("%s has no code in %s: the compiler removed it, or inlined it where that cannot be told", name, x.file.Name())
		}
	}
}

// describe records the operands of a function from its debug information. It removes the patterns
// that name more parameters than the function has.
func (x *finder) describe(fn *Function, chain []*subprogram) {
	ps, result := x.debug.params(chain)
	where := x.locations(fn, chain, ps, result)
	this := -1
	var explicit []int
	for i, p := range ps {
		switch {
		case !p.artificial:
			explicit = append(explicit, i)
		case this < 0 && p.name == "this":
			this = i
		}
	}
	fn.Patterns = slices.DeleteFunc(fn.Patterns, func(i int) bool { return x.misfits(fn, i, ps, explicit, this) })
	for _, i := range fn.Patterns {
		for n, name := range x.patterns[i].Params {
			if name == "_" {
				continue
			}
			index, at := n, this
			if x.withThis(i) {
				index--
			}
			if index >= 0 {
				at = explicit[index]
			}
			x.addParam(fn, ps[at], where[at], index, x.stored(i, n, ps[at].typ))
		}
	}
	sortParams(fn.Params)
	fn.Object = x.object(ps, where, this)
	x.setResult(fn, x.debug.typeOf(result))
	fn.ResultOf = x.debug.pointed(result)
}

func (x *finder) withThis(i int) bool {
	ps := x.patterns[i].Params
	return len(ps) > 0 && ps[0] == "this"
}

// misfits reports whether a pattern names more parameters than the function has.
func (x *finder) misfits(fn *Function, i int, ps []param, explicit []int, this int) bool {
	n := len(x.patterns[i].Params)
	if x.withThis(i) {
		n--
	}
	if n <= len(explicit) && (this >= 0 || !x.withThis(i)) {
		return false
	}
	var names []string
	for _, p := range ps {
		names = append(names, p.name)
	}
	x.misfit[i] = fmt.Sprintf("%s has the parameters (%s)", fn.Name, strings.Join(names, ", "))
	return true
}

// location is the location of a parameter, or the reason why it is not recorded.
type location struct {
	Operand
	typ typ
	why string
}

// locations returns the locations of all parameters at a function's entry.
func (x *finder) locations(fn *Function, chain []*subprogram, ps []param, result dwarf.Offset) []location {
	out := make([]location, len(ps))
	at := newSlots(x.file.Arch())
	at.reserveResult(x.debug.typeOf(result))
	for i, p := range ps {
		o := &out[i]
		o.typ = x.debug.typeOf(p.typ)
		o.Operand, o.why = at.next(o.typ)
	}
	changed := x.changed(fn, chain, ps, out)
	for i, p := range ps {
		switch o := &out[i]; {
		case o.why != "":
		case changed:
			x.setDescribed(o, p, chain[0].unit, fn.Addr)
		case !hasLocation(p.entry):
			o.Operand, o.why = Operand{}, unlocated
		}
	}
	return out
}

// storing is what a pattern binds of what lies at the address that a parameter is; width 0: nothing.
type storing struct {
	width, element int
	typ, why       string // why it cannot be recorded
}

// width returns the width of what is stored, as Operand.Width, for code without debug information.
func (s Stored) width() int {
	if s.Int {
		return -4
	}
	return 8
}

// stored returns what a pattern binds of what a function has stored at its n-th parameter.
func (x *finder) stored(pattern, n int, off dwarf.Offset) storing {
	s, ok := x.patterns[pattern].Stored[n]
	if !ok {
		return storing{}
	}
	out := storing{width: s.width(), element: s.Element}
	t := x.debug.TypeAt(off).Unqualified()
	if t == nil {
		return out
	}
	if t.Tag != dwarf.TagPointerType && t.Tag != dwarf.TagReferenceType && t.Tag != dwarf.TagRvalueReferenceType {
		out.why = "no pointer, so that nothing is stored there"
		return out
	}
	to := x.debug.typeOf(t.Of)
	out.typ = to.text
	switch to.kind {
	case integer:
		out.width = int(min(max(to.size, 1), 8))
		if to.signed {
			out.width = -out.width
		}
	case floating, aggregate, inMemory, indirect:
		out.why = "a pointer to a " + to.text
	}
	return out
}

// addParam records a parameter that a pattern binds.
func (x *finder) addParam(fn *Function, p param, at location, index int, s storing) {
	recorded := Param{Name: p.name, Type: at.typ.text, Index: index, Operand: at.Operand, Of: x.debug.pointed(p.typ), Stored: s.width, Element: s.element}
	if s.width != 0 {
		recorded.Type, recorded.Of = s.typ, nil
		at.why = cmp.Or(at.why, s.why)
	}
	if slices.ContainsFunc(fn.Params, recorded.same) {
		return
	}
	if at.why != "" && fn.Inlined {
		x.lacking[[2]string{p.name, fn.Name}]++
		return
	}
	if at.why != "" {
		x.note("parameter %s of %s is not recorded: it is %s", p.name, fn.Name, at.why)
		return
	}
	if len(fn.Params) == MaxParams {
		x.note("parameter %s of %s is not recorded: at most %d are", p.name, fn.Name, MaxParams)
		return
	}
	fn.Params = append(fn.Params, recorded)
}

// noteLacking adds notes on the parameters of inlined copies that are not recorded.
func (x *finder) noteLacking() {
	byName := func(a, b [2]string) int { return cmp.Or(cmp.Compare(a[1], b[1]), cmp.Compare(a[0], b[0])) }
	for _, p := range slices.SortedFunc(maps.Keys(x.lacking), byName) {
		x.note("parameter %s of %s is not recorded at %d of the places of %s where it is inlined: debug information does not tell it there", p[0], p[1], x.lacking[p], x.file.Name())
	}
}

// object returns the object that a call operates on: this, or the first pointer.
func (x *finder) object(ps []param, where []location, this int) Operand {
	if this >= 0 {
		return where[this].Operand
	}
	for i := range ps {
		if where[i].typ.pointer {
			return where[i].Operand
		}
	}
	return Operand{}
}

// setResult records the type and width of a function's result.
func (x *finder) setResult(fn *Function, t typ) {
	fn.ResultType = t.text
	if t.kind == voidKind {
		fn.ResultType = ""
	}
	if fn.Inlined {
		return
	}
	if t.kind == integer {
		fn.ReturnsAddress = t.pointer
		fn.Result = int(min(max(t.size, 1), 8))
		if t.signed {
			fn.Result = -fn.Result
		}
		return
	}
	if t.kind == voidKind {
		return
	}
	for _, i := range fn.Patterns {
		if x.patterns[i].Return {
			x.note("%s returns a %s: what it returns is not had", fn.Name, t.text)
		}
	}
}
