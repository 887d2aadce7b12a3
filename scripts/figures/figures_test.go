package figures

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 2, 9}, 3}} {
		if got := Median(c.values); got != c.want {
			t.Errorf("median of %v: %v, want %v", c.values, got, c.want)
		}
	}
}

var marks = Marks{Begin: "<!-- a -->", End: "<!-- b -->"}

func TestReplace(t *testing.T) {
	once, err := marks.Replace("before\n<!-- a -->\n<!-- b -->\nafter\n", "first\n")
	if err != nil {
		t.Fatal(err)
	}
	twice, err := marks.Replace(once, "second\n")
	if err != nil {
		t.Fatal(err)
	}
	if want := "before\n<!-- a -->\nsecond\n<!-- b -->\nafter\n"; twice != want {
		t.Errorf("written twice:\n%s\nwant:\n%s", twice, want)
	}
	for _, bad := range []string{"no marks", marks.End + marks.Begin, marks.Begin} {
		if _, err := marks.Replace(bad, "x"); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestWriteBeginsAPage(t *testing.T) {
	name := filepath.Join(t.TempDir(), "page.md")
	for _, text := range []string{"one\n", "two\n"} {
		if err := marks.Write(name, "title\n"+marks.Begin+"\n"+marks.End+"\n", text); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil || string(got) != "title\n<!-- a -->\ntwo\n<!-- b -->\n" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestMachineIsOneLine(t *testing.T) {
	if m := Machine(); m == "" || strings.ContainsAny(m, "\n\x00") {
		t.Errorf("%q", m)
	}
}

func TestFold(t *testing.T) {
	words := strings.Repeat("word ", 23) // 115 columns
	for in, want := range map[string]string{
		"short\n":                           "short\n",
		words + "and more\n":                words + "and\nmore\n",
		"- " + words + "mores more\n":       strings.TrimSpace("- "+words) + "\n  mores more\n",
		words + "one - two\n":               words + "one -\ntwo\n",
		"| " + words + "and more\n":         "| " + words + "and more\n",
		"```\n" + words + "and more\n```\n": "```\n" + words + "and more\n```\n",
	} {
		if got := fold(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
