package syntax

import "fmt"

// maxRepeat is the largest number in {m,n}.
const maxRepeat = 1000

// regex reads a regular expression: alternatives of intersections of concatenations.
func (p *parser) regex() Regex {
	p.enter()
	defer func() { p.depth-- }()
	parts := []Regex{p.regexAnd()}
	for p.isOp("|") || p.isOp("||") || p.isOp(`\/`) {
		p.advance()
		parts = append(parts, p.regexAnd())
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return &Alt{parts}
}

func (p *parser) regexAnd() Regex {
	parts := []Regex{p.regexCat()}
	for p.isOp("&") || p.isOp("&&") || p.isOp(`/\`) {
		p.advance()
		parts = append(parts, p.regexCat())
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return &And{parts}
}

func (p *parser) regexCat() Regex {
	parts := []Regex{p.regexRepeat()}
	for p.regexFollows() {
		parts = append(parts, p.regexRepeat())
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return &Cat{parts}
}

// regexFollows reports whether tok begins a further part of a concatenation. Outside of
// parentheses a newline ends the expression.
func (p *parser) regexFollows() bool {
	if p.tok.nl && p.paren == 0 || p.stray() {
		return false
	}
	switch p.tok.kind {
	case tokName:
		return true
	case tokOp:
		switch p.tok.text {
		case "(", "{", "!", "~":
			return true
		case "(*)":
			p.expected("an expression in the parentheses")
		}
	}
	return false
}

// regexRepeat reads a part with its complements before it and its repetitions after it, which
// bind tighter.
func (p *parser) regexRepeat() Regex {
	if p.isOp("!") || p.isOp("~") {
		p.enter()
		defer func() { p.depth-- }()
		t := p.advance()
		return &Not{X: p.regexRepeat(), Span: p.span(t.off, t.end)}
	}
	x := p.regexAtom()
	for n := 0; p.repetitionFollows(); n++ {
		if n > maxDepth {
			p.failAt(p.here(), "more than %d repetitions of one another", maxDepth)
		}
		x = p.repeat(x)
	}
	return x
}

// repetitionFollows reports whether tok begins a repetition; { does before a number.
func (p *parser) repetitionFollows() bool {
	if p.tok.kind != tokOp || p.tok.nl && p.paren == 0 {
		return false
	}
	switch p.tok.text {
	case "*", "+", "?":
		return true
	case "{":
		return p.peek().kind == tokNumber
	}
	return false
}

// repeat reads one repetition of x: *, +, ? or {m,n}.
func (p *parser) repeat(x Regex) Regex {
	t := p.advance()
	r := &Repeat{X: x, Max: -1, End: t.end}
	switch t.text {
	case "+":
		r.Min = 1
		if t.blank && p.tok.blank {
			p.warn(p.span(t.off, t.end), "this + repeats what stands before it; for the union write |")
		}
	case "?":
		r.Max = 1
	case "{":
		p.bounds(r)
	}
	return r
}

// bounds reads the rest of a repetition in braces: m,n} or m} or m,}.
func (p *parser) bounds(r *Repeat) {
	r.Min = p.times()
	r.Max = r.Min
	if p.takeOp(",") {
		if r.Max = -1; p.tok.kind == tokNumber {
			r.Max = p.times()
		}
	}
	if r.Max >= 0 && r.Max < r.Min {
		p.failAt(p.span(p.prev-1, p.prev), "expected a number not below %d", r.Min)
	}
	if !p.isOp("}") {
		p.expected(`"}"`)
	}
	r.End = p.advance().end
}

func (p *parser) times() int {
	if p.tok.kind != tokNumber {
		p.expected("how many times")
	}
	t := p.advance()
	if t.value > maxRepeat {
		p.failAt(p.span(t.off, t.end), "at most %d repetitions", maxRepeat)
	}
	return int(t.value)
}

func (p *parser) regexAtom() Regex {
	p.countOperand()
	t := p.tok
	switch {
	case p.isOp("("):
		return p.regexParens()
	case p.isOp("{"):
		return p.letter()
	case t.kind == tokName:
		n := p.name("a proposition")
		switch n.Text {
		case "epsilon", "eps":
			return &Epsilon{n.Span}
		case "empty":
			return &Empty{n.Span}
		}
		return &Letter{[]Literal{{Name: n}}, n.Span}
	}
	p.expected("a letter such as {p, !q}, a name, or an expression in parentheses")
	return nil
}

func (p *parser) regexParens() Regex {
	p.advance()
	p.paren++
	x := p.regex()
	if !p.isOp(")") {
		p.expected(`")" or more of the expression`)
	}
	p.paren--
	p.advance()
	return x
}

// letter reads { a, !b }.
func (p *parser) letter() *Letter {
	open := p.needOp("{")
	p.paren++
	x := &Letter{}
	for !p.isOp("}") {
		x.Literals = append(x.Literals, p.literal())
		if !p.takeOp(",") && !p.takeOp("&&") && !p.takeOp(`/\`) && !p.isOp("}") {
			p.expected(fmt.Sprintf(`"," or "}" after %q`, x.Literals[len(x.Literals)-1].Name.Text))
		}
	}
	p.paren--
	x.Span = p.span(open.off, p.advance().end)
	return x
}

// literal reads a proposition with any number of negations.
func (p *parser) literal() Literal {
	not := false
	for p.isOp("!") || p.isOp("~") || p.isWord("not") && p.peek().kind == tokName {
		p.advance()
		not = !not
	}
	return Literal{Not: not, Name: p.fieldOf(p.name("a proposition, or ! and one"))}
}
