package printable

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// hostile is what a name may hold.
const hostile = "a\x1b[?1049h\x1b[8m\x7f\x9b\xff\u202e\u2028\u009b\U000e0001\r\x07b"

func TestWriter(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"plain\n\ttext é 漢", "plain\n\ttext é 漢"},
		{"\x1b[1;31mred\x1b[m \x1b[1mbold\x1b[m", "\x1b[1;31mred\x1b[m \x1b[1mbold\x1b[m"},
		{"\rplanning\x1b[K", "\rplanning\x1b[K"},
		{"\r\x1b[K", "\r\x1b[K"},
		{"over\rwrite", `over\u000dwrite`},
		{"\x1b[31mred", `\u001b[31mred`},
		{"\x1b]0;title\x07", `\u001b]0;title\u0007`},
		{"cut\x1b", `cut\u001b`},
		{"\uFFFD", "\uFFFD"},
		{hostile, `a\u001b[?1049h\u001b[8m\u007f\x9b\xff\u202e\u2028\u009b\udb40\udc01\u000d\u0007b`},
	} {
		var out bytes.Buffer
		if n, err := NewWriter(&out).Write([]byte(c.in)); err != nil || n != len(c.in) {
			t.Errorf("%q: %d, %v", c.in, n, err)
		}
		if out.String() != c.want {
			t.Errorf("%q becomes %q, want %q", c.in, out.String(), c.want)
		}
	}
}

// TestWriterInParts checks that a character in two Writes stays whole.
func TestWriterInParts(t *testing.T) {
	text := "é漢\U0001f600\x7f."
	for at := range len(text) {
		var out bytes.Buffer
		w := NewWriter(&out)
		for _, part := range []string{text[:at], text[at:]} {
			if _, err := w.Write([]byte(part)); err != nil {
				t.Fatal(err)
			}
		}
		if want := "é漢\U0001f600\\u007f."; out.String() != want {
			t.Errorf("cut at %d: %q, want %q", at, out.String(), want)
		}
	}
}

// TestJSONStaysWhatItWas checks that JSON through a Writer has the same values.
func TestJSONStaysWhatItWas(t *testing.T) {
	var direct, through bytes.Buffer
	in := map[string]string{hostile: hostile + `\"`}
	for _, w := range []interface{ Write([]byte) (int, error) }{&direct, NewWriter(&through)} {
		if err := json.NewEncoder(w).Encode(in); err != nil {
			t.Fatal(err)
		}
	}
	var want, got map[string]string
	if err := json.Unmarshal(direct.Bytes(), &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(through.Bytes(), &got); err != nil {
		t.Fatalf("%v: %s", err, through.Bytes())
	}
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%q: %q, want %q", k, got[k], v)
		}
	}
}

func TestEscape(t *testing.T) {
	if got, want := Escape("a\nb\x1b"+"\u202e\xff"), `a\x0ab\x1b\u202e\xff`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestFile(t *testing.T) {
	if f, ok := File(NewWriter(os.Stderr)); !ok || f != os.Stderr {
		t.Error("not the file of the writer")
	}
	if _, ok := File(&strings.Builder{}); ok {
		t.Error("a builder is no file")
	}
}

func FuzzWriter(f *testing.F) {
	f.Add(hostile, uint8(3))
	f.Fuzz(func(t *testing.T, text string, cut uint8) {
		var out bytes.Buffer
		w := NewWriter(&out)
		at := min(int(cut), len(text))
		for _, part := range []string{text[:at], text[at:], "."} {
			if _, err := w.Write([]byte(part)); err != nil {
				t.Fatal(err)
			}
		}
		left := out.String()
		for _, s := range sequences() {
			left = strings.ReplaceAll(left, s, "")
		}
		if !utf8.ValidString(left) {
			t.Errorf("%q is no UTF-8", left)
		}
		for _, r := range left {
			if r != '\n' && r != '\t' && r != '\r' && !unicode.IsPrint(r) {
				t.Errorf("%q has %q", left, r)
			}
		}
	})
}
