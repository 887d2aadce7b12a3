package bpf

// Values is how what an indivisible access of a variable read and wrote follow from
// its record: from Value, and from Entered, which is a register.
type Values uint8

// The ways. Delta is a constant of the site.
const (
	ValuesUnknown    Values = iota // a load or store has Value; what else read something is not known
	ValuesBoth                     // it wrote Value, and read Entered
	ValuesOld                      // it read Entered; what it wrote is not known
	ValuesAdded                    // it read Entered, and added Delta
	ValuesAddedReg                 // it read Entered, and added Value
	ValuesResult                   // it wrote Value, having added Delta
	ValuesResultReg                // it wrote Value, having added Entered
	ValuesResultLess               // it wrote Value, having subtracted Entered
)
