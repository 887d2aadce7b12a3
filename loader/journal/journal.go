// Package journal keeps, in files, where breakpoints of probes are in which processes.
//
// Problem: the kernel removes all probes of a process that dies. Where it fails, as when all tasks of a cgroup are killed
// while it puts probes in or out, breakpoints stay in the observed process, and nothing at them says whose they are.
// Solution: before a process that observes has probes attached, it writes down where, and it removes the file when they
// are out again. A file that is left, of a process that is gone, names the only places at which a breakpoint may be
// removed. It is text, so that a person can read it:
//
//	tracepredict journal 1
//	boot 2f0c1a8e-…-4026531836
//	owner 4711 123456
//	target 4720       123470
//	file 8:1 1234 5f3a… "/usr/lib/libc.so.6"
//	at 1a40=55 1a52=48
//
// A process is its ID and when it began; a file is its device and inode, as /proc/PID/maps shows them, its build
// identifier and its path; a probe is its offset and the byte that the file has there. Each of the targets may have
// breakpoints in each of the files. The package writes into no process, and judges no breakpoint.
package journal

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tracepredict/tracepredict/loader/procfs"
)

// Journal is the content of one file.
type Journal struct {
	Boot    string            // procfs.Boot
	Owner   procfs.Identity   // the process that has, or had, the probes
	Targets []procfs.Identity // the processes that may have breakpoints
	Files   []File            // a file may be there several times, each time with other probes
}

// File is a file with probes.
type File struct {
	ID     procfs.FileID
	Build  string // its build identifier, in hex; "" if it has none
	Path   string // as the process names it
	Probes []Probe
}

// Probe is where a breakpoint may be.
type Probe struct {
	Offset   uint64 // in the file
	Original byte   // what the file has there
}

// Has reports whether a process is among the targets.
func (j *Journal) Has(target procfs.Identity) bool {
	for _, t := range j.Targets {
		if t == target {
			return true
		}
	}
	return false
}

const (
	magic = "tracepredict journal 1\n"
	// maxSize bounds a file, in bytes: a run has at most 262,144 sites, of some 12 bytes each, and 65,536 probes of
	// other kinds.
	maxSize = 16 << 20
	// maxBuild bounds a build identifier, in digits.
	maxBuild = 128
)

// targetLine is the format of the line of a target. All are of one length, so that one can replace another; process 0
// stands for none.
const targetLine = "target %-10d %-20d\n"

// header returns the lines with which a file begins.
func header(boot string, owner procfs.Identity) []byte {
	return fmt.Appendf([]byte(magic), "boot %s\nowner %d %d\n", boot, owner.PID, owner.Start)
}

// appendFile appends the lines of a file.
func (f *File) append(to []byte) []byte {
	build := f.Build
	if build == "" {
		build = "-"
	}
	to = fmt.Appendf(to, "file %d:%d %d %s %s\nat", f.ID.Major, f.ID.Minor, f.ID.Inode, build, strconv.Quote(f.Path))
	for _, p := range f.Probes {
		to = strconv.AppendUint(append(to, ' '), p.Offset, 16)
		to = strconv.AppendUint(append(to, '='), uint64(p.Original), 16)
	}
	return append(to, '\n')
}

// parse reads the content of a file. A last line that is cut short is left out: what it names was not attached. An error
// has the number of the line.
func parse(text []byte) (Journal, error) {
	var j Journal
	if len(text) > maxSize {
		return j, fmt.Errorf("it has %d bytes, more than %d", len(text), maxSize)
	}
	rest, ok := bytes.CutPrefix(text, []byte(magic))
	if !ok {
		return j, errors.New("it does not begin as a journal of tracepredict")
	}
	for n := 2; ; n++ {
		line, more, whole := bytes.Cut(rest, []byte("\n"))
		if !whole {
			break
		}
		rest = more
		if err := j.parseLine(string(line)); err != nil {
			return Journal{}, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if j.Boot == "" || j.Owner.PID == 0 {
		return Journal{}, errors.New("it does not say which boot and which process it is of")
	}
	return j, nil
}

func (j *Journal) parseLine(line string) (err error) {
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "boot":
		if j.Boot != "" || rest == "" {
			return errors.New("a second boot, or none")
		}
		j.Boot = rest
	case "owner":
		if j.Owner.PID != 0 {
			return errors.New("a second owner")
		}
		j.Owner, err = parseIdentity(rest)
		if err == nil && j.Owner.PID == 0 {
			err = errors.New("no owner")
		}
	case "target":
		var id procfs.Identity
		if id, err = parseIdentity(rest); err == nil && id.PID != 0 {
			j.Targets = append(j.Targets, id)
		}
	case "file":
		var f File
		f, err = parseFile(rest)
		j.Files = append(j.Files, f)
	case "at":
		if len(j.Files) == 0 {
			return errors.New("probes without a file")
		}
		f := &j.Files[len(j.Files)-1]
		f.Probes, err = parseProbes(f.Probes, rest)
	default:
		err = fmt.Errorf("%q is unknown", word)
	}
	return err
}

func parseIdentity(text string) (id procfs.Identity, err error) {
	fields := strings.Fields(text)
	if len(fields) != 2 {
		return id, fmt.Errorf("%q is no process", text)
	}
	pid, err := strconv.ParseUint(fields[0], 10, 31)
	if err != nil {
		return id, fmt.Errorf("%q is no process: %w", text, err)
	}
	start, err := strconv.ParseUint(fields[1], 10, 64)
	if err != nil {
		return id, fmt.Errorf("%q is no process: %w", text, err)
	}
	return procfs.Identity{PID: int(pid), Start: start}, nil
}

func parseFile(text string) (f File, err error) {
	fields := strings.SplitN(text, " ", 4)
	if len(fields) != 4 {
		return f, fmt.Errorf("%q is no file", text)
	}
	major, minor, _ := strings.Cut(fields[0], ":")
	number := func(s string, bits int) uint64 {
		n, e := strconv.ParseUint(s, 10, bits)
		err = errors.Join(err, e)
		return n
	}
	f.ID = procfs.FileID{Major: uint32(number(major, 32)), Minor: uint32(number(minor, 32)), Inode: number(fields[1], 64)}
	if err != nil {
		return f, err
	}
	if f.Build = fields[2]; f.Build == "-" {
		f.Build = ""
	}
	if len(f.Build) > maxBuild || strings.Trim(f.Build, "0123456789abcdef") != "" {
		return f, fmt.Errorf("%q is no build identifier", f.Build)
	}
	if f.Path, err = strconv.Unquote(fields[3]); err != nil || fields[3][0] != '"' {
		return f, fmt.Errorf("%s is no path in quotes", fields[3])
	}
	return f, nil
}

func parseProbes(to []Probe, text string) ([]Probe, error) {
	for text != "" {
		var word string
		word, text, _ = strings.Cut(text, " ")
		offset, original, _ := strings.Cut(word, "=")
		at, err := strconv.ParseUint(offset, 16, 63)
		if err != nil {
			return nil, fmt.Errorf("%q is no probe: %w", word, err)
		}
		b, err := strconv.ParseUint(original, 16, 8)
		if err != nil {
			return nil, fmt.Errorf("%q is no probe: %w", word, err)
		}
		to = append(to, Probe{at, byte(b)})
	}
	return to, nil
}
