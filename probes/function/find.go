package function

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ianlancetaylor/demangle"

	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/spelling"
)

// OperandKind is the kind of location that an operand has at a function's entry.
type OperandKind uint8

// The kinds of location.
const (
	Nowhere OperandKind = iota
	Reg                 // the value is that of register Reg plus Disp
	Stack               // on the stack, at Disp from the address of the return address
	Const               // the value is Disp
	Memory              // in memory, at the address in register Reg plus Disp
)

// Operand is the location of a value at a function's entry.
type Operand struct {
	Kind  OperandKind
	Reg   insn.Reg
	Disp  int64
	Width int // bytes, 1 to 8; negative if the value is sign-extended
}

// Param is a parameter that is recorded.
type Param struct {
	Name string // as in the source: a name or "this"; arg1 and so on without debug information
	Type string // as in the source; "" without debug information
	// Index is the position among the parameters in the source, from 0; -1 is this.
	Index int
	Operand
	// Of has the names of the type to which it points: typedefs, and what they stand for. It has none if that is unknown,
	// void, or no type with a name.
	Of []string
	// Stored is the width of what the function has stored at the address that the parameter is, as Operand.Width; 0: the
	// parameter itself is recorded. Element is which element of an array there it is.
	Stored, Element int
}

// same reports whether two parameters are recorded alike.
func (p *Param) same(q Param) bool {
	return p.Index == q.Index && (p.Stored != 0) == (q.Stored != 0) && p.Element == q.Element
}

// sortParams puts parameters in the order in which they are recorded: those at the entry first.
func sortParams(ps []Param) {
	slices.SortFunc(ps, func(a, b Param) int {
		switch {
		case a.Stored == 0 && b.Stored != 0:
			return -1
		case a.Stored != 0 && b.Stored == 0:
			return 1
		}
		return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.Element, b.Element))
	})
}

// Function is one entry of a function that matches: its code, or an inlined copy.
type Function struct {
	Name    string // qualified, without parameters
	Addr    uint64
	Inlined bool        // a copy inlined into another function: it has no return instruction
	Ranges  []elf.Range // for an inlined copy: its code
	Params  []Param     // the parameters that some pattern binds, at most MaxParams; see sortParams
	Object  Operand     // the instance; Nowhere if there is none
	// Result is the width of the result, as Operand.Width; 0: there is none, or it is not in a
	// register that can be read.
	Result         int
	ResultType     string   // as in the source; "" if unknown
	ResultOf       []string // as Param.Of
	ReturnsAddress bool     // the result may be an address
	// Constructor and Destructor report whether the function begins or ends the lifetime of its instance, by its name.
	Constructor, Destructor bool
	Patterns                []int // indices of the patterns that match
}

// Found is the result for one file.
type Found struct {
	Functions []Function // sorted by address
	Matched   []bool     // by pattern
	// Misfits are, by pattern, a function that matches but has fewer parameters than the pattern
	// names; "" if none.
	Misfits []string
	Notes   []string // sentences on what cannot be observed
}

// finder searches one file.
type finder struct {
	file     *elf.File
	patterns []Pattern
	text     []elf.Range
	words    [][]string // of each pattern of functions: the words that a mangled name must contain to match
	out      Found
	byAddr   map[uint64]*Function
	typed    bool                     // some pattern distinguishes overloads
	clones   map[uint64]cloneKind     // by address: the kind by the symbol's suffix
	debug    *debug                   // nil: there is no debug information
	chains   map[uint64][]*subprogram // the entries of functions, by address
	copies   []inlinedCopy
	// lacking is the number of copies in which a parameter cannot be recorded, by parameter and
	// function.
	lacking  map[[2]string]int
	abstract []string       // by pattern: a function that matches and may have no code
	misfit   []string       // by pattern: a function with fewer parameters than the pattern names
	ranks    map[uint64]int // the rank of each function's name, by address
	long     elf.Demangling
	resolved map[uint64][]uint64 // versions of ifuncs, by the address of the resolver

	byVersion map[uint64][]string // names of ifuncs by version; nil until first used
}

