package function

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ianlancetaylor/demangle"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/spelling"
)

// From says where an operand is when a function is entered.
type From uint8

// Where operands are.
const (
	Nowhere From = iota
	Reg          // in register Reg, plus Disp
	Stack        // on the stack, at Disp from where the return address lies
	Const        // it is Disp
	Memory       // in memory, at register Reg plus Disp
)

// Operand is a value at a function's entry.
type Operand struct {
	From  From
	Reg   insn.Reg
	Disp  int64
	Width int // bytes, 1 to 8; negative where it is sign-extended
}

// Param is a parameter that is recorded.
type Param struct {
	Name string // as in the source, "this", or arg1 and so on
	Type string // as in the source; "" without debug information
	// Index counts the parameters in the source from 0; -1 is this.
	Index int
	Operand
}

// Life is what a function does to the lifetime of its instance.
type Life uint8

// The kinds of function.
const (
	Lives  Life = iota // nothing
	Begins             // a constructor
	Ends               // a destructor
)

// Function is one place where a function that matches is entered.
type Function struct {
	Name    string // qualified, without parameters
	Addr    uint64
	Inlined bool        // a copy within another function: it has no return instruction
	Ranges  []elf.Range // of a copy: its code
	Params  []Param     // that some pattern binds, at most MaxParams, in order
	Object  Operand     // the instance; Nowhere if there is none
	// Result is the width of what is returned as of an Operand; 0: nothing, or not
	// in a register that can be read.
	Result     int
	ResultType string // as in the source; "" if unknown
	Makes      bool   // what is returned may be an address
	Life       Life
	On         []int // patterns that match, by their index
}

// Found is what one file has of the patterns.
type Found struct {
	Functions []Function // sorted by address
	Matched   []bool     // by pattern
	Misfits   []string   // by pattern: a function that has fewer parameters than it names; ""
	Notes     []string   // what of it cannot be had
}

// finder searches one file.
type finder struct {
	file     *elf.File
	patterns []Pattern
	text     []elf.Range
	words    [][]string // of each pattern: what a linked name that matches must have
	out      Found
	byAddr   map[uint64]*Function
	typed    bool                 // a pattern tells overloads apart
	clones   map[uint64]cloneKind // what symbols say of addresses
	debug    *debug               // nil: there is none
	chains   map[uint64][]*sub    // of functions, by address
	copies   []copied
	lacking  map[[2]string]int // parameters of copies that are not had: name, function
	abstract []string          // by pattern: a function that it matches and that may have no code
	misfit   []string          // by pattern: a function that has fewer parameters than it
	ranks    map[uint64]int    // how good a name is, by address
	long     elf.Demangling
	resolved map[uint64][]uint64 // versions of ifuncs, by resolver

	byVersion map[uint64][]string // names of ifuncs; nil until asked for
}

// Find finds the functions of f that match.
func Find(f *elf.File, patterns []Pattern) (Found, error) {
	x := &finder{file: f, patterns: patterns, text: f.Text(), byAddr: map[uint64]*Function{}, ranks: map[uint64]int{}, clones: map[uint64]cloneKind{}, lacking: map[[2]string]int{}, chains: map[uint64][]*sub{}, resolved: map[uint64][]uint64{}}
	x.abstract, x.misfit = make([]string, len(patterns)), make([]string, len(patterns))
	x.out.Matched = make([]bool, len(patterns))
	if len(patterns) == 0 {
		return x.out, nil
	}
	for _, p := range patterns {
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
		x.note("%d functions of %s have names of more than %d bytes, or too many long ones: they are not looked at", x.long.Refused, f.Name(), elf.MaxMangled)
	}
	return x.out, nil
}

// copied is an inlined copy.
type copied struct {
	fn    *Function
	chain []*sub
}

// finish records what each function is passed.
func (x *finder) finish() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("read debug information of %s: damaged: %v", x.file.Name(), r)
		}
	}()
	for _, addr := range slices.Sorted(maps.Keys(x.byAddr)) {
		fn := x.byAddr[addr]
		if chain := x.chains[addr]; chain != nil && !chain[0].in.unit.assembled() {
			x.describe(fn, chain)
		} else {
			x.plain(fn)
		}
		x.keep(fn)
	}
	for _, c := range x.copies {
		x.describe(c.fn, c.chain)
		x.keep(c.fn)
	}
	slices.SortStableFunc(x.out.Functions, func(a, b Function) int { return cmp.Compare(a.Addr, b.Addr) })
	x.lacks()
	x.fits()
	return nil
}

func (x *finder) keep(fn *Function) {
	if len(fn.On) > 0 {
		x.out.Functions = append(x.out.Functions, *fn)
	}
}

