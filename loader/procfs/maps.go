// Package procfs reads /proc and /proc/sys: mappings, states of processes and threads, who
// traces whom, settings of the kernel, where core dumps go. It judges nothing, and knows of no
// probe.
package procfs

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// FileID identifies a file, as long as it exists, as /proc/PID/maps shows it.
type FileID struct {
	Major, Minor uint32
	Inode        uint64
}

// Mapping is one line of /proc/PID/maps.
type Mapping struct {
	Lo, Hi  uint64 // addresses, [Lo, Hi)
	Offset  uint64 // in the file
	Exec    bool
	Write   bool
	Shared  bool // processes that have it see each other's writes (MAP_SHARED)
	File    FileID
	Path    string // as the process names it; "" for anonymous memory
	Deleted bool   // the file has been deleted
}

// InFileSystem reports whether the mapping shows a file that programs find by its name and usually write to by
// system calls, rather than memory that was made to be mapped: by mmap, shmget, shm_open or memfd_create.
func (m *Mapping) InFileSystem() bool {
	for _, memory := range []string{"/dev/", "/memfd:", "/SYSV"} {
		if strings.HasPrefix(m.Path, memory) {
			return false
		}
	}
	return m.Path != ""
}

// ParseMaps parses the contents of /proc/PID/maps. An error contains the number of the line. Paths are as they stand
// there, with the kernel's escape for a line feed.
func ParseMaps(r io.Reader) ([]Mapping, error) {
	var maps []Mapping
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	s.Split(wholeLines)
	for n := 1; s.Scan(); n++ {
		m, err := parseMapping(s.Text())
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		maps = append(maps, m)
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	return maps, nil
}

// wholeLines is a bufio.SplitFunc for lines that end with a line feed. Unlike bufio.ScanLines it keeps a carriage return
// before it, with which a path may end.
func wholeLines(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

func parseMapping(line string) (Mapping, error) {
	var m Mapping
	fields := strings.SplitN(line, " ", 6)
	if len(fields) < 5 {
		return m, fmt.Errorf("%q is not a mapping", line)
	}
	lo, hi, ok := strings.Cut(fields[0], "-")
	major, minor, ok2 := strings.Cut(fields[3], ":")
	if !ok || !ok2 || len(fields[1]) < 4 {
		return m, fmt.Errorf("%q is not a mapping", line)
	}
	var err error
	hex := func(s string, bits int) uint64 {
		v, e := strconv.ParseUint(s, 16, bits)
		if e != nil && err == nil {
			err = e
		}
		return v
	}
	m.Lo, m.Hi, m.Offset = hex(lo, 64), hex(hi, 64), hex(fields[2], 64)
	m.File.Major, m.File.Minor = uint32(hex(major, 32)), uint32(hex(minor, 32))
	if m.File.Inode, _ = strconv.ParseUint(fields[4], 10, 64); err != nil {
		return m, fmt.Errorf("%q is not a mapping: %w", line, err)
	}
	m.Exec, m.Write, m.Shared = fields[1][2] == 'x', fields[1][1] == 'w', fields[1][3] == 's'
	if len(fields) == 6 {
		m.Path = strings.TrimLeft(fields[5], " ")
		m.Path, m.Deleted = strings.CutSuffix(m.Path, " (deleted)")
	}
	return m, nil
}

// Maps returns the mappings of a process. Their paths are those that /proc/PID/exe has too, without the escape of
// /proc/PID/maps.
func Maps(pid int) ([]Mapping, error) {
	f, err := os.Open(Dir(pid) + "/maps")
	if err != nil {
		return nil, fmt.Errorf("read the mappings of process %d: %w", pid, err)
	}
	defer f.Close()
	maps, err := ParseMaps(f)
	if err != nil {
		return nil, fmt.Errorf("read the mappings of process %d: %w", pid, err)
	}
	for i := range maps {
		if strings.Contains(maps[i].Path, lineFeed) {
			maps[i].Path = unescaped(pid, &maps[i])
		}
	}
	return maps, nil
}

// lineFeed is what /proc/PID/maps shows for a line feed in a path. It shows the same for a path that contains these
// four characters, since a backslash is not escaped.
const lineFeed = `\012`

// unescaped returns the path of a mapping that may have escapes. Its link in map_files, which whoever may trace the
// process can read, has none. If the mapping is gone by then, what looks like an escape is taken for one.
func unescaped(pid int, m *Mapping) string {
	link, err := os.Readlink(fmt.Sprintf("/proc/%d/map_files/%x-%x", Living(pid), m.Lo, m.Hi))
	plain := strings.ReplaceAll(m.Path, lineFeed, "\n")
	if path := trimDeleted(link); err == nil && strings.ReplaceAll(path, lineFeed, "\n") == plain {
		return path
	}
	return plain
}
