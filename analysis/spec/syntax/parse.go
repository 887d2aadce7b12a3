package syntax

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxDepth bounds how deep expressions and blocks are nested, and maxOperands the number of
// operands of one statement.
const (
	maxDepth    = 200
	maxOperands = 1 << 12
)

// Parse reads a text. The list has an error for each statement that cannot be read, and
// warnings; the file has the other statements.
func Parse(src *Source) (*File, List) {
	p := &parser{lexer: lexer{src: src, limit: min(len(src.Text), MaxSource)}}
	p.lexer.fail, p.lexer.failAlways = p.addError, p.addErrorAlways
	f := &File{Source: src}
	if len(src.Text) > MaxSource {
		p.addError(Span{Pos{src, 0}, 0}, "a specification has at most %d bytes", MaxSource)
		p.errs[0].Kind = TooLarge
		return f, p.errs
	}
	p.advance()
	for p.tok.kind != tokEOF {
		p.file(f)
	}
	return f, p.errs
}

// parser reads statement after statement. A statement that cannot be read is left
// by a panic of type giveUp, which never leaves the package.
type parser struct {
	lexer
	tok      token // the present token
	prev     int   // end of the token before tok
	depth    int   // number of expressions and blocks that contain tok
	paren    int   // number of parentheses that contain tok; in them newlines have no meaning
	errs     List
	operands int  // number of operands of the statement so far
	muted    bool // addError records nothing: the rest of a statement is being skipped
}

// giveUp is the panic that leaves a statement whose error has been reported.
type giveUp struct{}

// addError records an error, unless the rest of a statement is being skipped.
func (p *parser) addError(at Span, format string, args ...any) {
	if p.muted {
		return
	}
	p.errs = append(p.errs, &Diagnostic{Kind: Syntax, Span: at, Message: fmt.Sprintf(format, args...)})
}

// addErrorAlways records an error, also while a statement is skipped.
func (p *parser) addErrorAlways(at Span, format string, args ...any) {
	p.errs = append(p.errs, &Diagnostic{Kind: Syntax, Span: at, Message: fmt.Sprintf(format, args...)})
}

// warn records a warning.
func (p *parser) warn(at Span, format string, args ...any) {
	p.errs = append(p.errs, &Diagnostic{Kind: Doubtful, Warning: true, Span: at, Message: fmt.Sprintf(format, args...)})
}

// failAt records an error and leaves the statement.
func (p *parser) failAt(at Span, format string, args ...any) {
	p.addError(at, format, args...)
	panic(giveUp{})
}

// expected reports that tok is not what the syntax requires, and leaves the statement. The hint
// is added to the message.
func (p *parser) expected(what string, hint ...string) {
	if p.tok.kind == tokBad {
		panic(giveUp{})
	}
	text := fmt.Sprintf("expected %s, not %s", what, p.tok.describe())
	if len(hint) > 0 {
		text += ": " + hint[0]
	}
	p.failAt(p.here(), "%s", text)
}

// describe returns the token for a message.
func (t *token) describe() string {
	switch t.kind {
	case tokEOF:
		return "the end of the file"
	case tokString:
		return fmt.Sprintf("the string %q", truncate(t.text, 20))
	case tokQuoted:
		return "`" + truncate(t.text, 40) + "`"
	}
	if t.nl {
		return fmt.Sprintf("the next line's %q", truncate(t.text, 40))
	}
	return fmt.Sprintf("%q", truncate(t.text, 40))
}

func (p *parser) span(from, to int) Span { return Span{Pos{p.src, from}, to} }

// here returns the span for an error about tok. If tok is on the next line and something is
// missing before it, that is the end of the present line.
func (p *parser) here() Span {
	if p.prev > 0 && (p.tok.kind == tokEOF || p.tok.nl && p.paren == 0 || p.stray()) {
		return p.span(p.prev, p.prev+1)
	}
	return p.span(p.tok.off, p.tok.end)
}

