package main

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tracepredict/tracepredict/analysis/deadlock/goodlock"
)

// lockFlags bound the analysis of lock orders.
type lockFlags struct {
	explain     bool
	rwlocks     string
	maxCycle    int
	cycleBudget int
	maxEdges    int
	classes     bool
}

var rwlockPolicies = map[string]goodlock.Policy{"auto": goodlock.ByLockKind, "reader": goodlock.ReaderPreferring, "writer": goodlock.WriterPreferring}

func (f *lockFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.BoolVar(&f.explain, "explain-pruned", false, "list the candidates that are not findings, and why: one thread alone, a gate lock, an order that every schedule keeps")
	fs.StringVar(&f.rwlocks, "rwlock-policy", "auto", "whether read-write locks prefer readers or writers when a writer waits: `auto|reader|writer`; with writer, readers wait behind it; with auto, each lock's kind decides, which is read from its memory")
	fs.BoolVar(&f.classes, "lock-classes", false, "look for deadlocks between classes of locks too (all locks of one field of one type, or initialised at one source location), even if no two threads acquired the same locks")
	fs.IntVar(&f.maxCycle, "max-cycle", 0, "look for deadlocks of at most `N` threads; 0 is no limit")
	fs.IntVar(&f.cycleBudget, "cycle-budget", 0, fmt.Sprintf("end the search for deadlocks after `N` steps, of less than a microsecond each; 0 is the default, %d", goodlock.DefaultBudget))
	fs.IntVar(&f.maxEdges, "max-patterns", 0, fmt.Sprintf("keep at most `N` lock orders; 0 is the default, %d", goodlock.DefaultMaxEdges))
}

func (f *lockFlags) check() error {
	if err := oneOf("rwlock-policy", f.rwlocks, "auto", "reader", "writer"); err != nil {
		return err
	}
	if f.maxCycle < 0 || f.maxCycle == 1 {
		return usage("--max-cycle %d: it is at least 2, or 0 for no limit", f.maxCycle)
	}
	return cmp.Or(notNegative("cycle-budget", f.cycleBudget), notNegative("max-patterns", f.maxEdges))
}

func (f *lockFlags) locks() goodlock.Options {
	return goodlock.Options{Policy: rwlockPolicies[f.rwlocks], MaxThreads: f.maxCycle, Budget: f.cycleBudget, MaxEdges: f.maxEdges}
}
