package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/tracepredict/tracepredict/observer/live"
	"github.com/tracepredict/tracepredict/observer/run"
	"github.com/tracepredict/tracepredict/observer/trace"
)

// recording is the trace that --record asks for, or one that is analysed at the end of the run. With the first events
// that are written the trace takes the place of what the file of --record held.
type recording struct {
	*live.Recorder
	file *outputFile // nil without --record
	copy *kept       // a copy for the end of the run; nil: none is needed
	name string
}

// kept is a trace in a file that has no name. It ends when it becomes too long, or when the file system has no
// room: what the run is recorded for must not fill the disk of the program that runs.
type kept struct {
	file *os.File // nil if none could be created
	room int64    // bytes
	why  error    // why nothing is kept any more; nil as long as all is
}

// maxKept bounds the bytes of a trace that is kept for the end of a run: so many events take minutes to analyse
// again.
const maxKept = 512 << 20

// errTooLong is the reason why a run of more than maxKept bytes is not kept.
var errTooLong = fmt.Errorf("their trace is longer than %d MiB", maxKept>>20)

// newKept returns a trace that is kept, or says why none can be.
func newKept() *kept {
	file, err := unnamedFile()
	return &kept{file: file, room: maxKept, why: err}
}

// close ends the file, if there is one.
func (k *kept) close() error {
	if k.file == nil {
		return nil
	}
	return k.file.Close()
}

// Write implements io.Writer. It returns no error: without the copy, there still is a report.
func (k *kept) Write(p []byte) (int, error) {
	switch {
	case k.why != nil:
		return len(p), nil
	case int64(len(p)) > k.room:
		k.drop(errTooLong)
		return len(p), nil
	}
	k.room -= int64(len(p))
	if _, err := k.file.Write(p); err != nil {
		k.drop(err)
	}
	return len(p), nil
}

// drop ends the copy, and gives its space back.
func (k *kept) drop(why error) {
	k.why = errors.Join(why, k.file.Truncate(0))
}

// standard is the file name that stands for standard output or standard input.
const standard = "-"

// newRecording creates the trace; it returns nil without --record, unless the events are needed again
// at the end of the run.
func newRecording(name string, again bool) (_ *recording, err error) {
	if name == "" && !again {
		return nil, nil
	}
	r := &recording{name: name}
	var outs []io.Writer
	if name != "" {
		if r.file, err = createTrace(name); err != nil {
			return nil, err
		}
		outs = append(outs, r.file)
	}
	if again {
		r.copy = newKept()
		outs = append(outs, r.copy)
	}
	if r.Recorder, err = live.NewRecorder(io.MultiWriter(outs...)); err != nil {
		return nil, fmt.Errorf("--record %s: %w", name, err)
	}
	return r, nil
}

// settled returns the events of the run, with accesses that were recorded late where they were made. All
// records must have been written.
// Reading them fails once over returns a reason.
func (r *recording) settled(over func() string) (*trace.Settled, error) {
	return settled(r.copy.file, "the events of the run", over)
}

// untilOver is a reader that fails when the time is over.
type untilOver struct {
	io.Reader
	over func() string // nil: there is no such time
}

// Read implements io.Reader.
func (u untilOver) Read(p []byte) (int, error) {
	if u.over != nil {
		if why := u.over(); why != "" {
			return 0, errors.New(why)
		}
	}
	return u.Reader.Read(p)
}

func createTrace(name string) (*outputFile, error) {
	if name != standard {
		file, err := openOutput("--record", name, partOfTrace)
		if err == nil {
			file.keeps = true // analyze reads a trace that is cut short
		}
		return file, err
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
	if r.file != nil && err == nil {
		err = r.file.commit()
	} else if r.file != nil {
		if left := r.file.Close(); left != "" {
			err = fmt.Errorf("%w; what was written is in %s", err, left)
		}
	}
	if r.copy != nil {
		err = cmp.Or(err, r.copy.close())
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
