// Command chaos observes servers under load while it kills, stops and starves tracepredict and the servers' processes at
// random, and looks after each round whether a server was harmed.
//
// The rounds are drawn from a seed, which it prints: the server (memcached, where it is installed; a C++ service whose
// threads come and go; a server that forks), how it is observed, and what happens. A server is harmed if it ends or
// stops, answers wrongly or no more, or keeps a breakpoint, a probe or a tracer; a report is wrong if it is no report, or
// events were lost though they had not to be. After cgroup.kill, where the kernel may leave breakpoints, tracepredict
// repair is called first, and what it removed is counted. The first harm ends chaos with status 1, the seed and the number of the round. It
// runs from the top of the tree, as root, with ./tracepredict built (make chaos does all that). docs/performance.md has
// the counts of a long run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/scripts/entry"
)

type config struct {
	tool string
	logs string        // where servers are built, and what the tool said in each round is kept
	time time.Duration // how long rounds begin
	seed uint64
	only int    // the number of the only round; 0: all
	what string // only rounds in which this happens; "": all
}

func parseFlags() (c config, err error) {
	flag.StringVar(&c.tool, "tool", "./tracepredict", "the tracepredict to try")
	flag.StringVar(&c.logs, "logs", "build/chaos", "the `folder` that keeps the servers, and what tracepredict said in the last rounds")
	flag.DurationVar(&c.time, "for", 2*time.Minute, "begin rounds for this time")
	flag.Uint64Var(&c.seed, "seed", rand.Uint64N(1e9), "the seed of what is drawn; random by default")
	flag.IntVar(&c.only, "round", 0, "only the round of this `number`")
	flag.StringVar(&c.what, "what", "", "only rounds in which this `happens`, as the table names it")
	flag.Parse()
	if flag.NArg() > 0 || c.time <= 0 || c.only < 0 {
		return c, errors.New("wrong usage; -help tells the flags")
	}
	if c.what != "" && !slices.Contains(happenings, happening(c.what)) {
		return c, fmt.Errorf("-what %q: it is one of %q", c.what, happenings)
	}
	return c, nil
}

func main() { entry.Main("chaos", parseFlags, inNamespace) }

// namespaceVariable is set in the environment of the process that has a mount namespace of its own.
const namespaceVariable = "TRACEPREDICT_CHAOS_NAMESPACE"

// inNamespace runs chaos in a process with a mount namespace of its own, so that the small disk is nobody else's, and is
// gone when that process is. Where there is none to be had, chaos runs without a small disk.
func inNamespace(ctx context.Context, c config) error {
	if os.Getenv(namespaceVariable) != "" {
		return run(ctx, c, "")
	}
	again := exec.Command("/proc/self/exe", append(os.Args[1:], fmt.Sprintf("-seed=%d", c.seed))...)
	again.Env = append(os.Environ(), namespaceVariable+"=1")
	again.Stdin, again.Stdout, again.Stderr = os.Stdin, os.Stdout, os.Stderr
	again.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS, Pdeathsig: unix.SIGTERM}
	if err := again.Start(); err != nil {
		return run(ctx, c, fmt.Sprintf("no mount namespace: %v", err))
	}
	defer context.AfterFunc(ctx, func() { _ = again.Process.Signal(unix.SIGTERM) })()
	err := again.Wait()
	if status := again.ProcessState.ExitCode(); err != nil && status > 0 {
		os.Exit(status) // it has said why
	}
	return err
}

// run runs rounds until the time is over, and prints what came of them. noDisk is why there can be no small disk.
func run(ctx context.Context, c config, noDisk string) error {
	r, err := newRunner(ctx, c, noDisk)
	if err != nil {
		return err
	}
	defer r.close()
	fmt.Printf("chaos: seed %d, for %v\n", c.seed, c.time)
	began, first := time.Now(), max(c.only, 1)
	for n := first; ctx.Err() == nil && time.Since(began) < c.time && (c.only == 0 || n == first); n++ {
		if err = r.round(ctx, n); err != nil {
			break
		}
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	r.counts.print(os.Stdout, time.Since(began), c.seed, r.served())
	return err
}
