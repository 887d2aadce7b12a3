package syntax

import (
	"strconv"
	"strings"
)

// property reads property NAME [(OBJECT : TYPE)] [MESSAGE] = and a formula, a regular expression or an automaton.
func (p *parser) property() Decl {
	p.advance()
	d := &Property{Name: p.name("the property's name")}
	if p.isOp("(") {
		of := p.parameter("the name of the object that the property is of")
		d.Of = &of
	}
	d.Message = p.message()
	p.equals()
	start := p.tok.off
	next := p.peek()
	switch {
	case p.isWord("ere") && next.kind == tokName && (next.text == "bad" || next.text == "good"):
		p.advance()
		d.Logic = EREBad
		if p.advance().text == "good" {
			d.Logic = EREGood
		}
		d.Regex = p.wholeRegex()
	case p.isWord("automaton") && next.kind == tokOp && next.text == "{":
		p.advance()
		d.Logic = Automaton
		p.block(func() { d.States = append(d.States, p.state(true)) })
		p.atLeastOneState(d.States, p.span(start, p.prev))
	default:
		d.Formula = p.formula(exprFormula)
	}
	d.Span = p.span(start, p.prev)
	return d
}

// parameter reads (OBJECT : TYPE).
func (p *parser) parameter(what string) (of Parameter) {
	p.needOp("(")
	of.Name = p.name(what)
	if !p.isOp(":") {
		p.expected(`":" and the object's type`)
	}
	of.Type = p.rawType()
	p.needOp(")")
	return of
}

// message reads the string that reports show, and returns nil if there is none.
func (p *parser) message() *Text {
	if p.tok.kind != tokString {
		return nil
	}
	t := p.str("a message")
	return &t
}

func (p *parser) equals() {
	if !p.takeOp("=") && !p.takeOp(":") {
		p.expected(`"=" or ":"`)
	}
}

// formula reads a formula, or a string that contains one ("LTL=F(read)").
func (p *parser) formula(in exprContext) Expr {
	if p.tok.kind != tokString {
		return p.expr(in)
	}
	t := p.tok
	quote := t.off + 1
	if !strings.HasPrefix(p.src.Text[quote:t.end], formulaPrefix) {
		p.failAt(p.here(), "expected a formula, or a string that begins with %s", formulaPrefix)
	}
	outer, prev := p.lexer, p.prev
	p.lexer.at, p.lexer.limit = quote+len(formulaPrefix), t.end-1
	p.tok = token{end: p.lexer.at}
	p.paren++
	p.advance()
	x := p.expr(in)
	if p.tok.kind != tokEOF {
		p.expected("an operator or the end of the string")
	}
	p.paren--
	p.lexer, p.prev = outer, prev
	p.tok = token{end: t.end}
	p.advance()
	return x
}

// wholeRegex reads a regular expression that ends a statement. If the next line looks like a
// continuation, the error has a hint.
func (p *parser) wholeRegex() Regex {
	x := p.regex()
	if !p.tok.nl && p.tok.kind != tokEOF && !p.isOp(";") && !p.isOp("}") {
		p.expected("a part of the expression, or its end")
	}
	if p.tok.nl && p.tok.kind == tokOp && !p.isOp("}") && !p.isOp(";") {
		p.unexpected("a new statement", "a newline ends the expression; put it in parentheses to write it over lines")
	}
	return x
}

// state reads a state. With letters, for an automaton, its edges have letters, and it may be
// bad; in a typestate they have the names of events.
func (p *parser) state(letters bool) State {
	s := State{}
	switch {
	case letters && p.isWord("bad"):
		s.Bad = true
		p.advance()
	case p.isWord("final"):
		s.Final = true
		p.advance()
	}
	if !p.isWord("state") {
		p.unexpected(`"state"`)
	}
	p.advance()
	s.Name = p.name("the state's name")
	if p.isOp("{") && !p.tok.nl {
		p.block(func() { s.Edges = append(s.Edges, p.edge(letters)) })
	}
	return s
}

func (p *parser) edge(letters bool) Edge {
	e := Edge{}
	switch {
	case !letters:
		e.Event = p.name("an event")
	case p.tok.kind == tokName:
		n := p.name("a letter")
		e.Letter = &Letter{[]Literal{{Name: n}}, n.Span}
	default:
		e.Letter = p.letter()
	}
	p.needOp("->")
	e.To = p.name("a state")
	return e
}

func (p *parser) atLeastOneState(states []State, at Span) {
	if len(states) == 0 && !p.errs.HasErrors() {
		p.failAt(at, "expected at least one state")
	}
}

// typestate reads NAME (OBJECT : TYPE) [mined] [born at first use] [reborn at next use] { … }.
func (p *parser) typestate() Decl {
	p.advance()
	d := &Typestate{Name: p.name("the typestate's name")}
	of := p.parameter("the name that patterns bind the object to")
	d.Object, d.Type = of.Name, of.Type
	d.Mined = p.takeWord("mined")
	if d.BornAtFirstUse = p.takeWord("born"); d.BornAtFirstUse {
		p.needWords("at", "first", "use")
	}
	if d.RebornAtNextUse = p.takeWord("reborn"); d.RebornAtNextUse {
		p.needWords("at", "next", "use")
	}
	p.block(func() { p.typestateItem(d) })
	return d
}

