//go:build !amd64

package ptrace

// unexplainedTrap returns false: on these architectures no hardware watchpoints are set.
func unexplainedTrap(int) bool { return false }
