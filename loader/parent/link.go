package parent

import (
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/internal/safely"
	"github.com/tracepredict/tracepredict/loader/target"
)

// Link is the observing process's connection to its parent. All methods of a nil Link do what is done without a parent.
// They may be called by several goroutines.
type Link struct {
	conn *os.File

	mu        sync.Mutex // parents the field below
	listeners []*listener
}

// listener is what Notify was called with.
type listener struct {
	to  chan<- os.Signal
	had map[os.Signal]*counts
}

// counts says how often a signal came. A terminal, and who sends it to a process group, sends it to this process and
// to the parent, which passes it on; others send it to one of them. So it came as often as the larger of both numbers
// says.
type counts struct{ direct, passed, told int }

// Inherited returns the Link of a process that Run started; nil in others. It must be called before another process is
// started. When the parent ends, it ends this process, as what ended the parent was meant to.
func Inherited() *Link {
	text, ok := os.LookupEnv(target.ParentVariable)
	_ = os.Unsetenv(target.ParentVariable)
	fd, err := strconv.Atoi(text)
	if !ok || err != nil || fd < 3 || !isSocket(fd) {
		return nil
	}
	unix.CloseOnExec(fd)
	_ = unix.SetNonblock(fd, true) // a failure shows in read
	l := &Link{conn: os.NewFile(uintptr(fd), "parent")}
	safely.Go(l.listen, func(*safely.Panic) {})
	return l
}

func isSocket(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFSOCK
}

// listen handles the signals that the parent passes on.
func (l *Link) listen() {
	var b [1]byte
	for {
		if _, err := io.ReadFull(l.conn, b[:]); err != nil {
			_ = unix.Kill(unix.Getpid(), unix.SIGKILL)
			return
		}
		if s := unix.Signal(b[0]); !l.pass(s) {
			_ = unix.Kill(unix.Getpid(), s) // nobody listens yet, or any more
		}
	}
}

// pass counts a signal that the parent was sent. It returns false if nobody listens to it.
func (l *Link) pass(s os.Signal) (heard bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range l.listeners {
		heard = n.count(s, func(c *counts) *int { return &c.passed }) || heard
	}
	return heard
}

// count adds 1 to the signal's count of arrivals by one way, and sends the signal to the channel if that is the larger
// count now. It returns false if n does not listen to the signal. The caller holds Link.mu.
func (n *listener) count(s os.Signal, which func(*counts) *int) bool {
	c := n.had[s]
	if c == nil {
		return false
	}
	*which(c)++
	if *which(c) > c.told {
		c.told++
		select {
		case n.to <- s:
		default: // like signal.Notify
		}
	}
	return true
}

// Notify has signals that are sent to this process or to its parent arrive at a channel, like signal.Notify, until stop
// is called.
func (l *Link) Notify(to chan<- os.Signal, signals ...os.Signal) (stop func()) {
	if l == nil {
		signal.Notify(to, signals...)
		return func() { signal.Stop(to) }
	}
	n := &listener{to: to, had: map[os.Signal]*counts{}}
	for _, s := range signals {
		n.had[s] = &counts{}
	}
	l.mu.Lock()
	l.listeners = append(l.listeners, n)
	l.mu.Unlock()
	direct := make(chan os.Signal, 16)
	signal.Notify(direct, signals...)
	var group safely.Group
	group.Go(func() {
		for s := range direct {
			l.mu.Lock()
			n.count(s, func(c *counts) *int { return &c.direct })
			l.mu.Unlock()
		}
	})
	return func() {
		signal.Stop(direct)
		close(direct)
		group.Wait()
		l.mu.Lock()
		defer l.mu.Unlock()
		l.listeners = slices.DeleteFunc(l.listeners, func(other *listener) bool { return other == n })
	}
}

// say sends a message to the parent. It fails if the parent has ended; listen ends this process then.
func (l *Link) say(letter byte, n int) {
	if l != nil {
		_, _ = l.conn.Write(numbered(letter, n))
	}
}

// Started sends the process ID of the program to the parent.
func (l *Link) Started(pid int) { l.say(saysProgram, pid) }

// Stopping says that this process stops itself, so that the parent stops, too.
func (l *Link) Stopping() { l.say(saysStop, 0) }

// Ending says that this process ends by itself: how it ends is no failure.
func (l *Link) Ending() { l.say(saysEnd, 0) }
