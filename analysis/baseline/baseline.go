// Package baseline compares the findings of a report with those of an earlier one, so that a run fails by new findings
// alone. They are told apart by their fingerprints.
//
// The input is a report in JSON or in SARIF, which Read recognises by its content, and a report.Report. The package knows
// no trace and no run.
package baseline

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
)

// MaxBytes is the size of the largest report that is read.
const MaxBytes = 512 << 20

// Set is the findings of an earlier report.
type Set struct {
	Name     string           // of its file
	Findings []report.Earlier // each fingerprint once, in the order of the file
}

// Open reads a file. Its error names the file, and says what is wrong.
func Open(name string) (*Set, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Read(f, name)
}

// Read reads a report in JSON or SARIF. The name is for messages.
func Read(r io.Reader, name string) (*Set, error) {
	limited := &io.LimitedReader{R: r, N: MaxBytes + 1}
	dec := json.NewDecoder(bufio.NewReader(limited))
	s := &Set{Name: name}
	for first := true; ; first = false {
		var all file
		err := dec.Decode(&all)
		switch {
		case limited.N == 0:
			return nil, fmt.Errorf("read the findings of %s: it has more than %d bytes", name, MaxBytes)
		case errors.Is(err, io.EOF) && !first:
			return s, nil
		case err != nil:
			return nil, fmt.Errorf("read the findings of %s: %w; it must be a report that --format json or sarif wrote", name, noEOF(err))
		case all.Findings == nil && all.Runs == nil:
			return nil, fmt.Errorf("read the findings of %s: it has neither findings nor runs; it must be a report that --format json or sarif wrote", name)
		}
		s.add(all.Findings)
		if all.Baseline != nil {
			s.add(all.Baseline.Known)
		}
		for _, run := range all.Runs {
			if run.Tool.Driver.Name == "tracepredict" {
				s.add(each(run.Results))
			}
		}
	}
}

// noEOF returns a clearer error for the end of a file.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("it is empty")
	}
	return err
}

// file has what is read of both formats.
type file struct {
	Findings []report.Earlier
	Baseline *struct{ Known []report.Earlier }
	Runs     []struct {
		Tool struct {
			Driver struct{ Name string }
		}
		Results []result
	}
}

type result struct {
	RuleID       string
	Message      struct{ Text string }
	Fingerprints map[string]string `json:"partialFingerprints"`
	Properties   struct{ Confidence finding.Confidence }
}

func each(all []result) (out []report.Earlier) {
	for _, r := range all {
		text, _, _ := strings.Cut(r.Message.Text, "\n")
		out = append(out, report.Earlier{
			Kind: finding.Kind(r.RuleID), Confidence: r.Properties.Confidence, Fingerprint: r.Fingerprints["tracepredict/v1"],
			Message: strings.TrimSuffix(text, "."),
		})
	}
	return out
}

func (s *Set) add(all []report.Earlier) {
	have := s.byFingerprint()
	for _, f := range all {
		if f.Fingerprint != "" && !have[f.Fingerprint] {
			have[f.Fingerprint] = true
			s.Findings = append(s.Findings, f)
		}
	}
}

func (s *Set) byFingerprint() map[string]bool {
	have := make(map[string]bool, len(s.Findings))
	for _, f := range s.Findings {
		have[f.Fingerprint] = true
	}
	return have
}

// Apply returns the report without the findings that are in the set, which are in its Baseline; that of a nil set is the
// report itself.
func (s *Set) Apply(r report.Report) report.Report {
	if s == nil {
		return r
	}
	have := s.byFingerprint()
	b := &report.Baseline{Name: s.Name}
	var fresh []report.Finding
	seen := map[string]bool{}
	for _, f := range r.Findings {
		seen[f.Fingerprint] = true
		if have[f.Fingerprint] {
			b.Known = append(b.Known, f)
		} else {
			fresh = append(fresh, f)
		}
	}
	b.Gone = slices.DeleteFunc(slices.Clone(s.Findings), func(f report.Earlier) bool { return seen[f.Fingerprint] })
	r.Findings, r.Baseline = fresh, b
	return r
}

// Diff is what differs between two reports.
type Diff struct {
	New, Gone, Both []report.Earlier
}

// Compare returns what differs between an earlier report and a later one.
func Compare(earlier, later *Set) Diff {
	var d Diff
	was, is := earlier.byFingerprint(), later.byFingerprint()
	for _, f := range later.Findings {
		if was[f.Fingerprint] {
			d.Both = append(d.Both, f)
		} else {
			d.New = append(d.New, f)
		}
	}
	for _, f := range earlier.Findings {
		if !is[f.Fingerprint] {
			d.Gone = append(d.Gone, f)
		}
	}
	return d
}
