package variable

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ianlancetaylor/demangle"

	"github.com/tracepredict/tracepredict/internal/plural"
	bin "github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/libname"
)

// FindIn finds a variable by name in a program and its libraries. The files are given in the order
// in which the dynamic linker searches them, the program first. Name is "hits", "ns::Queue::depth"
// (enclosing scopes may be omitted where that is not ambiguous), "func::count" or "func.count" for
// a function's static, or a path into one of these: "server.stats.hits", "slots[3].state". The name
// may be preceded by "file.c:", "dir/file.c:", "file.c:12:" (the line of the declaration) or
// "libx.so:". A file without debug information is searched by its symbol table. The name may then
// be followed by an offset in bytes and a type: "slots+16:u32". Where the program has a copy of a
// library's variable, the result is the copy. Errors that the name causes are of type *Error.
func FindIn(files []*bin.File, name string) (Variable, error) {
	return newFinder(files).find(name, false)
}

// finder finds several variables of the same files, reading the debug
// information of each once. It is not safe for concurrent use.
type finder struct {
	files   []*bin.File
	indexes map[*bin.File]*index
	failed  map[*bin.File]error
}

// newFinder returns a finder for a program and its libraries; see FindIn.
func newFinder(files []*bin.File) *finder {
	return &finder{files: files, indexes: map[*bin.File]*index{}, failed: map[*bin.File]error{}}
}

// candidate is a variable that the name may denote.
type candidate struct {
	file  *bin.File
	parts int // the number of parts of the query that name it; the others lead into it
	level matchLevel
	found *found      // from debug information, or
	sym   *bin.Symbol // from the symbol table
}

// LocateIn finds the address of a variable of any type, for example of a lock in a structure. In
// the result only Name, Symbol, File, Addr, Whole, DeclFile and DeclLine are set. See FindIn.
func LocateIn(files []*bin.File, name string) (Variable, error) {
	return newFinder(files).find(name, true)
}

// find finds a variable, or only its address; see FindIn and LocateIn.
func (fd *finder) find(name string, addressOnly bool) (v Variable, err error) {
	defer func() { // the standard library's reader of debug information can panic
		if r := recover(); r != nil {
			v, err = Variable{}, fmt.Errorf("watch %s: the debug information is damaged: %v", name, r)
		}
	}()
	readings, bad := parseNames(name)
	if bad != nil && addressOnly {
		readings, _ = parseNames(name + ":u8") // a name with an offset lacks only a type
	}
	if len(readings) == 0 {
		return Variable{}, bad
	}
	for _, q := range readings {
		q.addressOnly = addressOnly
		if all := fd.candidates(q); len(all) > 0 {
			if v, err = choose(q, all); err != nil {
				return Variable{}, fd.explain(err)
			}
			return fd.copied(v), nil
		}
	}
	return Variable{}, fd.notFound(readings[0])
}

// explain adds to an error which debug information could not be read.
func (fd *finder) explain(err error) error {
	var e *Error
	if !errors.As(err, &e) || e.Reason != NoDebugInfo && e.Reason != WrongType {
		return err
	}
	for _, f := range fd.files {
		if x := fd.indexes[f]; x != nil && len(x.missing) > 0 {
			e.Message += "; " + strings.Join(x.missing, "; ")
		}
	}
	return err
}

func (fd *finder) candidates(q query) []candidate {
	var all []candidate
	for _, f := range fd.files {
		found := fd.inFile(f, q)
		if len(found) > 1 && q.file == "" && libname.Runtime(f.Name()) && !slices.Contains(exported(f), q.head(1)[0]) {
			continue // statics of the C library that share a name, such as lock: the user means none of them
		}
		all = append(all, found...)
		// The program's own variables come first, and if it has one, the libraries' debug
		// information need not be read. A dynamic symbol alone may be the copy of a library's
		// variable, whose type only the library describes.
		if len(all) > 0 && (all[0].found != nil || !all[0].sym.Dynamic) {
			break
		}
	}
	return all
}

