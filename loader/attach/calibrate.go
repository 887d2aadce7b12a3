package attach

import "time"

// Costs is the time that a hit of a probe takes.
type Costs struct {
	Emulated time.Duration // at an instruction that the kernel emulates
	Stepped  time.Duration // at one that it executes out of line
}