// unexpected is expected for the first token of a statement: the error is at tok, even if a
// newline precedes it.
func (p *parser) unexpected(what string, hint ...string) {
	if p.tok.kind == tokBad {
		panic(giveUp{})
	}
	p.tok.nl = false
	p.prev = 0
	p.expected(what, hint...)
}

// stray reports whether tok begins the next declaration although the present one is not
// complete. Within parentheses that is so only if tok is not indented.
func (p *parser) stray() bool {
	return p.tok.nl && p.beginsDeclaration() && (p.paren == 0 || p.src.Text[p.tok.off-1] == '\n')
}

// advance reads the next token into tok, and returns the present one.
func (p *parser) advance() token {
	t := p.tok
	p.prev = t.end
	p.lexer.at = max(p.lexer.at, t.end)
	p.tok = p.lexer.next()
	return t
}

// peek returns the token after tok.
func (p *parser) peek() token {
	return p.peekAfter(p.tok)
}

// peekAfter returns the token after t.
func (p *parser) peekAfter(t token) token {
	l := p.lexer
	l.at = t.end
	l.fail = func(Span, string, ...any) {}
	l.failAlways = l.fail
	return l.next()
}

func (p *parser) isOp(text string) bool { return p.tok.kind == tokOp && p.tok.text == text }

func (p *parser) isWord(text string) bool { return p.tok.kind == tokName && p.tok.text == text }

// takeOp reports whether tok is the operator, and skips it if so.
func (p *parser) takeOp(text string) bool {
	if !p.isOp(text) {
		return false
	}
	p.advance()
	return true
}

// takeWord reports whether tok is the word, and skips it if so.
func (p *parser) takeWord(text string) bool {
	if !p.isWord(text) {
		return false
	}
	p.advance()
	return true
}

// needOp skips the operator, which must be tok, and returns it.
func (p *parser) needOp(text string) token {
	if !p.isOp(text) {
		p.expected(fmt.Sprintf("%q", text))
	}
	return p.advance()
}

// needWord skips the word, which must be tok.
func (p *parser) needWord(text string) {
	if !p.takeWord(text) {
		p.expected(fmt.Sprintf("%q", text))
	}
}

// name reads a name. The parameter what describes it in errors.
func (p *parser) name(what string) Name {
	if p.tok.kind != tokName || p.stray() {
		p.expected(what)
	}
	if strings.Contains(p.tok.text, "::") {
		p.failAt(p.here(), "expected %s, a simple name", what)
	}
	t := p.advance()
	return Name{t.text, p.span(t.off, t.end)}
}

// str reads a string. The parameter what describes it in errors.
func (p *parser) str(what string) Text {
	if p.tok.kind != tokString {
		p.expected(what)
	}
	t := p.advance()
	return Text{t.text, p.span(t.off, t.end)}
}

// pathName reads a path. The parameter what describes it in errors. With glob it may contain *
// and ?.
func (p *parser) pathName(what string, glob bool) Path {
	if p.tok.kind == tokQuoted {
		t := p.advance()
		return Path{t.text, p.span(t.off, t.end)}
	}
	starts := p.tok.kind == tokName || p.tok.kind == tokOp && (p.tok.text == "~" || glob && p.tok.text == "*")
	if !starts {
		p.expected(what)
	}
	off := p.tok.off
	text := p.lexer.path(off, glob)
	p.tok = token{end: p.lexer.at}
	p.advance()
	if p.tok.kind == tokOp && !p.tok.blank && strings.Contains("<>&!=+-/%^|*", p.tok.text[:1]) && p.tok.text != "->" {
		p.failAt(p.here(), "a name with %q is written in backquotes", p.tok.text)
	}
	return Path{text, p.span(off, off+len(text))}
}

// enter counts a level of nesting, and fails beyond maxDepth. The caller decrements depth.
func (p *parser) enter() {
	if p.depth++; p.depth > maxDepth {
		p.failAt(p.here(), "nested more than %d deep", maxDepth)
	}
}

