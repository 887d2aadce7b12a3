package report

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

func TestShortName(t *testing.T) {
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{
		{"sell", 10, "sell"},
		{"a::Map<int, std::less<int>>::put(int)", 30, "a::Map<...>::put(int)"},
		{"a::operator<(a::T const&, int)", 24, "a::operator<(...)"},
		{"store::Table<int, long>::visit(std::function<void (int)>) const", 24, "store::Table<...>::visit"},
		{"store::Table<int, long>::visit(int)", 20, "...::visit"},
		{"store::part::Table<int>::visit(int)", 22, "...::Table<int>::visit"},
		{"store::visit_everything(int)", 13, "visit...thing"},
		{"store::visit(int)", 5, "visit"},
		{"(anonymous namespace)::visit(int)", 12, "(...)::visit"},
		{"abcdefghijklmnopqrstuvwxyz", 11, "abcd...wxyz"},
		{"线程线程线程线程", 9, "线...线程"},
		{"abcdef", 4, "abcd"},
		{"abc线程线线", 9, "abc...线"},
		{"abcdef", 0, ""},
	} {
		got := ShortName(c.in, c.width)
		if got != c.want || ansi.StringWidth(got) > c.width {
			t.Errorf("ShortName(%q, %d) = %q, want %q", c.in, c.width, got, c.want)
		}
	}
}

func FuzzShortName(f *testing.F) {
	f.Add("a<b>(c)", 5)
	f.Add("operator<<", 6)
	f.Fuzz(func(t *testing.T, s string, width int) {
		width %= 100
		s = Clean(s)
		if got := ShortName(s, width); ansi.StringWidth(got) > max(width, 0) {
			t.Errorf("ShortName(%q, %d) = %q", s, width, got)
		}
	})
}

func TestShorten(t *testing.T) {
	got := shorten([]string{"/a/b/x.c", "/a/c/x.c", "/q/c/x.c", "y.c", "/z/y.c", "/only.c"})
	want := Names{
		"/a/b/x.c": "b/x.c", "/a/c/x.c": "a/c/x.c", "/q/c/x.c": "q/c/x.c",
		"y.c": "y.c", "/z/y.c": "z/y.c", "/only.c": "only.c",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPlainKeepsLinesAndNothingElse(t *testing.T) {
	for text, want := range map[string]string{
		"one\n\ttwo\n":              "one\n    two\n",
		"a\x1b\nb\r\n":              `a\x1b` + "\nb" + `\x0d` + "\n",
		"\x1b]0;title\a\x1b[2Jname": `\x1b]0;title\x07\x1b[2Jname`,
		"a\rb\x00\xff":              `a\x0db\x00\xff`,
		"größer":                    "größer",
		"right \u202e to left":      `right \u202e to left`,
	} {
		if got := Sanitize(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// TestInSentence checks that long names lose their innermost template arguments first.
func TestInSentence(t *testing.T) {
	const text = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char>>"
	deep := "hits of Queue<int>"
	for range 60 {
		deep = "hits of Queue<" + strings.TrimPrefix(deep, "hits of ") + ">"
	}
	for name, want := range map[string]string{
		"hits of Queue<int>":                          "hits of Queue<int>",
		"hits of Queue<std::map<" + text + ", long>>": "hits of Queue<std::map<std::__cxx11::basic_string<...>, long>>",
		"f<" + text + ", " + text + ">(int)":          "f<std::__cxx11::basic_string<...>, std::__cxx11::basic_string<...>>(int)",
		"operator<" + strings.Repeat("x", 200):        ShortName("operator<"+strings.Repeat("x", 200), maxSentenceName),
		strings.Repeat("name", 100):                   ShortName(strings.Repeat("name", 100), maxSentenceName),
	} {
		if got := inSentence(name); got != want {
			t.Errorf("%q\nis %q\nwant %q", name, got, want)
		}
	}
	if got := inSentence(deep); Columns(got) > maxSentenceName || !strings.HasPrefix(got, "hits of Queue<Queue<") || !strings.Contains(got, "<...>") {
		t.Errorf("a deep name is %q", got)
	}
}

// FuzzInSentence checks the width of any name.
func FuzzInSentence(f *testing.F) {
	f.Add("a<b<c>>", 3)
	f.Add(">><<", 40)
	f.Fuzz(func(t *testing.T, s string, times int) {
		if got := inSentence(Clean(strings.Repeat(s, min(max(times, 0), 50)))); Columns(got) > maxSentenceName {
			t.Errorf("%d columns: %q", Columns(got), got)
		}
	})
}

// TestLongNamesInSentences checks that the sentence of a race stays readable where a type's name
// fills a page, and that JSON keeps the whole name.
func TestLongNamesInSentences(t *testing.T) {
	long := "hits of Queue<" + strings.Repeat("std::pair<std::__cxx11::basic_string<char>, ", 60) + "int" + strings.Repeat(">", 61)
	o := Object{Object: run.Object{Name: long, Kind: event.KindField, Addr: 0x1000}}
	f := Finding{Finding: finding.Finding{Kind: finding.Race, Confidence: finding.Predicted}, Objects: []Object{o}}
	for _, op := range []event.Op{event.Read, event.Write} {
		f.Evidence = append(f.Evidence, Step{Step: finding.Step{Thread: 1 + event.ThreadID(op), Op: op}, Object: &o})
	}
	if got := (Names{}).sentence(&f); len(got) > 300 || !strings.Contains(got, "hits of Queue<std::pair<") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}
