package plural

import (
	"fmt"
	"io"
	"path"
	"reflect"
	"strings"
)

// Note is a sentence about a file, with what joins it to the same sentence about other files.
type Note struct {
	Text string `json:"text"`
	// Kind is the sentence with Number, Files and Rest in place of what differs between notes that say
	// the same. "" means that the note is joined with no other.
	Kind  string `json:"kind,omitempty"`
	File  string `json:"file,omitempty"`  // the name without folders; "" if the note is about none
	Count uint64 `json:"count,omitempty"` // what stands for Number; 0 if the sentence has no count
	First bool   `json:"first,omitempty"` // it says what errors may be missed, or which verdicts are weaker
}

// What stands in the Kind of a note for its count, its file, and anything else.
const (
	Number = "{number}"
	Files  = "{files}"
	Rest   = "..."
)

// About returns the note that Sprintf makes of a format and its arguments. The first integer of the
// arguments is its count. An argument that is file, or its name without folders, stands for the file.
func About(file, format string, args ...any) Note {
	n := Note{Text: Sprintf(format, args...), File: path.Base(file)}
	holes, counted := make([]any, len(args)), false
	for i, a := range args {
		text := Rest
		switch v := reflect.ValueOf(a); {
		case !counted && v.CanInt() && v.Int() >= 0:
			text, counted, n.Count = Number, true, uint64(v.Int())
		case !counted && v.CanUint():
			text, counted, n.Count = Number, true, v.Uint()
		case a == any(file), a == any(n.File):
			text = Files
		}
		holes[i] = hole(text)
	}
	n.Kind = Sprintf(format, holes...)
	if !strings.Contains(n.Kind, Number) {
		n.Count = 0
	}
	return n
}

// Like returns a note that is joined with those of the same format, whatever their arguments are.
func Like(format string, args ...any) Note {
	return Note{Text: Sprintf(format, args...), Kind: Sprintf(format, holes(len(args))...)}
}

// Plain returns a note that is joined with no other.
func Plain(text string) Note { return Note{Text: text} }

// First returns a note that comes before those that say less about errors.
func First(text string) Note { return Note{Text: text, First: true} }

// Texts returns the sentences of notes.
func Texts(notes []Note) []string {
	texts := make([]string, 0, len(notes))
	for _, n := range notes {
		texts = append(texts, n.Text)
	}
	return texts
}

// hole stands for an argument in the kind of a note.
type hole string

func holes(n int) []any {
	all := make([]any, n)
	for i := range all {
		all[i] = hole(Rest)
	}
	return all
}

// Format implements fmt.Formatter. What is not written as a decimal number, such as an address, is no
// count.
func (h hole) Format(f fmt.State, verb rune) {
	if h == Number && verb != 'd' {
		h = Rest
	}
	_, _ = io.WriteString(f, string(h)) // the state keeps no error
}
