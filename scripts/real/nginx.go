package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sync/errgroup"
)

// nginx serves files that its thread pool reads; each body is compared.
type nginx struct {
	requests int
	files    [][]byte
}

const (
	nginxClients = 8
	nginxFiles   = 64
)

// One process, so that exec and attach observe the one that does the work.
const nginxConfig = `daemon off;
master_process off;
pid nginx.pid;
error_log stderr warn;
thread_pool default threads=4;
events { worker_connections 256; }
http {
	access_log off;
	client_body_temp_path body;
	proxy_temp_path proxy;
	fastcgi_temp_path fastcgi;
	uwsgi_temp_path uwsgi;
	scgi_temp_path scgi;
	keepalive_requests 1000000;
	aio threads;
	sendfile off;
	output_buffers 2 32k;
	server {
		listen 127.0.0.1:%d;
		root %s;
	}
}
`

func (n *nginx) name() string { return "nginx" }

func (n *nginx) load() string {
	return fmt.Sprintf("a thread pool of 4 reads the files, %d clients without pause, %d GETs of 64 KiB", nginxClients, n.requests)
}

func (n *nginx) prepare(_ context.Context, e *env) error {
	n.requests = e.times(80_000, nginxClients)
	for i := range nginxFiles {
		text := noise(uint64(i), 64<<10)
		n.files = append(n.files, text)
		if err := os.WriteFile(filepath.Join(e.dir, strconv.Itoa(i)), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (n *nginx) start(e *env, dir string) (*command, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	config := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(config, fmt.Appendf(nil, nginxConfig, port, e.dir), 0o644); err != nil {
		return nil, err
	}
	return &command{
		args: []string{"/usr/sbin/nginx", "-p", dir, "-c", config, "-e", "stderr"},
		port: port, serves: true, bad: []string{"[error]", "[crit]", "[alert]", "[emerg]"},
	}, nil
}

func (n *nginx) ready(ctx context.Context, p *process) error {
	return p.poll(ctx, func() error { return n.client(ctx, p, 0, 1) })
}

func (n *nginx) work(ctx context.Context, p *process) error {
	g, ctx := errgroup.WithContext(ctx)
	for client := range nginxClients {
		g.Go(func() error { return n.client(ctx, p, client, n.requests/nginxClients) })
	}
	return g.Wait()
}

// client speaks HTTP by hand: net/http's client would take more of the two
// cores than the server.
func (n *nginx) client(ctx context.Context, p *process, client, requests int) error {
	conn, err := p.dial()
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	in := bufio.NewReaderSize(conn, 64<<10)
	body := make([]byte, 64<<10)
	for i := range requests {
		file := (client*31 + i*7) % nginxFiles
		if _, err := fmt.Fprintf(conn, "GET /%d HTTP/1.1\r\nHost: real\r\n\r\n", file); err != nil {
			return err
		}
		answer, err := http.ReadResponse(in, nil)
		if err != nil {
			return err
		}
		if answer.StatusCode != http.StatusOK || answer.ContentLength != int64(len(n.files[file])) {
			return fmt.Errorf("GET /%d: %s, %d bytes", file, answer.Status, answer.ContentLength)
		}
		if _, err := io.ReadFull(answer.Body, body); err != nil {
			return fmt.Errorf("GET /%d: %w", file, err)
		}
		if !bytes.Equal(body, n.files[file]) {
			return fmt.Errorf("GET /%d: the body is not the file", file)
		}
		answer.Body.Close()
	}
	return nil
}

// check has nothing left to do: each body was compared as it came.
func (n *nginx) check(context.Context, *process) error { return nil }
