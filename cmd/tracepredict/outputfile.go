package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// outputFile is a file that the user named for a report or a trace. It is opened before the run, since a run whose
// report cannot be written is wasted, and keeps what it held until there is something to write in its place: a wrong
// process ID or an unknown variable costs nobody an older report.
type outputFile struct {
	file    *os.File
	created bool // by this run

	mu      sync.Mutex // guards the fields below
	begun   bool
	closed  bool
	waiting []byte // written before begin
}

// openOutput opens the file that a flag names. Its error includes a remedy.
func openOutput(flag, name string) (*outputFile, error) {
	if fd, ok := ownDescriptor(name); ok { // opened by its name, a file would be written from its start
		o, err := duplicate(fd, name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", flag, err)
		}
		return o, nil
	}
	if err := refuseForeignLink(name); err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	_, missing := os.Stat(name)
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|unix.O_NONBLOCK, 0o666)
	if errors.Is(err, unix.ENXIO) {
		return nil, fmt.Errorf("%s: %s is a pipe that nobody reads: start its reader first", flag, name)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w%s", flag, err, remedyFor(err, name))
	}
	o := &outputFile{file: file, created: os.IsNotExist(missing)}
	if o.created {
		giveToCaller(file)
	}
	return o, nil
}

// duplicate returns an open file or pipe under another descriptor. What is written follows what the file holds.
func duplicate(fd int, name string) (*outputFile, error) {
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &outputFile{file: os.NewFile(uintptr(own), name), begun: true}, nil
}

// ownDescriptor returns the descriptor that a name such as /dev/fd/3 or /dev/stdout stands for.
func ownDescriptor(name string) (fd int, ok bool) {
	switch clean := filepath.Clean(name); clean {
	case "/dev/stdout":
		return 1, true
	case "/dev/stderr":
		return 2, true
	default:
		m := regexp.MustCompile(`^(?:/dev|/proc/self)/fd/([0-9]+)$`).FindStringSubmatch(clean)
		if m == nil {
			return 0, false
		}
		fd, err := strconv.Atoi(m[1])
		return fd, err == nil
	}
}

// refuseForeignLink returns an error if a name is a link that another user made in a folder where everybody may make
// links, such as /tmp: it may lead to a file of whoever runs tracepredict.
func refuseForeignLink(name string) error {
	link, err := os.Lstat(name)
	if err != nil || link.Mode()&os.ModeSymlink == 0 {
		return nil
	}
	folder, err := os.Stat(filepath.Dir(name))
	if err != nil || folder.Mode()&os.ModeSticky == 0 {
		return nil
	}
	owner, of := ownerOf(link), ownerOf(folder)
	if owner == os.Geteuid() || owner == of {
		return nil
	}
	return fmt.Errorf("%s is a link that another user made in a folder where everybody may; name what it leads to", name)
}

func ownerOf(info os.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}

// giveToCaller makes the user who called sudo the owner of a new file.
func giveToCaller(file *os.File) {
	uid, errUID := strconv.Atoi(os.Getenv("SUDO_UID"))
	gid, errGID := strconv.Atoi(os.Getenv("SUDO_GID"))
	if os.Geteuid() == 0 && errUID == nil && errGID == nil {
		_ = file.Chown(uid, gid) // a file system without owners refuses that
	}
}

// Write writes to the file, or, before begin, keeps what is to be written.
func (o *outputFile) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.begun {
		o.waiting = append(o.waiting, p...)
		return len(p), nil
	}
	return o.file.Write(p)
}

// begin empties the file and writes what waits.
func (o *outputFile) begin() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.begun {
		return nil
	}
	o.begun = true
	if info, err := o.file.Stat(); err == nil && info.Mode().IsRegular() {
		if err := o.file.Truncate(0); err != nil {
			return err
		}
	}
	_, err := o.file.Write(o.waiting)
	o.waiting = nil
	return err
}

// Close closes the file. If nothing was to be written, a file that this run has made goes.
func (o *outputFile) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil
	}
	o.closed = true
	if !o.begun && o.created {
		o.remove()
	}
	return o.file.Close()
}

// remove removes the file, unless its name has become that of another, or of a link. If it stays, it is empty.
func (o *outputFile) remove() {
	own, err := o.file.Stat()
	if err != nil {
		return
	}
	if named, err := os.Lstat(o.file.Name()); err == nil && os.SameFile(own, named) {
		_ = os.Remove(o.file.Name())
	}
}

// userFile is a file that a command line names.
type userFile struct {
	flag, name string
	written    bool
}

// refuseSame returns an error if a file is to be written and read, or written twice, under whatever names.
func refuseSame(files ...userFile) error {
	for i, a := range files {
		for _, b := range files[:i] {
			if (a.written || b.written) && sameFile(a.name, b.name) {
				return usage("%s and %s are the same file, %s", b.flag, a.flag, a.name)
			}
		}
	}
	return nil
}

// sameFile reports whether two names are those of one regular file, which need not exist.
func sameFile(from, to string) bool {
	if from == "" || to == "" || from == standard || to == standard {
		return false
	}
	a, errA := os.Stat(from)
	b, errB := os.Stat(to)
	if os.IsNotExist(errA) && os.IsNotExist(errB) {
		return place(from) == place(to)
	}
	return errA == nil && errB == nil && os.SameFile(a, b) && a.Mode().IsRegular()
}

// place returns the path of a file that does not exist, without links.
func place(name string) string {
	folder, err := filepath.EvalSymlinks(filepath.Dir(name))
	if err != nil {
		return name
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return name
	}
	return filepath.Join(folder, filepath.Base(name))
}
