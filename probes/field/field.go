// Package field finds the instructions that access one field of the objects of a type, wherever the
// objects lie: on the heap, in static memory, inside other objects.
//
// The input is open binaries and "FIELD of TYPE" in the words of the source. The output is the
// field's offset and scalar type, from the debug information, and for each binary the loads and
// stores that touch the field, each with the register that leads to the object. They are found by
// types: the debug information states where pointers to the type are kept (parameters, locals,
// globals, members of other types, results of functions), and a data flow follows such pointers
// through the registers and the stack frame of each function. Instructions that may access the
// field in a way that is not understood are counted by function. The package knows no probe and no
// process. Addresses are those of the file as linked.
package field

import (
	"debug/dwarf"
	"fmt"
	"strings"

	bin "github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// Spec is the name of a field as the user writes it.
type Spec struct {
	Path []string // the names of members: "stats", "hits"
	Tag  string   // "struct", "class" or "union" if the type's name begins with it; else ""
	Type string   // "conn", "ns::Queue<int>", without white space
	Text string   // as written, with single blanks
}

// maxName bounds the name of a field, in bytes.
const maxName = 4096

// Parse reads "FIELD of TYPE"; ok is false if the name has another form, which is that of a
// variable.
func Parse(name string) (s Spec, ok bool, err error) {
	left, right, ok := strings.Cut(strings.Join(strings.Fields(name), " "), " of ")
	if !ok {
		return Spec{}, false, nil
	}
	if len(name) > maxName {
		return Spec{}, true, &Error{fmt.Sprintf("the name of a field is longer than %d bytes", maxName)}
	}
	s = Spec{Text: left + " of " + right}
	for _, tag := range []string{"struct", "class", "union"} {
		if rest, found := strings.CutPrefix(right, tag+" "); found {
			s.Tag, right = tag, rest
			break
		}
	}
	s.Type = squeeze(strings.TrimPrefix(right, "::"))
	s.Path = strings.Split(strings.ReplaceAll(left, " ", ""), ".")
	bare, _, _ := strings.Cut(s.Type, "<")
	for _, part := range append([]string{bare}, s.Path...) {
		if part != bare && strings.Contains(part, "[") {
			return Spec{}, true, &Error{"an array in an object, or an element of it, cannot be watched as a field of a type: watch that of a variable, such as 'pool.parts[0]'"}
		}
		if part == "" || strings.ContainsAny(part, "*[]") {
			return Spec{}, true, &Error{"write a field as FIELD of TYPE, such as 'state of struct conn' or 'stats.hits of ns::Queue<int>'"}
		}
	}
	return s, true, nil
}

// squeeze removes the insignificant white space from the name of a type.
func squeeze(name string) string {
	words := strings.Fields(name)
	var b strings.Builder
	for i, w := range words {
		if i > 0 && isWord(words[i-1][len(words[i-1])-1]) && isWord(w[0]) {
			b.WriteByte(' ')
		}
		b.WriteString(w)
	}
	return b.String()
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// Field is a field that can be watched.
type Field struct {
	Spec Spec
	Name string       // "state of struct conn"
	Type dwarf.Offset // the entry of the field's own type
	// Size is the size in bytes; 0 if the field's type has no size. For a bit field it is that of
	// the storage.
	Size   int
	Offset int64 // from the beginning of the type
	// BitOffset and BitSize are the position of a bit field in its storage, counted from the lowest
	// bit; BitSize is 0 for any other field.
	BitOffset, BitSize int
	// TypeSize is the size in bytes of an object of the type; the smallest if several types have
	// the name.
	TypeSize int64
	// Definitions is the number of different types of the name in which the field has this form.
	Definitions int
}

// Access is an instruction that accesses the field.
type Access struct {
	Inst insn.Inst
	Mem  insn.Mem // the operand that accesses the field
	// Offset is the address of the operand's first byte minus that of the field. It is not 0 if the
	// operand covers only a part of the field, or more than the field.
	Offset int64
	// Inside is the field's offset in the object of the type. If the operand has a fixed address,
	// the object is in static memory.
	Inside int64
	// Stride, if not 0, reports that the operand has an index, which selects an element of an
	// array. If index times scale is not a multiple of Stride bytes, the operand accesses something
	// else.
	Stride int64
	Func   bin.Range // the range of the function's code that contains the instruction
}

// Error reports a field that the type does not have, or that cannot be located in it.
type Error struct{ Reason string }

// Error implements error.
func (e *Error) Error() string { return e.Reason }

// Result describes what a binary's code does with a field.
type Result struct {
	Accesses []Access // sorted by address, one for each instruction
	// Unknown is, by function, the number of instructions that may access the field in a way that
	// is not understood.
	Unknown map[string]int
	// Lifetimes are the constructors and destructors of the type that have code of their own,
	// sorted by address. Inlined is, by function, the number of those inlined into it.
	Lifetimes []Lifetime
	Inlined   map[string]int
	Functions int // number of functions examined
}

// Lifetime is a constructor or destructor. Its first argument is the object.
type Lifetime struct {
	Name       string
	Addr       uint64 // the entry
	Size       int64  // bytes of an object
	Destructor bool   // it is a destructor
}

// Find finds a field by the description of the type in one file's debug information; ok is false if
// the file does not describe the type. If several types have the name, there is one field for each
// form that it has in them: its size and its own type.
func Find(f *bin.File, s Spec) (fds []Field, ok bool, err error) {
	defer recoverDamage(&err, f)
	db, err := load(f, s)
	switch {
	case err != nil:
		return nil, false, err
	case len(db.targets) == 0 && db.template:
		return nil, false, &Error{fmt.Sprintf("%s is a template: name an instance, as %s<int>, or all with %s<*>", s.Type, s.Type, s.Type)}
	case len(db.targets) == 0:
		return nil, false, nil
	}
	return db.fields(s)
}

// Accesses finds the instructions of f that access the field in the types in which it has this form.
func Accesses(f *bin.File, fd Field) (res Result, err error) {
	defer recoverDamage(&err, f)
	db, err := load(f, fd.Spec)
	if err != nil || len(db.targets) == 0 {
		return Result{}, err
	}
	return db.accesses(fd)
}

// recoverDamage turns a panic of the standard library's reader of debug information into an error.
func recoverDamage(err *error, f *bin.File) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("read debug information of %s: damaged: %v", f.Name(), r)
	}
}
