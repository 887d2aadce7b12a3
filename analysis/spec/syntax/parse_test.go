package syntax

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/golden"
)

// numbers are the names that are numbers in the tests.
func numbers(n Name) bool { return strings.Contains(" v w x y z n tid atomic ", " "+n.Text+" ") }

// declOf reads one declaration.
func declOf[D Decl](t *testing.T, text string) D {
	t.Helper()
	f, errs := Parse(NewSource("t.tps", text))
	if errs.HasErrors() {
		t.Fatalf("%s\n%s", text, errs)
	}
	if len(f.Decls) != 1 {
		t.Fatalf("%s: %d declarations", text, len(f.Decls))
	}
	d, ok := f.Decls[0].(D)
	if !ok {
		t.Fatalf("%s: %T", text, f.Decls[0])
	}
	return d
}

func TestFormulas(t *testing.T) {
	for text, want := range map[string]string{
		"always (q -> ((r && p) since start(p)))": "(always (q -> ((r && p) since (start p))))",
		"[] (q => ((r /\\ p) S rise(p)))":         "(always (q -> ((r && p) since (start p))))",
		"□ (q → ((r ∧ p) 𝒮 start(p)))":            "(always (q -> ((r && p) since (start p))))",
		"G (q implies ((r and p) S start(p)))":    "(always (q -> ((r && p) since (start p))))",
		"p -> q -> r":                             "(p -> (q -> r))",
		"p <-> q -> r xor p || q && r":            "(p <-> (q -> (r xor (p || (q && r)))))",
		"p & q | r ^ p":                           "(((p && q) || r) xor p)",
		"!p & q":                                  "((! p) && q)",
		"~p | q":                                  "((! p) || q)",
		"¬p ∨ q":                                  "((! p) || q)",
		"w > 26 & q":                              "((w > 26) && q)",
		"q & w > 26":                              "(q && (w > 26))",
		"w & 1 == 1":                              "((w & 1) == 1)",
		"1 == w & 1":                              "(1 == (w & 1))",
		"w & 1 == 1 && v | 2 << 1 == 3":           "(((w & 1) == 1) && ((v | (2 << 1)) == 3))",
		"!w == 1":                                 "(! (w == 1))",
		"!w + 1 * 2 == 1 && p":                    "((! ((w + (1 * 2)) == 1)) && p)",
		"prev w == 1":                             "(prev (w == 1))",
		"always w > 1 && q":                       "((always (w > 1)) && q)",
		"~w == 1":                                 "((~ w) == 1)",
		"-w - -1 < +v":                            "(((- w) - (- 1)) < v)",
		"w - 1 - 2 == 0":                          "(((w - 1) - 2) == 0)",
		"w * 2 + v / 3 % 4 > 1":                   "(((w * 2) + ((v / 3) % 4)) > 1)",
		"[p, q)":                                  "[p, q)",
		"[p && r, !q)w -> r":                      "([(p && r), (! q))w -> r)",
		"interval(p, q)":                          "[p, q)",
		"[p, q) w":                                "", // a blank before the w
		"p until q":                               "(p until q)",
		"(p U q) W r":                             "((p until q) weak_until r)",
		"p R (q M r)":                             "(p release (q strong_release r))",
		"X p":                                     "(next p)",
		"X":                                       "X",
		"X && S":                                  "(X && S)",
		"G X":                                     "(always X)",
		"S S S":                                   "(S since S)",
		"F(p)":                                    "(eventually p)",
		"Y Z (*) <*> [*] p":                       "(Y (Z (prev (once (historically p)))))",
		"O H prev p":                              "(once (historically (prev p)))",
		"start(p) || fall(q)":                     "((start p) || (end q))",
		"start == 1":                              "(start == 1)",
		"!always p":                               "(! (always p))",
		"p B q":                                   "(p weak_since q)",
		"true -> false || null == x":              "(true -> (false || (null == x)))",
		"state == ns::OPEN":                       "(state == ns::OPEN)",
		"x == 'a' && y == 0x10 && z < 1.5":        "(((x == 'a') && (y == 0x10)) && (z < 1.5))",
		"always(\n p\n ->\n q)":                   "(always (p -> q))",
		"always p\n  && q\n  || r":                "(((always p) && q) || r)",
		"always p &&\n q":                         "((always p) && q)",
		"p xor q iff r":                           "((p xor q) <-> r)",
	} {
		f, errs := Parse(NewSource("t.tps", "property f = "+text))
		if want == "" {
			if !errs.HasErrors() {
				t.Errorf("%s: taken", text)
			}
			continue
		}
		if errs.HasErrors() {
			t.Errorf("%s\n%s", text, errs)
			continue
		}
		x, errs := Arrange(f.Decls[0].(*Property).Formula, numbers)
		if len(errs) > 0 {
			t.Errorf("%s\n%s", text, errs)
		} else if got := dump(x); got != want {
			t.Errorf("%s:\n got %s\nwant %s", text, got, want)
		}
	}
}

