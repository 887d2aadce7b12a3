package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/scripts/trial"
)

// parseHelgrind reads what valgrind --tool=helgrind writes on standard error.
func parseHelgrind(text string) ([]report, error) {
	return parseValgrind(text, func(line, _ string) (string, bool) {
		switch {
		case strings.HasPrefix(line, "Possible data race during"):
			return "race", true
		case strings.HasPrefix(line, "Thread #") && strings.Contains(line, ": lock order "):
			return "deadlock", true
		case strings.HasPrefix(line, "Thread #") && !strings.HasSuffix(line, " was created") && !strings.HasSuffix(line, "is the program's root thread"):
			return "misuse", true
		}
		return "", false
	})
}

var drdContext = regexp.MustCompile(`^(Other segment|Address 0x|\(thread finished|Thread \d+:$|(mutex|rwlock|cond|barrier|semaphore|spinlock) 0x\S+ was first observed)`)

// parseDRD reads what valgrind --tool=drd writes. Its complaints have no form in
// common but that a stack follows.
func parseDRD(text string) ([]report, error) {
	return parseValgrind(text, func(line, next string) (string, bool) {
		switch {
		case strings.HasPrefix(line, "Conflicting load by") || strings.HasPrefix(line, "Conflicting store by"):
			return "race", true
		case strings.HasPrefix(next, "at 0x") && !drdContext.MatchString(line):
			return "misuse", true
		}
		return "", false
	})
}

var (
	valgrindLine = regexp.MustCompile(`^==\d+== ?(.*)$`)
	valgrindPart = regexp.MustCompile(`inside ([\w:.\[\]]+),$`) // a member of a variable
	valgrindQuot = regexp.MustCompile(`inside .*"([^"]+)"`)
)

// parseValgrind splits Valgrind's lines into reports, each of which begins with a
// line that begins takes for one; it is given the line after, too.
func parseValgrind(text string, begins func(line, next string) (string, bool)) ([]report, error) {
	lines := valgrindLines(text)
	if len(lines) == 0 {
		return nil, fmt.Errorf("valgrind said nothing")
	}
	var reports []report
	open := false // a rule ends a report: what follows introduces the next one
	for i, line := range lines {
		next := ""
		if i+1 < len(lines) {
			next = lines[i+1]
		}
		if kind, ok := begins(line, next); ok {
			reports = append(reports, report{kind: kind, text: line})
			open = true
		} else if strings.HasPrefix(line, "-----") {
			open = false
		} else if n := len(reports); open {
			reports[n-1].objects = addName(reports[n-1].objects, valgrindObject(line))
		}
	}
	return reports, nil
}

// asked is what Valgrind says when a program that hangs is asked to end: what follows
// is of that end.
const asked = "Process terminating with default action of signal 15"

func valgrindLines(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if m := valgrindLine.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil {
			if strings.HasPrefix(m[1], asked) {
				break
			}
			lines = append(lines, strings.TrimSpace(m[1]))
		}
	}
	return lines
}

// valgrindObject returns the variable that a line of a report names.
func valgrindObject(line string) string {
	if !strings.HasPrefix(line, "Location 0x") && !strings.HasPrefix(line, "Address 0x") {
		return ""
	}
	if m := valgrindQuot.FindStringSubmatch(line); m != nil {
		return m[1]
	}
	if m := valgrindPart.FindStringSubmatch(line); m != nil {
		return m[1]
	}
	return ""
}

func addName(names []string, name string) []string {
	if name == "" || slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}

var (
	tsanHead   = regexp.MustCompile(`^WARNING: ThreadSanitizer: (.*?) \(pid=`)
	tsanObject = regexp.MustCompile(`^  Location is global '([^']+)'`)
)

// parseTSan reads what a program built with -fsanitize=thread writes.
func parseTSan(text string) ([]report, error) {
	var reports []report
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "FATAL: ThreadSanitizer") {
			return nil, fmt.Errorf("it could not start: %s", line)
		}
		if m := tsanHead.FindStringSubmatch(line); m != nil {
			reports = append(reports, report{kind: tsanKind(m[1]), text: m[1]})
		} else if m := tsanObject.FindStringSubmatch(line); m != nil && len(reports) > 0 {
			r := &reports[len(reports)-1]
			r.objects = addName(r.objects, m[1])
		}
	}
	return reports, nil
}

func tsanKind(what string) string {
	switch {
	case strings.HasPrefix(what, "data race"):
		return "race"
	case strings.HasPrefix(what, "lock-order-inversion"):
		return "deadlock"
	}
	return "misuse"
}

// parseOwn reads tracepredict's JSON report.
func parseOwn(text string) ([]report, error) {
	findings, err := trial.Findings(text)
	if err != nil {
		return nil, err
	}
	var reports []report
	for _, f := range findings {
		reports = append(reports, report{kind: f.Kind, objects: f.Objects, text: f.Confidence + ": " + f.Message})
	}
	return reports, nil
}
