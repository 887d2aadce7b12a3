package report

import (
	"path"
	"strings"
)

// Options are the wishes of whoever reads a report. A format uses those that mean something for it.
type Options struct {
	// Width is the width of the terminal, in columns; 0 means 80, less than 32 means 32.
	// Only fingerprints and source locations may exceed it.
	Width int
	// Color adds terminal escapes. The caller sets it for a terminal, if NO_COLOR is not in
	// the environment.
	Color bool
	// Verbose lists every variable that --watch-shared found, each suppression, all findings with
	// their details, and each frame of the stacks of the sides. By default the text lists a bounded
	// number of the variables that threads share, and the ends of long stacks.
	Verbose bool
	// Complete adds the details of all findings, however many they are, as Verbose does. By
	// default a report of more than ten findings has those of the first ten.
	Complete bool
	// SourceRoot is the folder, an absolute path, to which formats for CI make paths relative; "" for none.
	SourceRoot string
	// Locate returns where below SourceRoot a file lies whose name in the debug information is relative to some folder of
	// the build; "" if that is not known. Nil: it is relative to SourceRoot.
	Locate func(string) string
	// Version is that of tracepredict, for formats that name the tool; "" if unknown.
	Version string
	// Fails reports whether a finding makes the run fail, as the command's exit status says; nil: all do.
	Fails func(*Finding) bool
}

// Failing reports whether a finding makes the run fail.
func (o *Options) Failing(f *Finding) bool { return o.Fails == nil || o.Fails(f) }

// InSource returns the path of a file below SourceRoot; ok is false for another file, whose path is returned as it is.
func (o *Options) InSource(file string) (rel string, ok bool) {
	file = path.Clean(file)
	if !path.IsAbs(file) {
		if rel = file; o.Locate != nil {
			rel = o.Locate(file)
		}
		if rel == "" || strings.HasPrefix(rel, "../") {
			return file, false
		}
		return rel, true
	}
	root := strings.TrimSuffix(o.SourceRoot, "/")
	if rel, ok = strings.CutPrefix(file, root+"/"); ok && root != "" {
		return rel, true
	}
	return file, false
}
