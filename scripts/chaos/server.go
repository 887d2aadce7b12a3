package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/scripts/proc"
)

// The servers.
const (
	memcached = "memcached"
	churn     = "churn" // testdata/churn.cc
	forks     = "forks" // testdata/forks.c
)

const (
	clients  = 3           // of a server, each without a pause
	requests = 20          // of a connection
	patience = time.Minute // until something that has to come is missed
)

// The pauses of what looks again.
const (
	redialPause = 2 * time.Millisecond // of a client that has no connection
	lookPause   = 2 * time.Millisecond // of wait
)

// server is one that runs, with its clients.
type server struct {
	name, socket string
	pid          int
	pidfd        int           // of pid
	ended        chan struct{} // closed when it has ended; nil if the tool started it

	load    context.CancelFunc // ends the clients; nil: there are none
	loading sync.WaitGroup
	served  atomic.Uint64 // requests that were answered rightly
	broken  atomic.Uint64 // connections that the server broke

	mu    sync.Mutex // guards wrong
	wrong error      // the wrong answers
}

// arguments are the command line of a server that listens to a socket.
func arguments(dir, name, socket string) []string {
	if name == memcached {
		return []string{"memcached", "-u", "nobody", "-t", "3", "-m", "64", "-s", socket}
	}
	return []string{filepath.Join(dir, name), socket}
}

// startServer starts a server that nobody observes yet.
func startServer(ctx context.Context, dir, name, socket string) (*server, error) {
	args := arguments(dir, name, socket)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	s := &server{name: name, socket: socket, ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		_ = cmd.Wait()
	}()
	if err := s.found(cmd.Process.Pid); err != nil {
		return nil, err
	}
	return s, s.ready(ctx)
}

// found sets the server's process.
func (s *server) found(pid int) (err error) {
	if s.pidfd, err = unix.PidfdOpen(pid, 0); err != nil {
		return fmt.Errorf("open process %d: %w", pid, err)
	}
	s.pid = pid
	return nil
}

// ready waits until the server answers.
func (s *server) ready(ctx context.Context) error {
	return wait(ctx, s.name+" to answer", func() bool {
		conn, err := net.Dial("unix", s.socket)
		if err != nil {
			return false
		}
		defer conn.Close()
		return s.ask(conn, bufio.NewReader(conn), 1) == nil
	})
}

// begin begins the load.
func (s *server) begin() {
	ctx, cancel := context.WithCancel(context.Background())
	s.load = cancel
	for range clients {
		s.loading.Go(func() { s.client(ctx) })
	}
}

// end ends the load.
func (s *server) end() {
	if s.load != nil {
		s.load()
		s.loading.Wait()
	}
}

func (s *server) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wrong
}

// client asks the server until ctx ends. A connection that breaks is counted.
func (s *server) client(ctx context.Context) {
	for ctx.Err() == nil {
		conn, err := net.Dial("unix", s.socket)
		if err != nil {
			s.broken.Add(1)
			<-time.After(redialPause)
			continue
		}
		stop := context.AfterFunc(ctx, func() { conn.Close() })
		err = s.connection(conn)
		stop()
		conn.Close()
		if err != nil && ctx.Err() == nil {
			s.failed(err)
		}
	}
}

func (s *server) failed(err error) {
	var wrong *wrongAnswer
	if !errors.As(err, &wrong) {
		s.broken.Add(1)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrong = errors.Join(s.wrong, err)
}

func (s *server) connection(conn net.Conn) error {
	in := bufio.NewReader(conn)
	for range requests {
		if err := s.ask(conn, in, s.served.Load()); err != nil {
			return err
		}
		s.served.Add(1)
	}
	return nil
}

// wrongAnswer is an answer that the server must not give.
type wrongAnswer struct{ server, got, want string }

func (w *wrongAnswer) Error() string {
	return fmt.Sprintf("%s answered %q, not %q", w.server, w.got, w.want)
}

// ask sends a request and compares the answer.
func (s *server) ask(conn net.Conn, in *bufio.Reader, n uint64) error {
	request, want := fmt.Sprintf("%d\n", n), fmt.Sprintf("%d\n", 2*n+1)
	if s.name == memcached {
		request = fmt.Sprintf("set k%d 0 0 %d\r\n%d\r\nget k%d\r\n", n%64, len(fmt.Sprint(n)), n, n%64)
		want = "STORED\r\n"
	}
	if _, err := io.WriteString(conn, request); err != nil {
		return err
	}
	if s.name == memcached {
		// Other clients may have set another value meanwhile, so that of the answer to get only the form is known.
		return s.expect(in, want, fmt.Sprintf("VALUE k%d 0 ", n%64), "", "END\r\n")
	}
	return s.expect(in, want)
}

// expect reads lines that begin with the given texts.
func (s *server) expect(in *bufio.Reader, lines ...string) error {
	for _, want := range lines {
		got, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		if len(got) < len(want) || got[:len(want)] != want {
			return &wrongAnswer{s.name, got, want}
		}
	}
	return nil
}

// processes are the server's process and those below it, the server's first.
func (s *server) processes() []int {
	children := proc.Children()
	all := []int{s.pid}
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all
}

// alive reports whether the server's process has not ended.
func (s *server) alive() bool {
	fds := []unix.PollFd{{Fd: int32(s.pidfd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n == 0
}

// kill ends the load, the server and its workers.
func (s *server) kill() {
	s.end()
	pids := s.processes()
	for _, pid := range pids {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
	if s.ended != nil {
		<-s.ended
	}
	unix.Close(s.pidfd)
	_ = os.Remove(s.socket)
}

// wait polls until something is so, and fails if it is not within the patience.
func wait(ctx context.Context, what string, so func() bool) error {
	over := time.After(patience)
	tick := time.NewTicker(lookPause)
	defer tick.Stop()
	for {
		if so() {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-over:
			return fmt.Errorf("waited %v for %s", patience, what)
		case <-tick.C:
		}
	}
}