func TestTwoReadings(t *testing.T) {
	for _, c := range []struct{ text, either, or string }{
		{"p since q until r", "(p since q) until r", "p since (q until r)"},
		{"p since q && r", "(p since q) && r", "p since (q && r)"},
		{"p || q S r", "p || (q S r)", "(p || q) S r"},
		{"w == 1 & v == 2", "w == (1 & v) == 2", "w == 1 && v == 2"},
		{"p U q U r", "(p U q) U r", "p U (q U r)"},
	} {
		f, errs := Parse(NewSource("t.tps", "property f = "+c.text))
		if errs.HasErrors() {
			t.Fatal(errs)
		}
		_, errs = Arrange(f.Decls[0].(*Property).Formula, numbers)
		if len(errs) != 1 || errs[0].Kind != Ambiguous || len(errs[0].Notes) != 2 {
			t.Errorf("%s: %v", c.text, errs)
			continue
		}
		if n := errs[0].Notes; !strings.HasSuffix(n[0], "  "+c.either) || !strings.HasSuffix(n[1], "  "+c.or) {
			t.Errorf("%s: %q", c.text, n)
		}
	}
}

func TestRegexes(t *testing.T) {
	for text, want := range map[string]string{
		"({ }* { !p } { p, !q }+ ( { p, !q, !r } { p, !q }* { q } | { q }* { q, !r } ) { }*)": "({}<0,-1> {!p} {p,!q}<1,-1> (({p,!q,!r} {p,!q}<0,-1> {q})|({q}<0,-1> {q,!r})) {}<0,-1>)",
		"open":               "{open}",
		"open close*":        "({open} {close}<0,-1>)",
		"!open*":             "~{open}<0,-1>",
		"~(a | b) & c d":     "(~({a}|{b})&({c} {d}))",
		"{a}{2,5}":           "{a}<2,5>",
		"{a}{2}":             "{a}<2,2>",
		"a{3,}":              "{a}<3,-1>",
		"a?b":                "({a}<0,1> {b})",
		"eps | empty":        "(eps|empty)",
		"{¬p ∧ q}":           "{!p,q}",
		"{not p}":            "{!p}",
		"{!!p}":              "{p}",
		"{\n p,\n !q\n}":     "{p,!q}",
		"a |\n b":            "({a}|{b})",
		"a\n | b":            "({a}|{b})",
		"(a\n b\n *)":        "({a} {b}<0,-1>)",
		"a *":                "{a}<0,-1>",
		"(!a b)+":            "(~{a} {b})<1,-1>",
		"epsilon a{0,1}":     "(eps {a}<0,1>)",
		"{p}* & ~({q} {q}*)": "({p}<0,-1>&~({q} {q}<0,-1>))",
		"a ** b":             "({a}<0,-1><0,-1> {b})",
	} {
		d := declOf[*Property](t, "property f = ere bad "+text)
		if got := dumpRegex(d.Regex); got != want {
			t.Errorf("%s:\n got %s\nwant %s", text, got, want)
		}
	}
	if d := declOf[*Property](t, "property f : ere good a"); d.Logic != EREGood {
		t.Error(d.Logic)
	}
	if d := declOf[*Property](t, "property f = ere"); d.Logic != LTL {
		t.Error("a proposition may be called ere")
	}
	_, errs := Parse(NewSource("t.tps", "property f = ere bad a + b"))
	if len(errs) != 1 || !errs[0].Warning || !strings.Contains(errs[0].Message, "write |") {
		t.Errorf("an infix +: %v", errs)
	}
}

