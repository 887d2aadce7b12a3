//go:build !amd64

package ptrace

// unexplainedTrap returns false: on these architectures no hardware watchpoints are set.
func unexplainedTrap(int) bool { return false }

// breakpointAt returns false: copied breakpoints are not known here.
func breakpointAt(int) (at uint64, there, ok bool) { return 0, false, false }

func stepBack(int, uint64) bool { return false }
