package main

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/internal/safely"
	"github.com/tracepredict/tracepredict/loader/target"
	"github.com/tracepredict/tracepredict/observer/run"
)

// failure is the first panic of the tool, an error of tracepredict. Its methods may be called by several goroutines.
type failure struct {
	stderr io.Writer

	mu    sync.Mutex // guards first
	first *safely.Panic
}

// add takes a panic. Of the first one, it prints the stack, for those who will mend it.
func (f *failure) add(p *safely.Panic) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.first != nil {
		return
	}
	f.first = p
	fmt.Fprintf(f.stderr, "tracepredict: it failed, which is an error of tracepredict: %s\n%s", report.Sanitize(p.Error()), p.Stack)
}

// panicked returns the first panic; nil if there was none.
func (f *failure) panicked() *safely.Panic {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.first
}

// maxFailedReport is how long the report of a run may take in which tracepredict has failed: what has failed may
// have left locks behind that nobody releases.
const maxFailedReport = 10 * time.Second

// attempt calls makeReport, and returns whether it came to its end. After a failure it waits for it no longer than
// until late.
func (f *failure) attempt(makeReport func() error, late <-chan time.Time) (ended bool, err error) {
	done := make(chan struct{})
	safely.Go(func() {
		err = makeReport()
		close(done)
	}, func(p *safely.Panic) {
		f.add(p)
		close(done)
	})
	before := f.panicked()
	if before == nil {
		<-done
		return f.panicked() == nil, err
	}
	select {
	case <-done:
		return f.panicked() == before, err
	case <-late:
		return false, nil
	}
}

// failedReport returns the report of a run of which nothing else can be said than that tracepredict failed.
func failedReport(p *safely.Panic, program string, pid int) report.Report {
	return report.Report{Run: report.Run{Summary: run.Summary{Program: program, PID: pid, Cut: true}, Failed: p.Error()}}
}

// asPanic returns the panic that an error is; nil if it is none.
func asPanic(err error) *safely.Panic {
	var p *safely.Panic
	errors.As(err, &p)
	return p
}

// failed makes an error of a panic, with the exit status of a failure.
func failed(p *safely.Panic) error {
	return &target.ExitError{Code: target.ExitFailed, Err: fmt.Errorf("it failed, which is an error of tracepredict: %w", p)}
}
