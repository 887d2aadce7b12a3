package syntax

import "strings"

// This file reads the blocks selectors and types of Listing 1.1 of the paper on opportunistic
// monitoring. They become declarations of events and thread types. A quoted pattern is one of
// the specification language, or the name of a function that is called.

// selectors reads { event NAME on "…" [when "…"] … }.
func (p *parser) selectors() []Decl {
	p.advance()
	p.needOp("{")
	var out []Decl
	for !p.takeOp("}") {
		p.takeOp(";")
		out = append(out, p.selector(nil)...)
	}
	return out
}

// types reads { NAME { spawn on "…" event … } … }.
func (p *parser) types() []Decl {
	p.advance()
	p.needOp("{")
	var out []Decl
	for !p.takeOp("}") {
		name := p.name("a thread type, or \"}\"")
		p.needOp("{")
		for !p.takeOp("}") {
			p.takeOp(";")
			out = append(out, p.typeItem(name)...)
		}
	}
	return out
}

// typeItem reads spawn on "…", or the selector of an event by threads of the type.
func (p *parser) typeItem(name Name) []Decl {
	if p.takeWord("spawn") {
		p.needWord("on")
		t := p.str("the start routine in quotes")
		return []Decl{&Thread{Kind: ByStart, Name: name, Path: Path(t)}}
	}
	return p.selector(&name)
}

// selector reads event NAME on "…" [when "…"]. By is the type of the threads, nil for any.
func (p *parser) selector(by *Name) []Decl {
	if !p.takeWord("event") {
		p.expected(`"event" or "}"`)
	}
	e := &Event{Name: p.name("the event's name"), By: by}
	p.needWord("on")
	on := p.str("a pattern in quotes")
	var lockName *Text
	if p.takeWord("when") {
		t := p.lockName()
		lockName = &t
	}
	lock := p.quotedPattern(e, on, lockName)
	if lock != nil {
		return []Decl{lock, e}
	}
	return []Decl{e}
}

// lockName reads "%lockname == PATH" and returns the path.
func (p *parser) lockName() Text {
	t := p.str("a condition in quotes")
	left, right, ok := strings.Cut(t.Text, "==")
	path := strings.TrimSpace(right)
	if !ok || strings.TrimSpace(left) != "%lockname" || path == "" {
		p.failAt(t.Span, "expected %%lockname == and the lock's variable")
	}
	return Text{path, t.Span}
}

// quotedPattern sets the pattern of an event. It returns a declaration of the lock that the
// event's condition names, nil without a lock. The lock's name is its path after a %, so that
// it differs from all names in the text.
func (p *parser) quotedPattern(e *Event, on Text, lock *Text) Decl {
	e.Pattern.Span = on.Span
	verb := strings.ToLower(on.Text[strings.LastIndexByte(on.Text, '.')+1:])
	if lock != nil && verb != "acquire" && verb != "release" {
		p.failAt(lock.Span, "%%lockname is of acquire and release, not of %q", on.Text)
	}
	if lock != nil || verb == on.Text && (verb == "acquire" || verb == "release") {
		e.Pattern.Op = OpAcquire
		if verb == "release" {
			e.Pattern.Op = OpRelease
		}
		if e.Pattern.Any = lock == nil; lock == nil {
			return nil
		}
		e.Pattern.Object = Name{"%" + lock.Text, lock.Span}
		return &Sync{Kind: Lock, Name: e.Pattern.Object, Path: Path(*lock)}
	}
	if word, _, spaced := strings.Cut(on.Text, " "); spaced {
		if _, known := opOf(word); known {
			e.Pattern = p.within(on)
			return nil
		}
	}
	if strings.TrimSpace(on.Text) == "" {
		p.failAt(on.Span, "expected a pattern in the quotes")
	}
	e.Pattern.Op, e.Pattern.Func = OpCall, Path(on)
	return nil
}

// within reads a pattern of the specification language that stands in quotes.
func (p *parser) within(on Text) Pattern {
	outer, tok, prev := p.lexer, p.tok, p.prev
	p.lexer.at, p.lexer.limit = on.Span.Off+1, on.Span.End-1
	p.tok = token{end: p.lexer.at}
	p.advance()
	out := p.pattern()
	if p.tok.kind != tokEOF {
		p.expected("the end of the pattern")
	}
	p.lexer, p.tok, p.prev = outer, tok, prev
	return out
}
