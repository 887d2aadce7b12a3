package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// levels are the confidences of findings, the weakest first.
var levels = []string{"none", "potential", "likely", "predicted", "confirmed", "observed"}

// level is an index of levels.
type level int

const (
	none      level = 0
	likely    level = 2
	predicted level = 3
)

func (l level) String() string { return levels[l] }

// found is a finding of the tool.
type found struct {
	fault   fault
	level   level
	message string
	reason  string
	// confirmed reports that another run showed it, and tried that there was one.
	confirmed, tried bool
}

// step is a step of the tool's evidence.
type step struct {
	Object string `json:"object"`
	Stack  []struct {
		Line int `json:"line"`
	} `json:"stack"`
	Own int `json:"own_frame"`
}

// line returns the line of the program's own code.
func (s step) line() int {
	if s.Own < 0 || s.Own >= len(s.Stack) {
		return 0
	}
	return s.Stack[s.Own].Line
}

// parseReport returns the races and deadlocks of a JSON report, and how many other findings it has.
func parseReport(text []byte) (list []found, others int, err error) {
	var report struct {
		Run struct {
			Lost int `json:"lost"`
		} `json:"run"`
		Findings []struct {
			Kind       string   `json:"kind"`
			Confidence string   `json:"confidence"`
			Message    string   `json:"message"`
			Reason     string   `json:"reason"`
			Objects    []string `json:"objects"`
			Evidence   []step   `json:"evidence"`

			Confirmation struct {
				Confirmed bool `json:"confirmed"`
				Try       int  `json:"try"`
			} `json:"confirmation"`
		} `json:"findings"`
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return nil, 0, fmt.Errorf("read the report: %w", err)
	}
	if report.Run.Lost > 0 {
		return nil, 0, errors.New("the report misses events")
	}
	for _, f := range report.Findings {
		at := level(slices.Index(levels, f.Confidence))
		if at < 0 {
			return nil, 0, fmt.Errorf("a finding has the confidence %q", f.Confidence)
		}
		one := found{level: at, message: f.Message, reason: f.Reason, confirmed: f.Confirmation.Confirmed, tried: f.Confirmation.Try > 0}
		switch {
		case f.Kind == "race" && len(f.Evidence) == 2 && len(f.Objects) > 0:
			one.fault = race(f.Objects[0], f.Evidence[0].line(), f.Evidence[1].line())
		case f.Kind == "deadlock" && len(f.Evidence) > 1:
			var sides []string
			for _, s := range f.Evidence {
				sides = append(sides, side(s.Object, s.line()))
			}
			one.fault = deadlock(sides)
		default:
			others++
			continue
		}
		list = append(list, one)
	}
	return list, others, nil
}
