package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/format"
)

// maxSummary is the size of the summary of a step that GitHub takes, in bytes.
const maxSummary = 1 << 20

// actions writes what GitHub Actions shows of a step: annotations, and the step's summary.
type actions struct {
	summary *os.File // nil: there is none
	failed  error    // why not
}

// newActions returns nil if this is no step of GitHub Actions. It opens the summary, since the tool may not be able to
// once it has fewer rights.
func newActions(env func(string) string) *actions {
	if env("GITHUB_ACTIONS") != "true" {
		return nil
	}
	a := &actions{}
	if name := env("GITHUB_STEP_SUMMARY"); name != "" {
		a.summary, a.failed = os.OpenFile(name, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o644)
	}
	return a
}

// write writes the annotations of a report to the step's log, and adds the report to its summary.
func (a *actions) write(log io.Writer, rep report.Report, o report.Options) error {
	if a == nil {
		return nil
	}
	var text bytes.Buffer
	if err := format.Write(&text, "github", rep, o); err != nil {
		return fmt.Errorf("write annotations: %w", err)
	}
	_, err := log.Write(text.Bytes())
	if serr := a.addSummary(rep, o); serr != nil {
		err = errors.Join(err, fmt.Errorf("write the summary of the step: %w", serr))
	}
	return err
}

func (a *actions) addSummary(rep report.Report, o report.Options) error {
	if a.summary == nil {
		return a.failed
	}
	var text bytes.Buffer
	if err := format.Write(&text, "markdown", rep, o); err != nil {
		return err
	}
	if info, err := a.summary.Stat(); err != nil || info.Size()+int64(text.Len()) > maxSummary {
		return err // GitHub would show nothing of the summary
	}
	_, err := a.summary.Write(text.Bytes())
	return err
}

func (a *actions) close() {
	if a != nil && a.summary != nil {
		a.summary.Close()
	}
}
