package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
)

// memcached takes sets and gets from clients that keep it busy, each waiting for
// its answer before it asks again. Every value that comes back is compared.
type memcached struct{ requests int }

const (
	memcachedClients = 8
	memcachedKeys    = 1000 // of each client
)

func (m *memcached) name() string { return "memcached" }

func (m *memcached) load() string {
	return fmt.Sprintf("2 threads, %d clients without pause, %d sets and gets", memcachedClients, m.requests)
}

func (m *memcached) prepare(_ context.Context, e *env) error {
	m.requests = e.times(300_000, memcachedClients*10)
	return nil
}

func (m *memcached) start(*env, string) (*command, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	return &command{
		args: []string{"/usr/bin/memcached", "-l", "127.0.0.1", "-p", strconv.Itoa(port), "-U", "0", "-t", "2", "-m", "128"},
		port: port, serves: true,
	}, nil
}

func (m *memcached) ready(ctx context.Context, p *process) error {
	return p.poll(ctx, func() error {
		_, err := memcachedStat(p, "pid")
		return err
	})
}

func (m *memcached) work(ctx context.Context, p *process) error {
	g, ctx := errgroup.WithContext(ctx)
	for client := range memcachedClients {
		g.Go(func() error { return memcachedClient(ctx, p, client, m.requests/memcachedClients) })
	}
	return g.Wait()
}

// memcachedClient sets each tenth time, and otherwise gets what it set last
// under one of its keys.
func memcachedClient(ctx context.Context, p *process, client, requests int) error {
	conn, err := p.dial()
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	in := bufio.NewReader(conn)
	var request, want, got []byte
	version := make([]int, memcachedKeys)
	for i := range requests {
		key := i / 10 * 7 % memcachedKeys
		if i%10 == 0 {
			version[key] = i + 1
			value := memcachedValue(nil, client, key, version[key])
			request = fmt.Appendf(request[:0], "set c%d-%d 0 0 %d\r\n%s\r\n", client, key, len(value), value)
			want = append(want[:0], "STORED\r\n"...)
		} else {
			key = (i * 13) % memcachedKeys
			request = fmt.Appendf(request[:0], "get c%d-%d\r\n", client, key)
			want = want[:0]
			if version[key] > 0 {
				value := memcachedValue(nil, client, key, version[key])
				want = fmt.Appendf(want, "VALUE c%d-%d 0 %d\r\n%s\r\n", client, key, len(value), value)
			}
			want = append(want, "END\r\n"...)
		}
		if _, err := conn.Write(request); err != nil {
			return err
		}
		got = append(got[:0], want...)
		if _, err := io.ReadFull(in, got); err != nil {
			return fmt.Errorf("request %d of client %d: %w", i, client, err)
		}
		if !bytes.Equal(got, want) {
			return fmt.Errorf("request %d of client %d: answer %.80q instead of %.80q", i, client, got, want)
		}
	}
	return nil
}

func memcachedValue(b []byte, client, key, version int) []byte {
	for len(b) < 100 {
		b = fmt.Appendf(b, "%d.%d.%d/", client, key, version)
	}
	return b
}

// check compares what the server counted with what was sent; the values have
// been compared as they came.
func (m *memcached) check(_ context.Context, p *process) error {
	sets, err1 := memcachedStat(p, "cmd_set")
	gets, err2 := memcachedStat(p, "cmd_get")
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if sets != m.requests/10 || sets+gets != m.requests {
		return fmt.Errorf("it counted %d sets and %d gets, of %d requests", sets, gets, m.requests)
	}
	return nil
}

func memcachedStat(p *process, name string) (int, error) {
	conn, err := p.dial()
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("stats\r\n")); err != nil {
		return 0, err
	}
	for in := bufio.NewScanner(conn); in.Scan(); {
		line := strings.TrimSpace(in.Text())
		if value, ok := strings.CutPrefix(line, "STAT "+name+" "); ok {
			return strconv.Atoi(value)
		}
		if line == "END" {
			break
		}
	}
	return 0, fmt.Errorf("its statistics lack %s", name)
}
