package probes

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/libname"
	"github.com/tracepredict/tracepredict/probes/symbolize"
	"github.com/tracepredict/tracepredict/probes/variable"
)

// Atomic variables: those through which threads synchronise without a call that a table could list.
// A file shows which they are in two ways: by their types in its debug information, and by atomic
// instructions that change them. All their accesses are observed, plain loads and stores too, and
// count as synchronisation, not as data: they do not race with each other.

// The bounds of what one file adds to the plan. Programs have tens of such variables; large tables
// of them (a lock for each of a thousand slots) are not worth a probe each.
const (
	maxAtomics     = 256
	maxAtomicSites = 4096
	// The size of code, in bytes, that is searched for atomic variables. The user of a program of
	// 100 MB must not wait seconds for the search, nor for the search of its cryptographic
	// libraries. If the search is left out, findings that the unseen synchronisation might refute
	// are reported as potential.
	maxProgramText = 8 << 20
	maxLibraryText = 2 << 20
)

// atomics plans the probes of the accesses of the file's atomic variables, and of the accesses that
// it makes to atomic variables of earlier files.
func (p *Planner) atomics(b *builder) error {
	f := b.plan.File
	if !b.searchesAtomics() {
		return nil
	}
	limit := uint64(maxLibraryText)
	if p.files[0] == f {
		limit = maxProgramText
	}
	if n := f.TextSize(); n > limit {
		b.note("atomic variables are not looked for in %d MB of code of %s", n>>20, f.Name())
		return nil
	}
	fileAtomics, err := p.findAtomics(b)
	if err != nil {
		return err
	}
	b.countSites()
	all, room := slices.Concat(p.atomic, fileAtomics), maxAtomicSites
	queries := make([]variable.Query, len(all))
	for i, v := range all {
		queries[i].Variable, queries[i].Escapes = v, !guard(v)
	}
	covered := len(b.plan.Coverage)
	for i, a := range b.code.Direct(queries) {
		n, err := b.atomic(all[i], a, room)
		if err != nil {
			return fmt.Errorf("find the accesses of %s in %s: %w", all[i].Name, b.plan.File.Name(), err)
		}
		if !guard(all[i]) {
			b.pointersTo(all[i], a.Result)
		}
		if room -= n; room <= 0 {
			b.note("%s has more than %d accesses of atomic variables: those of %d {variable|variables} are not observed", b.plan.File.Name(), maxAtomicSites, len(all)-i)
			break
		}
	}
	b.elementNotes(b.plan.Coverage[covered:])
	p.atomic = append(p.atomic, fileAtomics...)
	b.plan.Atomics = fileAtomics
	return nil
}

// searchesAtomics reports whether the file is searched for atomic variables.
func (b *builder) searchesAtomics() bool {
	return b.opts.Atomics && !libname.Runtime(b.plan.File.Name())
}

// elementNotes adds a note that names the atomic elements of arrays that may be accessed without
// being observed.
func (b *builder) elementNotes(covers []Coverage) {
	var names []string
	for _, c := range covers {
		if !c.Complete() {
			names = append(names, fmt.Sprintf("%s (%s)", c.Variable.Name, c.examples()))
		}
	}
	if len(names) == 0 {
		return
	}
	more := ""
	if n := len(names) - maxEscapes; n > 0 {
		names, more = names[:maxEscapes], fmt.Sprintf(", and of %d more", n)
	}
	b.note("in %s, accesses of these atomic elements of arrays through pointers, and of several at once, are not seen: %s%s", b.plan.File.Name(), strings.Join(names, ", "), more)
}

