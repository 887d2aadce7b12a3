package variable

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ianlancetaylor/demangle"

	bin "github.com/tracepredict/tracepredict/probes/binary"
)

// Find finds a variable of one file by name. See FindIn.
func Find(f *bin.File, name string) (Variable, error) { return FindIn([]*bin.File{f}, name) }

// FindIn finds a variable by name in a program and its libraries, given in the
// order in which the dynamic linker searches them, the program first. Name is
// "hits", "ns::Queue::depth" (enclosing scopes may be left out where that is
// not ambiguous), "func::count" or "func.count" for a function's static; before
// it may stand "file.c:", "dir/file.c:", "file.c:12:" (the line of the
// declaration) or "libx.so:". A file without debug information is searched by
// its symbol table. Where the program has a copy of a library's variable, the
// copy is the variable. Errors that the name is the cause of are *Error.
func FindIn(files []*bin.File, name string) (Variable, error) { return NewFinder(files).Find(name) }

// Finder finds several variables of the same files, reading the debug
// information of each once. It is not safe for concurrent use.
type Finder struct {
	files   []*bin.File
	indexes map[*bin.File]*index
	failed  map[*bin.File]error
}

// NewFinder makes a finder for a program and its libraries; see FindIn.
func NewFinder(files []*bin.File) *Finder {
	return &Finder{files: files, indexes: map[*bin.File]*index{}, failed: map[*bin.File]error{}}
}

// candidate is something that the name may mean.
type candidate struct {
	file  *bin.File
	level matchLevel
	found *found      // from debug information, or
	sym   *bin.Symbol // from the symbol table
}

// Find finds a variable; see FindIn.
func (fd *Finder) Find(name string) (v Variable, err error) {
	defer func() { // the standard library's reader of debug information can panic
		if r := recover(); r != nil {
			v, err = Variable{}, fmt.Errorf("watch %s: the debug information is damaged: %v", name, r)
		}
	}()
	q, bad := parseName(name)
	if bad != nil {
		return Variable{}, bad
	}
	var all []candidate
	for _, f := range fd.files {
		all = append(all, fd.inFile(f, q)...)
		// The program's own come first, and the libraries' debug
		// information need not be read; a symbol alone may stand for the
		// copy of a library's variable, whose type the library knows.
		if len(all) > 0 && (all[0].found != nil || !all[0].sym.Dynamic) {
			break
		}
	}
	all = best(all)
	switch {
	case len(all) == 0:
		return Variable{}, fd.notFound(q)
	case len(all) > 1:
		return Variable{}, ambiguous(q, all)
	}
	if v, err = all[0].variable(q); err != nil {
		return Variable{}, err
	}
	return fd.copied(v), nil
}

// index reads a file's debug information once; nil if it has none.
func (fd *Finder) index(f *bin.File) *index {
	if _, done := fd.failed[f]; !done {
		fd.indexes[f], fd.failed[f] = newIndex(f)
	}
	if fd.failed[f] != nil {
		return nil
	}
	return fd.indexes[f]
}

func (fd *Finder) inFile(f *bin.File, q query) []candidate {
	binary := q.file != "" && q.matchBinary(f.Name())
	var out []candidate
	if x := fd.index(f); x != nil {
		for _, v := range x.all(func(n []component) bool { return q.match(n) > noMatch }) {
			if binary || q.matchFile(v.source()) {
				if q.line == 0 || int64(q.line) == v.declLine {
					out = append(out, candidate{file: f, level: q.match(v.name), found: &v})
				}
			}
		}
	}
	if len(out) > 0 || q.file != "" && !binary || q.line != 0 {
		return out
	}
	return bySymbol(f, q)
}

// bySymbol finds variables in the symbol tables. The tables do not say in
// which source file a name is, nor in which function.
func bySymbol(f *bin.File, q query) []candidate {
	seen := map[uint64]bool{}
	var long bin.Demangling
	var out []candidate
	for _, s := range f.Symbols() {
		if s.Kind != bin.Object && s.Kind != bin.TLS || s.Addr == 0 && s.Kind == bin.Object || seen[s.Addr] {
			continue
		}
		if level := matchSymbol(q, s.Name, &long); level > noMatch {
			seen[s.Addr] = true
			out = append(out, candidate{file: f, level: level, sym: &s})
		}
	}
	return out
}

