// Package specs has the specifications that come with tracepredict: how the objects of common libraries may be used
// (docs/typestates.md). It holds their text, by the names under which --spec and include find them, and knows neither
// their meaning nor the programs that they are for.
package specs

import (
	"embed"
	"io/fs"
	"path"
	"slices"
	"strings"
)

//go:embed std/*.tps
var files embed.FS

// Ext is the extension of the files.
const Ext = ".tps"

// Files returns the specifications as files: std/stdio.tps and so on.
func Files() fs.FS { return files }

// Spec is one specification.
type Spec struct {
	Name    string // as --spec takes it: std/stdio
	Text    string
	Summary string // what its first comment says, a sentence
}

// All returns the specifications in the order of their names.
func All() ([]Spec, error) {
	names, err := fs.Glob(files, "std/*"+Ext)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var all []Spec
	for _, n := range names {
		text, err := fs.ReadFile(files, n)
		if err != nil {
			return nil, err
		}
		all = append(all, Spec{Name: strings.TrimSuffix(n, Ext), Text: string(text), Summary: summary(string(text))})
	}
	return all, nil
}

// Find returns the specification with a name, which may have the extension; ok is false if there is none.
func Find(all []Spec, name string) (s Spec, ok bool) {
	i := slices.IndexFunc(all, func(s Spec) bool { return s.Name == strings.TrimSuffix(path.Clean(name), Ext) })
	if i < 0 {
		return Spec{}, false
	}
	return all[i], true
}

// summary returns the first sentence of the comment at the beginning of a text.
func summary(text string) string {
	var words []string
	for line := range strings.Lines(text) {
		comment, ok := strings.CutPrefix(strings.TrimSpace(line), "//")
		if !ok {
			break
		}
		words = append(words, strings.Fields(comment)...)
	}
	for i, w := range words {
		if strings.HasSuffix(w, ".") {
			return strings.Join(words[:i+1], " ")
		}
	}
	return strings.Join(words, " ")
}