// findAtomics returns the atomic variables of the file, except those that are watched by name.
func (p *Planner) findAtomics(b *builder) ([]variable.Variable, error) {
	f := b.plan.File
	all, large, err := variable.AtomicTyped(f)
	for _, name := range large {
		b.plan.Pointed = append(b.plan.Pointed, Pointed{name, "any of " + name})
	}
	if err != nil {
		b.note("%v: atomic variables are known by their instructions alone", err)
	}
	code, whole, err := f.AtomicCode()
	if err != nil {
		return nil, fmt.Errorf("look for atomic instructions of %s: %w", f.Name(), err)
	}
	b.withoutRuntime(&code)
	b.indivisible, b.allSwept = code.Sites, whole
	names, typed := b.symbols(), len(all)
	for _, s := range code.Sites {
		if m := s.Mem; m.Fixed && !m.Segment && f.IsData(m.Addr) && !b.inTable(s.Func) {
			all = append(all, atomicAt(f, names, m.Addr, m.Size))
		}
	}
	if whole { // register data flow through so many functions would take seconds
		all = append(all, b.hinted(names, code.Hints)...)
	}
	if holdsLibrary(f) {
		all = slices.Concat(all[:typed], slices.DeleteFunc(all[typed:], implementation))
	}
	all = slices.DeleteFunc(all, ofRustThreads)
	p.watchedElements(b, all)
	all = p.distinct(all)
	polled, err := p.polled(b, names, all)
	if err != nil {
		return nil, err
	}
	all = p.distinct(append(all, polled...))
	if room := maxAtomics - len(all); room > 0 {
		all = p.distinct(append(all, b.guards(names, room)...))
	}
	if n := len(all) - maxAtomics; n > 0 {
		more := ""
		if len(all) >= variable.MaxAtomicTyped {
			more = " or more"
		}
		b.note("%s has %d%s atomic variables: %d%s of them are not observed", f.Name(), len(all), more, n, more)
		all = all[:maxAtomics]
	}
	uniqueNames(all, p.atomic)
	return all, nil
}

// polled returns the file's variables for which loops wait that sleep, if all their accesses can be
// observed and one of them stores: what such a loop sees orders the threads. Whether the accesses are
// atomic does not show in the code. As data, which they are too if they are not atomic, they are
// observed if the user watches them; then they are no atomic variables. Loops that do not sleep
// would load too often.
func (p *Planner) polled(b *builder, names *symbolize.Table, known []variable.Variable) ([]variable.Variable, error) {
	if p.opts.Shared && p.isOwn(b.plan.File) {
		return nil, nil
	}
	waits, err := b.findWaits()
	if err != nil {
		return nil, err
	}
	var vars []variable.Variable
	busy := map[uint64]bool{}
	for _, w := range waits {
		for _, l := range w.Loads {
			if l.Size == 0 || !b.plan.File.IsData(l.Addr) {
				continue
			}
			busy[l.Addr] = busy[l.Addr] || !w.Sleeps
			vars = append(vars, atomicAt(b.plan.File, names, l.Addr, l.Size))
		}
	}
	vars = slices.DeleteFunc(vars, func(v variable.Variable) bool { return busy[v.Addr] })
	vars = slices.DeleteFunc(p.distinct(vars), func(v variable.Variable) bool {
		return slices.ContainsFunc(known, func(o variable.Variable) bool { return overlap(o, v) })
	})
	queries := make([]variable.Query, min(len(vars), maxAtomics))
	for i := range queries {
		queries[i] = variable.Query{Variable: vars[i], Escapes: true}
	}
	var out []variable.Variable
	for i, a := range b.code.Direct(queries) {
		r := &a.Result
		complete := a.Err == nil && len(r.Escapes) == 0 && len(r.Unknown) == 0 && len(r.Undecoded) == 0
		if complete && slices.ContainsFunc(r.Accesses, func(x variable.Access) bool { return x.Kind != variable.Read }) {
			out = append(out, vars[i])
		}
	}
	return out, nil
}

// guards returns at most this number of guard variables of C++'s static objects. Compiled code
// reads a guard directly and calls __cxa_guard_acquire only while the object is not constructed.
func (b *builder) guards(names *symbolize.Table, most int) (vars []variable.Variable) {
	f, omitted := b.plan.File, 0
	if !slices.Contains(f.Undefined(), guardAcquire) && len(f.Lookup(guardAcquire)) == 0 {
		return nil // compiled with -fno-threadsafe-statics: its guards order nothing
	}
	for _, s := range f.Symbols() {
		switch {
		case !strings.HasPrefix(s.Name, guardPrefix) || !f.IsData(s.Addr):
		case len(vars) == most:
			omitted++
		default:
			vars = append(vars, atomicAt(f, names, s.Addr, 1))
		}
	}
	if omitted > 0 {
		b.note("the guards of %d static {object|objects} of %s are not observed: that {its|their} making comes before all use is then not known", omitted, f.Name())
	}
	return vars
}

// guardPrefix begins the mangled names of guards, and guardAcquire is the function that excludes other
// threads while one makes the object (Itanium C++ ABI, 3.3.3).
const (
	guardPrefix  = "_ZGV"
	guardAcquire = "__cxa_guard_acquire"
)

// guard reports whether a variable is a guard. The C++ run-time library gets its address from the code
// that checks it, and nothing else does.
func guard(v variable.Variable) bool {
	return v.AtomicByUse && (strings.HasPrefix(v.Name, guardPrefix) || strings.HasPrefix(v.Name, "guard variable for "))
}

