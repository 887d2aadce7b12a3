// Package format is the table of the formats of reports. A format is a folder beside this one with a writer over a
// report.Report, which is plain data, and a line in All; the command line takes all that it says of formats from here.
package format

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/github"
	"github.com/tracepredict/tracepredict/analysis/report/gitlab"
	"github.com/tracepredict/tracepredict/analysis/report/html"
	jsonreport "github.com/tracepredict/tracepredict/analysis/report/json"
	"github.com/tracepredict/tracepredict/analysis/report/junit"
	"github.com/tracepredict/tracepredict/analysis/report/markdown"
	"github.com/tracepredict/tracepredict/analysis/report/sarif"
	textreport "github.com/tracepredict/tracepredict/analysis/report/text"
)

// Format is a form in which a report is written.
type Format struct {
	Name  string // as --format names it
	About string // what it is, to follow "is" in --help
	// Write writes a report. Equal reports and options are equal bytes. Of the options it uses those that mean something
	// for the format.
	Write func(io.Writer, report.Report, report.Options) error
	// Single: a file has one report, since a second one behind it would not be read.
	Single bool
}

// All returns the formats, the default first.
func All() []Format {
	return []Format{
		{"text", "for people", textreport.Write, false},
		{"json", "one JSON object, for scripts", jsonreport.Write, false},
		{"json2", "JSON with the frames of call stacks in a table alone", jsonreport.WriteTables, false},
		{"sarif", "SARIF 2.1.0, for code scanning and editors", sarif.Write, true},
		{"junit", "JUnit XML, for test reports", junit.Write, true},
		{"gitlab", "Code Quality JSON, for merge requests on GitLab", gitlab.Write, true},
		{"github", "annotations of GitHub Actions", github.Write, false},
		{"html", "one page for a browser", html.Write, true},
		{"markdown", "for comments and step summaries", markdown.Write, false},
	}
}

// Default returns the name of the format of a report if none is chosen.
func Default() string { return All()[0].Name }

// IsSingle reports whether a file in the format of a name has one report.
func IsSingle(name string) bool {
	return slices.ContainsFunc(All(), func(f Format) bool { return f.Name == name && f.Single })
}

// Names returns the names of the formats, the default first.
func Names() []string {
	var names []string
	for _, f := range All() {
		names = append(names, f.Name)
	}
	return names
}

// Help returns the text of --help for a flag that chooses a format, with its values between backquotes.
func Help() string {
	var about []string
	for _, f := range All() {
		about = append(about, f.Name+" is "+f.About)
	}
	return fmt.Sprintf("format of the report: `%s`; %s", strings.Join(Names(), "|"), strings.Join(about, "; "))
}

// Write writes a report in the format of a name. Its error says what failed, or that there is no such format.
func Write(w io.Writer, name string, r report.Report, o report.Options) error {
	for _, f := range All() {
		if f.Name == name {
			return f.Write(w, r, o)
		}
	}
	return fmt.Errorf("there is no format %q", name)
}
