package main

import (
	"fmt"
	"os"

	"golang.org/x/term"

	"github.com/tracepredict/tracepredict/observer/live"
	"github.com/tracepredict/tracepredict/observer/run"
)

// recording is the trace that --record asks for.
type recording struct {
	*live.Recorder
	file *os.File
	name string
}

// standard is the file name that stands for standard output or standard input.
const standard = "-"

// newRecording creates the trace; it returns nil without --record.
func newRecording(name string) (*recording, error) {
	if name == "" {
		return nil, nil
	}
	file, err := createTrace(name)
	if err != nil {
		return nil, err
	}
	rec, err := live.NewRecorder(file)
	if err != nil {
		return nil, fmt.Errorf("--record %s: %w", name, err)
	}
	return &recording{Recorder: rec, file: file, name: name}, nil
}

func createTrace(name string) (*os.File, error) {
	if name != standard {
		return createFile("--record", name)
	}
	if term.IsTerminal(int(os.Stdout.Fd())) {
		return nil, usage("--record -: standard output is a terminal; pipe it to tracepredict analyze -, or into a file")
	}
	file, err := standardOutput()
	if err != nil {
		return nil, fmt.Errorf("--record -: %w", err)
	}
	return file, nil
}

// finish writes the end of the trace.
func (r *recording) finish(s run.Summary) error {
	err := r.Close(s)
	if closing := r.file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("--record %s: %w", r.name, err)
	}
	return nil
}

// programOutput returns the standard output of the program: standard error if the trace is
// written to standard output, and otherwise nil, which stands for the tool's own.
func (r *observation) programOutput() *os.File {
	if r.flags.record == standard {
		return os.Stderr
	}
	return nil
}
