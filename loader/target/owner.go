package target

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/internal/safely"
)

// AsOwner calls f on a thread that uses files with the rights of the tool's effective user, whatever DropPrivileges has
// changed. It is for the tool's own files: root's without any capability.
func AsOwner(f func()) {
	done := make(chan struct{})
	safely.Go(func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked, so that nothing else runs on this thread
		// Neither call reports an error: each returns the former ID.
		_, _, _ = unix.RawSyscall(unix.SYS_SETFSGID, uintptr(os.Getegid()), 0, 0)
		_, _, _ = unix.RawSyscall(unix.SYS_SETFSUID, uintptr(os.Geteuid()), 0, 0)
		f()
	}, func(*safely.Panic) {})
	<-done
}
