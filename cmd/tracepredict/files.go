package main

import (
	"errors"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// remedyFor returns what to do about an error that opening a file for writing returned, behind a semicolon.
func remedyFor(err error, name string) string {
	switch {
	case errors.Is(err, unix.EISDIR):
		return "; name a file in it"
	case errors.Is(err, fs.ErrNotExist):
		return "; make the directory first: mkdir -p " + filepath.Dir(name)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, unix.EROFS):
		return "; name a file in a directory that you may write to"
	}
	return ""
}

// standardOutput returns standard output under another descriptor than 1. A write to it when the
// pipe is closed returns an error; on descriptor 1 it would end the tool.
func standardOutput() (*outputFile, error) {
	return duplicate(int(os.Stdout.Fd()), "standard output")
}

// surviveClosedPipes prevents a closed pipe on standard output or standard error from ending the
// tool while it observes a program: writing fails then, and the trace is kept. If SIGPIPE is
// ignored it stays ignored, for the program too.
func surviveClosedPipes() {
	if !signal.Ignored(unix.SIGPIPE) {
		signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE)
	}
}
