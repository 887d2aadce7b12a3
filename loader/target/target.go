// Package target judges what is to be observed, a process or a program, before anything is done
// to it: whether it exists, is a program for this machine, and may be observed by this user. It
// opens the files that a process maps without being misled by their paths, finds the user that a
// program is to run as, and gives up the privileges that the observation does not need.
package target

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/loader/need"
	"github.com/tracepredict/tracepredict/loader/procfs"
	"github.com/tracepredict/tracepredict/probes/elf"
)

// The sentinel errors that errors.Is finds in errors about what is to be observed.
var (
	ErrNoProcess    = errors.New("no such process")
	ErrThread       = errors.New("a thread, not a process")
	ErrKernelThread = errors.New("a thread of the kernel")
	ErrEnded        = errors.New("the process has ended")
	ErrOwnProcess   = errors.New("tracepredict itself")
	ErrNotYours     = errors.New("not this user's to observe")
)

// CheckPID returns an error with the reason why a process cannot be observed; nil if it can. The
// errors are *need.Error, most with a remedy. errors.Is finds a sentinel of this package in
// them, or they wrap an error of the operating system, or a *elf.Error about the program that
// the process runs.
func CheckPID(pid int) error {
	if pid <= 0 {
		return &need.Error{What: fmt.Sprintf("%d is not a process id", pid), Remedy: findProcess, Kind: ErrNoProcess}
	}
	status, err := procfs.Status(strconv.Itoa(pid))
	if err != nil {
		return noStatus(pid, err)
	}
	if err := checkStatus(pid, status); err != nil {
		return err
	}
	if err := CheckCaller(pid); err != nil {
		return err
	}
	return checkProgram(pid, status)
}

// Ended reports whether the process of a pidfd has ended. It waits for that, at most so many ms; if they are -1, until
// the process ends or a signal comes.
func Ended(pidfd, ms int) bool {
	fds := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, ms)
	return n > 0 || err != nil && !errors.Is(err, unix.EINTR)
}

const findProcess = "find its id with: ps -e, or pgrep NAME"

// noStatus returns the error for a process whose status cannot be read in /proc.
func noStatus(pid int, err error) error {
	if !errors.Is(err, os.ErrNotExist) && !errors.Is(err, unix.ESRCH) {
		return &need.Error{What: fmt.Sprintf("process %d cannot be looked at", pid), Remedy: "run tracepredict with sudo", Err: err}
	}
	// The process exists if the tool, or another user, can send it a signal.
	if unix.Kill(pid, 0) != unix.ESRCH {
		return &need.Error{
			What:   fmt.Sprintf("process %d is hidden in /proc (mounted with hidepid, or for another PID namespace?)", pid),
			Remedy: "run tracepredict with sudo, and where the process runs",
			Kind:   ErrNotYours,
		}
	}
	if _, err := os.Stat("/proc/self"); err != nil {
		return &need.Error{What: "/proc is not mounted", Remedy: "mount it: mount -t proc proc /proc", Err: err}
	}
	return &need.Error{What: fmt.Sprintf("no process has the id %d", pid), Remedy: findProcess, Kind: ErrNoProcess}
}

// checkStatus checks what /proc/PID/status shows to all users.
func checkStatus(pid int, status map[string]string) error {
	name := status["Name"]
	tgid, err := strconv.Atoi(status["Tgid"])
	if err != nil {
		return &need.Error{What: fmt.Sprintf("process %d cannot be looked at: /proc tells no Tgid", pid), Err: err}
	}
	switch {
	case tgid == os.Getpid():
		return &need.Error{What: fmt.Sprintf("process %d is tracepredict itself", pid), Remedy: "name the process to observe; " + findProcess, Kind: ErrOwnProcess}
	case procfs.IsKernelThread(pid, status):
		return &need.Error{What: fmt.Sprintf("%d (%s) runs in the kernel and has no program", pid, name), Remedy: "name a process that runs a program; " + findProcess, Kind: ErrKernelThread}
	case tgid != pid:
		return &need.Error{
			What:   fmt.Sprintf("%d is a thread of process %d (%s)", pid, tgid, name),
			Remedy: fmt.Sprintf("name the process: -p %d", tgid),
			Kind:   ErrThread,
		}
	case procfs.Ended(status) && !procfs.HasLiveThread(pid):
		return &need.Error{
			What:   fmt.Sprintf("process %d (%s) has ended; its parent %s has not taken notice yet", pid, name, status["PPid"]),
			Remedy: "start it again under observation: tracepredict exec -- PROGRAM",
			Kind:   ErrEnded,
		}
	}
	return nil
}

// checkProgram checks the program that the process runs. The kernel shows it to those who may
// observe the process.
func checkProgram(pid int, status map[string]string) error {
	exe := fmt.Sprintf("/proc/%d/exe", pid)
	path, err := os.Readlink(exe)
	switch {
	case errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM):
		return notYours(need.Read(), pid, status, err)
	case errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH):
		return vanished(pid, status)
	case err != nil:
		return &need.Error{What: fmt.Sprintf("the program of process %d cannot be found", pid), Err: err}
	}
	if err := checkBinary(exe); err != nil {
		return &need.Error{What: fmt.Sprintf("process %d (%s) runs %s", pid, status["Name"], path), Err: err}
	}
	return nil
}

