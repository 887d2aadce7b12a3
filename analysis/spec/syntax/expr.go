package syntax

import "strings"

// exprContext determines which operators an expression may have.
type exprContext uint8

const (
	exprState   exprContext = iota // no temporal operator
	exprFormula                    // temporal operators
	exprCount                      // count(p, V) and comparisons of such counts
	exprMTTL                       // temporal operators, @t, and = for a comparison
)

func (c exprContext) temporal() bool { return c == exprFormula || c == exprMTTL }

// expr reads a flat, up to the first token that cannot continue it.
func (p *parser) expr(in exprContext) Expr {
	p.enter()
	defer func() { p.depth-- }()
	f := &flat{terms: []term{p.term(in)}}
	for {
		op, ok := p.infix(in)
		if !ok {
			return f
		}
		t := p.advance()
		f.ops = append(f.ops, flatOp{op: op, span: p.span(t.off, t.end)})
		f.terms = append(f.terms, p.term(in))
	}
}

// infix returns the operator between operands that tok is. A line that begins with one
// continues the line before.
func (p *parser) infix(in exprContext) (Operator, bool) {
	switch p.tok.kind {
	case tokOp:
		if p.tok.text == "=" && in == exprMTTL {
			return Equal, true
		}
		op, ok := infixOps[p.tok.text]
		return op, ok
	case tokName:
		if op, ok := logicWords[p.tok.text]; ok {
			return op, true
		}
		op, ok := temporalWords[p.tok.text]
		return op, ok && in.temporal()
	}
	return NoOperator, false
}

// term reads an operand with the operators before it.
func (p *parser) term(in exprContext) (t term) {
	for len(t.prefix) < maxDepth {
		op, ok := p.prefix(in)
		if !ok {
			t.x = p.operand(in)
			return t
		}
		tok := p.advance()
		f := flatOp{op: op, span: p.span(tok.off, tok.end)}
		if op == AtThread {
			f.thread = p.name("a thread")
			f.span.End = p.prev
		}
		t.prefix = append(t.prefix, f)
	}
	p.failAt(p.here(), "more than %d operators before an operand", maxDepth)
	return t
}

// prefix returns the operator before an operand that tok is.
func (p *parser) prefix(in exprContext) (Operator, bool) {
	switch p.tok.kind {
	case tokOp:
		if op, ok := prefixOps[p.tok.text]; ok {
			return op, true
		}
		if p.tok.text == "@" && in == exprMTTL {
			return AtThread, true
		}
		op, ok := temporalPrefixOps[p.tok.text]
		return op, ok && in.temporal()
	case tokName:
		op, ok := prefixWords[p.tok.text]
		if !ok && in.temporal() {
			op, ok = temporalPrefixWords[p.tok.text]
		}
		return op, ok && p.operandFollows(in)
	}
	return NoOperator, false
}

// operandFollows reports whether an operand follows tok, a word that is an operator only then,
// and otherwise a name.
func (p *parser) operandFollows(in exprContext) bool {
	next := p.peek()
	if next.nl && p.paren == 0 && (len(p.tok.text) == 1 || next.kind == tokName && declarations[next.text]) {
		return false
	}
	switch next.kind {
	case tokName:
		_, infix := logicWords[next.text]
		if _, temporal := temporalWords[next.text]; temporal && in.temporal() {
			after := p.peekAfter(next)
			infix = infix || after.kind != tokEOF && (after.kind != tokOp || after.text == "(" || after.text == "!" || after.text == "~" || after.text == "@")
		}
		return !infix
	case tokNumber, tokFloat, tokString, tokBad:
		return true
	case tokOp:
		switch next.text {
		case "(", "!", "~", "@", "[", "[]", "<>", "(*)", "<*>", "[*]":
			return true
		}
	}
	return false
}

func (p *parser) operand(in exprContext) Expr {
	p.countOperand()
	t := p.tok
	at := p.span(t.off, t.end)
	switch t.kind {
	case tokNumber:
		p.advance()
		return &Number{Text: t.text, Int: t.value, Span: at}
	case tokFloat:
		p.advance()
		return &Number{Text: t.text, Float: true, Real: t.float, Span: at}
	case tokName:
		return p.word(in)
	case tokOp:
		switch {
		case t.text == "(":
			return p.parens(in)
		case t.text == "[" && in.temporal():
			return p.interval(in)
		}
		if (temporalPrefixOps[t.text] != 0 || t.text == "[") && !in.temporal() {
			p.failAt(at, "%s looks at other states, which only a property can: expected an expression", t.text)
		}
	}
	p.expected("an operand")
	return nil
}

