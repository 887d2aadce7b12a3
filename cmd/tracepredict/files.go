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

// createFile creates the file that a flag names. Its error includes a remedy.
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

// standardOutput returns standard output under another descriptor than 1. A write to it when the
// pipe is closed returns an error; on descriptor 1 it would end the tool.
func standardOutput() (*os.File, error) {
	fd, err := unix.FcntlInt(os.Stdout.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("standard output: %w", err)
	}
	return os.NewFile(uintptr(fd), "standard output"), nil
}

// surviveClosedPipes prevents a closed pipe on standard output or standard error from ending the
// tool while it observes a program: writing fails then, and the trace is kept. If SIGPIPE is
// ignored it stays ignored, for the program too.
func surviveClosedPipes() {
	if !signal.Ignored(unix.SIGPIPE) {
		signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE)
	}
}