// Find returns the functions of f that match the patterns.
func Find(f *elf.File, patterns []Pattern) (Found, error) {
	x := &finder{file: f, patterns: patterns, text: f.Text(), byAddr: map[uint64]*Function{}, ranks: map[uint64]int{}, clones: map[uint64]cloneKind{}, lacking: map[[2]string]int{}, chains: map[uint64][]*subprogram{}, resolved: map[uint64][]uint64{}}
	x.abstract, x.misfit = make([]string, len(patterns)), make([]string, len(patterns))
	x.out.Matched = make([]bool, len(patterns))
	if len(patterns) == 0 {
		return x.out, nil
	}
	for _, p := range patterns {
		if p.OfLines() {
			continue
		}
		x.words = append(x.words, words(p.Name))
		x.typed = x.typed || strings.Contains(p.Name, "(")
	}
	x.symbols()
	if err := x.described(); err != nil {
		return x.out, err
	}
	if err := x.finish(); err != nil {
		return x.out, err
	}
	if x.long.Refused > 0 {
		x.note("%d {function|functions} of %s with {a name|names} of more than %d bytes, or with too many long ones, {is|are} not looked at", x.long.Refused, f.Name(), elf.MaxMangled)
	}
	return x.out, nil
}

// inlinedCopy is an inlined copy of a function.
type inlinedCopy struct {
	fn    *Function
	chain []*subprogram
}

// finish records the parameters of each function that matches.
func (x *finder) finish() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("read debug information of %s: damaged: %v", x.file.Name(), r)
		}
	}()
	for _, addr := range slices.Sorted(maps.Keys(x.byAddr)) {
		fn := x.byAddr[addr]
		if chain := x.chains[addr]; chain != nil && !assembled(chain[0].unit) {
			x.describe(fn, chain)
		} else {
			x.bindRegisters(fn)
		}
		x.output(fn)
	}
	for _, c := range x.copies {
		x.describe(c.fn, c.chain)
		x.output(c.fn)
	}
	slices.SortStableFunc(x.out.Functions, func(a, b Function) int { return cmp.Compare(a.Addr, b.Addr) })
	x.noteLacking()
	x.dropMisfits()
	return nil
}

func (x *finder) output(fn *Function) {
	if len(fn.Patterns) > 0 {
		x.out.Functions = append(x.out.Functions, *fn)
	}
}

// dropMisfits removes the match of a pattern that names more parameters than any function that it
// matches has.
func (x *finder) dropMisfits() {
	x.out.Misfits = x.misfit
	for i, why := range x.misfit {
		if why != "" && !slices.ContainsFunc(x.out.Functions, func(fn Function) bool { return slices.Contains(fn.Patterns, i) }) {
			x.out.Matched[i] = false
		}
	}
}

func (x *finder) note(format string, args ...any) {
	if text := plural.Sprintf(format, args...); !slices.Contains(x.out.Notes, text) {
		x.out.Notes = append(x.out.Notes, text)
	}
}

// words returns the identifiers in a pattern that a matching mangled name must contain too. A
// mangled name abbreviates those of the standard library, so they are left out.
func words(pattern string) []string {
	var out []string
	for i := 0; i < len(pattern); {
		j := i
		for j < len(pattern) && isName(pattern[j]) {
			j++
		}
		w := pattern[i:j]
		whole := (i == 0 || !strings.ContainsRune("*?", rune(pattern[i-1]))) && (j == len(pattern) || !strings.ContainsRune("*?", rune(pattern[j])))
		if w == "operator" || strings.Contains(pattern, "std::") || w == "anonymous" || w == "namespace" {
			whole = false
		}
		if whole && w != "" && (w[0] < '0' || w[0] > '9') {
			out = append(out, w)
		}
		i = j + 1
	}
	return out
}

// symbols matches every name in the symbol tables.
func (x *finder) symbols() {
	stubs := x.file.PLTTargets()
	all := x.file.Symbols()
	if more, err := x.file.DebugSymbols(); err == nil {
		all = slices.Concat(all, more)
	}
	for _, s := range all {
		if s.Kind != elf.Func && s.Kind != elf.IFunc || s.Addr == 0 || !x.isCode(s.Addr) || stubs[s.Addr] != "" {
			continue
		}
		x.symbol(s)
	}
}

