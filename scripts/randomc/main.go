// Command randomc compares what tracepredict says of random C programs with what is true of them.
//
// For each seed it draws the model of a small program of two to four threads that use mutexes,
// read-write locks, conditions, semaphores, atomic and plain variables, and a run of the model that
// ends well. It writes the program as C: every operation waits for a time slot, so that the program
// shows that run, and the slots order nothing that the tool observes. The races and deadlocks of
// all interleavings of the model are enumerated: no finding that is predicted, confirmed or observed
// may be missing among them. So are those that a reordering of the run's own events reaches, by the
// rules of docs/witnesses.md: 95 % of them have to be at least likely.
//
// With -watch half or none, what threads do can depend on what is not watched. Then findings of
// programs that have races on such variables are not judged, since predictions assume that there
// are none, and races on them are not asked for.
//
// With -confirm the tool runs the programs again to confirm its findings. None that no interleaving shows may be confirmed,
// whatever is watched.
//
// The command runs from the top of the tree, as root, with ./tracepredict built (make randomc does
// all that). The source and the report of each program are kept. It fails if a finding is false or
// too many are missed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/tracepredict/tracepredict/scripts/entry"
)

type config struct {
	tool     string
	seed     uint64
	programs int
	kept     string // the folder of what is kept
	jobs     int
	slot     time.Duration
	limit    time.Duration
	watch    string // which variables are watched: a key of watches
	confirm  bool
	quiet    bool
}

func parseFlags() (c config, err error) {
	flag.StringVar(&c.tool, "tool", "./tracepredict", "the tracepredict to examine")
	flag.Uint64Var(&c.seed, "seed", 1, "the seed of the first program; the next one has the next seed")
	flag.IntVar(&c.programs, "programs", 500, "`N` programs")
	flag.StringVar(&c.kept, "kept", "build/randomc", "the `folder` that keeps, by seed, the programs, what is true of them, and the reports")
	flag.IntVar(&c.jobs, "jobs", 2, "`N` programs at once")
	flag.DurationVar(&c.slot, "slot", time.Millisecond, "the time of an operation; it is doubled for a program that does not keep to it")
	flag.DurationVar(&c.limit, "limit", 20*time.Second, "the time that a program gets under the tool")
	flag.StringVar(&c.watch, "watch", "all", "which plain variables are watched: all, half or none of them, each by its name, or shared (--watch-shared)")
	flag.BoolVar(&c.confirm, "confirm", false, "run each program again to confirm what is found (--confirm): nothing that is false may be confirmed; -limit has to be longer")
	flag.BoolVar(&c.quiet, "quiet", false, "print the totals alone")
	flag.Parse()
	if flag.NArg() > 0 || c.programs < 1 || c.jobs < 1 || c.slot < time.Microsecond || c.limit <= 0 || watches[c.watch] == nil {
		return c, errors.New("wrong usage; -help tells the flags")
	}
	return c, nil
}

func main() { entry.Main("randomc", parseFlags, run) }

func run(ctx context.Context, c config) error {
	all := newTotals()
	for v := range c.examine(ctx) {
		all.add(v)
		if !c.quiet {
			v.print(os.Stdout)
		}
		if done := all.programs + all.failed; done%100 == 0 {
			fmt.Fprintf(os.Stderr, "randomc: %d of %d programs\n", done, c.programs)
		}
	}
	err := all.print(os.Stdout)
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	return err
}