// countOperand counts an operand, and fails beyond maxOperands.
func (p *parser) countOperand() {
	if p.operands++; p.operands > maxOperands {
		p.failAt(p.here(), "a statement of more than %d operands", maxOperands)
	}
}

// statement calls read to read a statement, and reports whether that succeeded. After an error
// it calls skip to skip the rest of the statement.
func (p *parser) statement(read func(), skip func()) (ok bool) {
	start, depth, paren := p.tok.off, p.depth, p.paren
	defer func() {
		if ok {
			return
		}
		r := recover()
		if _, ours := r.(giveUp); !ours {
			panic(r)
		}
		p.depth, p.paren = depth, paren
		p.muted = true
		skip()
		if p.tok.off == start && p.tok.kind != tokEOF {
			p.advance()
			skip()
		}
		p.muted = false
	}()
	read()
	return true
}

// declarations are the words that begin a statement of a file.
var declarations = map[string]bool{
	"include": true, "var": true, "lock": true, "cond": true, "sem": true, "barrier": true, "thread": true, "event": true, "prop": true, "local": true,
	"property": true, "check": true, "typestate": true, "mttl": true, "scope": true, "selectors": true, "types": true,
}

// Declarations returns the words that begin a declaration, in no order.
func Declarations() []string { return slices.Collect(maps.Keys(declarations)) }

const declarationWords = "include, var, lock, cond, sem, barrier, thread, event, prop, local, property, check, typestate, mttl or scope"

// file reads one declaration of a file.
func (p *parser) file(f *File) {
	if p.takeOp(";") {
		return
	}
	p.operands = 0
	p.statement(func() {
		f.Decls = append(f.Decls, p.declaration()...)
		p.endOfStatement()
	}, p.skipDeclaration)
}

// skipDeclaration skips to a line that begins with a declaration, or past a semicolon
// outside of braces.
func (p *parser) skipDeclaration() {
	braces := 0
	for ; p.tok.kind != tokEOF; p.advance() {
		switch {
		case p.isOp("{"):
			braces++
		case p.isOp("}"):
			braces--
		case p.isOp(";") && braces <= 0:
			p.advance()
			return
		case p.tok.nl && p.beginsDeclaration() && (braces <= 0 || p.src.Text[p.tok.off-1] == '\n'):
			return
		case braces <= 0 && p.tok.nl && p.tok.kind == tokName && p.src.Text[p.tok.off-1] == '\n' && p.peek().kind == tokName:
			return // Perhaps a declaration whose word is misspelt.
		}
	}
}

// beginsDeclaration reports whether tok is the word of a declaration, followed by what may
// follow it.
func (p *parser) beginsDeclaration() bool {
	if p.tok.kind != tokName || !declarations[p.tok.text] {
		return false
	}
	next := p.peek()
	return next.kind != tokEOF && (next.kind != tokOp || next.text == "{")
}

// endOfStatement expects a newline, a semicolon or the end of the block.
func (p *parser) endOfStatement() {
	if p.takeOp(";") || p.tok.nl || p.tok.kind == tokEOF || p.isOp("}") {
		return
	}
	p.expected("a newline or \";\" after the statement")
}

// declaration reads a declaration, which may stand for several.
func (p *parser) declaration() []Decl {
	if p.tok.kind != tokName {
		p.unexpected("a declaration ("+declarationWords+")", newlineHint)
	}
	word := p.tok
	switch word.text {
	case "include":
		p.advance()
		return []Decl{&Include{p.str("the file's name in quotes")}}
	case "var":
		return []Decl{p.varDecl()}
	case "lock", "cond", "sem", "barrier":
		return []Decl{p.syncDecl()}
	case "thread":
		return []Decl{p.threadDecl()}
	case "event":
		p.advance()
		return []Decl{p.event()}
	case "prop":
		p.advance()
		return []Decl{p.prop(exprState)}
	case "local":
		return []Decl{p.local()}
	case "property":
		return []Decl{p.property()}
	case "check":
		return []Decl{p.check()}
	case "typestate":
		return []Decl{p.typestate()}
	case "mttl":
		return []Decl{p.mttl()}
	case "scope":
		return []Decl{p.scope()}
	case "selectors":
		return p.selectors()
	case "types":
		return p.types()
	}
	if near := Nearest(word.text, keys(declarations)); near != "" {
		p.failAt(p.span(word.off, word.end), "expected a declaration, not %q; did you mean %q?", word.text, near)
	}
	p.unexpected("a declaration ("+declarationWords+")", newlineHint)
	return nil
}

