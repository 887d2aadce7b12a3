package function

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		text string
		want Pattern
	}{
		{"call f", Pattern{Name: "f"}},
		{"  return\tf ", Pattern{Text: "return\tf", Return: true, Name: "f"}},
		{"call queue_put(q, _)", Pattern{Name: "queue_put", Params: []string{"q", "_"}}},
		{"call f()", Pattern{Name: "f"}},
		{"return f(x,_,y) -> r", Pattern{Return: true, Name: "f", Params: []string{"x", "_", "y"}, Result: "r"}},
		{"leave sell", Pattern{Return: true, Left: true, Name: "sell"}},
		{"leave `shop::Queue<int>::put`(this, n)", Pattern{Return: true, Left: true, Name: "shop::Queue<int>::put", Params: []string{"this", "n"}}},
		{"return queue_new->q", Pattern{Return: true, Name: "queue_new", Result: "q"}},
		{"call Queue::*", Pattern{Name: "Queue::*"}},
		{"call ns::Queue::~Queue(this)", Pattern{Name: "ns::Queue::~Queue", Params: []string{"this"}}},
		{"call `operator<<`(s)", Pattern{Name: "operator<<", Params: []string{"s"}}},
		{"call`f`", Pattern{Name: "f"}},
		{"call `Queue<int, long>::put`", Pattern{Name: "Queue<int, long>::put"}},
		{"call src/shop.c:sell", Pattern{}},
		{"call shop.c:sell(n)", Pattern{File: "shop.c", Name: "sell", Params: []string{"n"}}},
		{"call `src/shop.cc:ns::sell`", Pattern{File: "src/shop.cc", Name: "ns::sell"}},
		{"return open(_, *db)", Pattern{Return: true, Name: "open", Params: []string{"_", "db"}, Stored: map[int]Stored{1: {}}}},
		{"return pipe( * r : int )", Pattern{Return: true, Name: "pipe", Params: []string{"r"}, Stored: map[int]Stored{0: {Int: true}}}},
		{"return pipe(w [1] : int, x) -> rc", Pattern{Return: true, Name: "pipe", Params: []string{"w", "x"}, Result: "rc", Stored: map[int]Stored{0: {Element: 1, Int: true}}}},
		{"call f(_, _, _, _, _, _, _, x)", Pattern{Name: "f", Params: []string{"_", "_", "_", "_", "_", "_", "_", "x"}}},
	} {
		got, err := Parse(c.text)
		if c.want.Name == "" {
			if err == nil {
				t.Errorf("%q is taken: %+v", c.text, got)
			}
			continue
		}
		if c.want.Text == "" {
			c.want.Text = strings.TrimSpace(c.text)
		}
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
		} else if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q: %s", c.text, diff)
		}
	}
}