// needWords reads words that must come next.
func (p *parser) needWords(words ...string) {
	for _, w := range words {
		if !p.takeWord(w) {
			p.unexpected(strconv.Quote(w))
		}
	}
}

// rawType reads a type of the program's language, from a colon to the closing parenthesis.
func (p *parser) rawType() Text {
	colon := p.tok
	depth, end := 0, colon.end
	for end < p.limit && p.src.Text[end] != '\n' {
		switch p.src.Text[end] {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth < 0 {
			break
		}
		end++
	}
	written := p.src.Text[colon.end:end]
	text := strings.TrimSpace(written)
	if text == "" {
		p.failAt(p.span(colon.off, colon.end), "expected a type behind the colon")
	}
	begin := colon.end + strings.Index(written, text)
	at := p.span(begin, begin+len(text))
	p.tok = token{end: end}
	p.lexer.at = end
	p.advance()
	return Text{text, at}
}

func (p *parser) typestateItem(d *Typestate) {
	next := p.peek()
	switch {
	case p.isWord("ere") && next.kind == tokName && (next.text == "good" || next.text == "bad"):
		t := p.advance()
		if d.Regex != nil {
			p.failAt(p.span(t.off, p.tok.end), "the typestate has an expression already: join the two by &, which wants both, or by |")
		}
		d.Bad = p.advance().text == "bad"
		d.Regex = p.wholeRegex()
		d.Whole = p.span(t.off, p.prev)
	case next.kind == tokOp && next.text == "=":
		d.Events = append(d.Events, *p.event())
	case p.isWord("state"), p.isWord("final"):
		d.States = append(d.States, p.state(false))
	default:
		p.unexpected(`NAME = PATTERN, "state", "ere good" or "ere bad"`)
	}
}

// mttl reads NAME [MESSAGE] = [forall … .] FORMULA.
func (p *parser) mttl() Decl {
	p.advance()
	d := &MTTL{Name: p.name("the formula's name"), Message: p.message()}
	p.equals()
	d.Formula = p.quantified()
	return d
}

func (p *parser) quantified() Expr {
	if !p.isWord("forall") && !p.isWord("exists") {
		return p.expr(exprMTTL)
	}
	p.enter()
	defer func() { p.depth-- }()
	t := p.advance()
	q := &Quantified{Exists: t.text == "exists"}
	for {
		p.threadVar(q)
		if !p.takeOp(",") {
			break
		}
	}
	if len(q.Vars) == 0 {
		p.failAt(q.Differ[0][0].Span, "%s binds no thread: expected i : T", t.text)
	}
	if !p.takeOp(".") {
		p.expected(`"," or "." before the formula`)
	}
	q.X = p.quantified()
	q.Span = p.span(t.off, p.prev)
	return q
}

// threadVar reads i : T, or i != j.
func (p *parser) threadVar(q *Quantified) {
	n := p.name("a name for a thread")
	if p.takeOp("!=") {
		q.Differ = append(q.Differ, [2]Name{n, p.name("a name for a thread")})
		return
	}
	if !p.takeOp(":") {
		p.expected(`":" and a thread type, or "!=" and another thread`)
	}
	q.Vars = append(q.Vars, ThreadVar{n, p.name("a thread type")})
}

// scope reads NAME (EVENT) { … }.
func (p *parser) scope() Decl {
	p.advance()
	d := &Scope{Name: p.name("the scope's name")}
	p.needOp("(")
	d.Sync = p.name("the synchronising event")
	p.needOp(")")
	p.block(func() { p.scopeItem(d) })
	return d
}

// innerScope reads a scope of the regions of a scope.
func (p *parser) innerScope() *Scope {
	p.enter()
	defer func() { p.depth-- }()
	d := p.scope().(*Scope)
	for _, deeper := range d.Inner {
		p.failAt(deeper.Name.Span, "a scope may be in a scope, but not in one that is in another itself")
	}
	return d
}

func (p *parser) scopeItem(d *Scope) {
	switch {
	case p.isWord("scope"):
		d.Inner = append(d.Inner, p.innerScope())
	case p.takeWord("property"):
		d.Locals = append(d.Locals, p.localProperty())
	case p.takeWord("atom"):
		d.Atoms = append(d.Atoms, *p.prop(exprCount))
	case p.isWord("check"):
		start := p.advance().off
		c := ScopeCheck{}
		if p.tok.kind == tokString && !strings.HasPrefix(p.tok.text, formulaPrefix) {
			c.Message = p.message()
		}
		c.Formula = p.formula(exprFormula)
		c.Span = p.span(start, p.prev)
		d.Checks = append(d.Checks, c)
	default:
		p.unexpected(`"property", "scope", "atom" or "check"`)
	}
	p.takeOp(",")
}

// localProperty reads NAME on TYPE(EVENT, …) is FORMULA [across scopes].
func (p *parser) localProperty() LocalProperty {
	l := LocalProperty{Name: p.name("the property's name")}
	p.needWord("on")
	l.Type = p.name("a thread type")
	p.list(func() { l.Events = append(l.Events, p.name("an event")) })
	p.needWord("is")
	l.Formula = p.formula(exprFormula)
	if p.takeWord("across") {
		p.needWord("scopes")
		l.Across = true
	}
	return l
}
