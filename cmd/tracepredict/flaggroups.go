package main

import "github.com/tracepredict/tracepredict/cmd/tracepredict/manual"

// flagGroups are the flags that belong together in help. Those of the first group are what most users need, at most
// twelve of a command: --help of a command with many flags shows these alone.
func flagGroups() []manual.Group {
	return []manual.Group{
		{Title: "Common flags", Names: []string{
			"pid", "watch", "watch-shared", "spec", "scope", "type", "to", "locks", "confirm", "follow", "duration", "record", "format", "output",
			"fail-on", "baseline", "suppressions", "dry-run", "top", "flame", "contended",
		}},
		{Title: "What is observed", Names: []string{
			"watch-hw", "no-watch-hw", "module", "not-module", "on", "sync", "no-atomics", "order", "stacks", "sites",
		}},
		{Title: "The program", Names: []string{
			"user", "repeat", "jitter", "serial", "seed", "settle", "on-hang", "lossy", "touch-other-processes",
		}},
		{Title: "Which errors are looked for", Names: []string{
			"misuse", "lock-classes", "rwlock-policy", "check", "formula",
		}},
		{Title: "Specifications", Names: []string{
			"include", "partial", "causality", "racing-types", "monitor", "on-violation", "rank", "k", "s", "rule", "tails", "dot",
		}},
		{Title: "Confirming", Names: []string{"gdb", "tries", "confirm-time", "confirm-stdin", "confirm-setup", "confirm-core"}},
		{Title: "The report", Names: []string{
			"confidence", "findings-exit", "fail-on-mined", "explain-pruned", "verbose", "stats", "progress", "profile", "source-root",
			"gen-suppressions", "no-default-suppressions",
		}},
		{Title: "Traces of other tools", Names: []string{"strict", "repair", "dialect"}},
		{Title: "Bounds of what it may cost", Names: []string{
			"budget", "memory", "analysis-time", "ring", "no-plan-cache", "window", "queue", "history", "reversals", "max-cycle", "cycle-budget",
			"max-patterns", "unshared-after", "alone-after", "guarded-after", "elements-after",
		}},
	}
}