func (x *finder) isCode(addr uint64) bool {
	for _, t := range x.text {
		if t.Contains(addr) {
			return true
		}
	}
	return false
}

// symbol matches one symbol with the patterns.
func (x *finder) symbol(s elf.Symbol) {
	linked, clone := splitClone(s.Name)
	if known, ok := x.clones[s.Addr]; !ok || clone < known {
		x.clones[s.Addr] = clone
	}
	names := []string{linked}
	if strings.HasPrefix(linked, "_Z") || strings.HasPrefix(linked, "_R") {
		if !x.mayMatch(linked) {
			return
		}
		names = spellings(linked, 3)
	}
	var on []int
	best := 0
	for i, p := range x.patterns {
		if p.File != "" { // symbols do not record the source file; nor do they have lines
			continue
		}
		if r := rank(p.Name, names); r > 0 {
			on, best = append(on, i), max(best, r)
		}
	}
	if len(on) == 0 {
		return
	}
	switch {
	case s.Kind == elf.IFunc:
		x.addVersions(s, names[0], on, best)
		return
	case clone == clonePart:
		x.note("part of %s is a function of its own at 0x%x: it is not taken for a call", names[0], s.Addr)
		return
	case clone == cloneNoEntry:
		return
	}
	x.add(s.Addr, names[0], on, best)
}

// add records a function that matches. Of several names for one address it keeps the best.
func (x *finder) add(addr uint64, name string, on []int, best int) {
	for _, i := range on {
		x.out.Matched[i] = true
	}
	fn := x.byAddr[addr]
	if fn == nil {
		fn = &Function{Addr: addr, Name: name}
		x.byAddr[addr] = fn
		x.ranks[addr] = best
	} else if r := x.ranks[addr]; best > r || best == r && preferred(name, fn.Name) {
		fn.Name, x.ranks[addr] = name, best
	}
	fn.Patterns = append(fn.Patterns, on...)
	slices.Sort(fn.Patterns)
	fn.Patterns = slices.Compact(fn.Patterns)
	fn.Constructor, fn.Destructor = lifeOf(fn.Name)
}

func preferred(a, b string) bool {
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) < 0
}

// mayMatch reports whether a mangled name may match a pattern, so that it is mayMatch demangling.
func (x *finder) mayMatch(linked string) bool {
	for _, need := range x.words {
		ok := true
		for _, w := range need {
			ok = ok && strings.Contains(linked, w)
		}
		if ok {
			return x.long.Allows(linked)
		}
	}
	return false
}

// spellings returns at most most spellings of a mangled name that a pattern may match: without
// parameters, without parameters and template arguments, and in full, in that order. A name that
// cannot be demangled is its own form.
func spellings(linked string, most int) []string {
	const size = 12 // log2 of the maximum length of a demangled name, in bytes
	var out []string
	for _, options := range [][]demangle.Option{{demangle.NoParams}, {demangle.NoParams, demangle.NoTemplateParams}, {}} {
		s, err := demangle.ToString(linked, append(options, demangle.MaxLength(size))...)
		if err == nil && len(out) < most && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		return []string{linked}
	}
	return out
}

const anonymous = "(anonymous namespace)::"

// rank returns how well a pattern matches the names of a function; 0: not at all.
func rank(pattern string, names []string) int {
	for _, n := range names {
		bare := strings.ReplaceAll(n, anonymous, "")
		switch {
		case pattern == n || pattern == bare:
			return 2
		case strings.ContainsAny(pattern, "*?") && (spelling.Glob(pattern, n) || spelling.Glob(pattern, bare)):
			return 1
		}
	}
	return 0
}

// cloneKind is the kind of a function copy, by the suffix that the compiler gave its name.
type cloneKind uint8

