//go:build !amd64

package ptrace

// resumeCall does nothing. On these architectures (arm64) the kernel decides before the stop
// whether a system call is restarted, so the program sees a call that ends with EINTR after any
// stop.
func resumeCall(int) {}
