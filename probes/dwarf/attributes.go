package dwarf

import "debug/dwarf"

// maxText bounds a name in the debug information, in bytes. A C++ type of containers of
// containers has a name of many KiB, and without its end it is no instance of its template.
const maxText = 1 << 15

// Text returns the text of an attribute, its first 32 KiB; "" if there is none.
func Text(e *dwarf.Entry, a dwarf.Attr) string {
	s, _ := e.Val(a).(string)
	return s[:min(len(s), maxText)]
}

// Name returns the name of an entry, its first 32 KiB; "" if it has none.
func Name(e *dwarf.Entry) string { return Text(e, dwarf.AttrName) }

// Flag reports whether an attribute is present and set.
func Flag(e *dwarf.Entry, a dwarf.Attr) bool {
	b, _ := e.Val(a).(bool)
	return b
}

// Number returns the number of an attribute; 0 if there is none.
func Number(e *dwarf.Entry, a dwarf.Attr) int64 {
	n, _ := e.Val(a).(int64)
	return n
}

// Reference returns the offset of the entry that an attribute refers to; 0 if there is
// none.
func Reference(e *dwarf.Entry, a dwarf.Attr) dwarf.Offset {
	off, _ := e.Val(a).(dwarf.Offset)
	return off
}

// TypeOf returns the offset of an entry's type; 0 if it has none.
func TypeOf(e *dwarf.Entry) dwarf.Offset { return Reference(e, dwarf.AttrType) }

// Origin returns the offset of the entry that e completes: its declaration, or the
// function of which it is a copy (DWARF 5, sections 2.13 and 3.3.8.2); 0 if there is
// none.
func Origin(e *dwarf.Entry) dwarf.Offset {
	if off := Reference(e, dwarf.AttrSpecification); off != 0 {
		return off
	}
	return Reference(e, dwarf.AttrAbstractOrigin)
}
