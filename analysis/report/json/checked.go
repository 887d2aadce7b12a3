package jsonreport

import (
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/observer/run"
)

// This file has the JSON form of what was checked in a run: properties, and what was looked for.

type jsonProperties struct {
	run.Properties
	Definitions []jsonDefinition `json:"definitions"`
}

type jsonDefinition struct {
	Name     string            `json:"name"`
	Text     string            `json:"text"`
	Meanings map[string]string `json:"where"`
}

func toJSONProperties(p *run.Properties) *jsonProperties {
	if p == nil {
		return nil
	}
	out := &jsonProperties{*p, each(p.Definitions, toJSONDefinition)}
	out.Names = notNil(out.Names)
	return out
}

func toJSONDefinition(d run.Definition) jsonDefinition {
	out := jsonDefinition{d.Name, d.Text, make(map[string]string, len(d.Where))}
	for _, m := range d.Where {
		out.Meanings[m.Name] = m.Text
	}
	return out
}

type jsonCoverage struct {
	Objects []jsonKindCount `json:"objects"`
	report.Coverage
}

type jsonKindCount struct {
	Kind  string `json:"kind"`
	Count uint64 `json:"count"`
}

func toJSONCoverage(c *report.Coverage) *jsonCoverage {
	if c == nil {
		return nil
	}
	out := &jsonCoverage{each(c.Objects, func(k report.KindCount) jsonKindCount { return jsonKindCount{k.Kind.String(), k.Count} }), *c}
	out.LookedFor, out.NotLookedFor = notNil(out.LookedFor), notNil(out.NotLookedFor)
	return out
}
