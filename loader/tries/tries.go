// Package tries runs the tool's own command line again, for tries: runs of the same program in which something is done
// that the first run has suggested. What is done, and what came of it, are bytes that the package does not know.
//
// A process, the server, starts each try. It begins before the tool gives up its privileges, so that the program of a try
// has the privileges, environment and working directory of the first run. Standard input is /dev/null, or a file that is opened
// again where the first run began to read it, or one that Options names. What a try prints is discarded. The server ends a try with all its
// descendants when its time is over, when it has ended itself, and when the tool ends, in whatever way.
package tries

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/internal/safely"
	"github.com/tracepredict/tracepredict/loader/target"
)

// The first arguments of the processes that this package starts. They are followed by numbers, and then by the
// arguments of the tool.
const (
	serverArg = "__tracepredict-tries" // the descriptor of the connection, and the offset in standard input
	tryArg    = "__tracepredict-try"   // the descriptors of the order and of the answer
)

// order is what the tool asks of the server.
type order struct {
	Order []byte
	Limit time.Duration
	Setup string // as Options.Setup
}

// answer is what came of it.
type answer struct {
	Answer []byte
	Status int    // exit status of the try; 128 + n for signal n
	Late   bool   // it was ended when its time was over
	Setup  string // why Options.Setup failed, so that there was no try; "" if it did not
	Error  string // why there was no try; "" if there was one
}

// Runner is the tool's connection to its server.
type Runner struct {
	conn  *os.File
	pid   int
	setup string
}

// Options say what a try has beside what the first run had. The zero value adds nothing.
type Options struct {
	Input string // a file that is standard input, from its beginning; "": the input of the first run
	// Setup is a command for the shell that is run before each try, with the privileges of the tool and in its working
	// directory. What it leaves running ends with the try. "": none.
	Setup string
}

// SetupError means that Options.Setup failed.
type SetupError struct{ Why string }

// Error implements error.
func (e *SetupError) Error() string { return e.Why }

// ErrLate means that a try was ended since its time was over.
var ErrLate = errors.New("the try had not ended in time")

// Start starts the server. It must be called before the program runs, and before privileges are dropped. It returns an
// error if standard input cannot be had again.
func Start(o Options) (*Runner, error) {
	stdin, offset, err := input(o.Input)
	if err != nil {
		return nil, err
	}
	if stdin != os.Stdin {
		defer stdin.Close()
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("connect with the process that starts tries: %w", err)
	}
	defer unix.Close(fds[1])
	conn := os.NewFile(uintptr(fds[0]), "process that starts tries")
	pid, err := startSelf(serverArg, []int{fds[1]}, append([]string{strconv.FormatInt(offset, 10)}, os.Args[1:]...), stdin, target.OriginalEnviron())
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &Runner{conn, pid, o.Setup}, nil
}

// Run has a try made, which gets an order, and returns its answer. It returns ErrLate if the try did not end within the
// limit, and a *SetupError if there was none because the setup failed. When stop is closed, it ends the try and the server.
func (r *Runner) Run(what []byte, limit time.Duration, stop <-chan struct{}) ([]byte, error) {
	done := make(chan struct{})
	defer close(done)
	safely.Go(func() {
		select {
		case <-stop:
			_ = unix.Shutdown(int(r.conn.Fd()), unix.SHUT_RDWR)
		case <-done:
		}
	}, func(*safely.Panic) {})
	var a answer
	err := json.NewEncoder(r.conn).Encode(order{what, limit, r.setup})
	if err == nil {
		err = json.NewDecoder(r.conn).Decode(&a)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("run the program again: %w", err)
	case a.Error != "":
		return nil, fmt.Errorf("run the program again: %s", a.Error)
	case a.Setup != "":
		return nil, &SetupError{a.Setup}
	case a.Late:
		return nil, ErrLate
	case len(a.Answer) == 0:
		return nil, fmt.Errorf("the try failed with exit status %d", a.Status)
	}
	return a.Answer, nil
}

