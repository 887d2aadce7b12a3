package main

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tracepredict/tracepredict/scripts/empty"
)

// emptyProbes are programs that do nothing where tracepredict puts its own, in a
// copy of the C library, so that no other process pays.
type emptyProbes struct {
	empty.Probes
	folder string // for LD_LIBRARY_PATH
}

func newEmptyProbes(c *config, program string) (*emptyProbes, error) {
	libc, err := empty.Libc(program)
	if err != nil {
		return nil, err
	}
	all, err := empty.Sites(c.tool, libc)
	if err != nil {
		return nil, err
	}
	var pair []empty.Site
	for _, s := range all {
		name := strings.TrimPrefix(s.Function, "__")
		if name == "pthread_mutex_lock" && s.Observes == "acquire mutex" || name == "pthread_mutex_unlock" && s.Observes == "release mutex" {
			pair = append(pair, s)
		}
	}
	if len(pair) < 2 {
		return nil, fmt.Errorf("%s sites %s does not show where lock and unlock are probed", c.tool, libc)
	}
	e := &emptyProbes{folder: filepath.Join(c.dir, "lib")}
	library := filepath.Join(e.folder, "libc.so.6")
	if err := copyFile(library, libc); err != nil {
		return nil, err
	}
	if err := e.Attach(library, pair, 0); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// atFloor puts an empty program at each of the two calls of a pair in the
// program compiled with -DFLOOR.
func (e *emptyProbes) atFloor(program string) error {
	f, err := elf.Open(program)
	if err != nil {
		return err
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		return fmt.Errorf("read the symbols of %s: %w", program, err)
	}
	var sites []empty.Site
	for _, s := range symbols {
		if s.Name == "floor_lock" || s.Name == "floor_unlock" {
			sites = append(sites, empty.Site{Addr: s.Value, Function: s.Name})
		}
	}
	if len(sites) != 2 {
		return fmt.Errorf("%s has %d of the two functions to probe", program, len(sites))
	}
	return e.Attach(program, sites, 0)
}

func copyFile(to, from string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	raw, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, raw, 0o755)
}
