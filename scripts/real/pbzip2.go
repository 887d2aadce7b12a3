package main

import (
	"bytes"
	"compress/bzip2"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// pbzip2 compresses what it reads from a pipe; what it wrote is uncompressed by
// another program's code and compared.
type pbzip2 struct {
	input []byte
	first [sha256.Size]byte // of the first run's output
}

func (b *pbzip2) name() string { return "pbzip2" }

func (b *pbzip2) load() string {
	return fmt.Sprintf("2 threads compress %d MB in blocks of 100 kB", len(b.input)/1e6)
}

func (b *pbzip2) prepare(_ context.Context, e *env) error {
	b.input = prose(e.times(192e6, 1e6))
	return nil
}

func (b *pbzip2) start(_ *env, dir string) (*command, error) {
	output, err := os.Create(filepath.Join(dir, "output.bz2"))
	if err != nil {
		return nil, err
	}
	c := &command{args: []string{"/usr/bin/pbzip2", "-z", "-c", "-p2", "-1", "-b1"}, stdout: output}
	return c, c.pipe()
}

func (b *pbzip2) ready(ctx context.Context, p *process) error { return p.reads(ctx, b.input) }

func (b *pbzip2) work(ctx context.Context, p *process) error { return p.feed(ctx, b.input) }

func (b *pbzip2) check(_ context.Context, p *process) error {
	packed, err := os.ReadFile(filepath.Join(p.dir, "output.bz2"))
	if err != nil {
		return err
	}
	sum := sha256.Sum256(packed)
	if b.first == ([sha256.Size]byte{}) {
		unpacked, err := io.ReadAll(bzip2.NewReader(bytes.NewReader(packed)))
		if err != nil {
			return err
		}
		if !bytes.Equal(unpacked, b.input) {
			return errors.New("what it compressed is not what it was given")
		}
		b.first = sum
	}
	if sum != b.first {
		return errors.New("its output differs from the run before")
	}
	return nil
}
