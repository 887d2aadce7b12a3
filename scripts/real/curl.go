package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// curl gets files from a server of this process, many at a time, over the multi interface of libcurl.
type curl struct {
	files  int
	config []byte
	body   []byte
	server string
}

func (c *curl) name() string { return "curl -Z" }

func (c *curl) load() string {
	return fmt.Sprintf("%d files of 16 KiB, 20 at a time", c.files)
}

func (c *curl) prepare(_ context.Context, e *env) error {
	c.files, c.body = e.times(4000, 20), noise(1, 16<<10)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	c.server = l.Addr().String()
	// It ends with this process.
	go func() {
		_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(c.body) }))
	}()
	return nil
}

func (c *curl) start(_ *env, dir string) (*command, error) {
	var b strings.Builder
	for i := range c.files {
		fmt.Fprintf(&b, "url = \"http://%s/%d\"\noutput = %q\n", c.server, i, filepath.Join(dir, fmt.Sprintf("file%d", i)))
	}
	c.config = []byte(b.String())
	cmd := &command{args: []string{"/usr/bin/curl", "-q", "-Z", "--parallel-max", "20", "--no-progress-meter", "--fail-early", "--config", "-"}, bad: []string{"curl: ("}}
	return cmd, cmd.pipe()
}

func (c *curl) ready(ctx context.Context, p *process) error { return p.reads(ctx, c.config) }

func (c *curl) work(ctx context.Context, p *process) error { return p.feed(ctx, c.config) }

func (c *curl) check(_ context.Context, p *process) error {
	for i := range c.files {
		got, err := os.ReadFile(filepath.Join(p.dir, fmt.Sprintf("file%d", i)))
		if err != nil {
			return err
		}
		if !bytes.Equal(got, c.body) {
			return fmt.Errorf("file %d is not what the server sent", i)
		}
	}
	return nil
}
