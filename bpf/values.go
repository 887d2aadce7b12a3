package bpf

// Values determines how to compute, from the record of an atomic access of a variable, the
// values that it read and wrote: from Value, and from Extra, which is a register.
type Values uint8

// The ways to compute them. Delta is a constant of the site.
const (
	ValuesUnknown    Values = iota // a load read Value, or a store wrote it; for other accesses nothing is known
	ValuesBoth                     // it wrote Value, and read Extra
	ValuesOld                      // it read Extra; the written value is not known
	ValuesAdded                    // it read Extra, and added Delta
	ValuesAddedReg                 // it read Extra, and added Value
	ValuesResult                   // it wrote Value, having added Delta
	ValuesResultReg                // it wrote Value, having added Extra
	ValuesResultLess               // it wrote Value, having subtracted Extra
)
