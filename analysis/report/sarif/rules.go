package sarif

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
)

// home is where tracepredict's documentation is.
const home = "https://github.com/tracepredict/tracepredict"

// kind describes a kind of findings as a rule of SARIF. Its identifier is the kind's own name, which is stable.
type kind struct {
	kind              finding.Kind
	name              string // in the style of SARIF: words that each begin with a capital
	short, full, help string
	page              string // of the documentation
}

// kinds returns the rules, in the order of their indices.
func kinds() []kind {
	return []kind{
		{finding.Deadlock, "Deadlock", "Threads can wait for each other for ever.",
			"Two or more threads can each hold a lock that the next one waits for, or wait for each other at joins, conditions, semaphores and barriers. The run that was observed did not block there, unless the finding is observed: another schedule of it does.",
			"Acquire the locks in one order everywhere; or acquire both at once (std::scoped_lock); or release one before waiting for the other.", "findings.md"},
		{finding.Race, "DataRace", "Two threads can access a variable at the same time.",
			"Two threads can access the same variable at the same time, at least one of them writing, and nothing orders them.",
			"Guard every access with the same lock; or make the variable atomic. A read lock does not guard a write.", "findings.md"},
		{finding.Misuse, "ThreadingMisuse", "A rule of the threading API is broken.",
			"The run broke a rule of the threading API: it unlocked what another thread holds, destroyed what is in use, joined twice, or the like.",
			"The property \"rule\" of the result names the rule; the page says what to do about each.", "misuse.md"},
		{finding.Typestate, "ProtocolViolation", "An object is used in an order that its protocol forbids.",
			"The run, or another schedule of it, calls functions of an object in an order that its protocol, a typestate, forbids.",
			"Make the calls wait for each other, as by a join before the object is closed.", "typestates.md"},
		{finding.Scoped, "ScopeViolation", "A check between two synchronising actions is violated.",
			"The run, or another that keeps the order of its synchronisation, violates a check of what the threads did between two synchronising actions.",
			"Let the thread do what the others did before the next of these actions.", "scopes.md"},
		{finding.Property, "PropertyViolation", "A property of the specification is violated.",
			"The run, or another that its causality allows, violates a property of the specification.",
			"Make the reordered events wait for each other, or make the property hold whatever their order.", "lattice.md"},
		{finding.Knowledge, "KnowledgeViolation", "A thread does not know of another what a formula demands.",
			"A thread does not know of another what a formula of the specification demands, or knows what it should not.",
			"Let the thread synchronise with the other one before it acts; or guard what must not be seen by one lock.", "knowledge.md"},
	}
}

// rules returns the kinds as rules.
func rules() []rule {
	out := make([]rule, 0, len(kinds()))
	for _, k := range kinds() {
		uri := home + "/blob/main/docs/" + k.page
		out = append(out, rule{
			ID: string(k.kind), Name: k.name, Short: message{Text: k.short}, Full: message{Text: k.full},
			Help:    message{Text: k.full + " " + k.help, Markdown: k.full + "\n\n**How to fix it:** " + k.help + "\n\n[More](" + uri + ")"},
			HelpURI: uri, Configuration: configuration{"error"}, Properties: map[string]any{"tags": []string{"concurrency", "correctness"}},
		})
	}
	return out
}

// ruleIndex returns the index of a kind in rules; -1 for a kind without a rule.
func ruleIndex(of finding.Kind) int {
	return slices.IndexFunc(kinds(), func(k kind) bool { return k.kind == of })
}

// weight returns the level of a confidence, and its rank from 0 to 100.
func weight(c finding.Confidence) (level string, rank float64) {
	switch c {
	case finding.Observed:
		return "error", 100
	case finding.Confirmed:
		return "error", 95
	case finding.Predicted:
		return "error", 90
	case finding.Likely:
		return "warning", 50
	}
	return "note", 10
}