// TestParseLines: patterns of lines have a file and two numbers, and no name.
func TestParseLines(t *testing.T) {
	for text, want := range map[string]Pattern{
		"enter bank.c:12-20":        {File: "bank.c", First: 12, Last: 20},
		" leave  src/a-b.c:7-7 ":    {Return: true, File: "src/a-b.c", First: 7, Last: 7},
		"enter `my bank.c:1-2`":     {File: "my bank.c", First: 1, Last: 2},
		"leave `C:/src/bank.c:1-2`": {Return: true, File: "C:/src/bank.c", First: 1, Last: 2},
	} {
		want.Text = strings.TrimSpace(text)
		got, err := Parse(text)
		if diff := cmp.Diff(want, got); err != nil || diff != "" || !got.OfLines() {
			t.Errorf("%q: %v, %s", text, err, diff)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct {
		text   string
		column int
		want   string
	}{
		{"", 1, `expected "call", "return", "enter" or "leave"`},
		{"cal f", 1, `expected "call", "return", "enter" or "leave"`},
		{"callf", 1, `expected "call", "return", "enter" or "leave"`},
		{"enter bank.c", 7, "expected lines of a file, such as bank.c:12-20"},
		{"leave sell -> n", 12, "a call that an exception ends has no result"},
		{"leave sell(*n)", 12, "a call that an exception ends need not have stored anything"},
		{"leave sell.c", 7, "expected lines of a file"},
		{"leave bank.c:3", 7, "expected lines of a file"},
		{"enter `bank.c:1-2", 18, "expected the closing ` of the lines"},
		{"enter bank.c:0-2", 7, "expected a first line from 1 on"},
		{"enter bank.c:3-2", 7, "expected a first line from 1 on"},
		{"enter bank.c:1-99999999999", 7, "expected lines of a file"},
		{"call(f)", 5, "expected a blank, not '('"},
		{"call", 5, "expected the name of a function, and the pattern ends"},
		{"call (x)", 6, "expected the name of a function, not '('"},
		{"call f(", 8, "expected a parameter's name, or _ for one that is not wanted, and the pattern ends"},
		{"call f(x", 9, `expected "," or ")", and the pattern ends`},
		{"call f(x y)", 10, `expected "," or ")", not 'y'`},
		{"call f(1)", 8, "expected a parameter's name, or _ for one that is not wanted, not '1'"},
		{"call f(x, x)", 11, "two parameters are called x"},
		{"call f(x, this)", 11, "this is the first parameter of a method"},
		{"call f(a,b,c,d,e,f,g)", 20, "at most 6 parameters can be bound: write _ for the others"},
		{"call f(x, *p)", 11, "a call has stored nothing yet: write return for it"},
		{"call f(p[1])", 9, "a call has stored nothing yet: write return for it"},
		{"return f(*_)", 11, "expected a name for what the function has stored"},
		{"return f(this[0])", 14, "expected a name for what the function has stored"},
		{"return f(**p)", 11, "expected a parameter's name"},
		{"return f(p[256])", 12, "expected the index of an element, from 0 to 255"},
		{"return f(p[1)", 13, `expected "]", not ')'`},
		{"return f(*p[1])", 12, `expected "," or ")", not '['`},
		{"return f(p : int)", 12, `expected "," or ")", not ':'`},
		{"return f(*p : long)", 15, "expected int, the type of what is stored"},
		{"return f(*p, p)", 14, "two parameters are called p"},
		{"call f -> r", 8, "a call has no result: write return for it"},
		{"return f ->", 12, "expected a name for the result, and the pattern ends"},
		{"return f -> r x", 15, "expected nothing more, not 'x'"},
		{"call operator<<", 14, "a name with '<' is written in backquotes"},
		{"call `operator<<", 17, "expected the closing ` of the name"},
		{"call file.c:", 6, "expected the name of a function"},
		{"call ü(", 8, "expected a parameter's name"},
	} {
		_, err := Parse(c.text)
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if e.Column != c.column || !strings.HasPrefix(e.Want, c.want) {
			t.Errorf("%q: column %d: %s; want column %d: %s", c.text, e.Column, e.Want, c.column, c.want)
		}
	}
}

// FuzzParse checks that any text is a pattern or an error with a position in it, and that parsing
// the pattern's Text again yields the same pattern.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"call f(x, _, y)", "return `operator<<`(s) -> r", "call a.c:f", "call Queue::*", "return f->\xff", "return f(*p, q[3] : int) -> r"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse(text)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Column < 1 || e.Column > len(text)+1 {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		again, err := Parse(p.Text)
		if err != nil {
			t.Fatalf("%q, trimmed: %v", text, err)
		}
		if diff := cmp.Diff(p, again); diff != "" {
			t.Fatal(diff)
		}
		rank(p.Name, []string{text})
	})
}

func TestSplitClone(t *testing.T) {
	for _, c := range []struct {
		in, name string
		kind     cloneKind
	}{
		{"f", "f", cloneNone}, {"f.isra.0", "f", cloneChanged}, {"f.constprop.0.isra.1", "f", cloneChanged}, {"f.part.0", "f", clonePart},
		{"f.isra.0.cold", "f", cloneNoEntry}, {"f.cold.3", "f", cloneNoEntry}, {"f.lto_priv.0", "f", cloneSame}, {"f.avx2", "f", cloneSame}, {"f.resolver", "f", cloneNoEntry},
		{"f.llvm.1234567", "f", cloneSame}, {"f.__uniq.123.llvm.45", "f", cloneSame}, {"f.argprom", "f", cloneChanged}, {"f.specialized.1", "f", cloneChanged},
		{"f.argelim", "f", cloneChanged}, {"f.retelim", "f", cloneSame}, {"f.lto_priv.0.isra.0", "f", cloneChanged}, {"f.ifunc", "f", cloneNoEntry},
		{"main.work", "main.work", cloneNone}, {"f.12", "f.12", cloneNone}, {".text", ".text", cloneNone},
	} {
		if name, kind := splitClone(c.in); name != c.name || kind != c.kind {
			t.Errorf("%s: %s, %d", c.in, name, kind)
		}
	}
}

func TestLifeOf(t *testing.T) {
	none, begins, ends := [2]bool{}, [2]bool{true, false}, [2]bool{false, true}
	for name, want := range map[string][2]bool{
		"f": none, "Queue::Queue": begins, "Queue<int>::Queue": begins, "ns::Queue<a::b>::~Queue": ends, "Queue::put": none, "ns::f": none, "Queue::Queue<int>": begins, "": none,
	} {
		if constructor, destructor := lifeOf(name); constructor != want[0] || destructor != want[1] {
			t.Errorf("%q: constructor %t, destructor %t", name, constructor, destructor)
		}
	}
}
