package suggest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/bind"
	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/analysis/spec"
	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// maxProperties bounds the local properties that are made for events, of which pairs are checked.
const maxProperties = 8

// Block is a scope block of a specification, to be pasted behind the declarations that it was made for.
type Block struct {
	comment  []string
	declared []string // declarations of what it mentions
	head     string
	body     []string // local properties and atoms
	checks   []check
	own      bool // the checks are those of a scope that the user wrote
}

// check is a check of a block.
type check struct {
	text     string // as written behind the message
	message  string // in quotes; "" is none
	violated bool   // by the run
}

// Block returns the block for the i-th suggestion, from 0. If the events are those of a scope, it has the scope's body; else a
// local property for each event and type of threads that did it, and checks of which Try finds those that the run satisfies.
func (r *Result) Block(i int) (*Block, error) {
	s := &r.Suggestions[i]
	if of := r.run.of; of != nil && (of.Outer != nil || len(of.Inner) > 0) {
		return nil, fmt.Errorf("write a scope: %s is in another scope, or has one in it: write the action by hand", of.Name)
	}
	b, t := &Block{}, newTaken(r.run.spec)
	b.comment = append(b.comment, plural.Sprintf("Suggested by tracepredict suggest-scope: the run has %d {action|actions} %s, each after the one before, with", s.Actions, s.Action),
		plural.Sprintf("%d {event|events} in %d of the regions between them.", s.Events, len(s.Regions)))
	sync := b.declare(r.run.spec, &s.candidate, t)
	if of := r.run.of; of != nil {
		b.head = fmt.Sprintf("scope %s (%s) {", t.name(of.Name+"_by_"+sync), sync)
		b.copyBody(r.run.spec, of)
		return b, nil
	}
	b.head = fmt.Sprintf("scope %s (%s) {", t.name("by_"+sync), sync)
	if b.properties(r.run, t); len(b.body) == 0 {
		return nil, fmt.Errorf("write a scope: no thread that did one of the events has a start routine or a name, by which thread declares its type")
	}
	return b, nil
}

// declare declares the synchronising action, unless it is declared, and returns its name.
func (b *Block) declare(s *spec.Spec, c *candidate, t *taken) string {
	if c.declared >= 0 {
		return s.Events[c.declared].Name
	}
	object := c.name
	if c.thread < 0 {
		at := slices.IndexFunc(s.Syncs, func(x spec.Sync) bool {
			return x.Class == "" && x.Kind == c.kind && spec.SameName(x.Path, c.name) && !strings.HasPrefix(x.Name, "%") // a path in quotes
		})
		if at >= 0 {
			object = s.Syncs[at].Name
		} else {
			object = t.name(identifier(c.name))
			b.declared = append(b.declared, fmt.Sprintf("%s %s = %s", c.kind, object, spec.Quoted(c.name)))
		}
	}
	name := t.name(fmt.Sprintf("%s_%s", c.op, object))
	b.declared = append(b.declared, fmt.Sprintf("event %s = %s %s", name, c.op, object))
	return name
}

// copyBody makes the body that of a scope.
func (b *Block) copyBody(s *spec.Spec, of *spec.Scope) {
	b.own = true
	for i := range of.Locals {
		l := &of.Locals[i]
		var events []string
		for _, e := range l.Events {
			events = append(events, s.Events[e].Name)
		}
		across := map[bool]string{true: " across scopes"}[l.Across]
		b.body = append(b.body, fmt.Sprintf("property %s on %s(%s) is %s%s", l.Name, s.Threads[l.Type].Name, strings.Join(events, ", "), l.Text, across))
	}
	for i := range of.Atoms {
		b.body = append(b.body, fmt.Sprintf("atom %s = %s", of.Atoms[i].Name, of.Atoms[i].Text))
	}
	for i := range of.Checks {
		c := check{text: of.Checks[i].Text}
		if m := of.Checks[i].Message; m != "" {
			c.message = `"` + strings.ReplaceAll(m, `"`, `\"`) + `" `
		}
		b.checks = append(b.checks, c)
	}
}

// properties makes a local property for each event and type of threads, the atoms that some or all of them have done it, and
// checks.
func (b *Block) properties(r *Run, t *taken) {
	var some, events, all []string
	var atoms []string
judged:
	for i := range r.judged {
		j := &r.judged[i]
		name := r.spec.Events[j.event].Name
		for _, of := range b.typesOf(r, j, t) {
			if len(some) == maxProperties {
				b.comment = append(b.comment, fmt.Sprintf("It has properties of the first %d kinds of events.", maxProperties))
				break judged
			}
			label := name
			if slices.Contains(events, name) {
				label += "_" + of.name
			}
			events = append(events, name)
			did := t.name("did_" + label)
			b.body = append(b.body, fmt.Sprintf("property %s on %s(%s) is F(%s)", did, of.name, name, name))
			some, all = append(some, t.name("some_"+label)), append(all, t.name("all_"+label))
			atoms = append(atoms, fmt.Sprintf("atom %s = any(%s)", some[len(some)-1], did))
			if of.threads < 2 {
				all[len(all)-1] = ""
				continue
			}
			atoms = append(atoms, fmt.Sprintf("atom %s = all(%s)", all[len(all)-1], did))
		}
	}
	b.body = append(b.body, atoms...)
	for i := range some {
		for j := range some[:i] {
			b.checks = append(b.checks, check{text: fmt.Sprintf("always !(%s && %s)", some[j], some[i])})
		}
		if all[i] != "" {
			b.checks = append(b.checks, check{text: fmt.Sprintf("always (%s -> %s)", some[i], all[i])})
		}
		b.checks = append(b.checks, check{text: fmt.Sprintf("always (%s -> next !%s)", some[i], some[i])})
	}
}

