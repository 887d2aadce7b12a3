package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"
)

// standIn is the name of the program that is built to be as large as those of machine learning.
const standIn = "stand-in"

const (
	standInLibraries = 60
	standInParts     = 350 // of a library, each of 64 KiB of code
)

// standInFiles are those of the stand-in.
type standInFiles struct {
	program string
	size    int64 // bytes of the libraries, all together
}

// buildStandIn builds the stand-in with so many libraries, at least 1, in a new folder. They are scale times as large
// as usual, and have one part at least.
func buildStandIn(ctx context.Context, dir string, libraries int, scale float64) (f standInFiles, err error) {
	sources, err := filepath.Abs("scripts/real/testdata/large")
	if err != nil {
		return f, err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return f, err
	}
	if err := os.WriteFile(filepath.Join(dir, "entries.h"), []byte(entriesHeader(libraries)), 0o644); err != nil {
		return f, err
	}
	gcc := func(ctx context.Context, args ...string) error {
		cmd := exec.CommandContext(ctx, "gcc", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("gcc %.200s: %w\n%s", strings.Join(args, " "), err, out)
		}
		return nil
	}
	if err := gcc(ctx, "-O2", "-fPIC", "-c", "-o", "part.o", filepath.Join(sources, "part.c")); err != nil {
		return f, err
	}
	parts := partsOf(scale)
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(2)
	for i := range libraries {
		group.Go(func() error {
			entry, library := fmt.Sprintf("entry%d.o", i+1), fmt.Sprintf("liblarge%d.so", i+1)
			if err := gcc(groupCtx, "-O2", "-fPIC", fmt.Sprintf("-DID=%d", i+1), "-c", "-o", entry, filepath.Join(sources, "entry.c")); err != nil {
				return err
			}
			return gcc(groupCtx, append([]string{"-shared", "-s", "-Wl,--build-id", "-o", library, entry}, parts...)...)
		})
	}
	if err := group.Wait(); err != nil {
		return f, err
	}
	if err := gcc(ctx, "-O2", "-fPIC", "-shared", "-s", "-Wl,--build-id", "-pthread", "-o", "libdriver.so", filepath.Join(sources, "driver.c")); err != nil {
		return f, err
	}
	link := []string{"-O2", "-g", "-pthread", "-I.", "-o", "train", filepath.Join(sources, "train.c"), "-L.", "-Wl,-rpath,$ORIGIN"}
	for i := range libraries {
		link = append(link, fmt.Sprintf("-llarge%d", i+1))
	}
	if err := gcc(ctx, append(link, "-ldriver")...); err != nil {
		return f, err
	}
	f.program = filepath.Join(dir, "train")
	f.size, err = sizeOf(filepath.Join(dir, "liblarge*.so"))
	return f, err
}

// partsOf returns the parts of a library, as a linker takes them.
func partsOf(scale float64) []string {
	parts := make([]string, max(1, int(math.Round(standInParts*scale))))
	for i := range parts {
		parts[i] = "part.o"
	}
	return parts
}

// entriesHeader returns the declarations of what n libraries export, and a table of it.
func entriesHeader(n int) string {
	var declared, listed strings.Builder
	for i := range n {
		fmt.Fprintf(&declared, "int lib_entry_%d(int);\n", i+1)
		fmt.Fprintf(&listed, "\tlib_entry_%d,\n", i+1)
	}
	return fmt.Sprintf("enum { entries = %d };\n%sstatic int (*const all[])(int) = {\n%s};\n", n, &declared, &listed)
}

// sizeOf returns the bytes of the files of a pattern.
func sizeOf(pattern string) (size int64, err error) {
	names, err := filepath.Glob(pattern)
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return 0, err
		}
		size += info.Size()
	}
	return size, nil
}