// newlineHint explains why a line does not continue the statement before it.
const newlineHint = "a newline ends a statement, unless an operator stands before or after it or it is in parentheses"

func keys(m map[string]bool) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	return out
}

func (p *parser) varDecl() Decl {
	p.advance()
	d := &Var{Name: p.name("the variable's name")}
	d.Type = p.optionalType()
	p.needOp("=")
	d.Path = p.pathName("a variable of the program", false)
	return d
}

// optionalType reads a colon and a type, and returns nil if there is no colon.
func (p *parser) optionalType() *Name {
	if !p.takeOp(":") {
		return nil
	}
	n := p.name("a type: int, uint, bool, float, enum or ptr")
	return &n
}

func (p *parser) syncDecl() Decl {
	word := p.advance().text
	d := &Sync{Name: p.name("the " + word + "'s name")}
	for i, n := range syncNames {
		if n == word {
			d.Kind = SyncKind(i)
		}
	}
	p.needOp("=")
	if p.isWord("class") && !p.peek().nl && p.peek().kind != tokOp && p.peek().kind != tokEOF {
		p.advance()
		d.Class, d.Path = p.field()
		return d
	}
	d.Path = p.pathName("a variable of the program", false)
	return d
}

// field reads TYPE.FIELD.
func (p *parser) field() (*Path, Path) {
	tag := ""
	if p.isWord("struct") || p.isWord("union") {
		tag = p.advance().text + " "
	}
	whole := p.pathName("TYPE.FIELD", false)
	dot := strings.IndexByte(whole.Text, '.')
	if dot <= 0 || dot == len(whole.Text)-1 {
		p.failAt(whole.Span, "expected TYPE.FIELD, a field of a type")
	}
	class := Path{tag + whole.Text[:dot], whole.Span}
	return &class, Path{whole.Text[dot+1:], whole.Span}
}

func (p *parser) threadDecl() Decl {
	p.advance()
	d := &Thread{Name: p.name("the thread type's name")}
	p.needOp("=")
	switch {
	case p.isWord("start") && !p.peek().nl:
		p.advance()
		d.Kind, d.Path = ByStart, p.pathName("the threads' start routine", true)
	case p.takeWord("name"):
		d.Kind, d.Glob = ByName, p.str("the threads' name in quotes")
	case p.takeWord("main"):
		d.Kind = MainThread
	case p.tok.kind == tokNumber:
		t := p.advance()
		if d.Kind, d.Nth = NthOf, t.value; t.value == 0 {
			p.failAt(p.span(t.off, t.end), "threads are counted from 1")
		}
		p.needWord("of")
		d.Of = p.name("a thread type")
	default:
		p.expected(`"start FUNCTION", "name" and a string, "main", or a number and "of THREADTYPE"`)
	}
	return d
}

// event reads NAME = PATTERN [by T] [when E].
func (p *parser) event() *Event {
	d := &Event{Name: p.name("the event's name")}
	p.needOp("=")
	d.Pattern = p.pattern()
	for {
		switch {
		case d.By == nil && p.isWord("by") && !p.tok.nl:
			p.advance()
			n := p.name("a thread type")
			d.By = &n
		case d.When == nil && p.isWord("when"):
			p.advance()
			d.When = p.expr(exprState)
		default:
			return d
		}
	}
}

// prop reads NAME = EXPR. In a scope a colon may stand in place of =.
func (p *parser) prop(in exprContext) *Prop {
	d := &Prop{Name: p.name("the proposition's name")}
	if in != exprCount || !p.takeOp(":") {
		p.needOp("=")
	}
	d.Expr = p.expr(in)
	return d
}