func TestDeclarations(t *testing.T) {
	v := declOf[*Var](t, "var v : int = `src/a.c:hits` // so")
	if v.Name.Text != "v" || v.Type.Text != "int" || v.Path.Text != "src/a.c:hits" {
		t.Errorf("%+v", v)
	}
	for _, path := range []string{"server.stats.hits", "file.c:hits", "slots[3].state", "ns::Queue::depth"} {
		if d := declOf[*Var](t, "var v = "+path+" ;"); d.Path.Text != path {
			t.Errorf("%s: %q", path, d.Path.Text)
		}
	}
	if l := declOf[*Sync](t, "lock l = class struct conn.mu"); l.Class.Text != "struct conn" || l.Path.Text != "mu" {
		t.Errorf("%+v %+v", l, l.Class)
	}
	if l := declOf[*Sync](t, "lock l = class"); l.Class != nil || l.Path.Text != "class" {
		t.Errorf("%+v", l)
	}
	if l := declOf[*Sync](t, "sem s = pool.free"); l.Kind != Sem || l.Path.Text != "pool.free" {
		t.Errorf("%+v", l)
	}
	for text, want := range map[string]Thread{
		"thread t = start worker":  {Kind: ByStart, Path: Path{Text: "worker"}},
		"thread t = name \"io-*\"": {Kind: ByName, Glob: Text{Text: "io-*"}},
		"thread t = main":          {Kind: MainThread},
		"thread t = 2 of worker":   {Kind: NthOf, Nth: 2, Of: Name{Text: "worker"}},
	} {
		d := declOf[*Thread](t, text)
		if d.Kind != want.Kind || d.Path.Text != want.Path.Text || d.Glob.Text != want.Glob.Text || d.Nth != want.Nth || d.Of.Text != want.Of.Text {
			t.Errorf("%s: %+v", text, d)
		}
	}
	l := declOf[*Local](t, "local a : int = 0 { on enter : a := b; b := a + 1\n on step : ;  on leave : a := 0 }")
	if len(l.On) != 3 || len(l.On[0].Sets) != 2 || len(l.On[1].Sets) != 0 || len(l.On[2].Sets) != 1 {
		t.Errorf("%+v", l.On)
	}
	if c := declOf[*Check](t, "check races(v, w)"); len(c.Vars) != 2 {
		t.Errorf("%+v", c)
	}
	if c := declOf[*Check](t, "check atomicity(ns::f)"); c.Func.Text != "ns::f" {
		t.Errorf("%+v", c)
	}
	p := declOf[*Property](t, "property high \"too late\" = automaton {\n state idle { {p, !q} -> armed; {} -> idle }\n state armed { q -> bad }\n bad state bad\n final state done }")
	if len(p.States) != 4 || len(p.States[0].Edges) != 2 || !p.States[2].Bad || !p.States[3].Final || p.Message.Text != "too late" {
		t.Errorf("%+v", p)
	}
}

