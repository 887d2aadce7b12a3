package spec

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
	"github.com/tracepredict/tracepredict/internal/plural"
)

// maxFiles bounds the number of files of a specification, including its includes.
const maxFiles = 64

// Options configure where files are read from.
type Options struct {
	// Open opens a file; nil is os.Open of regular files.
	Open func(name string) (io.ReadCloser, error)
	// Path lists folders in which an included file is searched if it is not beside the file
	// that includes it; nil is none.
	Path []string
	// Installed has the specifications that come with the program, as std/stdio.tps, which are searched last, and where
	// the extension may be left out; nil is none.
	Installed fs.FS
	// More is the text of further declarations, which errors say to be of MoreName; "" is none.
	More, MoreName string
	// AllEvents makes a Matcher match all declared events, also those that nothing mentions.
	AllEvents bool
	// PaperRaces: requests for races are formulas on what threads know, as DAME, Section 3, has them.
	PaperRaces bool
}

// extension is that of specifications. The names of installed ones begin with installedFolder.
const (
	extension       = ".tps"
	installedFolder = "std/"
)

// Load reads a specification, the files that it includes, and Options.More. The name is "" if there is nothing but the
// latter. The problems are in the order of the text. If some are errors, the Spec is nil.
func Load(name string, o Options) (*Spec, syntax.List) {
	l := &loader{opts: o, rank: map[*syntax.Source]int{}, seen: map[string]bool{}, installed: map[*syntax.Source]bool{}}
	if l.opts.Open == nil {
		l.opts.Open = openRegular
	}
	if name != "" {
		l.load(name, syntax.Span{})
	}
	if o.More != "" {
		l.add(syntax.NewSource(o.MoreName, o.More))
	}
	r := &resolver{Spec: &Spec{File: name, names: newTable(), sources: l.sources, installed: l.installed}, paperRaces: o.PaperRaces}
	if len(l.decls) > 0 || !l.problems.HasErrors() {
		r.damaged, r.allEvents = l.problems.HasErrors(), o.AllEvents
		r.resolve(l.decls)
	}
	return l.result(r)
}

// Parse reads a specification from one text, which can include no files. The name is for
// errors.
func Parse(name, text string) (*Spec, syntax.List) {
	return Load(name, Options{Open: func(n string) (io.ReadCloser, error) {
		if n != name {
			return nil, fs.ErrNotExist
		}
		return io.NopCloser(strings.NewReader(text)), nil
	}})
}

// result returns what Load returns, with the problems of the loader and of the resolver.
func (l *loader) result(r *resolver) (*Spec, syntax.List) {
	problems, omitted := append(l.problems, r.problems...).Sort(func(s *syntax.Source) int { return l.rank[s] })
	if omitted > 0 {
		problems = append(problems, &syntax.Diagnostic{Kind: syntax.Syntax, Message: plural.Sprintf("and %d more {error|errors}", omitted)})
	}
	if problems.HasErrors() {
		return nil, problems
	}
	return r.Spec, problems
}

// loader reads a specification's files.
type loader struct {
	opts    Options
	decls   []syntax.Decl // of all files, without includes
	sources []*syntax.Source
	rank    map[*syntax.Source]int // the index in sources
	seen    map[string]bool        // the names of files that were read
	// installed has the sources that are of Options.Installed.
	installed map[*syntax.Source]bool
	problems  syntax.List
}

func openRegular(name string) (io.ReadCloser, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", name)
	}
	return os.Open(name)
}

func (l *loader) fail(at syntax.Span, format string, args ...any) {
	l.problems = append(l.problems, &syntax.Diagnostic{Kind: syntax.BadFile, Span: at, Message: fmt.Sprintf(format, args...)})
}

// load reads a file, which is included at the span at. It ignores a file that it has read
// already.
func (l *loader) load(name string, at syntax.Span) {
	text, name, installed, err := l.read(name, at)
	if err != nil {
		l.fail(at, "%v", err)
		return
	}
	if l.seen[name] {
		return
	}
	if l.seen[name] = true; len(l.seen) > maxFiles {
		l.fail(at, "a specification has at most %d files", maxFiles)
		return
	}
	src := syntax.NewSource(name, text)
	if installed {
		l.installed[src] = true
	}
	l.add(src)
}

// add adds the declarations of a source.
func (l *loader) add(src *syntax.Source) {
	l.rank[src] = len(l.rank)
	l.sources = append(l.sources, src)
	file, problems := syntax.Parse(src)
	l.problems = append(l.problems, problems...)
	for _, d := range file.Decls {
		if inc, ok := d.(*syntax.Include); ok {
			l.load(inc.File.Text, inc.File.Span)
			continue
		}
		l.decls = append(l.decls, d)
	}
}

// read searches a file beside the one that includes it, then in Options.Path, then among the installed ones. It returns
// the file's text and the name under which it was found. Installed files include installed ones alone.
func (l *loader) read(name string, at syntax.Span) (text, found string, installed bool, err error) {
	if at.IsValid() && l.installed[at.Src] {
		if text, found, ok := l.readInstalled(path.Join(path.Dir(at.Src.Name), name)); ok {
			return text, found, true, nil
		}
		return "", name, false, fmt.Errorf("read specification %s: %w", name, fs.ErrNotExist)
	}
	names := []string{name}
	if at.IsValid() && !filepath.IsAbs(name) {
		names = []string{filepath.Join(filepath.Dir(at.Src.Name), name)}
		for _, dir := range l.opts.Path {
			names = append(names, filepath.Join(dir, name))
		}
	}
	var first error
	for _, n := range names {
		text, err := l.readFile(n)
		if err == nil {
			return text, n, false, nil
		}
		if first == nil {
			first = err
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", n, false, err
		}
	}
	if text, found, ok := l.readInstalled(name); ok {
		return text, found, true, nil
	}
	if l.opts.Installed != nil && strings.HasPrefix(name, installedFolder) {
		first = fmt.Errorf("%w; tracepredict specs lists those that come with it", first)
	}
	return "", name, false, first
}

// readInstalled returns the text of an installed file, and its name there.
func (l *loader) readInstalled(name string) (text, found string, ok bool) {
	if l.opts.Installed == nil {
		return "", "", false
	}
	found = strings.TrimSuffix(name, extension) + extension
	b, err := fs.ReadFile(l.opts.Installed, found)
	return string(b), found, err == nil
}

func (l *loader) readFile(name string) (string, error) {
	in, err := l.opts.Open(name)
	if err != nil {
		return "", fmt.Errorf("read specification %s: %w", name, err)
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, syntax.MaxSource+1))
	if err != nil {
		return "", fmt.Errorf("read specification %s: %w", name, err)
	}
	return string(text), nil
}
