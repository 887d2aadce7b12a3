// Package entry is what the commands of this folder that run programs for minutes
// have in common: how they begin, and how they end.
package entry

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// Main parses a command's flags and runs it. It exits 2 if the flags are wrong, 1 if the
// command failed, and says why. A signal ends the context instead of this process, since
// a command that ends programs and takes folders away has to be there for that.
func Main[Config any](name string, parse func() (Config, error), run func(context.Context, Config) error) {
	c, err := parse()
	if err != nil {
		exit(name, 2, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	err = run(ctx, c)
	stop()
	if err != nil {
		exit(name, 1, err)
	}
}

func exit(name string, status int, err error) {
	fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
	os.Exit(status)
}
