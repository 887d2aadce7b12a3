package jsonreport

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

// jsonWriter writes one JSON object member by member, and long lists element by element.
// Reports may be large, and encoding/json keeps the encoding of a whole value in memory.
type jsonWriter struct {
	out    *bufio.Writer
	enc    *json.Encoder
	before string // the character before the next member
	err    error  // the first error
}

func newJSONWriter(to io.Writer) *jsonWriter {
	w := &jsonWriter{out: bufio.NewWriterSize(to, 1<<16), before: "{"}
	w.enc = json.NewEncoder(withoutNewline{w.out})
	w.enc.SetEscapeHTML(false) // templates' names are full of < and >
	return w
}

// withoutNewline drops the line feed that a json.Encoder writes after each value.
type withoutNewline struct{ to io.Writer }

func (w withoutNewline) Write(p []byte) (int, error) {
	if _, err := w.to.Write(p[:len(p)-1]); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (w *jsonWriter) value(v any) {
	if err := w.enc.Encode(v); w.err == nil {
		w.err = err
	}
}

// name begins a member of the object.
func (w *jsonWriter) name(name string) {
	fmt.Fprintf(w.out, "%s%q:", w.before, name)
	w.before = ","
}

// member writes a member of the object.
func (w *jsonWriter) member(name string, v any) {
	w.name(name)
	w.value(v)
}

// list writes a member that is an array of the results of f for all elements.
func list[T, U any](w *jsonWriter, name string, all []T, f func(T) U) {
	w.name(name)
	_ = w.out.WriteByte('[') // the writer keeps the first error for Flush
	for i, x := range all {
		if i > 0 {
			_ = w.out.WriteByte(',')
		}
		w.value(f(x))
	}
	_ = w.out.WriteByte(']')
}

// end writes the end of the object and a line feed. The object must have members.
func (w *jsonWriter) end() error {
	_, _ = w.out.WriteString("}\n")
	if err := w.out.Flush(); w.err == nil {
		w.err = err
	}
	if w.err != nil {
		return fmt.Errorf("write the JSON report: %w", w.err)
	}
	return nil
}
