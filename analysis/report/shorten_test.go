package report

import (
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

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
		"operator<" + strings.Repeat("x", 200):        shortName("operator<"+strings.Repeat("x", 200), maxSentenceName),
		strings.Repeat("name", 100):                   shortName(strings.Repeat("name", 100), maxSentenceName),
	} {
		if got := inSentence(name); got != want {
			t.Errorf("%q\nis %q\nwant %q", name, got, want)
		}
	}
	if got := inSentence(deep); columns(got) > maxSentenceName || !strings.HasPrefix(got, "hits of Queue<Queue<") || !strings.Contains(got, "<...>") {
		t.Errorf("a deep name is %q", got)
	}
}

// FuzzInSentence checks the width of any name.
func FuzzInSentence(f *testing.F) {
	f.Add("a<b<c>>", 3)
	f.Add(">><<", 40)
	f.Fuzz(func(t *testing.T, s string, times int) {
		if got := inSentence(clean(strings.Repeat(s, min(max(times, 0), 50)))); columns(got) > maxSentenceName {
			t.Errorf("%d columns: %q", columns(got), got)
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
	if got := (names{}).sentence(&f); len(got) > 300 || !strings.Contains(got, "hits of Queue<std::pair<") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}