// vanished handles a process without a program. Either the process has just ended, which is an
// error, or only its first thread has, and the others can be observed.
func vanished(pid int, status map[string]string) error {
	if procfs.HasLiveThread(pid) {
		return nil
	}
	return &need.Error{What: fmt.Sprintf("process %d (%s) has just ended", pid, status["Name"]), Remedy: findProcess, Kind: ErrNoProcess}
}

// notYours returns the error for a process whose program the kernel does not show to this user.
func notYours(c need.Circumstances, pid int, status map[string]string, err error) error {
	if c.CapsKnown && !c.NoPtrace {
		return refusedWithAll(c, pid, status, err)
	}
	remedy := fmt.Sprintf("run the same command as root: sudo %s ...", c.Self)
	owner, _, _ := strings.Cut(status["Uid"], "\t")
	what := fmt.Sprintf("process %d (%s) belongs to %s", pid, status["Name"], userName(owner))
	if owner == strconv.Itoa(os.Getuid()) {
		what = fmt.Sprintf("process %d (%s) does not let its own user look into it (it is set-uid, has capabilities, or asked for it)", pid, status["Name"])
	}
	if c.Lacks(need.CapSysPtrace) && os.Geteuid() == 0 {
		return &need.Error{
			What: "missing " + need.CapSysPtrace + ", which root has elsewhere: " + what, Kind: ErrNotYours, Err: err,
			Remedy: "start the container or service with it: --cap-add SYS_PTRACE, or AmbientCapabilities=CAP_SYS_PTRACE",
		}
	}
	if c.Lacks(need.CapSysPtrace) {
		what = "missing " + need.CapSysPtrace + ": " + what
		remedy += fmt.Sprintf("; or give the binary its capabilities: sudo setcap %s %s", need.FileCapabilities, c.Self)
	}
	return &need.Error{What: what, Remedy: remedy, Kind: ErrNotYours}
}

// refusedWithAll returns the error for a process that may not be looked into although CAP_SYS_PTRACE
// is in effect, with which the kernel's own rules allow it: more privileges would not help.
func refusedWithAll(c need.Circumstances, pid int, status map[string]string, err error) error {
	what := fmt.Sprintf("process %d (%s) may not be looked into, even with %s", pid, status["Name"], need.CapSysPtrace)
	if c.Nested {
		return &need.Error{What: what + ": it is outside of the user namespace (a rootless container, unshare -U) of tracepredict", Remedy: "run tracepredict outside of it", Err: err, Kind: ErrNotYours}
	}
	who := "a security module of the kernel"
	if c.SecurityModules != "" {
		who += " (" + c.SecurityModules + ")"
	}
	return &need.Error{
		What: what + ": " + who + " or the sandbox of this machine protects it", Err: err, Kind: ErrNotYours,
		Remedy: "observe another process, or look for the refusal in the kernel's log: dmesg, or ausearch -m avc",
	}
}

func userName(uid string) string {
	if u, err := user.LookupId(uid); err == nil {
		return "user " + u.Username
	}
	return "the user with id " + uid
}

// checkBinary opens the file at path as the planner will, and compares its architecture with
// this machine's.
func checkBinary(path string) error {
	f, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if arch := f.Arch().String(); arch != runtime.GOARCH {
		return &elf.Error{
			Path: path, Kind: elf.ErrArch, Offset: -1,
			Reason: fmt.Sprintf("is a program for %s, and this is %s", arch, runtime.GOARCH),
			Remedy: "observe it on a machine of its kind, or build it for this one",
		}
	}
	return nil
}

// ResolveProgram returns the path of the program, or of the script, that exec is to run. Like env(1), it looks for
// a name without a slash in the directories of PATH. Errors are *ExitError: 127 if there is no
// such program, 126 if it cannot be run or observed. They wrap errors of the operating system,
// *need.Error or *elf.Error.
func ResolveProgram(name string) (string, error) {
	path, err := findProgram(name)
	if err != nil {
		return "", err
	}
	if err := checkRunnable(path); errors.Is(err, os.ErrNotExist) { // a script's interpreter
		return "", &ExitError{Code: ExitNotFound, Err: err}
	} else if err != nil {
		return "", &ExitError{Code: ExitCannotRun, Err: err}
	}
	return path, nil
}

func notFound(what, remedy string) error {
	return &ExitError{Code: ExitNotFound, Err: &need.Error{What: what, Remedy: remedy, Kind: os.ErrNotExist}}
}

func findProgram(name string) (string, error) {
	if name == "" {
		return "", notFound("the program has no name", "name one after --")
	}
	if strings.Contains(name, "/") {
		return name, statProgram(name)
	}
	dirs, ok := os.LookupEnv("PATH")
	if !ok {
		dirs = "/bin:/usr/bin" // the default of execvp
	}
	return searchPath(name, dirs)
}

