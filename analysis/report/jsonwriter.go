package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// jsonWriter writes one JSON object member by member, and of long lists element by
// element: the encoder holds, and indents, all of a value at once, and reports may be
// large.
type jsonWriter struct {
	to      io.Writer
	enc     *json.Encoder // into compact
	compact bytes.Buffer
	out     []byte
	members int
	err     error // the first one; nothing is written after it
}

func newJSONWriter(to io.Writer) *jsonWriter {
	w := &jsonWriter{to: to}
	w.enc = json.NewEncoder(&w.compact)
	w.enc.SetEscapeHTML(false) // templates' names are full of < and >
	return w
}

// full is how much is gathered before it is written.
const full = 1 << 16

// value appends a value, so far to the right.
func (w *jsonWriter) value(v any, prefix string) {
	if w.err != nil {
		return
	}
	w.compact.Reset()
	if w.err = w.enc.Encode(v); w.err != nil {
		return
	}
	w.out = indentJSON(w.out, bytes.TrimSuffix(w.compact.Bytes(), []byte("\n")), prefix)
	if len(w.out) >= full {
		w.flush()
	}
}

func (w *jsonWriter) flush() {
	if w.err == nil {
		_, w.err = w.to.Write(w.out)
	}
	w.out = w.out[:0]
}

func (w *jsonWriter) name(name string) {
	before := ",\n  "
	if w.members == 0 {
		before = "{\n  "
	}
	w.members++
	w.out = fmt.Appendf(w.out, "%s%q: ", before, name)
}

// member writes a member of the object.
func (w *jsonWriter) member(name string, v any) {
	w.name(name)
	w.value(v, "  ")
}

// list writes a member that is an array, of what f makes of each of all.
func list[T, U any](w *jsonWriter, name string, all []T, f func(T) U) {
	w.name(name)
	if len(all) == 0 {
		w.out = append(w.out, "[]"...)
		return
	}
	before := "[\n    "
	for _, x := range all {
		w.out = append(w.out, before...)
		w.value(f(x), "    ")
		before = ",\n    "
	}
	w.out = append(w.out, "\n  ]"...)
}

// end ends the object, which has members, with a line feed.
func (w *jsonWriter) end() error {
	w.out = append(w.out, "\n}\n"...)
	w.flush()
	return w.err
}
