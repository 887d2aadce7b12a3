package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxSources is how many files of a folder are looked at for those that debug information names.
const maxSources = 200_000

// sources finds the files that debug information names below a folder.
type sources struct {
	root  string              // absolute; "" for none
	named map[string][]string // by the last component of a name: files, as paths below root; nil until first needed
}

// newSources returns the sources in the folder that the user gave, or else in the repository that the working directory
// is in, or else in that directory.
func newSources(given string) *sources {
	if given != "" {
		abs, _ := filepath.Abs(given) // "" if that fails
		return &sources{root: abs}
	}
	wd, err := os.Getwd()
	if err != nil {
		return &sources{}
	}
	for dir := wd; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return &sources{root: dir}
		}
		if dir == filepath.Dir(dir) {
			return &sources{root: wd}
		}
	}
}

// locate returns the path below the root of a file with a relative name, which is relative to the folder in which the
// compiler ran: the file of that path, or else the only one whose path ends so; "" if there is none, or are several.
func (s *sources) locate(name string) string {
	if s.root == "" {
		return ""
	}
	if info, err := os.Stat(filepath.Join(s.root, name)); err == nil && info.Mode().IsRegular() && filepath.IsLocal(name) {
		return name
	}
	for strings.HasPrefix(name, "../") {
		name = name[len("../"):]
	}
	if s.named == nil {
		s.list()
	}
	var found string
	for _, path := range s.named[filepath.Base(name)] {
		if path == name || strings.HasSuffix(path, "/"+name) {
			if found != "" {
				return ""
			}
			found = path
		}
	}
	return found
}

// list lists the files below the root. What cannot be read is not there.
func (s *sources) list() {
	s.named = map[string][]string{}
	left := maxSources
	_ = filepath.WalkDir(s.root, func(path string, d fs.DirEntry, err error) error {
		if left--; left < 0 {
			return fs.SkipAll
		}
		switch {
		case err != nil:
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules"):
			return fs.SkipDir
		case d.Type().IsRegular():
			if rel, err := filepath.Rel(s.root, path); err == nil {
				s.named[d.Name()] = append(s.named[d.Name()], rel)
			}
		}
		return nil
	})
}
