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

// Replace returns page with text, whole lines, between the marks. It is an error
// if the page lacks one of them.
func (m Marks) Replace(page, text string) (string, error) {
	before, rest, ok := strings.Cut(page, m.Begin)
	_, after, too := strings.Cut(rest, m.End)
	if !ok || !too {
		return "", fmt.Errorf("it lacks the lines %q and %q", m.Begin, m.End)
	}
	return before + m.Begin + "\n" + text + m.End + after, nil
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

// Median of no values is 0, of an even number of them the mean of the middle two.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
