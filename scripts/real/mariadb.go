package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// mariadb takes inserts, updates and selects from its own load emulator; rows
// and sums are counted afterwards.
type mariadb struct{ queries int }

const mariadbClients = 4

func (m *mariadb) name() string { return "mariadbd" }

func (m *mariadb) load() string {
	return fmt.Sprintf("%d clients of mariadb-slap, %d INSERT, UPDATE and SELECT", mariadbClients, m.queries)
}

// prepare installs one data folder for all runs; they go on in it in turn.
func (m *mariadb) prepare(ctx context.Context, e *env) error {
	// A third of each kind, for each client.
	m.queries = e.times(60_000, 3*mariadbClients)
	_, err := e.run(ctx, "", "/usr/bin/mariadb-install-db", "--no-defaults", "--datadir="+filepath.Join(e.dir, "data"),
		"--auth-root-authentication-method=normal", "--skip-test-db", "--innodb-log-file-size=16M")
	return err
}

func (m *mariadb) start(e *env, dir string) (*command, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	return &command{
		args: []string{"/usr/sbin/mariadbd", "--no-defaults", "--datadir=" + filepath.Join(e.dir, "data"), "--socket=" + socket(dir),
			"--bind-address=127.0.0.1", "--port=" + strconv.Itoa(port), "--pid-file=" + filepath.Join(dir, "pid"), "--tmpdir=" + dir,
			// A commit is written at once but not flushed: what the disk does that moment is no part of the comparison.
			"--innodb-flush-log-at-trx-commit=2", "--innodb-log-file-size=16M", "--innodb-buffer-pool-size=128M"},
		port: port, serves: true, bad: []string{"[ERROR]", "assertion", "mysqld got signal"},
	}, nil
}

func socket(dir string) string { return filepath.Join(dir, "socket") }

func (m *mariadb) sql(ctx context.Context, p *process, statements string) (string, error) {
	out, err := runAs(ctx, p.owner, p.dir, statements, "/usr/bin/mariadb", "--no-defaults", "--socket="+socket(p.dir), "--user=root",
		"--batch", "--skip-column-names")
	return strings.Join(strings.Fields(string(out)), " "), err
}

func (m *mariadb) ready(ctx context.Context, p *process) error {
	err := p.poll(ctx, func() error {
		conn, err := p.dial()
		if err != nil {
			return err
		}
		return conn.Close()
	})
	if err != nil {
		return err
	}
	_, err = m.sql(ctx, p, `DROP DATABASE IF EXISTS work; CREATE DATABASE work; USE work;
		CREATE TABLE entry (id BIGINT AUTO_INCREMENT PRIMARY KEY, who BIGINT, amount INT, note VARCHAR(80), KEY (who)) ENGINE=InnoDB;
		CREATE TABLE counter (id INT PRIMARY KEY, n BIGINT) ENGINE=InnoDB;
		INSERT INTO counter SELECT seq, 0 FROM seq_1_to_100;`)
	return err
}

func (m *mariadb) work(ctx context.Context, p *process) error {
	_, err := runAs(ctx, p.owner, p.dir, "", "/usr/bin/mariadb-slap", "--no-defaults", "--socket="+socket(p.dir), "--user=root",
		"--concurrency="+strconv.Itoa(mariadbClients), "--number-of-queries="+strconv.Itoa(m.queries), "--create-schema=work", "--no-drop",
		"--delimiter=;", "--query=INSERT INTO entry (who, amount, note) VALUES (CONNECTION_ID(), 3, REPEAT('x', 60));"+
			"UPDATE counter SET n = n + 1 WHERE id = 1 + LAST_INSERT_ID() % 100;"+
			"SELECT COUNT(*), MAX(n) FROM counter WHERE n >= 0")
	return err
}

func (m *mariadb) check(ctx context.Context, p *process) error {
	third := m.queries / 3
	got, err := m.sql(ctx, p, `USE work; SELECT COUNT(*), COUNT(DISTINCT id), SUM(amount) FROM entry; SELECT SUM(n) FROM counter; CHECK TABLE entry;`)
	if err != nil {
		return err
	}
	if want := fmt.Sprintf("%d %d %d %d work.entry check status OK", third, third, 3*third, third); got != want {
		return fmt.Errorf("rows, sums and check are %q, want %q", got, want)
	}
	return nil
}
