// Package figures writes measured figures into a page of the documentation, and
// says what they were measured on. The page belongs to people: only what lies
// between a tool's two marks is that tool's.
package figures

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// Marks are the lines, each once in a page, between which a tool writes.
type Marks struct{ Begin, End string }

// Write replaces what lies between the marks in the file name, and leaves the
// rest. A file that is not there begins as fresh, which holds the marks.
func (m Marks) Write(name, fresh, text string) error {
	old, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		old, err = []byte(fresh), nil
	}
	if err != nil {
		return err
	}
	page, err := m.Replace(string(old), text)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return os.WriteFile(name, []byte(page), 0o644)
}

// Replace returns page with text, whole lines, between the marks, its prose folded
// to the width of a page. It is an error if the page lacks one of the marks.
func (m Marks) Replace(page, text string) (string, error) {
	before, rest, ok := strings.Cut(page, m.Begin)
	_, after, too := strings.Cut(rest, m.End)
	if !ok || !too {
		return "", fmt.Errorf("it lacks the lines %q and %q", m.Begin, m.End)
	}
	return before + m.Begin + "\n" + fold(text) + m.End + after, nil
}

// width is how many columns the prose of a page has at most.
const width = 120

// fold breaks the lines of prose that are too long, between words. Tables, code
// and headings stay.
func fold(text string) string {
	var b strings.Builder
	code := false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		fence := strings.HasPrefix(line, "```")
		code = code != fence
		if code || fence || utf8.RuneCountInString(line) <= width || line[0] == '|' || line[0] == '#' {
			b.WriteString(line + "\n")
			continue
		}
		indent := ""
		if strings.HasPrefix(line, "- ") {
			indent = "  "
		}
		n := 0
		for i, word := range strings.Fields(line) {
			switch length := utf8.RuneCountInString(word); {
			case i == 0:
			case n+1+length > width && !strings.Contains("-+*=>#", word[:1]): // would be more than a word there
				b.WriteString("\n" + indent)
				n = len(indent)
			default:
				b.WriteString(" ")
				n++
			}
			b.WriteString(word)
			n += utf8.RuneCountInString(word)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// Machine names what figures depend on, in a few words.
func Machine() string {
	model, virtual := "an unnamed processor", ""
	info, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		for line := range strings.Lines(string(info)) {
			key, value, _ := strings.Cut(line, ":")
			switch strings.TrimSpace(key) {
			case "model name":
				model = strings.TrimSpace(value)
			case "flags":
				if slices.Contains(strings.Fields(value), "hypervisor") {
					virtual = ", in a virtual machine"
				}
			}
		}
	}
	var u unix.Utsname
	kernel := "of unknown release"
	if unix.Uname(&u) == nil {
		kernel = unix.ByteSliceToString(u.Release[:])
	}
	return fmt.Sprintf("%d cores of %s%s, Linux %s, %s", runtime.NumCPU(), model, virtual, kernel, runtime.GOARCH)
}

// Cell returns the first line of a text, as a cell of a table shows it.
func Cell(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	return strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(text)
}

// Median of no values is 0, of an even number of them the mean of the middle two.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