// fits takes back the match of patterns that name more parameters than any
// function has that they match.
func (x *finder) fits() {
	x.out.Misfits = x.misfit
	for i, why := range x.misfit {
		if why != "" && !slices.ContainsFunc(x.out.Functions, func(fn Function) bool { return slices.Contains(fn.On, i) }) {
			x.out.Matched[i] = false
		}
	}
}

func (x *finder) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(x.out.Notes, text) {
		x.out.Notes = append(x.out.Notes, text)
	}
}

// words returns the names within a pattern that a mangled name spells out too;
// those of the standard library it abbreviates.
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

// symbols looks at every name of the symbol tables.
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

// symbol takes up one name.
func (x *finder) symbol(s elf.Symbol) {
	linked, clone := splitClone(s.Name)
	if known, ok := x.clones[s.Addr]; !ok || clone < known {
		x.clones[s.Addr] = clone
	}
	names := []string{linked}
	if strings.HasPrefix(linked, "_Z") || strings.HasPrefix(linked, "_R") {
		if !x.worth(linked) {
			return
		}
		names = forms(linked, 3)
	}
	var on []int
	best := 0
	for i, p := range x.patterns {
		if p.File != "" { // symbols do not say
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
		x.chosen(s, names[0], on, best)
		return
	case clone == clonePart:
		x.note("part of %s is a function of its own at 0x%x: it is not taken for a call", names[0], s.Addr)
		return
	case clone == cloneNoEntry:
		return
	}
	x.add(s.Addr, names[0], on, best)
}

// add makes a function known; of several names of one address the best is kept.
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
	fn.On = append(fn.On, on...)
	slices.Sort(fn.On)
	fn.On = slices.Compact(fn.On)
	fn.Life = lifeOf(fn.Name)
}

func preferred(a, b string) bool {
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) < 0
}

// worth reports whether a mangled name may match anything.
func (x *finder) worth(linked string) bool {
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

// forms returns the spellings of a mangled name that a pattern may mean: without
// parameters, without template arguments too, and with parameters.
// The first so many are asked for. A name that cannot be read is its own form.
func forms(linked string, most int) []string {
	const size = 12 // of 2: bytes
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

// rank says how well a pattern fits the names of a function: 0 not at all.
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

// cloneKind is what a compiler's suffix states about a function.
type cloneKind uint8

const (
	cloneNone    cloneKind = iota
	cloneSame              // with the parameters of the original
	cloneChanged           // with others
	clonePart              // its second part, as a function
	cloneNoEntry           // no function of its own
)

// splitClone parts the suffixes that GCC and LLVM put behind the name of a copy
// of a function.
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

// lifeOf recognises constructors and destructors by their names.
func lifeOf(name string) Life {
	class, last := splitLast(name)
	_, own := splitLast(class)
	own, _, _ = strings.Cut(own, "<")
	bare, _, _ := strings.Cut(last, "<")
	switch {
	case own == "" || bare == "":
	case last == "~"+own:
		return Ends
	case bare == own:
		return Begins
	}
	return Lives
}

// splitLast parts the last component of a qualified name.
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

// plain returns the operands of a function of which nothing is known but its
// address: the argument registers.
func (x *finder) plain(fn *Function) {
	if x.clones[fn.Addr] == cloneChanged {
		x.note("%s at 0x%x is a copy with other parameters, and no debug information says which: none is recorded", fn.Name, fn.Addr)
		fn.Result, fn.Makes = 8, true
		return
	}
	fn.Object = x.register(0)
	fn.Result, fn.Makes = 8, true
	for _, i := range fn.On {
		for n, name := range x.patterns[i].Params {
			switch {
			case name == "_":
			case x.withThis(i):
				x.bind(fn, n, n-1)
			default:
				x.bind(fn, n, n)
			}
		}
	}
	slices.SortFunc(fn.Params, func(a, b Param) int { return cmp.Compare(a.Index, b.Index) })
}

// bind records argument n, which is called by an index.
func (x *finder) bind(fn *Function, n, index int) {
	if slices.ContainsFunc(fn.Params, func(p Param) bool { return p.Index == index }) {
		return
	}
	if len(fn.Params) == MaxParams {
		x.note("%s: more than %d parameters are asked for: parameter %d is not recorded", fn.Name, MaxParams, n+1)
		return
	}
	fn.Params = append(fn.Params, Param{Name: fmt.Sprintf("arg%d", n+1), Index: index, Operand: x.register(n)})
}

// register returns the place of integer argument n of a function, from 0.
func (x *finder) register(n int) Operand {
	regs := x.file.Arch().Arguments()
	if n < len(regs) {
		return Operand{From: Reg, Reg: regs[n], Width: 8}
	}
	disp := int64(n-len(regs)) * 8
	if x.file.Arch() == insn.AMD64 {
		disp += 8 // the return address
	}
	return Operand{From: Stack, Disp: disp, Width: 8}
}
