//go:build !amd64

package ptrace

import "errors"

// Breakpoint returns an error: threads are stopped before instructions on x86-64 alone.
func Breakpoint(int, uint64, uint64) (fd int, err error) {
	return -1, errors.New("threads can be stopped before chosen instructions on x86-64 alone")
}

// Trap is why a thread is in a stop for SIGTRAP.
type Trap uint8

// The traps.
const (
	OtherTrap Trap = iota
	BreakpointTrap
	StepTrap
)

// TrapOf returns OtherTrap.
func TrapOf(int) Trap { return OtherTrap }

// Registers returns an error: it is needed where there are breakpoints.
func Registers(int) (next uint64, general [16]uint64, err error) {
	return 0, general, errors.New("registers are read on x86-64 alone")
}
