package target

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/loader/need"
	"github.com/tracepredict/tracepredict/loader/procfs"
)

// Opening the files that a process maps. Problem: a path is a name that the process, or another,
// may give to something else at any moment: to another program, to a FIFO whose opening blocks,
// to a device that acts when opened. Solution: a path is first resolved without being opened
// (O_PATH), inside the root directory of the process. Only a regular file is then opened,
// through the descriptor, and it must be the file that is mapped, as the kernel identifies it.
// From there on the open file is used, never its path: it is read, probed and searched for debug
// information.

// ErrReplaced means that the path names another file than the mapped one.
var ErrReplaced = errors.New("the file was replaced since it was mapped")

// OpenMapped opens the file of a mapping. exe is the path of the program that the kernel has executed, as
// procfs.Executable returns it, "" if it is not known: that file can be opened even if it was deleted or moved.
func OpenMapped(pid int, m procfs.Mapping, exe string) (*os.File, error) {
	if m.Path == exe && exe != "" {
		return tryMapped(unix.AT_FDCWD, procfs.Dir(pid)+"/exe", unix.OpenHow{}, m)
	}
	f, err := openByPath(pid, m)
	if err == nil {
		return f, nil
	}
	// The file was replaced or deleted. Few users may open map_files.
	link := fmt.Sprintf("/proc/%d/map_files/%x-%x", pid, m.Lo, m.Hi)
	if f, err := tryMapped(unix.AT_FDCWD, link, unix.OpenHow{}, m); err == nil {
		return f, nil
	}
	return nil, err
}

// openByPath opens the file of a mapping by its path in /proc/PID/maps.
func openByPath(pid int, m procfs.Mapping) (*os.File, error) {
	root, err := unix.Open(procfs.Dir(pid)+"/root", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open the root directory of process %d: %w", pid, err)
	}
	defer unix.Close(root)
	f, err := tryMapped(root, m.Path, unix.OpenHow{Resolve: unix.RESOLVE_IN_ROOT}, m)
	if err == nil {
		return f, nil
	}
	// The paths in /proc/PID/maps are relative to the tool's root directory, even after a chroot
	// of the process.
	if f, err := tryMapped(unix.AT_FDCWD, m.Path, unix.OpenHow{}, m); err == nil {
		return f, nil
	}
	return nil, err
}

// EarlyFiles are files that a process mapped, opened while the tool had all its privileges. Some
// can be opened only then: files that only their owner may read, and libraries that have been
// replaced.
type EarlyFiles map[procfs.FileID]*os.File

// OpenEarly opens the files of the code that the process maps, as far as that is possible. It
// reads none of them.
func OpenEarly(pid int) EarlyFiles {
	files := EarlyFiles{}
	maps, err := procfs.Maps(pid)
	if err != nil {
		return files // the error is reported when the mappings are read again
	}
	exe, _ := procfs.Executable(pid)
	for _, m := range maps {
		if !m.Exec || m.File.Inode == 0 || files[m.File] != nil {
			continue
		}
		if f, err := OpenMapped(pid, m, exe); err == nil {
			files[m.File] = f
		}
	}
	return files
}

// Take removes a file from the set and returns it; nil if it is not in the set. The caller
// closes the file.
func (e EarlyFiles) Take(id procfs.FileID) *os.File {
	f := e[id]
	delete(e, id)
	return f
}

// Close closes the files that are left in the set.
func (e EarlyFiles) Close() {
	for _, f := range e {
		f.Close()
	}
}

// tryMapped opens path, relative to the directory dir, if it is the file of m.
func tryMapped(dir int, path string, how unix.OpenHow, m procfs.Mapping) (*os.File, error) {
	how.Flags = unix.O_PATH | unix.O_CLOEXEC
	fd, err := unix.Openat2(dir, path, &how)
	if err != nil {
		return nil, explainOpen(m.Path, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, fmt.Errorf("look at %s: %w", m.Path, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, fmt.Errorf("%s is not a regular file: %w", m.Path, ErrReplaced)
	}
	f, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", fd), os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, explainOpen(m.Path, err)
	}
	if err := sameFile(f, m); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// explainOpen returns an error that names the user with whose rights a file could not be opened.
func explainOpen(path string, err error) error {
	var errno unix.Errno
	if !errors.As(err, &errno) || errno != unix.EACCES {
		return fmt.Errorf("open %s: %w", path, err)
	}
	return &need.Error{
		What:   fmt.Sprintf("%s cannot be read with the rights of %s", path, fileUserName()),
		Remedy: fmt.Sprintf("run the program as the user whose file it is (exec --user NAME), or let others read it and its directories: chmod o+r %s", need.ShellQuote(path)),
		Err:    errno,
	}
}

// fileUserName returns the name of the user with whose rights the calling thread opens files.
func fileUserName() string {
	const nobody = ^uintptr(0) // no valid ID: the call changes nothing and returns the present one
	uid, _, _ := unix.RawSyscall(unix.SYS_SETFSUID, nobody, 0, 0)
	return userName(fmt.Sprint(uint32(uid)))
}

// sameFile returns an error if an open file is not the file of a mapping. On an overlay or
// btrfs, stat and /proc/PID/maps identify a file differently. So the file is mapped into the
// tool too, without being accessed there, and the two entries in maps are compared.
func sameFile(f *os.File, m procfs.Mapping) error {
	id, err := mappedID(f)
	if err != nil {
		return fmt.Errorf("compare %s with what is mapped: %w", m.Path, err)
	}
	if id != m.File {
		return fmt.Errorf("%s is inode %d of device %d:%d, mapped is %d of %d:%d: %w",
			m.Path, id.Inode, id.Major, id.Minor, m.File.Inode, m.File.Major, m.File.Minor, ErrReplaced)
	}
	return nil
}

// mappedID returns the FileID that an open file has in /proc/PID/maps.
func mappedID(f *os.File) (procfs.FileID, error) {
	page := uintptr(os.Getpagesize())
	at, err := unix.MmapPtr(int(f.Fd()), 0, nil, page, unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return procfs.FileID{}, fmt.Errorf("map it: %w", err)
	}
	defer func() { _ = unix.MunmapPtr(at, page) }()
	maps, err := procfs.Maps(os.Getpid())
	if err != nil {
		return procfs.FileID{}, err
	}
	for _, m := range maps {
		if m.Lo <= uint64(uintptr(at)) && uint64(uintptr(at)) < m.Hi {
			return m.File, nil
		}
	}
	return procfs.FileID{}, errors.New("it is in no mapping")
}
