package main

import (
	"fmt"

	"github.com/tracepredict/tracepredict/scripts/trial"
)

// level is how sure tracepredict is of a finding before it confirms it; the surer, the greater.
type level int

const (
	none level = iota
	potential
	likely
	predicted
	observed
	levels
)

var levelNames = [levels]string{"nothing", "potential", "likely", "predicted", "observed"}

func (l level) String() string { return levelNames[l] }

func levelOf(confidence string) (level, error) {
	for l := potential; l < levels; l++ {
		if l.String() == confidence {
			return l, nil
		}
	}
	return none, fmt.Errorf("a finding has the confidence %q, of which nothing is known", confidence)
}

// verdict is what the report on a program comes to.
type verdict struct {
	level level  // of the strongest finding that counts: of an innocent program any, else the defect
	first string // its first line
	// tried is what came of confirming it, or another finding that counts, if one was confirmed; nil: nothing was tried.
	tried *trial.Confirmation
}

func (v verdict) confirmed() bool { return v.tried != nil && v.tried.Confirmed }

func (p program) judge(findings []trial.Finding) (v verdict, err error) {
	for _, f := range findings {
		l, err := levelOf(f.Level())
		if err != nil {
			return v, err
		}
		if !p.innocent() && !p.defect(f) {
			continue
		}
		if l > v.level {
			v.level, v.first = l, f.Kind+": "+f.Message
			if !v.confirmed() {
				v.tried = f.Confirmation
			}
		}
		if f.IsConfirmed() && !v.confirmed() {
			v.tried = f.Confirmation
		}
	}
	return v, nil
}

func (p program) defect(f trial.Finding) bool {
	for _, e := range p.expect {
		if e.is(f) {
			return true
		}
	}
	return false
}
