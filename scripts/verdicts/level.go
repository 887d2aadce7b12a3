package main

import (
	"fmt"

	"github.com/tracepredict/tracepredict/scripts/trial"
)

// level is how sure tracepredict is of a finding; the surer, the greater.
type level int

const (
	none level = iota
	potential
	likely
	predicted
	confirmed
	observed
	levels
)

var levelNames = [levels]string{"nothing", "potential", "likely", "predicted", "confirmed", "observed"}

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
}

func (p program) judge(findings []trial.Finding) (v verdict, err error) {
	for _, f := range findings {
		l, err := levelOf(f.Confidence)
		if err != nil {
			return v, err
		}
		if l > v.level && (p.innocent() || p.defect(f)) {
			v = verdict{l, f.Kind + ": " + f.Message}
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
