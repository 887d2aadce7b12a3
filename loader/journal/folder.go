package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/loader/procfs"
	"github.com/tracepredict/tracepredict/loader/target"
)

// Folder is the folder of the journals of one user, which nobody else can write or read: what stands there decides where
// breakpoints are removed from processes.
type Folder struct {
	path string
	dir  *os.File
}

// maxFiles bounds the journals of a folder that are read.
const maxFiles = 4096

// DefaultFolder returns the path of the folder of the present user. It is in a folder that is empty after a boot.
func DefaultFolder() string {
	if uid := os.Geteuid(); uid != 0 {
		return fmt.Sprintf("/run/user/%d/tracepredict", uid)
	}
	return "/run/tracepredict"
}

// Open opens a folder. With create, it makes the folder if there is none; the one above it must exist.
func Open(path string, create bool) (*Folder, error) {
	above, err := unix.Open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: filepath.Dir(path), Err: err}
	}
	defer unix.Close(above)
	name := filepath.Base(path)
	if create {
		if err := unix.Mkdirat(above, name, 0o700); err != nil && !errors.Is(err, unix.EEXIST) {
			return nil, &os.PathError{Op: "make", Path: path, Err: err}
		}
	}
	fd, err := unix.Openat(above, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	f := &Folder{path, os.NewFile(uintptr(fd), path)}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && (int(st.Uid) != os.Geteuid() || st.Mode&0o077 != 0) {
		err = fmt.Errorf("%s belongs to user %d and has mode %04o, and must belong to user %d alone, with mode 0700", path, st.Uid, st.Mode&0o7777, os.Geteuid())
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Close closes the folder. Journals in it that are open can be written, and removed no more.
func (f *Folder) Close() error { return f.dir.Close() }

// fd returns the descriptor of the folder.
func (f *Folder) fd() int { return int(f.dir.Fd()) }

// remove empties a journal, and removes it. An empty one says nothing: it may stay where the right to remove it is lacking.
func (f *Folder) remove(name string, file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	return f.unlink(name)
}

func (f *Folder) unlink(name string) error {
	err := unix.Unlinkat(f.fd(), name, 0)
	if errors.Is(err, unix.EACCES) { // files are used with the rights of an observed process
		target.AsOwner(func() { err = unix.Unlinkat(f.fd(), name, 0) })
	}
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return &os.PathError{Op: "remove", Path: filepath.Join(f.path, name), Err: err}
	}
	return nil
}

// fileName returns the name of the n-th journal of an owner.
func fileName(owner procfs.Identity, n int) string {
	return fmt.Sprintf("%d-%d-%d", owner.PID, owner.Start, n)
}

// ownerOf returns the owner of a journal by its name.
func ownerOf(name string) (id procfs.Identity, ok bool) {
	fields := strings.Split(name, "-")
	if len(fields) != 3 {
		return id, false
	}
	pid, err := strconv.ParseUint(fields[0], 10, 31)
	start, err2 := strconv.ParseUint(fields[1], 10, 64)
	return procfs.Identity{PID: int(pid), Start: start}, err == nil && err2 == nil && pid != 0
}

// Entry is a journal in a folder.
type Entry struct {
	Journal
	Path   string
	folder *Folder
	name   string
	file   *os.File
}

// Remove removes the journal. If it fails, the journal may be empty already, and says nothing.
func (e *Entry) Remove() error { return e.folder.remove(e.name, e.file) }

// Read returns the journals of this boot, and errors about those that cannot be read. It removes those of other boots,
// and empty ones of owners that are gone.
func (f *Folder) Read(boot string) (entries []*Entry, damaged []error) {
	if _, err := f.dir.Seek(0, io.SeekStart); err != nil {
		return nil, []error{err}
	}
	names, err := f.dir.Readdirnames(maxFiles)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, []error{err}
	}
	for _, name := range names {
		switch e, err := f.read(name, boot); {
		case errors.Is(err, os.ErrNotExist): // removed meanwhile
		case err != nil:
			damaged = append(damaged, fmt.Errorf("%s: %w", filepath.Join(f.path, name), err))
		case e != nil:
			entries = append(entries, e)
		}
	}
	return entries, damaged
}

// read returns a journal; nil if it is none of this boot, or an empty one.
func (f *Folder) read(name, boot string) (e *Entry, err error) {
	owner, ok := ownerOf(name)
	if !ok {
		return nil, errors.New("it has no name of a journal")
	}
	fd, err := unix.Openat(f.fd(), name, unix.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), name)
	defer func() {
		if e == nil {
			file.Close()
		}
	}()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || int(st.Uid) != os.Geteuid() || st.Mode&0o077 != 0 {
		return nil, errors.New("it is no file of the user alone")
	}
	if st.Size == 0 {
		if !owner.Lives() { // otherwise it has just been made
			return nil, f.unlink(name)
		}
		return nil, nil
	}
	text, err := io.ReadAll(io.LimitReader(file, maxSize+1))
	if err != nil {
		return nil, err
	}
	j, err := parse(text)
	switch {
	case err != nil && owner.Lives(): // it is being written
		return nil, nil
	case err != nil:
		return nil, err
	case j.Owner != owner:
		return nil, fmt.Errorf("it is of process %d, and not of that in its name", j.Owner.PID)
	case bootOf(j.Boot) != bootOf(boot):
		return nil, f.remove(name, file)
	case j.Boot != boot: // of another PID namespace, whose IDs mean other processes
		return nil, nil
	}
	return &Entry{j, filepath.Join(f.path, name), f, name, file}, nil
}

// bootOf returns the boot of what procfs.Boot returns, without the PID namespace.
func bootOf(boot string) string {
	if i := strings.LastIndexByte(boot, '-'); i >= 0 {
		return boot[:i]
	}
	return boot
}

// Gone reports whether neither the owner nor any target lives.
func (e *Entry) Gone() bool {
	for _, t := range e.Targets {
		if t.Lives() {
			return false
		}
	}
	return !e.Owner.Lives()
}

// Close closes the file of the journal, which stays.
func (e *Entry) Close() error { return e.file.Close() }

// RemoveEmpty removes the empty journals of a process that has ended, which it could not remove itself.
func (f *Folder) RemoveEmpty(pid int) {
	names, err := f.dir.Readdirnames(maxFiles)
	if err != nil {
		return
	}
	for _, name := range names {
		var st unix.Stat_t
		owner, ok := ownerOf(name)
		if ok && owner.PID == pid && !owner.Lives() && unix.Fstatat(f.fd(), name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Size == 0 {
			_ = f.unlink(name)
		}
	}
}