func TestPatterns(t *testing.T) {
	for text, want := range map[string]string{
		"call f":                               "call f",
		"call queue_put(q, _)":                 "call queue_put q _",
		"call f()":                             "call f",
		"return f(x, _, y) -> r":               "return f x _ y -> r",
		"return f->r":                          "return f -> r",
		"call Queue::*(this) by t when x > 1":  "call Queue::* this by t when",
		"call `operator<<`":                    "call operator<<",
		"acquire l":                            "acquire l",
		"release any":                          "release any",
		"wait c":                               "wait c",
		"broadcast c when tid == 1":            "broadcast c when",
		"arrive b":                             "arrive b",
		"write v -> x":                         "write v -> x",
		"read v by t":                          "read v by t",
		"return open(_, *db) -> rc":            "return open _ *db[0] -> rc",
		"return pipe(r[0], w [1] : int)":       "return pipe *r[0] *w[1]int",
		"fork t":                               "fork t",
		"call `Queue<int, long>::put`(q)":      "call Queue<int, long>::put q",
		"call *_put // all":                    "call *_put",
		"return ns::Queue::~Queue(this)\n by ": "return ns::Queue::~Queue this",
	} {
		f, errs := Parse(NewSource("t.tps", "event e = "+text))
		if len(errs) > 0 && !strings.HasSuffix(text, "by ") {
			t.Errorf("%s\n%s", text, errs)
			continue
		}
		e := f.Decls[0].(*Event)
		parts := []string{e.Pattern.Op.String(), e.Pattern.Func.Text + e.Pattern.Object.Text}
		if e.Pattern.Any {
			parts[1] = "any"
		}
		for _, n := range e.Pattern.Params {
			text := n.Text
			if n.Stored {
				text = fmt.Sprintf("*%s[%d]", text, n.Element)
			}
			if n.Int {
				text += "int"
			}
			parts = append(parts, text)
		}
		if e.Pattern.Result != nil {
			parts = append(parts, "->", e.Pattern.Result.Text)
		}
		if e.By != nil {
			parts = append(parts, "by", e.By.Text)
		}
		if e.When != nil {
			parts = append(parts, "when")
		}
		if got := strings.Join(parts, " "); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func TestBlocks(t *testing.T) {
	ts := declOf[*Typestate](t, `typestate download_queue (q : struct queue *) {
  create = return queue_new -> q
  put    = call queue_put(q, _)
  state fresh  { create -> open }
  state open   { put -> open }   // 214 objects, 9,118 calls
  state gone   { }
}`)
	if ts.Type.Text != "struct queue *" || len(ts.Events) != 2 || len(ts.States) != 3 || ts.States[1].Edges[0].Event.Text != "put" {
		t.Errorf("%+v", ts)
	}
	ts = declOf[*Typestate](t, "typestate a (q : void (*)(int)) { p = call f(q)\n ere good (p p*) }")
	if ts.Type.Text != "void (*)(int)" || dumpRegex(ts.Regex) != "({p} {p}<0,-1>)" {
		t.Errorf("%+v", ts)
	}
	if ts = declOf[*Typestate](t, "typestate a (q : int) { p = call f(q)\n ere bad p p }"); !ts.Bad || dumpRegex(ts.Regex) != "({p} {p})" {
		t.Errorf("%+v", ts)
	}
	m := declOf[*MTTL](t, `mttl isolated "seen" =
    forall i : teller, j : teller, i != j .
        @i ( atomic > 0 -> !( atomic = @j @i (atomic) ) )`)
	x, errs := Arrange(m.Formula, numbers)
	if got := dump(x); len(errs) > 0 || got != "forall i:teller,j:teller,i!=j.@i((atomic > 0) -> (! (atomic == @j@iatomic)))" {
		t.Errorf("%s %v", got, errs)
	}
	for text, want := range map[string]string{
		"@t y + 1 == 2":       "((@ty + 1) == 2)",
		"@t prev y == 1":      "@t(prev (y == 1))",
		"!@t y == 1":          "(! (@ty == 1))",
		"exists i : t . @i p": "exists i:t.@ip",
	} {
		x, errs := Arrange(declOf[*MTTL](t, "mttl m = "+text).Formula, numbers)
		if got := dump(x); len(errs) > 0 || got != want {
			t.Errorf("%s: %s %v", text, got, errs)
		}
	}
}

const scopeText = `scope s0 (AR) {
  property s0r on reader(read)  is F(read)          // LTL₃
  property s0w on writer(write) is F(write) across scopes
  atom activereader = count(s0r, T) > 0
  atom allreaders   = count(s0r, ?) == size(reader) && any(s0w) || all(s0w, F)
  check always ((activereader xor allreaders) && (activereader -> allreaders))
}`

const listing = `selectors {
  event AR on "ReentrantLock.Acquire" when "%lockname == SharedArr.resourceLock"
}
types{
  reader {
    spawn on "Reader.Run"
    event read on "SharedArr.read"
  }
  writer { spawn on "Writer.Run" event write on "call shared_write(x)" }
}
scope s0 (AR) {
  property s0r on reader(read) is "LTL=F(read)"
  property s0w on writer(write) is "LTL=F(write)"

  atom activereader : count(s0r, T) > 0,
  atom activewriter  : count(s0w, T) > 0,
  atom onewriter    : count(s0w, T) == 1,
  atom allreaders   : count(s0r, T) == size(reader)

  check "LTL=G(
    (activereader XOR activewriter) && (activewriter => onewriter )
    && (activereader => allreaders)
  )"
}
`

func TestScopes(t *testing.T) {
	s := declOf[*Scope](t, scopeText)
	if len(s.Locals) != 2 || !s.Locals[1].Across || len(s.Atoms) != 2 || len(s.Checks) != 1 {
		t.Errorf("%+v", s)
	}
	x, _ := Arrange(s.Atoms[1].Expr, numbers)
	if got := dump(x); got != "(((count(s0r,?) == size(reader,)) && any(s0w,T)) || all(s0w,F))" {
		t.Error(got)
	}
	f, errs := Parse(NewSource("t.tps", listing))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	var kinds []string
	for _, d := range f.Decls {
		kinds = append(kinds, strings.TrimPrefix(fmt.Sprintf("%T", d), "*syntax."))
	}
	if got := strings.Join(kinds, " "); got != "Sync Event Thread Event Thread Event Scope" {
		t.Fatal(got)
	}
	if e := f.Decls[1].(*Event); e.Pattern.Op != OpAcquire || e.Pattern.Object.Text != "%SharedArr.resourceLock" {
		t.Errorf("%+v", e)
	}
	if e := f.Decls[5].(*Event); e.Pattern.Func.Text != "shared_write" || e.By.Text != "writer" || len(e.Pattern.Params) != 1 {
		t.Errorf("%+v", e)
	}
	x, _ = Arrange(f.Decls[6].(*Scope).Checks[0].Formula, numbers)
	if got := dump(x); got != "(always (((activereader xor activewriter) && (activewriter -> onewriter)) && (activereader -> allreaders)))" {
		t.Error(got)
	}
	if at := f.Decls[6].(*Scope).Checks[0].Formula.Where(); at.Line() != 20 {
		t.Errorf("at %v", at.Pos)
	}
}

// TestErrors compares the errors of each file in testdata/errors with the file beside it.
func TestErrors(t *testing.T) {
	files, err := filepath.Glob("testdata/errors/*.tps")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, errs := Parse(NewSource(filepath.Base(name), string(text)))
		got := errs.Error() + "\n"
		golden.Compare(t, strings.TrimSuffix(name, ".tps")+".txt", got)
	}
}

func TestNearest(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"valv", "valve"}, {"propery", "property"}, {"Include", "include"}, {"xyz", ""}, {"valve", ""},
	} {
		if got := Nearest(c.name, []string{"include", "property", "valve"}); got != c.want {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}