const (
	cloneNone    cloneKind = iota
	cloneSame              // it has the parameters of the original
	cloneChanged           // it has other parameters
	clonePart              // a part of the original, split off as a function
	cloneNoEntry           // not an entry of the function
)

// splitClone separates the suffixes that GCC and LLVM append to the name of a copy of a function.
func splitClone(name string) (string, cloneKind) {
	i := strings.IndexByte(name, '.')
	if i <= 0 {
		return name, cloneNone
	}
	kind := cloneNone
	for _, part := range strings.Split(name[i+1:], ".") {
		switch {
		case part == "constprop" || part == "isra" || part == "argprom" || part == "argelim" || part == "specialized":
			kind = max(kind, cloneChanged)
		case part == "part":
			kind = max(kind, clonePart)
		case part == "cold" || part == "resolver" || part == "ifunc":
			kind = cloneNoEntry
		case part == "lto_priv" || part == "llvm" || part == "localalias" || part == "clone" || part == "default" || part == "__uniq" || part == "retelim" || part == "cfi" || strings.HasPrefix(part, "avx") || strings.HasPrefix(part, "sse") || strings.HasPrefix(part, "arch_"):
			kind = max(kind, cloneSame)
		case strings.Trim(part, "0123456789") == "" && kind != cloneNone:
		default:
			return name, cloneNone
		}
	}
	return name[:i], kind
}

// lifeOf reports whether a function is a constructor or destructor, by its name.
func lifeOf(name string) (constructor, destructor bool) {
	class, last := splitLast(name)
	_, own := splitLast(class)
	own, _, _ = strings.Cut(own, "<")
	bare, _, _ := strings.Cut(last, "<")
	if own == "" || bare == "" {
		return false, false
	}
	return bare == own, last == "~"+own
}

// splitLast separates the last component of a qualified name.
func splitLast(name string) (rest, last string) {
	depth := 0
	for i := len(name) - 1; i > 0; i-- {
		switch name[i] {
		case '>', ')':
			depth++
		case '<', '(':
			depth--
		case ':':
			if depth == 0 && name[i-1] == ':' {
				return name[:i-1], name[i+1:]
			}
		}
	}
	return "", name
}

// bindRegisters records the operands of a function without debug information: the argument
// registers.
func (x *finder) bindRegisters(fn *Function) {
	if x.clones[fn.Addr] == cloneChanged {
		x.note("%s at 0x%x is a copy with other parameters, and no debug information says which: none is recorded", fn.Name, fn.Addr)
		fn.Result, fn.ReturnsAddress = 8, true
		return
	}
	fn.Object = x.argument(0)
	fn.Result, fn.ReturnsAddress = 8, true
	for _, i := range fn.Patterns {
		for n, name := range x.patterns[i].Params {
			switch {
			case name == "_":
			case x.withThis(i):
				x.bind(fn, i, n, n-1)
			default:
				x.bind(fn, i, n, n)
			}
		}
	}
	sortParams(fn.Params)
}

// bind records argument n of a pattern as the parameter with the given index.
func (x *finder) bind(fn *Function, pattern, n, index int) {
	p := Param{Name: fmt.Sprintf("arg%d", n+1), Index: index, Operand: x.argument(n)}
	if s, ok := x.patterns[pattern].Stored[n]; ok {
		p.Stored, p.Element = s.width(), s.Element
	}
	if slices.ContainsFunc(fn.Params, p.same) {
		return
	}
	if len(fn.Params) == MaxParams {
		x.note("%s: more than %d parameters are asked for: parameter %d is not recorded", fn.Name, MaxParams, n+1)
		return
	}
	fn.Params = append(fn.Params, p)
}

// argument returns the location of a function's integer argument n, counted from 0.
func (x *finder) argument(n int) Operand {
	regs := x.file.Arch().Arguments()
	if n < len(regs) {
		return Operand{Kind: Reg, Reg: regs[n], Width: 8}
	}
	disp := int64(n-len(regs)) * 8
	if x.file.Arch() == insn.AMD64 {
		disp += 8 // the return address lies below the arguments
	}
	return Operand{Kind: Stack, Disp: disp, Width: 8}
}
