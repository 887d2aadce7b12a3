package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// rocksdb is the C++ program: its benchmark writes and reads from several
// threads while others flush and compact. Every key has to be found again.
type rocksdb struct {
	keys  int
	first string // sum of the keys after the first run
}

const rocksdbThreads = 4

func (d *rocksdb) name() string { return "rocksdb" }

func (d *rocksdb) load() string {
	return fmt.Sprintf("db_bench, C++: %d threads, each writes %d keys and reads as many, with compaction in the background", rocksdbThreads, d.keys)
}

func (d *rocksdb) prepare(_ context.Context, e *env) error {
	d.keys = e.times(100_000, 1000)
	return nil
}

func (d *rocksdb) start(_ *env, dir string) (*command, error) {
	keys := strconv.Itoa(d.keys)
	return &command{
		args: []string{"/usr/bin/db_bench", "--benchmarks=fillseq,readrandom,verifychecksum", "--db=" + filepath.Join(dir, "db"), "--seed=1",
			"--threads=" + strconv.Itoa(rocksdbThreads), "--num=" + keys, "--reads=" + keys,
			"--write_buffer_size=4194304", "--compression_type=none", "--stats_interval=0"},
		bad: []string{"Corruption", "error:"},
	}, nil
}

// ready takes the database's own log for the sign that the program runs.
func (d *rocksdb) ready(ctx context.Context, p *process) error {
	return p.poll(ctx, func() error {
		_, err := os.Stat(filepath.Join(p.dir, "db", "LOG"))
		return err
	})
}

func (d *rocksdb) work(ctx context.Context, p *process) error { return p.ended(ctx) }

func (d *rocksdb) check(ctx context.Context, p *process) error {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err
	}
	if found := fmt.Sprintf("(%d of %d found)", d.keys, d.keys); !strings.Contains(string(text), found) {
		return fmt.Errorf("its output lacks %q", found)
	}
	db := "--db=" + filepath.Join(p.dir, "db")
	verdict, err := runAs(ctx, p.owner, p.dir, "", "/usr/bin/ldb", db, "checkconsistency")
	if err != nil || !strings.Contains(string(verdict), "OK") {
		return fmt.Errorf("ldb checkconsistency: %q, %w", verdict, err)
	}
	keys, err := runAs(ctx, p.owner, p.dir, "", "/usr/bin/ldb", db, "scan", "--key_hex", "--no_value")
	if err != nil {
		return err
	}
	if n := strings.Count(string(keys), "\n"); n != d.keys {
		return fmt.Errorf("the database has %d keys, want %d", n, d.keys)
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(keys))
	if d.first == "" {
		d.first = sum
	}
	if sum != d.first {
		return errors.New("the database has other keys than after the first run")
	}
	return nil
}