// holdsLibrary reports whether a file is a static program that contains its C library.
func holdsLibrary(f *elf.File) bool { return f.Static() && len(f.Lookup("__libc_start_main")) > 0 }

// implementation reports whether a variable is the C library's own, by its name: C reserves names
// that begin with an underscore, at file scope, for the implementation (C11, 7.1.3). The list of
// stacks and the number of threads of glibc and musl have such names; observed, they would order
// the end of one thread before the creation of the next. Mangled names of C++ and Rust begin with
// _Z and _R. A program's own variable with such a name is synchronisation that is not observed,
// like synchronisation through a pointer.
func implementation(v variable.Variable) bool {
	return strings.HasPrefix(v.Name, "_") && !strings.HasPrefix(v.Name, "_Z") && !strings.HasPrefix(v.Name, "_R")
}

// watchedElements adds a note for each array that is not observed because some of its elements are
// watched by name: each access of those would be recorded twice.
func (p *Planner) watchedElements(b *builder, all []variable.Variable) {
	for _, name := range p.names() {
		w := p.found[name]
		for _, v := range all {
			if v.Array != nil && w.File == v.File && overlap(w, v) {
				b.note("of %s only the elements that are watched by name are observed", v.Name)
			}
		}
	}
}

// hinted returns those of the hinted variables that an atomic instruction certainly changes. A hint
// is a variable that an atomic instruction may change through a register.
func (b *builder) hinted(names *symbolize.Table, hints []elf.Hint) (vars []variable.Variable) {
	var queries []variable.Query
	for len(hints) > 0 && len(queries) < maxAtomics {
		n, functions := 0, []elf.Range(nil)
		for ; n < len(hints) && hints[n].Addr == hints[0].Addr && hints[n].Size == hints[0].Size; n++ {
			functions = append(functions, hints[n].Func)
		}
		if scalar(hints[0].Size) {
			queries = append(queries, variable.Query{Variable: atomicAt(b.plan.File, names, hints[0].Addr, hints[0].Size), In: functions})
		}
		hints = hints[n:]
	}
	for i, a := range b.code.Direct(queries) {
		if a.Err == nil && changedIndivisibly(queries[i].Variable, a.Result) {
			vars = append(vars, queries[i].Variable)
		}
	}
	return vars
}

// inTable reports whether a function is in the table of calls: what it does is then recorded by the
// probes of its calls.
func (b *builder) inTable(fn elf.Range) bool {
	_, ok := b.tableCalls[fn.Lo]
	return ok
}

func (b *builder) unseen() (elf.Unseen, error) {
	f := b.plan.File
	if b.plan.unseen == nil {
		b.plan.unseen = b.plan.keeping.load(f)
	}
	if b.plan.unseen == nil {
		u, err := f.UnseenSync()
		if err != nil {
			return u, fmt.Errorf("look for atomic instructions of %s: %w", f.Name(), err)
		}
		b.withoutRuntime(&u)
		b.plan.keeping.store(f, &u)
		b.plan.unseen = &u
	}
	return *b.plan.unseen, nil
}

// atomicAt returns an atomic variable of which only the code is known: its address and size. A data
// symbol names it, if there is one; otherwise its address does.
func atomicAt(f *elf.File, names *symbolize.Table, addr uint64, size int) variable.Variable {
	v := variable.Variable{Name: fmt.Sprintf("0x%x", addr), File: f, Addr: addr, Size: size, Type: fmt.Sprintf("uint%d", 8*size), Class: variable.Uint, Atomic: true, AtomicByUse: true}
	name, off, ok := names.Data(addr)
	switch {
	case !ok:
	case off > 0:
		v.Name = fmt.Sprintf("%s+0x%x", name, off)
	default:
		v.Name = name
		for _, s := range f.Lookup(name) {
			if s.Addr == addr && s.Dynamic && !s.Local {
				v.Symbol = name
			}
		}
	}
	return v
}

func scalar(size int) bool { return size == 1 || size == 2 || size == 4 || size == 8 }

// changedIndivisibly reports whether an atomic instruction is certain to access the whole variable.
func changedIndivisibly(v variable.Variable, res variable.Result) bool {
	return slices.ContainsFunc(res.Accesses, func(a variable.Access) bool { return a.Atomic && !checks(a) && a.Offset == 0 && a.Width == v.Size })
}