func matchSymbol(q query, name string, long *bin.Demangling) matchLevel {
	last := q.path[len(q.path)-1]
	if !strings.Contains(name, last) && len(q.path) == 1 {
		return noMatch
	}
	if name == strings.Join(q.path, ".") || name == strings.Join(q.path, "::") {
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
	return q.match(parts)
}

// visible reports whether other files' references mean this variable too.
func (c candidate) visible() bool {
	if c.found != nil {
		return c.found.external
	}
	return !c.sym.Local
}

// best keeps the candidates of the highest level that have a place, if any
// has; of those that the dynamic linker makes one, it keeps the first.
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
		return c.found == nil || c.found.storage == inMemory || c.found.storage == perThread
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

// linkage is the name by which other files refer to the variable; "" if they
// cannot.
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

// variable makes the candidate a variable, or says why it cannot be watched.
func (c candidate) variable(q query) (Variable, error) {
	if c.sym != nil {
		return c.fromSymbol(q)
	}
	v := c.found
	refuse := func(r Reason, format string, args ...any) (Variable, error) {
		return Variable{}, &Error{Name: q.text, Reason: r, Message: fmt.Sprintf(format, args...)}
	}
	switch v.storage {
	case perThread:
		return refuse(ThreadLocal, "it is thread-local: each thread has its own, so there is nothing to race on")
	case asConstant:
		return refuse(Optimised, "the compiler has made it a constant: nothing writes it, or it needs volatile or -O0 to stay in memory")
	case nowhere:
		return refuse(Optimised, "the compiler has optimised it away: compile with -O0, or make it volatile")
	case scattered:
		return refuse(Optimised, "it has no fixed address: the compiler keeps it in registers or in pieces; compile with -O0, or make it volatile")
	}
	t := v.index.typeOf(v.typ, v.typUnit)
	if t.bad != "" {
		return refuse(WrongType, "it has %s", t.bad)
	}
	if t.size != 1 && t.size != 2 && t.size != 4 && t.size != 8 {
		return refuse(WrongType, "it has type %s of %d bytes: only 1, 2, 4 or 8 bytes can be watched", t.text, t.size)
	}
	return Variable{
		Name: qualified(v.name), Symbol: c.linkage(), File: c.file, Addr: v.addr, Size: int(t.size),
		Type: t.text, Class: t.class, Atomic: t.atomic, Volatile: t.volatile,
		DeclFile: v.source(), DeclLine: int(v.declLine),
	}, nil
}

func (c candidate) fromSymbol(q query) (Variable, error) {
	s := c.sym
	switch {
	case s.Kind == bin.TLS:
		return Variable{}, &Error{Name: q.text, Reason: ThreadLocal, Message: "it is thread-local: each thread has its own, so there is nothing to race on"}
	case s.Size != 1 && s.Size != 2 && s.Size != 4 && s.Size != 8:
		return Variable{}, &Error{Name: q.text, Reason: NoDebugInfo, Message: fmt.Sprintf(
			"%s has no debug information about it, and the symbol's size is %d, which is no scalar's: compile with -g, or install the package with the debug symbols", c.file.Name(), s.Size)}
	}
	return Variable{
		Name: plainName(s.Name), Symbol: c.linkage(), File: c.file, Addr: s.Addr, Size: int(s.Size),
		Type: "uint" + strconv.FormatUint(8*s.Size, 10), Class: Uint,
	}, nil
}

func plainName(linkage string) string {
	if len(linkage) > bin.MaxMangled {
		return linkage
	}
	return demangle.Filter(linkage, demangle.NoParams, demangle.MaxLength(12))
}

// copied moves a library's variable to the copy that the program has of it: a
// program that is not position-independent, or refers to it directly, reserves
// room in its own data, and the dynamic linker makes every reference mean that
// (relocations of type COPY).
func (fd *Finder) copied(v Variable) Variable {
	if !exports(v.File, v.Symbol, func(s bin.Symbol) bool { return s.Addr == v.Addr }) {
		v.Symbol = ""
		return v
	}
	program := fd.files[0]
	if v.File != program {
		exports(program, v.Symbol, func(s bin.Symbol) bool {
			v.File, v.Addr = program, s.Addr
			return true
		})
	}
	return v
}

// exports reports whether the dynamic linker sees a variable of that name in
// the file that passes the test.
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
		e.Candidates = append(e.Candidates, c.spelling(spellings[c.spelling(false)] > 1)+c.where())
	}
	slices.Sort(e.Candidates)
	return e
}

// spelling is a name that means this candidate alone, as far as that can be.
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

// notFound says what is known of a name that names no variable.
func (fd *Finder) notFound(q query) error {
	for _, f := range fd.files {
		if x := fd.index(f); x != nil && len(q.path) <= 2 {
			if function, ok := x.local(q.path[len(q.path)-1]); ok && (len(q.path) == 1 || strings.HasSuffix("::"+function, "::"+q.path[0])) {
				return &Error{Name: q.text, Reason: LocalOnly, Message: fmt.Sprintf(
					"it is a local variable of %s: each call has its own; only variables with one address for the whole run can be watched", function)}
			}
		}
	}
	known, silent := fd.names()
	e := &Error{Name: q.text, Reason: NotFound, Candidates: near(strings.Join(q.path, "::"), known)}
	e.Message = "no global or static variable has that name"
	if q.file != "" {
		e.Message += " in " + q.file
	}
	if len(silent) > 0 && len(e.Candidates) == 0 {
		e.Message += fmt.Sprintf("; %s: compile with -g and do not strip it, or install the package with its debug symbols", strings.Join(silent, "; "))
	}
	return e
}

// maxKnown bounds the bytes of all names that one that was not found is compared
// with.
const maxKnown = 64 << 20

// names gives every name that could have been given, and for each file
// without debug information why that is so.
func (fd *Finder) names() (known, silent []string) {
	left := maxKnown
	for _, f := range fd.files {
		x := fd.index(f)
		if x == nil {
			silent = append(silent, why(f, fd.failed[f]))
			for _, s := range f.Symbols() {
				if s.Kind == bin.Object && s.Addr != 0 && !strings.HasPrefix(s.Name, "_") {
					known = append(known, s.Name)
				}
			}
			continue
		}
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

func why(f *bin.File, err error) string {
	if errors.Is(err, bin.ErrNoDWARF) {
		return path.Base(f.Name()) + " has no debug information"
	}
	return err.Error()
}
