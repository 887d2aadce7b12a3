package dwarf

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/tracepredict/tracepredict/probes/elf"
)

// supplementLink refers to the supplementary file of a file's debug information.
type supplementLink struct {
	name string
	id   string // the supplementary file's build identifier, or for DWARF 5 its checksum, in hex
	sup  bool   // DWARF 5: the checksum is in the file's .debug_sup
}

// supplementLink reads .gnu_debugaltlink, which contains a file name and a build identifier, or
// .debug_sup (DWARF 5, section 7.3.6).
func (c *container) supplementLink() (supplementLink, bool) {
	if b := c.LinkSection(".gnu_debugaltlink"); b != nil {
		name, id, ok := bytes.Cut(b, []byte{0})
		return supplementLink{name: string(name), id: hex.EncodeToString(id)}, ok && len(name) > 0 && len(id) <= elf.MaxBuildID
	}
	is, l := c.debugSup()
	return l, !is && l.name != "" && l.id != ""
}

// debugSup reads .debug_sup; is reports that the file itself is a supplementary one.
func (c *container) debugSup() (is bool, l supplementLink) {
	b := c.LinkSection(".debug_sup")
	r := elf.NewCursor(b, 0, 0)
	if version := r.U16(); version < 2 || version > 5 {
		return false, l
	}
	is = r.U8() == 1
	from := r.Pos()
	r.SkipString()
	l.name = strings.TrimSuffix(string(b[from:r.Pos()]), "\x00")
	l.id, l.sup = hex.EncodeToString(r.Take(r.LEB(false))), true
	if r.Failed() {
		return false, supplementLink{}
	}
	return is, l
}

// joinSupplement adds the sections of the supplementary file to the file's own. If that fails, the
// sections stay unchanged and supplementErr is set.
func (c *container) joinSupplement() {
	l, ok := c.supplementLink()
	if !ok {
		return
	}
	all, err := c.withSupplement(l)
	if err != nil {
		c.supplementErr = fmt.Errorf("part of the debug information of %s is in %s, made by dwz, which is not read (install the debug symbols of exactly this build, or compile with -g): %w", c.Name(), l.name, err)
		return
	}
	c.sections, c.joined = all, true
}

func (c *container) withSupplement(l supplementLink) (all sections, err error) {
	defer c.Guard("join with the supplementary file", &err)
	d, err := c.findSupplement(l)
	if err != nil {
		return nil, err
	}
	defer d.Close() // all needed sections are read here
	sup := sections{}
	for _, name := range sectionNames {
		found := d.DebugSections(name)
		if len(found) == 0 {
			continue
		}
		if sup[name], err = d.SectionData(found[0]); err != nil {
			return nil, err
		}
		if !elf.Spend(&c.left, 2*uint64(len(sup[name]))+uint64(len(c.sections[name]))) {
			return nil, d.Fail(elf.ErrTooLarge, int64(found[0].Offset), "more than %d bytes of debug information", uint64(elf.MaxDebug))
		}
	}
	if err := sup.check(); err != nil {
		return nil, d.malformed(err)
	}
	if all, err = supplement(c.sections, sup); err != nil {
		return nil, d.malformed(err)
	}
	return all, all.check()
}

// findSupplement opens the file that a link refers to. A file of another build is skipped.
func (c *container) findSupplement(l supplementLink) (*container, error) {
	err := error(&os.PathError{Op: "open", Path: l.name, Err: os.ErrNotExist})
	for _, name := range c.supplementPlaces(l) {
		f, failed := c.OpenDebug(name)
		if failed == nil {
			d := &container{File: f}
			if d.isSupplement(l) {
				return d, nil
			}
			failed = d.Fail(elf.ErrDebugFile, elf.NoOffset, "belongs to another build of %s", c.Name())
			d.Close()
		}
		if errors.Is(err, os.ErrNotExist) {
			err = failed
		}
	}
	return nil, err
}

func (c *container) isSupplement(l supplementLink) bool {
	if !l.sup {
		return c.BuildID() == l.id
	}
	is, own := c.debugSup()
	return is && own.id == l.id
}

// supplementPlaces returns the paths where gdb looks: the link's path, relative to the file that
// contains it, or the path by build identifier. A link below the system's directory of debug files
// is looked up in each configured directory instead.
func (c *container) supplementPlaces(l supplementLink) []string {
	const system = "/usr/lib/debug"
	var out []string
	if at := c.ResolvedPath(); !path.IsAbs(l.name) && at != "" {
		out = append(out, path.Join(path.Dir(at), l.name))
	}
	for _, d := range c.DebugDirs() {
		if rest, ok := strings.CutPrefix(path.Clean(l.name), system+"/"); ok {
			out = append(out, path.Join(d, rest))
		} else if path.IsAbs(l.name) {
			out = append(out, l.name)
		}
		if !l.sup && len(l.id) > 2 {
			out = append(out, path.Join(d, ".build-id", l.id[:2], l.id[2:]+".debug"))
		}
	}
	return out
}
