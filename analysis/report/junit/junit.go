// Package junit writes reports as JUnit XML, in the form that CI systems have in common
// (https://github.com/testmoapp/junitxml): the run is a test case, and so is each cause of findings. Those that make the
// run fail are failures; the others pass, with their details as output.
package junit

import (
	"encoding/xml"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/report"
	textreport "github.com/tracepredict/tracepredict/analysis/report/text"
	"github.com/tracepredict/tracepredict/internal/plural"
)

type suites struct {
	XMLName  xml.Name `xml:"testsuites"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Errors   int      `xml:"errors,attr"`
	Time     string   `xml:"time,attr"` // seconds
	Suites   []suite  `xml:"testsuite"`
}

type suite struct {
	Name       string     `xml:"name,attr"`
	Tests      int        `xml:"tests,attr"`
	Failures   int        `xml:"failures,attr"`
	Errors     int        `xml:"errors,attr"`
	Skipped    int        `xml:"skipped,attr"`
	Time       string     `xml:"time,attr"`
	Properties []property `xml:"properties>property"`
	Cases      []testCase `xml:"testcase"`
}

type property struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type testCase struct {
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	File    string   `xml:"file,attr,omitempty"`
	Line    int      `xml:"line,attr,omitempty"`
	Time    string   `xml:"time,attr"`
	Failure *outcome `xml:"failure,omitempty"`
	Error   *outcome `xml:"error,omitempty"`
	Output  *output  `xml:"system-out,omitempty"`
}

// outcome has its text twice: some readers show the attribute alone, others the body.
type outcome struct {
	Type    string `xml:"type,attr"`
	Message string `xml:"message,attr"`
	Text    string `xml:",cdata"`
}

// output is text in which lines are lines, in the file too.
type output struct {
	Text string `xml:",cdata"`
}

// Write writes the report as one test suite. Of the options it uses Fails, SourceRoot and Width.
func Write(w io.Writer, r report.Report, o report.Options) error {
	r = r.Cleaned()
	o.Color = false
	seconds := fmt.Sprintf("%.3f", r.Run.Duration.Seconds())
	program := path.Base(r.Run.Program)
	s := suite{Name: "tracepredict " + program, Time: seconds, Properties: properties(&r)}
	observed := testCase{Class: "tracepredict.run", Name: "observe " + program, Time: seconds, Output: &output{characters(report.Summary(r))}}
	if r.Run.Failed != "" {
		observed.Error = &outcome{"tracepredict", r.Run.Failed, characters(r.Run.Failed)}
		s.Errors = 1
	}
	s.Cases = []testCase{observed}
	for _, c := range r.Causes() {
		t := caseOf(r, &c, o)
		if t.Failure != nil {
			s.Failures++
		}
		s.Cases = append(s.Cases, t)
	}
	s.Tests = len(s.Cases)
	all := suites{Name: "tracepredict", Tests: s.Tests, Failures: s.Failures, Errors: s.Errors, Time: seconds, Suites: []suite{s}}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", " ")
	if err := enc.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// properties returns what was observed. Values have a unit or a word, since some readers take text that looks like a
// number for one.
func properties(r *report.Report) []property {
	out := []property{
		{"program", r.Run.Program},
		{"events", plural.Sprintf("%d {event|events}", r.Run.Events)},
		{"threads", plural.Sprintf("%d {thread|threads}", r.Run.Threads)},
		{"lost", plural.Sprintf("%d {event|events}", r.Run.Lost)},
	}
	if all := r.Run.ProcessesObserved(); all != "" {
		out = append(out, property{"processes", all})
	}
	for _, n := range r.Run.NoteLines() {
		out = append(out, property{"note", n})
	}
	return out
}

// caseOf returns the test case of a cause. Its name is the same in each run of the same program.
func caseOf(r report.Report, c *report.Cause, o report.Options) testCase {
	f := c.Lead
	t := testCase{Class: "tracepredict." + string(f.Kind), Name: name(f), Time: "0.000"}
	at := f.Place()
	if file, ok := o.InSource(at.File); ok && at.File != "" {
		t.File, t.Line = file, at.Line
	}
	text := characters(textreport.Details(r, c, o))
	if failing(c, &o) {
		t.Failure = &outcome{string(f.Kind) + "." + string(f.Confidence), f.Message + ".", text}
	} else {
		t.Output = &output{text}
	}
	return t
}

// failing reports whether a finding of a cause makes the run fail.
func failing(c *report.Cause, o *report.Options) bool {
	return o.Failing(c.Lead) || slices.ContainsFunc(c.Others, o.Failing)
}

// characters returns text without the characters that XML cannot have.
func characters(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r >= ' ' && r != 0xfffe && r != 0xffff {
			return r
		}
		return '\uFFFD'
	}, s)
}

// shortFingerprint is the number of digits of a fingerprint in a name, so many that those of two findings differ.
const shortFingerprint = 12

// name returns a name for a finding that is the same in each run: with the names of its objects but for addresses, and the
// beginning of its fingerprint.
func name(f *report.Finding) string {
	var of []string
	for _, x := range f.Objects {
		if !x.Anonymous && !strings.HasPrefix(x.Name, "0x") {
			of = append(of, report.ShortName(x.Name, 60))
		}
	}
	if f.Property != "" {
		of = append(of, f.Property)
	}
	text := string(f.Kind)
	if len(of) > 0 {
		text += " of " + strings.Join(of, ", ")
	}
	return fmt.Sprintf("%s (%s)", text, f.Fingerprint[:min(shortFingerprint, len(f.Fingerprint))])
}
