package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// redis takes increments and sets from its own benchmark, with threads for
// input and output.
type redis struct{ requests int }

func (r *redis) name() string { return "redis-server" }

func (r *redis) load() string {
	return fmt.Sprintf("2 I/O threads that also read, 50 clients of redis-benchmark that send 8 at a time, %d INCR and as many SET", r.requests)
}

func (r *redis) prepare(_ context.Context, e *env) error {
	r.requests = e.times(1_200_000, 400)
	return nil
}

func (r *redis) start(_ *env, dir string) (*command, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	return &command{
		args: []string{"/usr/bin/redis-server", "--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--io-threads", "2",
			"--io-threads-do-reads", "yes", "--save", "", "--appendonly", "no", "--dir", dir},
		port: port, serves: true, bad: []string{"REDIS BUG REPORT"},
	}, nil
}

func (r *redis) cli(ctx context.Context, p *process, args ...string) (string, error) {
	args = append([]string{"/usr/bin/redis-cli", "-p", strconv.Itoa(p.port)}, args...)
	out, err := runAs(ctx, p.owner, p.dir, "", args...)
	return strings.TrimSpace(string(out)), err
}

func (r *redis) ready(ctx context.Context, p *process) error {
	return p.poll(ctx, func() error {
		conn, err := p.dial()
		if err != nil {
			return err
		}
		conn.Close()
		answer, err := r.cli(ctx, p, "ping")
		if err == nil && answer != "PONG" {
			err = fmt.Errorf("PING gives %q", answer)
		}
		return err
	})
}

func (r *redis) work(ctx context.Context, p *process) error {
	bench := []string{"/usr/bin/redis-benchmark", "-p", strconv.Itoa(p.port), "-c", "50", "-P", "8", "-n", strconv.Itoa(r.requests), "-q"}
	for _, load := range [][]string{
		{"incr", "counter"},
		{"-r", "1000", "set", "key:__rand_int__", "a value of some length, for it goes over the wire"},
	} {
		if _, err := runAs(ctx, p.owner, p.dir, "", append(bench[:len(bench):len(bench)], load...)...); err != nil {
			return err
		}
	}
	return nil
}

func (r *redis) check(ctx context.Context, p *process) error {
	for _, c := range []struct{ want, ask string }{
		{strconv.Itoa(r.requests), "get counter"},
		{"a value of some length, for it goes over the wire", "get key:000000000007"},
		// The thousand keys, for that many random ones miss none, and the counter.
		{"1001", "dbsize"},
		{"2", "config get io-threads"},
	} {
		got, err := r.cli(ctx, p, strings.Fields(c.ask)...)
		if err != nil {
			return err
		}
		if got != c.want && !strings.HasSuffix(got, "\n"+c.want) {
			return fmt.Errorf("%s gives %q, want %q", c.ask, got, c.want)
		}
	}
	return nil
}
