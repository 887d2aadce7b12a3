package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/observer/trace"
)

// partSuffix ends the name of a file whose content is not complete: FILE.part for FILE.
const partSuffix = ".part"

// maxHead is how much of a file with such a name is read to find out whether an earlier run left it.
const maxHead = 64

// errInPlace is the reason why a file is written in place: another one could not take its place unnoticed.
var errInPlace = errors.New("the file can only be written in place")

// folder is the folder of an output file. It is opened before privileges are dropped, and used afterwards, with the
// rights that are left: what may make a file in it may rename that file, too.
type folder struct {
	*os.File
	path string // its name, for messages
	base string // the name of the output file in it, which is no link
}

// folderOf opens the folder of an open file, behind all links; nil if it cannot be opened.
func folderOf(file *os.File) *folder {
	path, err := filepath.EvalSymlinks(file.Name())
	if err != nil {
		return nil
	}
	dir, err := os.OpenFile(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil
	}
	return &folder{dir, filepath.Dir(path), filepath.Base(path)}
}

func (d *folder) fd() int { return int(d.Fd()) }

// part is a file that is to take the place of another in its folder. As long as it is open it is locked, so that no
// other run takes it for one that was left behind.
type part struct {
	folder *folder
	file   *os.File
	name   string // in the folder
}

// newPart makes a part for an open file. It is that file itself, under the name of the part, if this run has created
// it. Otherwise it has that file's owner and mode. leftOver reports whether a file of the name was left by an earlier
// run, by its beginning. If there can be no part, the error is errInPlace; any other says that nothing can be written.
func newPart(d *folder, old *os.File, created bool, leftOver func([]byte) bool) (*part, error) {
	var st unix.Statx_t
	if err := unix.Statx(d.fd(), d.base, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BASIC_STATS, &st); err == nil && st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0 {
		return nil, errInPlace // as one file of a host in a container
	}
	move := created && d.holds(old)
	for _, name := range []string{d.base + partSuffix, fmt.Sprint(d.base, ".", os.Getpid(), partSuffix)} {
		d.clear(name, leftOver)
		p, err := d.take(old, name, move)
		switch {
		case errors.Is(err, unix.EEXIST):
			continue
		case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM), errors.Is(err, unix.EROFS), errors.Is(err, unix.ENAMETOOLONG), errors.Is(err, unix.EINVAL):
			return nil, errInPlace
		}
		return p, err
	}
	return nil, errInPlace
}

// take makes a part of a name that no file has.
func (d *folder) take(old *os.File, name string, move bool) (*part, error) {
	path := filepath.Join(d.path, name)
	if move {
		if err := unix.Renameat2(d.fd(), d.base, d.fd(), name, unix.RENAME_NOREPLACE); err != nil {
			return nil, &os.PathError{Op: "make", Path: path, Err: err}
		}
		lock(int(old.Fd()))
		return &part{d, old, name}, nil
	}
	fd, err := unix.Openat(d.fd(), name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, &os.PathError{Op: "make", Path: path, Err: err}
	}
	lock(fd)
	p := &part{d, os.NewFile(uintptr(fd), path), name}
	if err := p.replaces(old); err != nil {
		p.remove()
		p.file.Close()
		return nil, err
	}
	return p, nil
}

// lock locks a file as one that is being written. Some file systems have no locks: then two runs that write the same
// output at once disturb each other.
func lock(fd int) { _ = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) }

// replaces gives a part the owner and the mode of the file whose place it is to take. It returns errInPlace if that
// cannot be, or if the part may not take its place.
func (p *part) replaces(old *os.File) error {
	oldInfo, err := old.Stat()
	if err != nil {
		return err
	}
	dir, errDir := p.folder.Stat()
	own, err := p.file.Stat()
	if err = errors.Join(err, errDir); err != nil {
		return err
	}
	was, is := owners(oldInfo), owners(own)
	if dir.Mode()&os.ModeSticky != 0 && is.Uid != was.Uid && is.Uid != owners(dir).Uid {
		return errInPlace // only their owner may rename or replace files there
	}
	if was != is && p.file.Chown(int(was.Uid), int(was.Gid)) != nil || p.file.Chmod(oldInfo.Mode()&^os.ModeType) != nil {
		return errInPlace
	}
	return nil
}

// ownership is who owns a file.
type ownership struct{ Uid, Gid uint32 }

func owners(info os.FileInfo) ownership {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return ownership{st.Uid, st.Gid}
	}
	return ownership{}
}

// holds reports whether the output file's name still is that of an open file.
func (d *folder) holds(file *os.File) bool {
	var named, own unix.Stat_t
	if unix.Fstatat(d.fd(), d.base, &named, unix.AT_SYMLINK_NOFOLLOW) != nil || unix.Fstat(int(file.Fd()), &own) != nil {
		return false
	}
	return named.Dev == own.Dev && named.Ino == own.Ino
}

// clear removes a file that a killed run left. It leaves other files alone, and those of a run that goes on.
func (d *folder) clear(name string, leftOver func([]byte) bool) {
	fd, err := unix.Openat(d.fd(), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	file := os.NewFile(uintptr(fd), name)
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() || unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) != nil {
		return
	}
	head, err := io.ReadAll(io.LimitReader(file, maxHead))
	if err == nil && (len(head) == 0 || leftOver(head)) {
		_ = unix.Unlinkat(d.fd(), name, 0)
	}
}

// The beginnings of files that a killed run may have left.
func partOfTrace(head []byte) bool { return trace.IsTrace(head) }
func partOfNothing([]byte) bool    { return false }
func partOfReport(head []byte) bool {
	return slices.ContainsFunc(reportBeginnings, func(b string) bool { return bytes.HasPrefix(head, []byte(b)) })
}

// reportBeginnings are the beginnings of reports in all formats.
var reportBeginnings = []string{"tracepredict: ", `{"run":`, "{\n \"run\": {\n", `{"$schema":"https://json.schemastore.org/sarif`, `<?xml version="1.0" encoding="UTF-8"?>` + "\n<testsuites name=\"tracepredict\"", "<!DOCTYPE html>\n<html lang=\"en\">\n<head>", "### tracepredict: ", "::error ", "::warning ", "::notice ", `[{"description":`}

// finish closes the part, and has it take its place. If that fails, the part stays.
func (p *part) finish() error {
	locked, err := unix.FcntlInt(p.file.Fd(), unix.F_DUPFD_CLOEXEC, 3) // keeps the lock until the part has its name
	if err == nil {
		defer unix.Close(locked)
	}
	if err := p.file.Close(); err != nil {
		return err
	}
	if err := unix.Renameat(p.folder.fd(), p.name, p.folder.fd(), p.folder.base); err != nil {
		return &os.PathError{Op: "rename to " + p.folder.base, Path: p.path(), Err: err}
	}
	return nil
}

// path returns the name of the part for people.
func (p *part) path() string { return filepath.Join(p.folder.path, p.name) }

// exists reports whether the part can be found under its name.
func (p *part) exists() bool {
	return unix.Faccessat(p.folder.fd(), p.name, unix.F_OK, unix.AT_SYMLINK_NOFOLLOW) == nil
}

func (p *part) remove() { _ = unix.Unlinkat(p.folder.fd(), p.name, 0) }

// partOf returns the name of the part of an output file that a run left; "" if there is none.
func partOf(name string) string {
	if info, err := os.Stat(name + partSuffix); err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return ""
	}
	return name + partSuffix
}
