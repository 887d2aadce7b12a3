// Package code computes the control flow and data flow of machine code: where functions and basic
// blocks begin, where control may arrive, and what is known at each instruction.
//
// An Image is the code of one file: it decodes instructions, finds the extent of the function
// around an address, and computes the landings of the whole text, including those of jump tables,
// of parts that the compiler split off, and of exception landing pads. What is not understood (an
// indirect jump whose targets are not known, bytes that do not decode) opens a function: control
// may then arrive anywhere in it. Too many landings are found, never too few.
//
// A Graph is the control-flow graph of one function. A Solver propagates states along the edges of
// a graph until nothing changes. Its user, which searches for a variable, for the fields of a type,
// or for a probe site, defines the states, the effect of an instruction on them, and what two paths
// have in common.
//
// Work on hostile code is bounded: by Image.Work, and by a Solver's visits, each of which may end
// the solution. The package knows no probe, no variable and no process; addresses are those of the
// file as linked.
package code