// choose returns the variable of one of the candidates. The name f.n may denote a static of the
// function f or a member of the variable f: if only one of them is a valid variable, that one is
// chosen.
func choose(q query, all []candidate) (Variable, error) {
	all = best(all)
	if len(all) > 1 {
		var good []candidate
		for _, c := range all {
			if _, err := c.variable(q); err == nil {
				good = append(good, c)
			}
		}
		if len(good) == 1 {
			all = good
		}
	}
	if len(all) > 1 {
		return Variable{}, ambiguous(q, all)
	}
	return all[0].variable(q)
}

// index returns the index of a file's debug information, which it reads once; nil if there is none.
func (fd *finder) index(f *bin.File) *index {
	if _, done := fd.failed[f]; !done {
		fd.indexes[f], fd.failed[f] = newIndex(f)
	}
	if fd.failed[f] != nil {
		return nil
	}
	return fd.indexes[f]
}

func (fd *finder) inFile(f *bin.File, q query) []candidate {
	binary := q.file != "" && q.matchBinary(f.Name())
	var out []candidate
	if x := fd.index(f); x != nil {
		for _, v := range x.all(func(n []component) bool { level, _ := q.match(n); return level > noMatch }) {
			if binary || q.matchFile(v.source()) {
				if q.line == 0 || int64(q.line) == v.declLine {
					level, parts := q.match(v.name)
					out = append(out, candidate{file: f, parts: parts, level: level, found: &v})
				}
			}
		}
	}
	if len(out) > 0 || q.file != "" && !binary || q.line != 0 {
		return out
	}
	return bySymbol(f, q)
}

// match compares the query with a qualified name. Parts is the number of the query's parts that
// name the variable.
func (q query) match(name []component) (level matchLevel, parts int) {
	for _, k := range q.heads() {
		if l := match(q.head(k), name); l > noMatch && l >= level {
			level, parts = l, k
		}
	}
	return level, parts
}

// bySymbol finds variables in the symbol tables, which record neither the source file nor the
// function of a name.
func bySymbol(f *bin.File, q query) []candidate {
	seen := map[uint64]bool{}
	var long bin.Demangling
	var out []candidate
	for _, s := range f.Symbols() {
		if s.Kind != bin.Object && s.Kind != bin.TLS || s.Addr == 0 && s.Kind == bin.Object || seen[s.Addr] {
			continue
		}
		for _, k := range q.heads() {
			if level := matchSymbol(q.head(k), s.Name, &long); level > noMatch {
				seen[s.Addr] = true
				out = append(out, candidate{file: f, parts: k, level: level, sym: &s})
				break
			}
		}
	}
	return out
}

func matchSymbol(path []string, name string, long *bin.Demangling) matchLevel {
	last := path[len(path)-1]
	if !strings.Contains(name, last) && len(path) == 1 {
		return noMatch
	}
	if name == strings.Join(path, ".") || name == strings.Join(path, "::") {
		return fullMatch
	}
	if !strings.HasPrefix(name, "_Z") && !strings.HasPrefix(name, "_R") || !strings.Contains(name, last) || !long.Allows(name) {
		return noMatch
	}
	pretty, err := demangle.ToString(name, demangle.NoParams, demangle.MaxLength(12))
	if err != nil || strings.Contains(pretty, " for ") {
		return noMatch // "vtable for", "guard variable for"
	}
	var parts []component
	for _, p := range splitPath(pretty) {
		parts = append(parts, component{p, p == "(anonymousnamespace)"})
	}
	return match(path, parts)
}

// visible reports whether references in other files can denote this variable.
func (c candidate) visible() bool {
	if c.found != nil {
		return c.found.external
	}
	return !c.sym.Local
}

