package need

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/internal/plural"
)

// OutOfFiles reports whether an error means that no further file can be opened, by this process or
// on this machine.
func OutOfFiles(err error) bool {
	return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE)
}

// ExplainFiles wraps an error of OutOfFiles in an *Error with the limit that was reached. It returns
// other errors as they are.
func ExplainFiles(err error) error {
	var explained *Error
	switch {
	case !OutOfFiles(err), errors.As(err, &explained) && explained.Kind == errOutOfFiles:
		return err
	case errors.Is(err, unix.ENFILE):
		return &Error{What: "the system has as many files open as it may", Remedy: "close some, or raise the limit: sudo sysctl fs.file-max", Err: err, Kind: errOutOfFiles}
	}
	limit := openFilesLimit()
	return &Error{
		What:   fmt.Sprintf("file descriptors ran out (at most %d)", limit),
		Remedy: fmt.Sprintf("raise the limit: ulimit -n %d (LimitNOFILE= of a service)", max(4096, 2*limit)),
		Err:    err,
		Kind:   errOutOfFiles,
	}
}

// CheckFiles returns an error, which ExplainFiles explains, unless this process can open n more
// files.
func CheckFiles(n int) error {
	open, err := os.ReadDir("/proc/self/fd")
	if OutOfFiles(err) {
		return err
	}
	if limit := openFilesLimit(); err != nil || limit == 0 || uint64(len(open)+n) <= limit {
		return nil // if they cannot be counted, opening them reports what is missing
	}
	return fmt.Errorf("%s: %w", plural.Sprintf("%d {file is|files are} open, and %d more {is|are} needed", len(open)-1, n), unix.EMFILE)
}

// errOutOfFiles marks errors that ExplainFiles has explained.
var errOutOfFiles = errors.New("file descriptors ran out")

// openFilesLimit returns the number of descriptors that this process may have; 0 if it is not known.
func openFilesLimit() uint64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return limit.Cur
}
