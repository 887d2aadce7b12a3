//go:build !amd64

package ptrace

// resumeCall does nothing: where the kernel decides before the stop whether a
// system call starts again (arm64), a call that ends with EINTR after any stop
// shows that to the program.
func resumeCall(int) {}
