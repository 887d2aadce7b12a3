package bpf

// Values says how the values that an indivisible access of a variable read and wrote follow from
// its record: from Value, and from Extra, which is a register.
type Values uint8

// The ways in which they follow. Delta is a constant of the site.
const (
	ValuesUnknown    Values = iota // a load read, or a store wrote, Value; of others nothing is known
	ValuesBoth                     // it wrote Value, and read Extra
	ValuesOld                      // it read Extra; what it wrote is not known
	ValuesAdded                    // it read Extra, and added Delta
	ValuesAddedReg                 // it read Extra, and added Value
	ValuesResult                   // it wrote Value, having added Delta
	ValuesResultReg                // it wrote Value, having added Extra
	ValuesResultLess               // it wrote Value, having subtracted Extra
)
