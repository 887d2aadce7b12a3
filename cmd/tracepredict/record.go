package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/tracepredict/tracepredict/analysis/resolve"
	"github.com/tracepredict/tracepredict/observer/trace"
)

// recording is the trace that --record asks for.
type recording struct {
	*resolve.Recorder
	file *os.File
	name string
}

// standard is the name that stands for standard output, or input.
const standard = "-"

// newRecording opens the trace; nil if there is to be none.
func newRecording(name string) (*recording, error) {
	if name == "" {
		return nil, nil
	}
	file, err := createTrace(name)
	if err != nil {
		return nil, err
	}
	rec, err := resolve.NewRecorder(file)
	if err != nil {
		return nil, fmt.Errorf("--record %s: %w", name, err)
	}
	return &recording{Recorder: rec, file: file, name: name}, nil
}

func createTrace(name string) (*os.File, error) {
	if name != standard {
		file, err := os.Create(name)
		if err != nil {
			return nil, fmt.Errorf("--record: %w", err)
		}
		return file, nil
	}
	if term.IsTerminal(int(os.Stdout.Fd())) {
		return nil, usage("--record -: standard output is a terminal; pipe it to tracepredict analyze -, or into a file")
	}
	// By another descriptor than 1, where a closed pipe is an error like any
	// other and does not end the tool.
	fd, err := unix.FcntlInt(os.Stdout.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("--record -: %w", err)
	}
	return os.NewFile(uintptr(fd), "standard output"), nil
}

// finish writes the end of the trace.
func (r *recording) finish(s trace.Summary) error {
	err := r.Close(s)
	if closing := r.file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("--record %s: %w", r.name, err)
	}
	return nil
}

// programOutput is where the program's standard output goes: where the trace
// has the tool's, to standard error; nil for the tool's own.
func (r *observation) programOutput() *os.File {
	if r.flags.record == standard {
		return os.Stderr
	}
	return nil
}
