package target

import "golang.org/x/sys/unix"

// FromTerminal reports whether a signal may be one that the terminal sends to the whole
// foreground process group. The program has such a signal already, and passing it on would
// deliver it twice.
func FromTerminal(s unix.Signal) bool {
	if s != unix.SIGINT && s != unix.SIGQUIT && s != unix.SIGTSTP {
		return false
	}
	group, err := unix.IoctlGetInt(0, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
