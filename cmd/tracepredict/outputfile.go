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
// report cannot be written is wasted, and keeps what it held until commit: a regular file is written beside, as a part
// that takes its place at the end, so that a wrong process ID, a full disk or kill -9 cost nobody an older report. The
// part is made with the first write, by when privileges may have been dropped. A file that no other can take the place
// of is written in place.
type outputFile struct {
	file     *os.File
	created  bool              // by this run
	folder   *folder           // nil: the file is written in place
	leftOver func([]byte) bool // newPart
	keeps    bool              // a part that cannot be completed is worth keeping

	mu     sync.Mutex // guards the fields below
	begun  bool
	closed bool
	part   *part // nil: the file is written in place
	failed error // why nothing more is written
}

// openOutput opens the file that a flag names. Its error includes a remedy. leftOver is that of newPart.
func openOutput(flag, name string, leftOver func([]byte) bool) (*outputFile, error) {
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
	o := &outputFile{file: file, created: os.IsNotExist(missing), leftOver: leftOver}
	if o.created {
		giveToCaller(file)
	}
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		o.folder = folderOf(file)
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

// Write writes to the file, or to the part that is to take its place. After an error nothing more is written.
func (o *outputFile) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failed == nil {
		o.failed = o.begin()
	}
	if o.failed != nil {
		return 0, o.failed
	}
	n, err := o.out().Write(p)
	if err != nil {
		o.failed = err
		if o.part != nil && !o.keeps && !o.created {
			o.failed = fmt.Errorf("%w; %s is as it was", err, o.file.Name())
		}
	}
	return n, o.failed
}

// out returns the file that is written.
func (o *outputFile) out() *os.File {
	if o.part != nil {
		return o.part.file
	}
	return o.file
}

// begin makes the part, or empties a file that is written in place, unless that has been done.
func (o *outputFile) begin() (err error) {
	if o.begun {
		return nil
	}
	o.begun = true
	if o.folder != nil {
		if o.part, err = newPart(o.folder, o.file, o.created, o.leftOver); !errors.Is(err, errInPlace) {
			return err
		}
		if !o.folder.holds(o.file) {
			return fmt.Errorf("%s has been removed or replaced", o.file.Name())
		}
	}
	if info, err := o.file.Stat(); err == nil && info.Mode().IsRegular() {
		return o.file.Truncate(0)
	}
	return nil
}

// commit ends the file, with what was written in place of what it held. If a write has failed, whose error that write
// returned, it holds what it held.
func (o *outputFile) commit() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil
	}
	if err := o.begin(); err != nil || o.failed != nil {
		if left := o.abandon(); left != "" {
			err = fmt.Errorf("what was written before that is in %s", left)
		}
		return err
	}
	if o.part == nil {
		o.closed = true
		return o.closeAll()
	}
	err := o.part.finish()
	if err != nil && o.part.exists() {
		err = fmt.Errorf("%w; what was to be in %s is in %s", err, o.file.Name(), o.part.path())
	}
	o.closed = true
	return errors.Join(err, o.closeAll())
}

// Close closes the file without commit, so that it holds what it held. It returns the name of a part that stays, with
// what was written; "" if there is none.
func (o *outputFile) Close() (left string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.abandon()
}

func (o *outputFile) abandon() (left string) {
	if o.closed {
		return ""
	}
	o.closed = true
	switch {
	case o.part != nil && o.keeps:
		left = o.part.path()
	case o.part != nil:
		o.part.remove()
	case o.created && isEmpty(o.file):
		o.remove()
	}
	_ = o.closeAll()
	return left
}

func isEmpty(file *os.File) bool {
	info, err := file.Stat()
	return err == nil && info.Mode().IsRegular() && info.Size() == 0
}

// closeAll closes what is still open.
func (o *outputFile) closeAll() error {
	var err error
	for _, f := range []*os.File{o.file, o.out()} {
		if closing := f.Close(); !errors.Is(closing, os.ErrClosed) {
			err = errors.Join(err, closing)
		}
	}
	if o.folder != nil {
		_ = o.folder.Close() // only a name was open
	}
	return err
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