// Close ends the server, and waits for its end: no try is left then.
func (r *Runner) Close() {
	r.conn.Close()
	var ws unix.WaitStatus
	for {
		if _, err := unix.Wait4(r.pid, &ws, 0, nil); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// fromNull stands for /dev/null in the place of an offset.
const fromNull = -1

// input returns the standard input of tries, which is the tool's own if no file is named, and where in it the program
// begins to read.
func input(name string) (*os.File, int64, error) {
	if name == "" {
		offset, err := offsetIn(os.Stdin)
		if err != nil {
			return nil, 0, fmt.Errorf("standard input %w: add </dev/null, or --confirm-stdin FILE", err)
		}
		return os.Stdin, offset, nil
	}
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0) // a FIFO would wait for a writer
	if err != nil {
		return nil, 0, err
	}
	offset, err := offsetIn(f)
	if err != nil {
		return nil, 0, errors.Join(fmt.Errorf("%s %w", name, err), f.Close())
	}
	return f, offset, nil
}

// CheckInput returns an error if a file cannot be Options.Input.
func CheckInput(name string) error {
	f, _, err := input(name)
	if err == nil {
		return f.Close()
	}
	return err
}

// offsetIn returns where in a file the program begins to read; fromNull if it is /dev/null.
func offsetIn(f *os.File) (int64, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return 0, fmt.Errorf("is not known: %w", err)
	}
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	switch kind := st.Mode & unix.S_IFMT; {
	case kind == unix.S_IFCHR && st.Rdev == unix.Mkdev(1, 3):
		return fromNull, nil
	case kind == unix.S_IFREG && err == nil && flags&unix.O_ACCMODE == unix.O_RDONLY:
		return f.Seek(0, io.SeekCurrent)
	}
	return 0, errors.New("is neither /dev/null nor a file opened for reading, so another run could not have the same")
}

// startSelf starts this program with a first argument, the numbers of descriptors that it inherits, and further ones. It
// is in a process group of its own, so that what a terminal sends to the first run does not reach it.
func startSelf(first string, inherits []int, rest []string, stdin *os.File, env []string) (pid int, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("find the tool's own binary: %w", err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	args := []string{self, first}
	for _, fd := range inherits {
		// The program may have been given descriptors of any other number.
		inherited, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD, 3)
		if err != nil {
			return 0, err
		}
		defer unix.Close(inherited)
		args = append(args, strconv.Itoa(inherited))
	}
	pid, err = syscall.ForkExec(self, append(args, rest...), &syscall.ProcAttr{
		Env: env, Files: []uintptr{stdin.Fd(), null.Fd(), null.Fd()}, Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		return 0, fmt.Errorf("start the tool again: %w", err)
	}
	return pid, nil
}

// Try is what a process that is a try was started with.
type Try struct {
	Args   []string // of the tool, without its name
	Order  []byte
	answer *os.File
}

// Inherited returns the try that this process is; nil if it is none. It must be called before another process is
// started.
func Inherited() (*Try, error) {
	if len(os.Args) < 4 || os.Args[1] != tryArg {
		return nil, nil
	}
	var files [2]*os.File
	for i := range files {
		fd, err := strconv.Atoi(os.Args[2+i])
		if err != nil || fd < 3 {
			return nil, fmt.Errorf("%q is no descriptor", os.Args[2+i])
		}
		unix.CloseOnExec(fd)
		files[i] = os.NewFile(uintptr(fd), tryArg)
	}
	defer files[0].Close()
	what, err := io.ReadAll(files[0])
	if err != nil {
		return nil, fmt.Errorf("read what the try is: %w", err)
	}
	return &Try{Args: os.Args[4:], Order: what, answer: files[1]}, nil
}

// Answer says what came of the try.
func (t *Try) Answer(what []byte) error {
	if _, err := t.answer.Write(what); err != nil {
		return fmt.Errorf("say what came of the try: %w", err)
	}
	return nil
}
