// Package plancache keeps what it took long to find out about binaries in a file of the user, by key.
//
// The whole cache is one file, which is opened before the tool drops its privileges: afterwards it may
// not be able to open a file of the user who started it. Entries are appended under a lock of the
// file, and each has a checksum: after a crash, or another writer, what does not match is cut off and
// written again. When there is no more room, the older half of the entries is removed.
//
// Who can write the file decides where probes are put. So its directory belongs to the user alone, and no
// other user can replace a directory on the way to it. The package knows nothing of what is kept.
package plancache

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"
)

// Key identifies an entry: a hash of all that its content depends on.
type Key [sha256.Size]byte

const (
	// maxFile bounds the size of the file, maxEntry that of an entry in it, and maxContent that of an
	// entry before it is compressed, in bytes.
	maxFile    = 64 << 20
	maxEntry   = 16 << 20
	maxContent = 256 << 20

	fileName = "plans-1"
)

// magic begins each entry.
var magic = [8]byte{'t', 'p', 'p', 'l', 'a', 'n', '1', '\n'}

// header precedes the compressed content of an entry.
type header struct {
	Magic  [8]byte
	Key    Key
	Length uint64
	Sum    [sha256.Size]byte // of all before and of the compressed content
}

const headerSize = 8 + sha256.Size + 8 + sha256.Size

// Cache is an open cache. Its methods may be called concurrently. A nil Cache is always empty.
type Cache struct {
	mu    sync.Mutex // guards all fields, and the lock of the file
	file  *os.File
	max   int64         // maxFile, but for tests
	index map[Key]place // of the entries up to known, the newest with each key
	known int64         // where the last of them ends
}

// Open opens the cache of the user, which it creates if there is none.
func Open() (*Cache, error) {
	var errs []error
	for _, parent := range parents() {
		dir, err := safeDirectory(parent)
		if err == nil {
			return OpenIn(dir)
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// parents returns the directories in which that of the tool may be, the best first. Under sudo, the
// environment may name one of another user, which is refused.
func parents() (dirs []string) {
	if dir, err := os.UserCacheDir(); err == nil {
		dirs = append(dirs, dir)
	}
	if u, err := user.LookupId(strconv.Itoa(os.Geteuid())); err == nil && filepath.IsAbs(u.HomeDir) {
		dirs = append(dirs, filepath.Join(u.HomeDir, ".cache"))
	}
	return dirs
}

// safeDirectory makes the tool's directory in a directory, and returns its path without symbolic links.
// It fails if another user than the present one and root could put something else in its place.
func safeDirectory(parent string) (string, error) {
	dir := filepath.Join(parent, "tracepredict")
	if err := checkAncestors(parent); err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	for at := dir; ; at = filepath.Dir(at) {
		if err := checkDirectory(at, at == dir); err != nil {
			return "", err
		}
		if at == filepath.Dir(at) {
			return dir, nil
		}
	}
}

// checkAncestors checks the directories on the way to one that may not exist yet.
func checkAncestors(dir string) error {
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("%s is no absolute path", dir)
	}
	for {
		found, err := filepath.EvalSymlinks(dir)
		if err == nil {
			dir = found
			break
		}
		if !errors.Is(err, os.ErrNotExist) || dir == filepath.Dir(dir) {
			return err
		}
		dir = filepath.Dir(dir)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if err := checkDirectory(dir, false); err != nil {
			return err
		}
	}
	return checkDirectory(dir, false)
}

// checkDirectory checks that a directory belongs to the present user, or to root if it is not their own,
// and that no other user may write it. In a sticky directory others cannot replace what is not theirs.
func checkDirectory(path string, own bool) error {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return &os.PathError{Op: "lstat", Path: path, Err: err}
	}
	uid := uint32(os.Geteuid())
	others := st.Mode&0o022 != 0 && st.Mode&unix.S_ISVTX == 0
	if own {
		others = st.Mode&0o077 != 0
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFDIR:
		return fmt.Errorf("%s is no directory", path)
	case st.Uid != uid && (own || st.Uid != 0):
		return fmt.Errorf("%s belongs to user %d", path, st.Uid)
	case others:
		return fmt.Errorf("%s is open to other users", path)
	}
	return nil
}

// OpenIn opens the cache in a directory of the present user alone.
func OpenIn(dir string) (*Cache, error) {
	path := filepath.Join(dir, fileName)
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	file := os.NewFile(uintptr(fd), path)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		file.Close()
		return nil, &os.PathError{Op: "fstat", Path: path, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Uid != uint32(os.Geteuid()) || st.Mode&0o077 != 0 || st.Nlink != 1 {
		file.Close()
		return nil, fmt.Errorf("%s is not a file of this user alone", path)
	}
	return &Cache{file: file, max: maxFile}, nil
}

// Close closes the cache.
func (c *Cache) Close() error {
	if c == nil {
		return nil
	}
	return c.file.Close()
}

// Tool returns the identity of the running program: another build of it may plan otherwise.
func Tool() (id Key, err error) {
	const self = "/proc/self/exe"
	f, err := os.Open(self)
	if err != nil {
		return id, fmt.Errorf("identify the tool: %w", err)
	}
	defer f.Close()
	if e, err := elf.NewFile(f); err == nil {
		if s := e.Section(".note.go.buildid"); s != nil {
			if note, err := s.Data(); err == nil && len(note) > 64 {
				return sha256.Sum256(note), nil
			}
		}
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(f, 0, 1<<62)); err != nil {
		return id, fmt.Errorf("identify the tool: %w", err)
	}
	h.Sum(id[:0])
	return id, nil
}

// lock acquires the lock of the file, which other runs of the tool use too. It does not wait for them.
func (c *Cache) lock(how int) (unlock func(), err error) {
	c.mu.Lock()
	if err := unix.Flock(int(c.file.Fd()), how|unix.LOCK_NB); err != nil {
		c.mu.Unlock()
		return nil, fmt.Errorf("lock %s: %w", c.file.Name(), err)
	}
	return func() {
		_ = unix.Flock(int(c.file.Fd()), unix.LOCK_UN)
		c.mu.Unlock()
	}, nil
}

// place is where an entry lies in the file.
type place struct {
	key    Key
	at     int64
	length uint64 // of the compressed content
	sum    [sha256.Size]byte
}

func (p place) end() int64 { return p.at + headerSize + int64(p.length) }

// places returns the entries of a file of a size from one on, in order, as far as their headers are intact, and where
// the last of them ends.
func places(r io.ReaderAt, from, size int64) (all []place, end int64) {
	end = from
	b := make([]byte, headerSize)
	for end+headerSize <= size {
		if _, err := r.ReadAt(b, end); err != nil {
			break
		}
		var h header
		if _, err := binary.Decode(b, binary.LittleEndian, &h); err != nil || h.Magic != magic || h.Length > maxEntry {
			break
		}
		p := place{key: h.Key, at: end, length: h.Length, sum: h.Sum}
		if p.end() > size {
			break
		}
		all, end = append(all, p), p.end()
	}
	return all, end
}

// content returns the content of an entry.
func content(r io.ReaderAt, p place) ([]byte, error) {
	b := make([]byte, p.length)
	if _, err := r.ReadAt(b, p.at+headerSize); err != nil {
		return nil, err
	}
	if sum(p.key, b) != p.sum {
		return nil, errors.New("the checksum is wrong")
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxContent))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.DecodeAll(b, nil)
}

func sum(key Key, compressed []byte) (s [sha256.Size]byte) {
	h := sha256.New()
	h.Write(magic[:])
	h.Write(key[:])
	_ = binary.Write(h, binary.LittleEndian, uint64(len(compressed)))
	h.Write(compressed)
	h.Sum(s[:0])
	return s
}

// Load returns the content of the entry with a key; nil if there is none, or if it is damaged.
func (c *Cache) Load(key Key) []byte {
	if c == nil {
		return nil
	}
	unlock, err := c.lock(unix.LOCK_SH)
	if err != nil {
		return nil
	}
	defer unlock()
	st, err := c.file.Stat()
	if err != nil {
		return nil
	}
	c.update(st.Size())
	at, known := c.index[key]
	if !known {
		return nil
	}
	b, err := content(c.file, at)
	if err != nil { // another run has moved the entries, or the entry is damaged
		c.index, c.known = nil, 0
		return c.search(key, st.Size())
	}
	return b
}

// update adds the entries to the index that came since the last time, also by other runs. Each header is a read: a
// process has hundreds of libraries, and the cache thousands of entries.
func (c *Cache) update(size int64) {
	if c.index == nil || size < c.known {
		c.index, c.known = map[Key]place{}, 0
	}
	all, end := places(c.file, c.known, size)
	for _, p := range all {
		c.index[p.key] = p
	}
	c.known = end
}

// search returns the content of the newest intact entry with a key; nil if there is none.
func (c *Cache) search(key Key, size int64) []byte {
	all, _ := places(c.file, 0, size)
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].key != key {
			continue
		}
		if b, err := content(c.file, all[i]); err == nil {
			return b
		}
	}
	return nil
}