// enclosed reads the expression in parentheses, which may be quantified in a formula on what threads know.
func (p *parser) enclosed(in exprContext) Expr {
	if in == exprMTTL {
		return p.quantified()
	}
	return p.expr(in)
}

func (p *parser) parens(in exprContext) Expr {
	open := p.advance()
	p.paren++
	x := p.enclosed(in)
	if !p.isOp(")") {
		p.expected(`an operator or ")"`)
	}
	p.paren--
	end := p.advance().end
	return &Paren{x, p.span(open.off, end)}
}

// interval reads [f, g) and [f, g)w.
func (p *parser) interval(in exprContext) Expr {
	open := p.advance()
	p.paren++
	f := p.expr(in)
	if !p.takeOp(",") {
		p.expected(`an operator or ",": [f, g) is the interval from f to g`)
	}
	g := p.expr(in)
	if !p.isOp(")") {
		p.expected(`an operator or ")": [f, g) is half open`)
	}
	p.paren--
	end := p.advance().end
	x := &Interval{F: f, G: g, Span: p.span(open.off, end)}
	if p.isWord("w") && !p.tok.blank {
		x.Weak, x.Span.End = true, p.advance().end
	}
	return x
}

// word reads an operand that begins with a name.
func (p *parser) word(in exprContext) Expr {
	next := p.peek()
	call := next.kind == tokOp && next.text == "(" && !next.nl
	t := p.tok
	op, unary := functionWords[t.text]
	switch {
	case call && in.temporal() && unary:
		p.advance()
		x := p.parens(in)
		return &Unary{Op: op, X: x, Span: p.span(t.off, t.end)}
	case call && in.temporal() && t.text == "interval":
		return p.intervalCall(in)
	case call && in == exprCount && strings.Contains(" count size any all ", " "+t.text+" "):
		return p.count()
	case t.text == "true" || t.text == "false":
		p.advance()
		return &Bool{t.text == "true", p.span(t.off, t.end)}
	case t.text == "null":
		p.advance()
		return &Null{p.span(t.off, t.end)}
	case p.stray():
		p.expected("an operand")
	case !in.temporal() && (call && unary || temporalPrefixWords[t.text] != 0 && p.operandFollows(in)):
		p.failAt(p.span(t.off, t.end), "%s looks at other states, which only a property can: expected an expression", t.text)
	case call:
		p.failAt(p.span(t.off, t.end), "%q is no function: start, end and interval are", t.text)
	}
	p.advance()
	return &Ident{p.fieldOf(Name{t.text, p.span(t.off, t.end)})}
}

// fieldOf reads what follows the name of an object without a blank: .FIELD, or a path of fields. The field is then part of
// the name.
func (p *parser) fieldOf(n Name) Name {
	for p.isOp(".") && !p.tok.blank {
		next := p.peek()
		if next.kind != tokName || next.blank {
			break
		}
		p.advance()
		n.Text += "." + next.text
		n.Span.End = p.advance().end
	}
	return n
}

// intervalCall reads interval(f, g).
func (p *parser) intervalCall(in exprContext) Expr {
	t := p.advance()
	p.advance()
	p.paren++
	x := &Interval{F: p.expr(in)}
	if !p.takeOp(",") {
		p.expected(`an operator or ","`)
	}
	x.G = p.expr(in)
	if !p.isOp(")") {
		p.expected(`an operator or ")"`)
	}
	p.paren--
	x.Span = p.span(t.off, p.advance().end)
	return x
}

// count reads count(p, V), size(t), any(p, V) or all(p, V). In any and all V may be left out,
// and is T then.
func (p *parser) count() Expr {
	t := p.advance()
	x := &Count{Func: Name{t.text, p.span(t.off, t.end)}}
	p.needOp("(")
	p.paren++
	if t.text == "size" {
		x.Of = p.name("a thread type")
	} else {
		x.Of = p.name("a local property")
		x.Verdict = p.verdict(t.text != "count")
	}
	if !p.isOp(")") {
		p.expected(`")"`)
	}
	p.paren--
	x.Span = p.span(t.off, p.advance().end)
	return x
}

func (p *parser) verdict(optional bool) string {
	if optional && p.isOp(")") {
		return "T"
	}
	p.needOp(",")
	if p.takeOp("?") {
		return "?"
	}
	for _, v := range []string{"T", "F", "na"} {
		if p.takeWord(v) {
			return v
		}
	}
	p.expected("a verdict: T, F, ? or na")
	return ""
}