func statProgram(path string) error {
	switch err := unix.Access(path, unix.F_OK); {
	case err == nil:
		return nil
	case errors.Is(err, unix.ENOENT):
		remedy := "check its spelling"
		if !filepath.IsAbs(path) {
			remedy += "; a relative path counts from " + workingDirectory()
		}
		return notFound("there is no "+path, remedy)
	default:
		return &ExitError{Code: ExitCannotRun, Err: &os.PathError{Op: "find", Path: path, Err: err}}
	}
}

func workingDirectory() string {
	dir, err := os.Getwd()
	if err != nil {
		return "the working directory"
	}
	return dir
}

// searchPath returns the first file that can be executed or, if there is none, the first one
// that exists, so that checkRunnable explains it.
func searchPath(name, dirs string) (string, error) {
	var unusable string
	for _, dir := range strings.Split(dirs, ":") {
		if dir == "" {
			dir = "."
		}
		path := filepath.Join(dir, name)
		if !strings.Contains(path, "/") {
			path = "./" + path
		}
		if checkExecutable(path) == nil {
			return path, nil
		}
		err := unix.Access(path, unix.F_OK)
		if unusable == "" && (err == nil || errors.Is(err, unix.EACCES)) {
			unusable = path
		}
	}
	if unusable != "" {
		return unusable, nil
	}
	remedy := "check its spelling, or give its path"
	if unix.Access(name, unix.F_OK) == nil {
		remedy = fmt.Sprintf("for the one in the working directory: ./%s", name)
	}
	return "", notFound(fmt.Sprintf("there is no %s in PATH (%s)", name, dirs), remedy)
}

// checkExecutable returns an error unless the path is a regular file that execve would execute.
func checkExecutable(path string) error {
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case st.IsDir():
		return &need.Error{What: path + " is a directory", Remedy: "name a program in it", Kind: unix.EISDIR}
	case !st.Mode().IsRegular():
		return &need.Error{What: path + " is not a regular file", Remedy: "name a program", Kind: unix.EACCES}
	}
	err = unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EACCES) && st.Mode()&0o111 == 0:
		return &need.Error{What: path + " is not executable", Remedy: "if it is a program: chmod +x " + need.ShellQuote(path), Kind: err}
	}
	return &need.Error{What: path + " may not be executed by this user", Remedy: fmt.Sprintf("look at its permissions and at its file system (noexec?): ls -l %[1]s; findmnt -T %[1]s", need.ShellQuote(path)), Err: err}
}

func checkRunnable(path string) error {
	if err := checkExecutable(path); err != nil {
		return err
	}
	err := checkBinary(path)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, elf.ErrNotELF):
		return checkScript(path, err, maxScripts)
	case errors.Is(err, os.ErrPermission):
		return &need.Error{What: path + " may be executed but not read, and its code must be read to place probes", Remedy: "run tracepredict with sudo", Err: err}
	}
	return err
}

// maxScripts is the number of scripts that the kernel follows, each the interpreter of the one before.
const maxScripts = 5

// checkScript returns an error unless the file, which is no ELF file, is a script that the kernel runs
// by a program that can be observed.
func checkScript(path string, cause error, left int) error {
	command, line := interpreter(path)
	if command == nil {
		return &need.Error{
			What:   path + " is not a native program",
			Remedy: fmt.Sprintf("if it is a shell script, observe the shell: tracepredict exec --follow -- /bin/sh %s; else name a program", need.ShellQuote(path)),
			Kind:   cause,
		}
	}
	err := checkExecutable(command[0])
	if err == nil {
		if err = checkBinary(command[0]); errors.Is(err, elf.ErrNotELF) && left > 1 {
			return checkScript(command[0], err, left-1)
		}
	}
	if err != nil {
		return &need.Error{What: fmt.Sprintf("%s is a script, run by %q, which cannot be observed", path, line), Err: err}
	}
	return nil
}

// Interpreter returns the program that the kernel runs for a script that ResolveProgram has accepted;
// "" for any other file.
func Interpreter(path string) string {
	found := ""
	for range maxScripts {
		command, _ := interpreter(path)
		if command == nil {
			break
		}
		found = command[0]
		path = found
	}
	return found
}

// interpreter reads the first line of a script as the kernel does (binfmt_script). command is
// the interpreter and at most one argument; nil if there is none.
func interpreter(path string) (command []string, line string) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, ""
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, 256)) // BINPRM_BUF_SIZE
	if err != nil {
		return nil, ""
	}
	return parseInterpreter(head)
}

func parseInterpreter(head []byte) (command []string, line string) {
	rest, ok := bytes.CutPrefix(head, []byte("#!"))
	if !ok {
		return nil, ""
	}
	first, _, _ := bytes.Cut(rest, []byte("\n"))
	line = strings.Trim(strings.ToValidUTF8(string(first), "?"), " \t\x00")
	if line == "" {
		return nil, ""
	}
	i := strings.IndexAny(line, " \t")
	if i < 0 {
		return []string{line}, line
	}
	return []string{line[:i], strings.TrimLeft(line[i:], " \t")}, line
}
