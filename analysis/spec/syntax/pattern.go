package syntax

import (
	"fmt"
	"strings"
)

// maxParams is the number of parameters that one pattern can bind.
const maxParams = 6

// opOf returns the operation that a word names.
func opOf(word string) (Op, bool) {
	for i, n := range opNames {
		if n == word {
			return Op(i), true
		}
	}
	return 0, false
}

// pattern reads a pattern of events.
func (p *parser) pattern() Pattern {
	if p.tok.kind != tokName {
		p.expected("a pattern, such as call F or write V")
	}
	op, ok := opOf(p.tok.text)
	if !ok {
		hint := strings.Join(opNames[:], ", ")
		if near := Nearest(p.tok.text, opNames[:]); near != "" {
			p.failAt(p.here(), "%q begins no pattern; did you mean %q?", p.tok.text, near)
		}
		p.failAt(p.here(), "%q begins no pattern: these do: %s", p.tok.text, hint)
	}
	t := p.advance()
	out := Pattern{Op: op}
	switch op {
	case OpCall, OpReturn:
		p.function(&out)
	case OpEnter, OpLeave:
		if op == OpLeave && p.atFunction() {
			p.function(&out)
		} else {
			out.Func = p.lines()
		}
	default:
		p.operation(&out)
	}
	out.Span = p.span(t.off, p.prev)
	return out
}

// function reads the rest of a pattern of calls or returns: FUNCTION [(NAME, …)] [-> NAME].
func (p *parser) function(out *Pattern) {
	out.Func = p.pathName("the name of a function", true)
	if p.isOp("(") {
		p.params(out)
	}
	if !p.isOp("->") {
		return
	}
	switch out.Op {
	case OpCall:
		p.failAt(p.here(), "a call has no result: write return for it")
	case OpLeave:
		p.failAt(p.here(), "a call that an exception ends has no result: write return for it")
	}
	p.advance()
	r := p.name("a name for the result")
	p.checkBound(out, r)
	out.Result = &r
}

// params reads the names that a pattern binds to parameters, in parentheses.
func (p *parser) params(out *Pattern) {
	if next := p.peek(); next.kind == tokOp && next.text == ")" {
		p.advance()
		p.advance()
		return
	}
	p.list(func() {
		n := Param{Stored: p.isOp("*")}
		star := p.here()
		if n.Stored {
			p.advance()
		}
		n.Name = p.name("a parameter's name, or _ for one that is not wanted")
		if n.Text == "this" && len(out.Params) > 0 {
			p.failAt(n.Span, "this is the first parameter of a method")
		}
		if p.stored(&n); n.Stored && out.Op == OpCall {
			p.failAt(star, "a call has stored nothing yet: write return for it")
		}
		if n.Stored && out.Op == OpLeave {
			p.failAt(star, "a call that an exception ends need not have stored anything: write return for it")
		}
		if n.Stored && (n.Text == "_" || n.Text == "this") {
			p.failAt(n.Span, "expected a name for what the function has stored")
		}
		p.checkBound(out, n.Name)
		out.Params = append(out.Params, n)
	})
}

// maxElement is the greatest index of an element that a pattern can bind.
const maxElement = 255

// stored reads what may follow a name: the index of an element, and the type of what the function has stored.
func (p *parser) stored(n *Param) {
	if !n.Stored && p.isOp("[") {
		n.Stored = true
		p.advance()
		if p.tok.kind != tokNumber || p.tok.value > maxElement {
			p.expected(fmt.Sprintf("the index of an element, from 0 to %d", maxElement))
		}
		n.Element = int(p.advance().value)
		p.needOp("]")
	}
	if !n.Stored || !p.isOp(":") {
		return
	}
	p.advance()
	n.Int = true
	if !p.takeWord("int") {
		p.expected("int, the type of what is stored")
	}
}

// checkBound fails if a pattern binds a name twice, or more than maxParams parameters.
func (p *parser) checkBound(out *Pattern, n Name) {
	bound := 0
	for _, other := range out.Params {
		if other.Text == n.Text && n.Text != "_" {
			p.failAt(n.Span, "two parameters are called %s", n.Text)
		}
		if other.Text != "_" {
			bound++
		}
	}
	if bound >= maxParams && n.Text != "_" && out.Op != OpReturn {
		p.failAt(n.Span, "at most %d parameters can be bound: write _ for the others", maxParams)
	}
}

// operation reads the rest of a pattern that is not of a function: the object, and for a write
// the name that its value binds.
func (p *parser) operation(out *Pattern) {
	if (out.Op == OpAcquire || out.Op == OpRelease) && p.takeWord("any") {
		out.Any = true
		return
	}
	what := map[Op]string{
		OpAcquire: `a declared lock, or "any"`, OpRelease: `a declared lock, or "any"`, OpWait: "a declared cond", OpSignal: "a declared cond", OpBroadcast: "a declared cond",
		OpPost: "a declared sem", OpArrive: "a declared barrier", OpRead: "a declared variable", OpWrite: "a declared variable",
		OpStart: "a thread type", OpEnd: "a thread type", OpFork: "a thread type", OpJoin: "a thread type",
	}[out.Op]
	out.Object = p.name(what)
	if p.isOp("->") && !p.tok.nl {
		if out.Op != OpWrite {
			p.failAt(p.here(), "%s binds no value: write V -> v does", out.Op)
		}
		p.advance()
		r := p.name("a name for the value")
		out.Result = &r
	}
}
