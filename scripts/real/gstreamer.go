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

// gstreamer is the GLib program: a pipeline whose three threads pass frames on and scale them.
type gstreamer struct {
	input []byte
	first []byte // sum of the first run's output
}

const gstreamerFrame = 320 * 240 // bytes

func (g *gstreamer) name() string { return "gst-launch-1.0" }

func (g *gstreamer) load() string {
	return fmt.Sprintf("GLib: three threads pass on and scale %d frames", len(g.input)/gstreamerFrame)
}

func (g *gstreamer) prepare(_ context.Context, e *env) error {
	g.input = noise(2, e.times(400*gstreamerFrame, gstreamerFrame))
	return nil
}

func (g *gstreamer) start(_ *env, dir string) (*command, error) {
	output, err := os.Create(filepath.Join(dir, "output"))
	if err != nil {
		return nil, err
	}
	c := &command{args: []string{"/usr/bin/gst-launch-1.0", "-q", "fdsrc", "fd=0", fmt.Sprintf("blocksize=%d", gstreamerFrame), "!", "queue", "!", "rawvideoparse", "width=320", "height=240",
		"format=gray8", "!", "videoscale", "method=lanczos", "!", "video/x-raw,width=1920,height=1440", "!", "queue", "!", "videoscale", "method=lanczos", "!", "video/x-raw,width=32,height=24", "!", "fdsink", "fd=1"},
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
	if g.first == nil {
		g.first = sum.Sum(nil)
	}
	if !bytes.Equal(sum.Sum(nil), g.first) {
		return errors.New("its output differs from the run before")
	}
	return nil
}
