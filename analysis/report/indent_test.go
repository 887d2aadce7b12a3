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

func TestIndentChangesSpaceAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		compact, err := json.Marshal(value(4).Draw(t, "value"))
		if err != nil {
			t.Fatal(err)
		}
		indented := indentJSON(nil, compact, rapid.SampledFrom([]string{"", "    "}).Draw(t, "prefix"))
		var again bytes.Buffer
		if err := json.Compact(&again, indented); err != nil {
			t.Fatalf("%s becomes\n%s\n%v", compact, indented, err)
		}
		if !bytes.Equal(again.Bytes(), compact) {
			t.Fatalf("%s becomes\n%s", compact, indented)
		}
	})
}

func TestIndent(t *testing.T) {
	const compact = `{"a":{"x":1,"y":"{,:}"},"b":[1,2,-3e4],"c":["one, two","three"],"d":[],"e":{},"f":[{"stack":[{"line":1}],"n":[[1],[2,3]]}]}`
	const want = `{
    "a": {"x": 1, "y": "{,:}"},
    "b": [1, 2, -3e4],
    "c": [
      "one, two",
      "three"
    ],
    "d": [],
    "e": {},
    "f": [
      {
        "stack": [
          {"line": 1}
        ],
        "n": [
          [1],
          [2, 3]
        ]
      }
    ]
  }`
	if got := string(indentJSON(nil, []byte(compact), "  ")); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestIndentDeep(t *testing.T) {
	const deep = 200
	compact := append(bytes.Repeat([]byte("[["), deep), bytes.Repeat([]byte("]]"), deep)...)
	var again bytes.Buffer
	if err := json.Compact(&again, indentJSON(nil, compact, "")); err != nil || !bytes.Equal(again.Bytes(), compact) {
		t.Errorf("deep nesting is indented otherwise: %v", err)
	}
}