// distinct returns the variables sorted by address, without those that overlap an earlier one in
// all or one that is observed already. Callers put the variables that debug information describes
// first, so that these stay.
func (p *Planner) distinct(all []variable.Variable) []variable.Variable {
	var out []variable.Variable
	occupied := slices.Clone(p.atomic)
	for _, v := range p.found {
		occupied = append(occupied, v)
	}
	for _, v := range all {
		overlaps := func(o variable.Variable) bool { return o.File == v.File && overlap(o, v) }
		if scalar(v.Size) && !slices.ContainsFunc(occupied, overlaps) {
			out, occupied = append(out, v), append(occupied, v)
		}
	}
	slices.SortFunc(out, func(a, b variable.Variable) int { return cmp.Compare(a.Addr, b.Addr) })
	return out
}

// overlap reports whether two variables of a file overlap.
func overlap(a, b variable.Variable) bool {
	if b.Array == nil {
		return a.Overlaps(b.Addr, b.Size)
	}
	if a.Array == nil {
		return b.Overlaps(a.Addr, a.Size)
	}
	end := func(v variable.Variable) uint64 { return v.Addr + v.Array.Span() - v.Array.Stride + uint64(v.Size) }
	if a.Addr >= end(b) || b.Addr >= end(a) {
		return false
	}
	if a.Array.Stride == b.Array.Stride { // members of the same structures
		apart := (b.Addr - a.Addr) % a.Array.Stride
		if b.Addr < a.Addr {
			apart = (a.Array.Stride - (a.Addr-b.Addr)%a.Array.Stride) % a.Array.Stride
		}
		return apart < uint64(a.Size) || apart+uint64(b.Size) > a.Array.Stride
	}
	return true
}

// uniqueNames makes the names of variables differ: sites refer to variables by name.
func uniqueNames(vars, others []variable.Variable) {
	count := map[string]int{}
	for _, v := range slices.Concat(vars, others) {
		count[v.Name]++
	}
	for i := range vars {
		if v := &vars[i]; count[v.Name] > 1 {
			v.Name = fmt.Sprintf("%s at 0x%x of %s", v.Name, v.Addr, path.Base(v.File.Name()))
		}
	}
}

// atomic plans the probes of the accesses of one atomic variable, or none if there are more than
// room. It returns their number.
func (b *builder) atomic(v variable.Variable, found variable.Answer, room int) (int, error) {
	if found.Err != nil {
		return 0, found.Err
	}
	before, notes := len(b.plan.Sites), len(b.plan.Notes)
	if v.Array != nil {
		b.cover = &Coverage{Variable: v, Escapes: b.escapes(found.Result)}
		defer func() { b.plan.Coverage, b.cover = append(b.plan.Coverage, *b.cover), nil }()
	}
	if err := b.syncAccesses(v, found.Result, bpf.SiteSpin); err != nil {
		return 0, err
	}
	b.plan.Notes = b.plan.Notes[:notes] // they concern a variable that the user did not name
	fresh := b.plan.Sites[before:]
	if len(fresh) > room {
		b.plan.Sites = b.plan.Sites[:before]
		return len(fresh), nil
	}
	kept := slices.DeleteFunc(fresh, func(s Site) bool {
		b.sitesAt[s.Addr]++
		return b.sitesAt[s.Addr] > bpf.MaxChain
	})
	if n := len(fresh) - len(kept); n > 0 {
		b.note("%d {access|accesses} of the atomic variable %s {shares|share} a place with too many others: {it is|they are} not observed", n, v.Name)
	}
	for i := range kept {
		kept[i].Program = ProgramAtomic
	}
	b.plan.Sites = b.plan.Sites[:before+len(kept)]
	return len(kept), nil
}

// syncAccesses plans the probes of the accesses of an atomic variable in this file. may is the set
// of flags that a site may have.
func (b *builder) syncAccesses(v variable.Variable, res variable.Result, may uint8) error {
	b.table = slotOf(v, res)
	for _, a := range res.Accesses {
		plan := b.syncAccess
		if v.Array != nil {
			plan = b.elementAccess
		}
		sites, err := plan(v, a, may)
		if err != nil {
			return err
		}
		if b.cover != nil {
			b.cover.count(b, a, len(sites))
		}
		b.plan.Sites = append(b.plan.Sites, sites...)
	}
	return nil
}

// countSites counts the sites at each address.
func (b *builder) countSites() {
	b.sitesAt = map[uint64]int{}
	for i := range b.plan.Sites {
		b.sitesAt[b.plan.Sites[i].Addr]++
	}
}