// local reads local NAME [: TYPE] = EXPR [{ on … }].
func (p *parser) local() Decl {
	p.advance()
	d := &Local{Name: p.name("the variable's name")}
	d.Type = p.optionalType()
	p.needOp("=")
	d.Value = p.expr(exprState)
	if p.isOp("{") {
		p.block(func() { d.On = append(d.On, p.clause()) })
	}
	return d
}

// block reads statements in braces. It calls read for each.
func (p *parser) block(read func()) {
	p.needOp("{")
	p.enter()
	paren := p.paren
	p.paren = 0
	for !p.isOp("}") {
		if p.tok.kind == tokEOF || p.unclosed() {
			p.expected(`"}"`)
		}
		if p.takeOp(";") {
			continue
		}
		ok := p.statement(func() {
			read()
			p.endOfStatement()
		}, p.skipInBlock)
		if !ok && !p.isOp("}") && p.beginsDeclaration() && p.src.Text[max(p.tok.off-1, 0)] == '\n' {
			panic(giveUp{}) // The brace that closes the block is missing.
		}
	}
	p.paren = paren
	p.depth--
	p.advance()
}

// unclosed reports whether the brace that closes a block is missing: at the first column of a
// line begins a declaration that no block may contain.
func (p *parser) unclosed() bool {
	inside := p.tok.text == "property" || p.tok.text == "check" || p.tok.text == "event"
	return !inside && p.stray() && p.src.Text[p.tok.off-1] == '\n'
}

// skipInBlock skips to the block's next statement or its end.
func (p *parser) skipInBlock() {
	braces := 0
	for first := true; p.tok.kind != tokEOF; first = false {
		switch {
		case p.isOp("{"):
			braces++
		case p.isOp("}"):
			if braces--; braces < 0 {
				return
			}
		case braces == 0 && p.tok.nl && !first:
			return
		case braces == 0 && p.isOp(";"):
			p.advance()
			return
		case p.tok.nl && p.beginsDeclaration() && p.src.Text[p.tok.off-1] == '\n':
			return
		}
		p.advance()
	}
}

// clause reads on EVENT : NAME := EXPR …, with semicolons or newlines between the assignments.
func (p *parser) clause() Clause {
	p.needWord("on")
	c := Clause{Event: p.name("an event")}
	p.needOp(":")
	for p.tok.kind == tokName && !p.isWord("on") {
		a := Assign{Name: p.name("a local variable")}
		p.needOp(":=")
		a.Value = p.expr(exprState)
		c.Sets = append(c.Sets, a)
		if p.isOp(";") && p.peek().kind == tokName && p.peek().text != "on" {
			p.advance()
		}
	}
	return c
}

func (p *parser) check() Decl {
	p.advance()
	d := &Check{Analysis: p.name("races, deadlocks, misuse or atomicity")}
	switch d.Analysis.Text {
	case "races":
		if p.isOp("(") && !p.tok.nl {
			p.list(func() { d.Vars = append(d.Vars, p.name("a variable")) })
		}
	case "deadlocks", "misuse":
	case "atomicity":
		p.needOp("(")
		var f Path
		if d.Lines = p.atLines(); d.Lines {
			f = p.lines()
		} else {
			f = p.pathName("a function, or lines such as bank.c:12-20", true)
		}
		d.Func = &f
		p.needOp(")")
	default:
		p.failAt(d.Analysis.Span, "expected races, deadlocks, misuse or atomicity, not %q", d.Analysis.Text)
	}
	return d
}

// list reads a comma-separated list in parentheses. It calls read for each element.
func (p *parser) list(read func()) {
	p.needOp("(")
	p.paren++
	for {
		read()
		if p.isOp(")") {
			break
		}
		if !p.takeOp(",") {
			p.expected(`"," or ")"`)
		}
	}
	p.paren--
	p.advance()
}
