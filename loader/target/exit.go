package target

// The exit statuses of a tool that could not do its part, as env(1) defines them.
const (
	ExitFailed    = 125 // tracepredict itself failed
	ExitCannotRun = 126 // the program exists and cannot be run or observed
	ExitNotFound  = 127 // the program does not exist
)

// ExitError is an error that determines the tool's exit status.
type ExitError struct {
	Code int // 125 to 127, or 128 + n after signal n
	Err  error
}

// Error returns the text of the cause. The code is not part of it.
func (e *ExitError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *ExitError) Unwrap() error { return e.Err }
