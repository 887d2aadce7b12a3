// Package field finds the instructions that access one field of the objects of
// a type, wherever those lie: on the heap, in static memory, inside of others.
//
// In go open binaries and "FIELD of TYPE" in the words of the source; out come
// the field's offset and scalar type, from the debug information, and for each
// binary the loads and stores that touch the field, each with the register that
// leads to the object. They are found by types: the debug information says
// where a pointer to the type is kept (parameters, locals, globals, members of
// other types, results of functions), and a data flow follows such pointers
// through the registers and the own stack frame of each function. What may
// access the field through something that this does not understand is counted
// by function. The package knows no probe and no process; addresses are those
// of the file as linked.
package field

import (
	"debug/dwarf"
	"fmt"
	"strings"

	bin "github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// Spec is a field as a user names it.
type Spec struct {
	Path []string // of members: "stats", "hits"
	Tag  string   // "struct", "class" or "union" where the name begins with it
	Type string   // "conn", "ns::Queue<int>", without white space
	Text string   // as given, with single blanks
}

// maxName bounds the name of a field, in bytes.
const maxName = 4096

// Parse reads "FIELD of TYPE"; ok is false if the name is of another form,
// that of a variable.
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
	for _, part := range append([]string{s.Type}, s.Path...) {
		if part == "" || strings.ContainsAny(part, "*[]") {
			return Spec{}, true, &Error{"write a field as FIELD of TYPE, such as 'state of struct conn' or 'stats.hits of ns::Queue<int>'"}
		}
	}
	return s, true, nil
}

// squeeze drops the white space of a type's name that means nothing.
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
	Spec   Spec
	Name   string       // "state of struct conn"
	Type   dwarf.Offset // the entry of the field's own type
	Size   int          // bytes; 0 if its type has none; of a bit field, of the storage that holds it
	Offset int64        // in the type
	// BitOffset and BitSize are where a bit field lies in its storage, counted from
	// the lowest bit; no bits: it is none.
	BitOffset, BitSize int
	TypeSize           int64 // bytes of an object of the type, the least of several
	// Kinds is how many different types have the name; all are watched.
	Kinds int
}

// Access is an instruction that accesses the field.
type Access struct {
	Inst insn.Inst
	Mem  insn.Mem // the operand that does
	// Offset is the operand's first byte minus the field's: not 0 where only a
	// part of the field is accessed, or more.
	Offset int64
	// Inside is the field's offset in the object of the type. An operand with a
	// fixed address is of an object in static memory.
	Inside int64
	// Stride, if not 0: the operand has an index, which leads to an element of an
	// array. Index times scale is a multiple of this many bytes, or the operand is
	// of something else.
	Stride int64
	Func   bin.Range // that contains it
}

// Error is a field that the type does not have, or that cannot be found in it.
type Error struct{ Reason string }

// Error implements error.
func (e *Error) Error() string { return e.Reason }

// Result is what a binary's code does with a field.
type Result struct {
	Accesses []Access // sorted by address, one for each instruction
	// Unseen counts, by function, the instructions that may access the field
	// through something that is not understood.
	Unseen map[string]int
	// Lifetimes are the constructors and destructors of the type that are functions of
	// their own, sorted by address; Inlined counts, by function, those that are not.
	Lifetimes []Lifetime
	Inlined   map[string]int
	Functions int // that were looked at
}

// Lifetime is a constructor or destructor, of which the first argument is the object.
type Lifetime struct {
	Name string
	Addr uint64 // the entry
	Size int64  // bytes of an object
	Ends bool   // a destructor
}

// Find finds a field by one file's description of the type in its debug information; ok
// is false if it does not describe it.
func Find(f *bin.File, s Spec) (fd Field, ok bool, err error) {
	defer recoverDamage(&err, f)
	db, err := load(f, s)
	if err != nil || len(db.targets) == 0 {
		return Field{}, false, err
	}
	return db.field(s)
}

// Accesses finds the instructions of f that access the field.
func Accesses(f *bin.File, fd Field) (res Result, err error) {
	defer recoverDamage(&err, f)
	db, err := load(f, fd.Spec)
	if err != nil || len(db.targets) == 0 {
		return Result{}, err
	}
	return db.accesses(fd)
}

// recoverDamage: the standard library's reader of debug information can panic.
func recoverDamage(err *error, f *bin.File) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("read debug information of %s: damaged: %v", f.Name(), r)
	}
}