// best returns the candidates of the highest match level, only those with an address if there are
// any. Of several candidates that the dynamic linker resolves to one variable, it keeps those of
// the first file.
func best(all []candidate) []candidate {
	keep := func(test func(candidate) bool) {
		if kept := slices.DeleteFunc(slices.Clone(all), func(c candidate) bool { return !test(c) }); len(kept) > 0 {
			all = kept
		}
	}
	top := noMatch
	for _, c := range all {
		top = max(top, c.level)
	}
	keep(func(c candidate) bool { return c.level == top })
	keep(func(c candidate) bool {
		return c.found == nil || c.found.storage.rank() == inMemory.rank()
	})
	described := map[string]bool{}
	for _, c := range all {
		described[c.linkage()] = described[c.linkage()] || c.found != nil
	}
	keep(func(c candidate) bool { return c.found != nil || c.linkage() == "" || !described[c.linkage()] })
	first := map[string]*bin.File{}
	keep(func(c candidate) bool {
		name := c.linkage()
		if name == "" {
			return true
		}
		if first[name] == nil {
			first[name] = c.file
		}
		return first[name] == c.file
	})
	return all
}

// linkage returns the name by which other files refer to the variable; "" if they cannot.
func (c candidate) linkage() string {
	switch {
	case !c.visible():
		return ""
	case c.sym != nil:
		return c.sym.Name
	case c.found.linkage != "":
		return c.found.linkage
	}
	return c.found.name[len(c.found.name)-1].name
}

// variable returns the candidate as a Variable, or an error that states why it cannot be watched.
func (c candidate) variable(q query) (Variable, error) {
	if c.sym != nil {
		return c.fromSymbol(q)
	}
	v := c.found
	refuse := func(r Reason, format string, args ...any) (Variable, error) {
		return Variable{}, &Error{Name: q.text, Reason: r, Message: plural.Sprintf(format, args...)}
	}
	switch v.storage {
	case perThread:
		return refuse(ThreadLocal, "it is thread-local: each thread has its own, so there is nothing to race on")
	case asConstant:
		return refuse(Optimised, "the compiler has made it a constant: nothing writes it, or it needs volatile or -O0 to stay in memory")
	case nowhere:
		return refuse(Optimised, "the compiler has optimised it away: compile with -O0, or make it volatile")
	case scattered:
		return refuse(Optimised, "it has no fixed address: the compiler keeps it in registers, or something from which its value is computed; compile with -O0, or make it volatile")
	}
	at, bad := v.index.descend(v, q, c.parts)
	if bad != nil {
		return Variable{}, bad
	}
	base, piece, ok := v.base(at.start)
	if !ok {
		return refuse(Optimised, "the compiler keeps other parts of it in memory, but not this one: compile with -O0, or make it volatile")
	}
	out := Variable{
		Name: qualified(v.name) + at.path, Symbol: c.linkage(), File: c.file, DeclFile: v.source(), DeclLine: int(v.declLine),
	}
	if q.addressOnly {
		out.Addr, out.Whole = base+at.start, bin.Range{Lo: base, Hi: base + max(at.root, at.start+1)}
	} else if bad = at.fill(&out, q, base); bad != nil {
		return Variable{}, bad
	}
	if piece != (bin.Range{}) && !out.within(piece) {
		return refuse(Optimised, "the compiler keeps it in several pieces: compile with -O0, or make it volatile")
	}
	return out, nil
}

// within makes the piece of a variable that v lies in the whole that v is a part of. It returns false if v lies in more
// than that.
func (v *Variable) within(piece bin.Range) bool {
	if end := v.Addr + uint64(max(v.Size, 1)); end > piece.Hi {
		return false
	}
	v.Whole, v.Reach = piece, []bin.Range{piece}
	if v.Addr == piece.Lo && piece.Hi-piece.Lo == uint64(v.Size) {
		v.Whole, v.Reach = bin.Range{}, nil
	}
	return true
}

