package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// sqlite is a client of libsqlite3 with threads: Python, whose connections its threads share.
type sqlite struct{ rows int }

const (
	sqliteThreads = 4
	sqliteInput   = 2 * pipeSize // what it reads before it begins
)

const sqliteClient = `
import sqlite3, sys, threading
sys.stdin.buffer.read()
rows = int(sys.argv[1])
threads = int(sys.argv[2])
db = sqlite3.connect(sys.argv[3], check_same_thread=False, isolation_level=None)
db.execute("PRAGMA synchronous = OFF")
db.execute("CREATE TABLE entry (who INTEGER, n INTEGER)")
db.execute("BEGIN")
def work(who):
    for n in range(rows):
        db.execute("INSERT INTO entry VALUES (?, ?)", (who, n))
        db.execute("SELECT n FROM entry WHERE rowid = ?", (n + 1,)).fetchone()
all = [threading.Thread(target=work, args=(i,)) for i in range(threads)]
for t in all: t.start()
for t in all: t.join()
db.execute("COMMIT")
print(*db.execute("SELECT count(*), sum(n) FROM entry").fetchone())
db.close()
`

func (s *sqlite) name() string { return "python3 with sqlite3" }

func (s *sqlite) load() string {
	return fmt.Sprintf("%d threads of one connection, each %d INSERT and as many SELECT", sqliteThreads, s.rows)
}

func (s *sqlite) prepare(_ context.Context, e *env) error {
	s.rows = e.times(40_000, 100)
	return os.WriteFile(filepath.Join(e.dir, "client.py"), []byte(sqliteClient), 0o644)
}

func (s *sqlite) start(e *env, dir string) (*command, error) {
	c := &command{args: []string{
		"/usr/bin/python3", filepath.Join(e.dir, "client.py"), fmt.Sprint(s.rows), fmt.Sprint(sqliteThreads), filepath.Join(dir, "db"),
	}, bad: []string{"Error"}}
	return c, c.pipe()
}

func (s *sqlite) ready(ctx context.Context, p *process) error {
	return p.reads(ctx, make([]byte, sqliteInput))
}

func (s *sqlite) work(ctx context.Context, p *process) error {
	return p.feed(ctx, make([]byte, sqliteInput))
}

func (s *sqlite) check(_ context.Context, p *process) error {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err
	}
	if want := fmt.Sprintf("%d %d\n", sqliteThreads*s.rows, sqliteThreads*s.rows*(s.rows-1)/2); !strings.Contains(string(text), want) {
		return errors.New("its output lacks " + want)
	}
	return nil
}