// Store adds an entry. What is too large is not kept.
func (c *Cache) Store(key Key, data []byte) error {
	if c == nil || len(data) > maxContent {
		return nil
	}
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return fmt.Errorf("compress a plan: %w", err)
	}
	compressed := e.EncodeAll(data, nil)
	if err := e.Close(); err != nil {
		return fmt.Errorf("compress a plan: %w", err)
	}
	if len(compressed) > maxEntry {
		return nil
	}
	unlock, err := c.lock(unix.LOCK_EX)
	if err != nil {
		return err
	}
	defer unlock()
	var entry bytes.Buffer
	_ = binary.Write(&entry, binary.LittleEndian, header{magic, key, uint64(len(compressed)), sum(key, compressed)})
	entry.Write(compressed)
	return c.append(entry.Bytes())
}

// append writes an entry behind the others, of which it removes the older ones if there is no room.
func (c *Cache) append(entry []byte) error {
	st, err := c.file.Stat()
	if err != nil {
		return err
	}
	all, end := places(c.file, 0, st.Size())
	if end+int64(len(entry)) > c.max {
		if end, err = c.shrink(all, end); err != nil {
			return err
		}
	}
	if err := c.file.Truncate(end); err != nil {
		return err
	}
	if int64(len(entry)) > c.max-end {
		return nil
	}
	_, err = c.file.WriteAt(entry, end)
	return err
}

// shrink moves the newer entries, those in the last half of the room, to the beginning of the file. It
// returns where they end.
func (c *Cache) shrink(all []place, end int64) (int64, error) {
	from := end
	for i := len(all) - 1; i >= 0 && end-all[i].at <= c.max/2; i-- {
		from = all[i].at
	}
	b := make([]byte, 1<<20)
	to := int64(0)
	for from < end {
		n, err := c.file.ReadAt(b[:min(int64(len(b)), end-from)], from)
		if n == 0 {
			return to, err
		}
		if _, err := c.file.WriteAt(b[:n], to); err != nil {
			return 0, err
		}
		from, to = from+int64(n), to+int64(n)
	}
	return to, nil
}
