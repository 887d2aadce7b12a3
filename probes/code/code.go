// Package code is the control flow and data flow of machine code: where functions and
// basic blocks begin, where control may arrive, and what is known at each instruction.
//
// An Image is the code of one file: it decodes instructions, finds the extent of the
// function around an address, and knows the landings of the whole text, jump tables,
// parts that the compiler split off and exception landing pads included. What is not
// understood (an indirect jump of which the targets are not known, bytes that do not
// decode) opens a function: control may then arrive anywhere in it. Too many landings
// are found, never too few.
//
// A Graph is the basic blocks of one function. A Solver follows what is known, whatever
// that is, along the edges of a graph until nothing changes: who looks for a variable,
// for the fields of a type, or for a place for a probe brings the states, what an
// instruction does to them, and what two paths have in common.
//
// Work on hostile code is bounded: by Image.Work, and by a Solver's visits, which may end
// it. The package knows no probe, no variable and no process; addresses are those of the
// file as linked.
package code
