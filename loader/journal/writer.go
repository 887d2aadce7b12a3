package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/loader/procfs"
)

// Writer is the journal of this process, open to be written. Its methods may be called concurrently. Those of a nil
// Writer do nothing.
type Writer struct {
	folder *Folder
	name   string

	mu       sync.Mutex // guards the fields below; no other lock is acquired while it is held
	file     *os.File
	size     int64
	lines    map[procfs.Identity]int64 // where the line of each target is
	free     []int64                   // where lines of targets are that are none any more
	recorded map[procfs.FileID][]uint64
	failed   error // why it is written no more; nil: it is
}

// ownerFiles bounds the journals of one process.
const ownerFiles = 1024

// Create makes a journal of this process, without targets, in a folder, which the Writer closes.
func (f *Folder) Create(boot string) (*Writer, error) {
	owner, err := procfs.IdentityOf(os.Getpid())
	if err != nil {
		return nil, err
	}
	for n := range ownerFiles {
		name := fileName(owner, n)
		fd, err := unix.Openat(f.fd(), name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
		if errors.Is(err, unix.EEXIST) {
			continue
		}
		if err != nil {
			return nil, &os.PathError{Op: "make", Path: filepath.Join(f.path, name), Err: err}
		}
		w := &Writer{folder: f, name: name, file: os.NewFile(uintptr(fd), name), lines: map[procfs.Identity]int64{}, recorded: map[procfs.FileID][]uint64{}}
		if err := w.append(header(boot, owner)); err != nil {
			return nil, errors.Join(err, w.remove())
		}
		return w, nil
	}
	return nil, fmt.Errorf("process %d has %d journals in %s already", owner.PID, ownerFiles, f.path)
}

// append writes lines at the end, with one write.
func (w *Writer) append(lines []byte) error {
	if w.failed != nil {
		return w.failed
	}
	if w.size+int64(len(lines)) > maxSize {
		w.failed = fmt.Errorf("write %s: it would have more than %d bytes", w.name, maxSize)
		return w.failed
	}
	if _, err := w.file.WriteAt(lines, w.size); err != nil {
		w.failed = fmt.Errorf("write %s: %w", w.name, err)
		return w.failed
	}
	w.size += int64(len(lines))
	return nil
}

// AddTarget writes down that a process may have breakpoints in all files of the journal. It does nothing if that
// stands there already.
func (w *Writer) AddTarget(id procfs.Identity) error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, there := w.lines[id]; there {
		return nil
	}
	line := fmt.Appendf(nil, targetLine, id.PID, id.Start)
	at := w.size
	if n := len(w.free); n > 0 {
		at = w.free[n-1]
		if _, err := w.file.WriteAt(line, at); err != nil {
			w.failed = fmt.Errorf("write %s: %w", w.name, err)
			return w.failed
		}
		w.free = w.free[:n-1]
	} else if err := w.append(line); err != nil {
		return err
	}
	w.lines[id] = at
	return nil
}

// RemoveTarget removes a process that has ended. The next target gets its line, so that the journal does not grow with
// the number of processes that were there.
func (w *Writer) RemoveTarget(id procfs.Identity) error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	at, there := w.lines[id]
	if !there {
		return nil
	}
	if _, err := w.file.WriteAt(fmt.Appendf(nil, targetLine, 0, 0), at); err != nil {
		return fmt.Errorf("write %s: %w", w.name, err)
	}
	delete(w.lines, id)
	w.free = append(w.free, at)
	return nil
}

// Add writes down the probes of files that do not stand there yet, with one write.
func (w *Writer) Add(files []File) error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var lines []byte
	for i := range files {
		if fresh := w.fresh(&files[i]); len(fresh.Probes) > 0 {
			lines = fresh.append(lines)
		}
	}
	if len(lines) == 0 {
		return w.failed
	}
	return w.append(lines)
}

// fresh returns a file with those of its probes that are not recorded, and records them.
func (w *Writer) fresh(f *File) File {
	known := w.recorded[f.ID]
	fresh := *f
	fresh.Probes = nil
	for _, p := range f.Probes {
		if _, there := slices.BinarySearch(known, p.Offset); !there {
			fresh.Probes = append(fresh.Probes, p)
		}
	}
	all := slices.Clone(known)
	for _, p := range fresh.Probes {
		all = append(all, p.Offset)
	}
	slices.Sort(all)
	w.recorded[f.ID] = slices.Compact(all)
	return fresh
}

// Remove removes the journal when the probes are out, and closes it. If it fails, the journal is empty at least, and
// RemoveEmpty removes it; or it stays, and is taken for that of a process that is gone.
func (w *Writer) Remove() error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.remove()
}

func (w *Writer) remove() error {
	if w.failed == nil {
		w.failed = errors.New("the journal is closed")
	}
	return errors.Join(w.folder.remove(w.name, w.file), w.file.Close(), w.folder.Close())
}