// typeOf is a type of threads that did an event.
type typeOf struct {
	name    string
	threads int // how many threads of the type did it
}

// typesOf returns types that all threads have which did an event: that which the event names, a declared one, or else one by
// the start routine or the name of each, which it declares.
func (b *Block) typesOf(r *Run, j *judged, t *taken) (out []typeOf) {
	doers := j.doers()
	if by := r.spec.Events[j.event].By; by >= 0 {
		return []typeOf{{r.spec.Threads[by].Name, len(doers)}}
	}
	for i := range r.spec.Threads {
		if !slices.ContainsFunc(doers, func(id event.ThreadID) bool { return !r.match.IsOfType(id, i) }) {
			return []typeOf{{r.spec.Threads[i].Name, len(doers)}}
		}
	}
	for _, id := range doers {
		how, name := declarationOf(r.names.Thread(id))
		if how == "" {
			continue
		}
		known, ok := t.threads[how]
		if !ok {
			known = t.name(identifier(name))
			t.threads[how] = known
			b.declared = append(b.declared, fmt.Sprintf("thread %s = %s", known, how))
		}
		if i := slices.IndexFunc(out, func(o typeOf) bool { return o.name == known }); i >= 0 {
			out[i].threads++
		} else {
			out = append(out, typeOf{known, 1})
		}
	}
	return out
}

// declarationOf returns how a type of threads like one is declared, and a name for it; "" if nothing says what it is.
func declarationOf(t run.Thread) (how, name string) {
	switch {
	case t.Main:
		return "main", "main_thread"
	case t.Start != "":
		return "start " + spec.Quoted(t.Start), t.Start
	case t.Name != "" && !strings.ContainsAny(t.Name, "\"\\*?[\n"):
		return fmt.Sprintf("name %q", t.Name), t.Name
	}
	return "", ""
}

// Text returns the block. Checks that the run violates are left out, and marked if the user wrote them.
func (b *Block) Text() string {
	var out strings.Builder
	for _, c := range b.comment {
		fmt.Fprintf(&out, "// %s\n", c)
	}
	for _, d := range b.declared {
		fmt.Fprintf(&out, "%s\n", d)
	}
	fmt.Fprintf(&out, "\n%s\n", b.head)
	for _, l := range b.body {
		fmt.Fprintf(&out, "  %s\n", l)
	}
	if !b.own {
		out.WriteString("  // The run satisfies these checks: keep those that are meant, with a message.\n")
	}
	for _, c := range b.checks {
		switch {
		case !c.violated:
			fmt.Fprintf(&out, "  check %s%s\n", c.message, c.text)
		case b.own:
			fmt.Fprintf(&out, "  check %s%s   // violated in this run\n", c.message, c.text)
		}
	}
	out.WriteString("}\n")
	return out.String()
}

// Trial judges the checks of a block on a run. Make it with Try.
type Trial struct {
	*bind.Run
	block *Block
}

// Try returns a trial on a run that has not begun, of which all events are to be passed to Event. The specification is the one
// for which the block was made, with the block's text, and loaded with spec.Options.AllEvents. Its other properties are not
// judged.
func (b *Block) Try(s *spec.Spec, names run.Namer) (*Trial, error) {
	only := *s
	only.Properties, only.Typestates, only.Formulas, only.Checks = nil, nil, nil, nil
	only.Scopes = s.Scopes[len(s.Scopes)-1:]
	r, err := bind.New(bind.Options{Spec: &only, Names: names})
	if err != nil {
		return nil, err
	}
	return &Trial{r, b}, nil
}

// Finish ends the run. The block then knows which of its checks the run violates.
func (t *Trial) Finish() error {
	var out part.Outcome
	bind.NewPart(t.Run, nil).Finish(&out)
	for _, f := range out.Findings {
		for i := range t.block.checks {
			if c := &t.block.checks[i]; f.Scope != nil && c.text == f.Scope.Check {
				c.violated = true
			}
		}
	}
	return out.Err
}

// taken are names that a specification has declared.
type taken struct {
	names   map[string]bool
	threads map[string]string // by declaration: the types that the block declares
}

func newTaken(s *spec.Spec) *taken {
	t := &taken{map[string]bool{}, map[string]string{}}
	for _, n := range s.Declared() {
		t.names[n] = true
	}
	return t
}

// name returns a name that is free, and takes it.
func (t *taken) name(want string) string {
	out := want
	for n := 2; t.names[out]; n++ {
		out = fmt.Sprintf("%s_%d", want, n)
	}
	t.names[out] = true
	return out
}

// words are those that begin a declaration, or have a meaning of their own.
var words = append(strings.Fields("tid true false null scope sync"), syntax.Declarations()...)

// identifier returns a name of a specification for what has a name in the program.
func identifier(name string) string {
	name = strings.Trim(strings.Map(func(c rune) rune {
		if c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			return c
		}
		return '_'
	}, name), "_")
	if name == "" || name[0] >= '0' && name[0] <= '9' || slices.Contains(words, name) {
		name = "the_" + name
	}
	return name
}
