package knowledge

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// expr is a formula or an expression of a test, written as testdata has them.
type expr struct {
	op   string // an operator, @, c, v, read or write
	name string // of a variable, or the thread of @
	n    int64
	x, y *expr
}

var tokens = regexp.MustCompile(`\d+|[A-Za-z_][A-Za-z_0-9.]*|<->|->|&&|\|\||!=|<=|>=|[@!()=<>+*-]`)

// reader parses formulas of testdata: loosest to tightest <-> -> || && since, ! prev once hist,
// comparisons, + -, *, @j.
type reader struct{ tokens []string }

func parse(text string) *expr {
	r := &reader{tokens.FindAllString(text, -1)}
	x := r.binary(0)
	if len(r.tokens) > 0 {
		panic(fmt.Sprintf("%q: trailing %q", text, r.tokens))
	}
	return x
}

func (r *reader) peek() string {
	if len(r.tokens) == 0 {
		return ""
	}
	return r.tokens[0]
}

func (r *reader) take() string {
	t := r.peek()
	r.tokens = r.tokens[1:]
	return t
}

var levels = []string{"<->", "->", "||", "&&", "since"}

func (r *reader) binary(level int) *expr {
	if level == len(levels) {
		return r.unary()
	}
	x, op := r.binary(level+1), levels[level]
	for r.peek() == op {
		r.take()
		if op == "->" {
			return &expr{op: op, x: x, y: r.binary(level)}
		}
		x = &expr{op: op, x: x, y: r.binary(level + 1)}
	}
	return x
}

var unaries = []string{"!", "prev", "once", "hist"}

func (r *reader) unary() *expr {
	if op := r.peek(); slices.Contains(unaries, op) {
		r.take()
		return &expr{op: op, x: r.unary()}
	}
	x := r.infix([]string{"+", "-"})
	if op := r.peek(); slices.Contains([]string{"=", "!=", "<", "<=", ">", ">="}, op) {
		r.take()
		return &expr{op: op, x: x, y: r.infix([]string{"+", "-"})}
	}
	return x
}

func (r *reader) infix(ops []string) *expr {
	next := func() *expr {
		if ops[0] == "+" {
			return r.infix([]string{"*"})
		}
		return r.tight()
	}
	x := next()
	for slices.Contains(ops, r.peek()) {
		op := r.take()
		x = &expr{op: op, x: x, y: next()}
	}
	return x
}

func (r *reader) tight() *expr {
	if r.peek() != "@" {
		return r.atom()
	}
	r.take()
	thread := r.take()
	if slices.Contains(unaries, r.peek()) {
		return &expr{op: "@", name: thread, x: r.unary()}
	}
	return &expr{op: "@", name: thread, x: r.tight()}
}

func (r *reader) atom() *expr {
	t := r.take()
	switch {
	case t == "(":
		x := r.binary(0)
		r.take()
		return x
	case t == "true" || t == "false":
		return &expr{op: "c", n: int64(truth(t == "true"))}
	case (t == "read" || t == "write") && r.peek() == "(":
		r.take()
		x := &expr{op: t, name: r.take()}
		r.take()
		return x
	}
	if n, err := strconv.ParseInt(t, 10, 64); err == nil {
		return &expr{op: "c", n: n}
	}
	return &expr{op: "v", name: t}
}

// apply computes an operator that looks at one state.
func apply(op string, a, b int64) int64 {
	switch op {
	case "!":
		return int64(truth(a == 0))
	case "&&":
		return a & b
	case "||":
		return a | b
	case "->":
		return int64(truth(a == 0 || b != 0))
	case "<->", "=":
		return int64(truth(a == b))
	case "!=":
		return int64(truth(a != b))
	case "<":
		return int64(truth(a < b))
	case "<=":
		return int64(truth(a <= b))
	case ">":
		return int64(truth(a > b))
	case ">=":
		return int64(truth(a >= b))
	case "+":
		return a + b
	case "-":
		return a - b
	case "*":
		return a * b
	}
	panic("unknown operator " + op)
}

// code is the code of a body of a test.
type code func(in []uint64) int64