// fromSymbol returns a Variable made from the symbol and the type that the user stated.
func (c candidate) fromSymbol(q query) (Variable, error) {
	s := c.sym
	refuse := func(r Reason, format string, args ...any) (Variable, error) {
		return Variable{}, &Error{Name: q.text, Reason: r, Message: plural.Sprintf(format, args...)}
	}
	plain := plainName(s.Name)
	raw, assumed := q.raw, q.raw == nil
	switch {
	case s.Kind == bin.TLS:
		return refuse(ThreadLocal, "it is thread-local: each thread has its own, so there is nothing to race on")
	case q.tail(c.parts) != "":
		return refuse(NoDebugInfo, "%s has no debug information about %s, so nobody knows its members: compile with -g, or say where the member is and what, as in %s+16:u32",
			c.file.Name(), plain, plain)
	case q.addressOnly:
		v := Variable{Name: plain, Symbol: c.linkage(), File: c.file, Addr: s.Addr + q.offset, Whole: bin.Range{Lo: s.Addr, Hi: s.Addr + max(s.Size, q.offset+1)}}
		if q.offset > 0 {
			v.Name += fmt.Sprintf("+%d", q.offset)
		}
		return v, nil
	case raw == nil && s.Size != 1 && s.Size != 2 && s.Size != 4 && s.Size != 8:
		return refuse(NoDebugInfo, "%s has no debug information about it, and the symbol's size is %d, which is no scalar's: "+
			"compile with -g, install the package with the debug symbols, or say what it is, as in %s:u32 or, for a member at an offset, %s+16:u32", c.file.Name(), s.Size, plain, plain)
	case raw == nil:
		raw = &rawType{name: "uint" + strconv.FormatUint(8*s.Size, 10), size: int(s.Size), class: Uint}
	case s.Size > 0 && (q.offset > s.Size || uint64(raw.size) > s.Size-q.offset):
		return refuse(WrongType, "%s has %d {byte|bytes}: no %s is at %d", plain, s.Size, raw.name, q.offset)
	}
	v := Variable{Name: plain, Symbol: c.linkage(), File: c.file, Addr: s.Addr + q.offset, Size: raw.size, Type: raw.name, Class: raw.class, Assumed: assumed}
	if q.offset > 0 {
		v.Name += fmt.Sprintf("+%d", q.offset)
	}
	if v.Whole = (bin.Range{Lo: s.Addr, Hi: s.Addr + max(s.Size, q.offset+uint64(v.Size))}); v.Whole.Hi-v.Whole.Lo == uint64(v.Size) {
		v.Whole = bin.Range{}
	} else {
		v.Reach = []bin.Range{v.Whole}
	}
	return v, nil
}

func plainName(linkage string) string {
	if len(linkage) > bin.MaxMangled {
		return linkage
	}
	return demangle.Filter(linkage, demangle.NoParams, demangle.MaxLength(12))
}

// copied returns the variable, or the program's copy of it. A program that is not
// position-independent, or that refers to a library's variable directly, reserves room in its own
// data, and the dynamic linker binds every reference to that copy (relocations of type COPY).
func (fd *finder) copied(v Variable) Variable {
	if !exports(v.File, v.Symbol, func(s bin.Symbol) bool { return s.Addr == v.enclosing().Lo }) {
		v.Symbol = ""
		return v
	}
	program := fd.files[0]
	if v.File != program {
		exports(program, v.Symbol, func(s bin.Symbol) bool {
			v.move(program, s.Addr-v.enclosing().Lo)
			return true
		})
	}
	return v
}

// move changes the variable's file, and adds by to its addresses.
func (v *Variable) move(f *bin.File, by uint64) {
	v.File, v.Addr = f, v.Addr+by
	for i := range v.Reach {
		v.Reach[i] = bin.Range{Lo: v.Reach[i].Lo + by, Hi: v.Reach[i].Hi + by}
	}
	if v.Whole.Hi > v.Whole.Lo {
		v.Whole = bin.Range{Lo: v.Whole.Lo + by, Hi: v.Whole.Hi + by}
	}
}

// exports reports whether the file has a dynamic symbol of that name that denotes a variable and
// passes the test.
func exports(f *bin.File, name string, test func(bin.Symbol) bool) bool {
	if name == "" {
		return false
	}
	for _, s := range f.Lookup(name) {
		if s.Kind == bin.Object && s.Dynamic && !s.Local && s.Addr != 0 && test(s) {
			return true
		}
	}
	return false
}

