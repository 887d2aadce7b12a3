package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/internal/plural"
)

// This file joins notes. A program of many libraries has the same notes of each of them, which would
// hide those that matter: what the run as a whole lacks. The latter come first, and then a line for
// each kind, with the files of which it says most.

// maxLargest is the number of files that a note of several names.
const maxLargest = 3

// DistinctNotes returns the notes of the run, each once.
func (r *Run) DistinctNotes() []string {
	var out []string
	seen := map[string]bool{}
	for _, t := range r.Notes {
		if !seen[t] {
			seen[t] = true
			out = append(out, t)
		}
	}
	return out
}

// JoinedNotes returns the notes on what the run means for findings, and then the others: first those that are about the
// whole run, which are of no kind, and then a line for each kind.
func (r *Run) JoinedNotes() (first, lines []string) {
	known := make(map[string]plural.Note, len(r.NoteKinds))
	for _, n := range r.NoteKinds {
		known[n.Text] = n
	}
	var order []string
	groups := map[string][]plural.Note{}
	for _, text := range r.DistinctNotes() {
		n := known[text]
		switch {
		case n.First:
			first = append(first, text)
			continue
		case n.Kind == "":
			lines = append(lines, text)
			continue
		}
		if len(groups[n.Kind]) == 0 {
			order = append(order, n.Kind)
		}
		groups[n.Kind] = append(groups[n.Kind], n)
	}
	for _, kind := range order {
		lines = append(lines, joinKind(groups[kind]))
	}
	return first, lines
}

// NoteLines returns the notes as JoinedNotes does, in one list.
func (r *Run) NoteLines() []string {
	first, lines := r.JoinedNotes()
	return append(first, lines...)
}

// ofFile is how many things a file has that notes of one kind count.
type ofFile struct {
	name  string
	count uint64
}

// joinKind returns one sentence for notes of one kind.
func joinKind(notes []plural.Note) string {
	if len(notes) == 1 {
		return notes[0].Text
	}
	slices.SortStableFunc(notes, func(a, b plural.Note) int { return cmp.Compare(b.Count, a.Count) })
	files, total := byFile(notes)
	kind := notes[0].Kind
	if strings.Contains(kind, plural.Rest) || !strings.Contains(kind, " of "+plural.Files) && !strings.Contains(kind, " in "+plural.Files) || len(files) < 2 {
		more := plural.Sprintf("; and %d more {note|notes} of this kind", len(notes)-1)
		if others, _ := byFile(notes[1:]); len(others) > 0 {
			more += " (" + largest(others) + ")"
		}
		return notes[0].Text + more
	}
	text := strings.ReplaceAll(kind, plural.Files, plural.Counted(uint64(len(files)), "file", "files"))
	return strings.ReplaceAll(text, plural.Number, plural.Thousands(total)) + " (" + largest(files) + ")"
}

// byFile returns the files of notes, those with the most first, and the sum of all.
func byFile(notes []plural.Note) (files []ofFile, total uint64) {
	at := map[string]int{}
	for _, n := range notes {
		total += n.Count
		if n.File == "" {
			continue
		}
		if _, ok := at[n.File]; !ok {
			at[n.File] = len(files)
			files = append(files, ofFile{name: n.File})
		}
		files[at[n.File]].count += n.Count
	}
	slices.SortStableFunc(files, func(a, b ofFile) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.name, b.name))
	})
	return files, total
}

// largest returns "libfoo.so 1,200, libbar.so 800, ...".
func largest(files []ofFile) string {
	var parts []string
	for i, f := range files {
		if i == maxLargest {
			parts = append(parts, "...")
			break
		}
		text := f.name
		if f.count > 0 {
			text += " " + plural.Thousands(f.count)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}