func (c code) Eval(in []uint64) (uint64, bool) { return uint64(c(in)), true }

// world is what formulas of a test are about, with the formula that they make.
type world struct {
	threads   []string // declared ones, by number
	typeNames []string
	variables []string
	locals    [][2]string // thread and name
	formula   *Formula
	codes     []Code
	exprs     map[*Body]*expr
	bound     []string
}

func newWorld(threads, variables []string) *world {
	return &world{threads: threads, variables: variables, exprs: map[*Body]*expr{}, formula: &Formula{Name: "f", Variables: variables, Declared: len(threads)}}
}

// number returns the number of a thread.
func (w *world) number(thread string) int {
	if i := slices.Index(w.threads, thread); i >= 0 {
		return i
	}
	return len(w.threads) + slices.Index(w.bound, thread)
}

// bind declares a thread that a quantifier binds.
func (w *world) bind(thread, typ string) int {
	if !slices.Contains(w.typeNames, typ) {
		w.typeNames = append(w.typeNames, typ)
		w.formula.Types++
	}
	w.bound = append(w.bound, thread)
	w.formula.Bound = append(w.formula.Bound, slices.Index(w.typeNames, typ))
	return w.number(thread)
}

// add adds the formula @i F, for all bound threads that are given.
func (w *world) add(x *expr, bound []int, differ ...[2]int) {
	if x.op != "@" {
		panic("a formula is @i F")
	}
	w.formula.Tops = append(w.formula.Tops, Top{Bound: bound, Differ: differ, Body: w.body(x.name, x.x)})
}

// body makes the body of an expression in the states of a thread.
func (w *world) body(thread string, x *expr) *Body {
	b := &Body{ID: len(w.codes), Thread: w.number(thread)}
	w.exprs[b], w.codes = x, append(w.codes, nil)
	w.formula.Bodies++
	input := func(in Input) code {
		k := len(b.Inputs)
		b.Inputs = append(b.Inputs, in)
		return func(v []uint64) int64 { return int64(v[k]) }
	}
	var compile func(x *expr) code
	compile = func(x *expr) code {
		switch x.op {
		case "c":
			return func([]uint64) int64 { return x.n }
		case "v":
			if i := slices.IndexFunc(w.locals, func(l [2]string) bool { return l[1] == x.name && (l[0] == thread || l[0] == "") }); i >= 0 {
				return input(Input{Kind: Local, Index: i})
			}
			return input(Input{Kind: Variable, Index: slices.Index(w.variables, x.name)})
		case "read", "write":
			return input(Input{Kind: Happened, Index: 2*slices.Index(w.variables, x.name) + int(truth(x.op == "write"))})
		case "@":
			return input(Input{Kind: Remote, X: w.body(x.name, x.x)})
		case "prev", "once", "hist":
			kind := map[string]InputKind{"prev": Prev, "once": Once, "hist": Historically}[x.op]
			return input(Input{Kind: kind, X: w.body(thread, x.x)})
		case "since":
			y := w.body(thread, x.y)
			return input(Input{Kind: Since, X: w.body(thread, x.x), Y: y})
		case "forall", "exists":
			words := strings.Fields(x.name)
			n := w.bind(words[0], words[1])
			kind := ForAll
			if x.op == "exists" {
				kind = Exists
			}
			return input(Input{Kind: kind, Index: n, X: w.body(thread, x.x)})
		}
		f := compile(x.x)
		if x.y == nil {
			return func(v []uint64) int64 { return apply(x.op, f(v), 0) }
		}
		g := compile(x.y)
		return func(v []uint64) int64 { return apply(x.op, f(v), g(v)) }
	}
	w.codes[b.ID] = compile(x)
	return b
}

// localsOf adds the local variables of a test's threads.
func (w *world) localsOf(all map[string]map[string]number) (initial []uint64) {
	for _, thread := range slices.Sorted(maps.Keys(all)) {
		for _, name := range slices.Sorted(maps.Keys(all[thread])) {
			w.locals = append(w.locals, [2]string{thread, name})
			initial = append(initial, uint64(all[thread][name]))
		}
	}
	return initial
}