func ambiguous(q query, all []candidate) error {
	e := &Error{Name: q.text, Reason: Ambiguous, Message: "there are several of that name; name one of:"}
	spellings := map[string]int{}
	for _, c := range all {
		spellings[c.spelling(false)]++
	}
	for _, c := range all {
		e.Candidates = append(e.Candidates, c.spelling(spellings[c.spelling(false)] > 1)+q.tail(c.parts)+q.rest()+c.where())
	}
	slices.Sort(e.Candidates)
	return e
}

// spelling returns a name that denotes only this candidate, as far as that is possible.
func (c candidate) spelling(line bool) string {
	if c.sym != nil {
		return path.Base(c.file.Name()) + ":" + c.sym.Name
	}
	source := c.found.source()
	if source == "" {
		return path.Base(c.file.Name()) + ":" + qualified(c.found.name)
	}
	if line {
		return fmt.Sprintf("%s:%d:%s", source, c.found.declLine, qualified(c.found.name))
	}
	return path.Base(source) + ":" + qualified(c.found.name)
}

func (c candidate) where() string {
	if c.sym != nil {
		return fmt.Sprintf(" at 0x%x", c.sym.Addr)
	}
	return fmt.Sprintf(" at %s:%d", c.found.source(), c.found.declLine)
}

// notFound returns the error for a name that no variable has.
func (fd *finder) notFound(q query) error {
	for _, k := range q.heads() {
		path := q.head(k)
		for _, f := range fd.files {
			if x := fd.index(f); x != nil && len(path) <= 2 && !libname.Runtime(f.Name()) {
				if function, ok := x.local(path[k-1]); ok && (k == 1 || strings.HasSuffix("::"+function, "::"+path[0])) {
					return &Error{Name: q.text, Reason: LocalOnly, Message: fmt.Sprintf(
						"it is a local variable of %s: each call has its own; only variables with one address for the whole run can be watched", function)}
				}
			}
		}
	}
	known, silent := fd.names()
	e := &Error{Name: q.text, Reason: NotFound}
	for heads := q.heads(); len(heads) > 0 && len(e.Candidates) == 0; heads = heads[:len(heads)-1] {
		k := heads[len(heads)-1]
		for _, name := range near(strings.Join(q.head(k), "::"), known) {
			e.Candidates = append(e.Candidates, name+q.tail(k)+q.rest())
		}
	}
	e.Message = "no global or static variable has that name"
	if q.file != "" {
		e.Message += " in " + q.file
	}
	if len(silent) > 0 && len(e.Candidates) == 0 {
		e.Message += fmt.Sprintf("; %s: compile with -g and do not strip it, or install the package with its debug symbols", strings.Join(silent, "; "))
	}
	return e
}

// maxKnown bounds the total bytes of the names with which a name that was not found is compared.
const maxKnown = 64 << 20

// names returns every name that the user could have written and, for each file without debug
// information, the reason.
func (fd *finder) names() (known, silent []string) {
	left := maxKnown
	for _, f := range fd.files {
		x := fd.index(f)
		if libname.Runtime(f.Name()) {
			known = append(known, exported(f)...)
			continue
		}
		if x == nil {
			silent = append(silent, why(f, fd.failed[f]))
			for _, s := range f.Symbols() {
				if s.Kind == bin.Object && s.Addr != 0 && !strings.HasPrefix(s.Name, "_") {
					known = append(known, s.Name)
				}
			}
			continue
		}
		silent = append(silent, x.missing...)
		for i := range x.entries {
			name := qualified(x.resolve(i).name)
			if left -= len(name); left < 0 {
				break
			}
			known = append(known, name)
		}
	}
	return known, silent
}

// exported returns the names of the variables that a run-time library, such as the C library, offers
// to programs. A user hardly means one of its others.
func exported(f *bin.File) []string {
	var names []string
	for _, s := range f.Symbols() {
		if s.Kind == bin.Object && s.Dynamic && s.Addr != 0 && !strings.HasPrefix(s.Name, "_") {
			names = append(names, s.Name)
		}
	}
	return names
}

func why(f *bin.File, err error) string {
	if errors.Is(err, bin.ErrNoDWARF) {
		return path.Base(f.Name()) + " has no debug information"
	}
	return err.Error()
}
