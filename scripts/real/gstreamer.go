package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// gstreamer is the GLib program: a pipeline whose three threads pass on what it reads.
type gstreamer struct{ input []byte }

func (g *gstreamer) name() string { return "gst-launch-1.0" }

func (g *gstreamer) load() string {
	return fmt.Sprintf("GLib: three threads pass %d MB on, 4 KiB at a time", len(g.input)/1e6)
}

func (g *gstreamer) prepare(_ context.Context, e *env) error {
	g.input = noise(2, e.times(120e6, 1e6))
	return nil
}

func (g *gstreamer) start(_ *env, dir string) (*command, error) {
	output, err := os.Create(filepath.Join(dir, "output"))
	if err != nil {
		return nil, err
	}
	c := &command{args: []string{"/usr/bin/gst-launch-1.0", "-q", "fdsrc", "fd=0", "blocksize=4096", "!", "queue", "!", "identity", "!", "queue", "!", "fdsink", "fd=1"},
		stdout: output, bad: []string{"ERROR", "CRITICAL"}}
	return c, c.pipe()
}

func (g *gstreamer) ready(ctx context.Context, p *process) error { return p.reads(ctx, g.input) }

func (g *gstreamer) work(ctx context.Context, p *process) error { return p.feed(ctx, g.input) }

func (g *gstreamer) check(_ context.Context, p *process) error {
	f, err := os.Open(filepath.Join(p.dir, "output"))
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return err
	}
	if want := sha256.Sum256(g.input); !bytes.Equal(sum.Sum(nil), want[:]) {
		return errors.New("its output is not its input")
	}
	return nil
}
