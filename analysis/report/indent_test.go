package report

import (
	"bytes"
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

// value draws JSON of any form.
func value(depth int) *rapid.Generator[any] {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{`"`, `\`, `\"`, `\\`, `a\\"b`, "{", "]", ": ,"}))
	plain := []*rapid.Generator[any]{text.AsAny(), rapid.Int().AsAny(), rapid.Bool().AsAny(), rapid.Just(any(nil)), rapid.Float64().AsAny()}
	if depth == 0 {
		return rapid.OneOf(plain...)
	}
	inner := value(depth - 1)
	return rapid.OneOf(append(plain, rapid.SliceOfN(inner, 0, 4).AsAny(), rapid.MapOfN(text, inner, 0, 4).AsAny())...)
}

func TestIndentAgainstEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		compact, err := json.Marshal(value(4).Draw(t, "value"))
		if err != nil {
			t.Fatal(err)
		}
		prefix := rapid.SampledFrom([]string{"", "    "}).Draw(t, "prefix")
		var want bytes.Buffer
		if err := json.Indent(&want, compact, prefix, "  "); err != nil {
			t.Fatal(err)
		}
		if got := indentJSON(nil, compact, prefix); !bytes.Equal(got, want.Bytes()) {
			t.Fatalf("%s becomes\n%s\nwant\n%s", compact, got, &want)
		}
	})
}

func TestIndentDeep(t *testing.T) {
	const deep = 200
	compact := append(bytes.Repeat([]byte("[["), deep), bytes.Repeat([]byte("]]"), deep)...)
	var want bytes.Buffer
	if err := json.Indent(&want, compact, "", "  "); err != nil {
		t.Fatal(err)
	}
	if got := indentJSON(nil, compact, ""); !bytes.Equal(got, want.Bytes()) {
		t.Error("deep nesting is indented otherwise")
	}
}
