// Package code is the control flow of machine code: where functions and basic blocks
// begin, and where control may arrive.
//
// An Image is the code of one file: it decodes instructions, finds the extent of the
// function around an address, and knows the landings of the whole text, jump tables,
// parts that the compiler split off and exception landing pads included. What is not
// understood (an indirect jump of which the targets are not known, bytes that do not
// decode) opens a function: control may then arrive anywhere in it. Too many landings
// are found, never too few. Work on hostile code is bounded (Image.Work). The package
// knows no probe, no variable and no process; addresses are those of the file as linked.
package code
