package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// createFile creates the file that a flag asks for. The error tells what to do.
func createFile(flag, name string) (*os.File, error) {
	file, err := os.Create(name)
	if err == nil {
		return file, nil
	}
	remedy := ""
	switch {
	case errors.Is(err, unix.EISDIR):
		remedy = "; name a file in it"
	case errors.Is(err, fs.ErrNotExist):
		remedy = "; make the directory first: mkdir -p " + filepath.Dir(name)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, unix.EROFS):
		remedy = "; name a file in a directory that you may write to"
	}
	return nil, fmt.Errorf("%s: %w%s", flag, err, remedy)
}

// standardOutput returns standard output by another descriptor than 1: with that, a closed
// pipe is an error like any other and does not end the tool.
func standardOutput() (*os.File, error) {
	fd, err := unix.FcntlInt(os.Stdout.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("standard output: %w", err)
	}
	return os.NewFile(uintptr(fd), "standard output"), nil
}

// outliveReaders keeps a closed pipe on standard output or error from ending the tool
// while it observes a program: writing fails then, and the trace is kept. Where the signal
// is ignored it stays ignored, also for the program.
func outliveReaders() {
	if !signal.Ignored(unix.SIGPIPE) {
		signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE)
	}
}
