package order

import (
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
)

// condition holds who sleeps and which notifications may still explain a wake.
type condition struct {
	sleepers []sleeper
	sent     []notification // oldest first
}

type sleeper struct {
	thread event.ThreadID
	since  uint64
	set    Ref
}

type notification struct {
	at  uint64
	all bool
	set Ref
}

func (m *Matcher) wait(c *condition, thread event.ThreadID) {
	c.sleepers = append(c.sleepers, sleeper{thread, m.now, m.set()})
}

// notify draws wait's release → notification. A signal takes what all the sleepers have in
// common (exact for a single one); a broadcast takes what more sleepers have in common than
// earlier signals can have woken (for none: all of it). It is kept while somebody sleeps
// whom it may have woken: a signal beyond the number of sleepers wakes nobody.
func (m *Matcher) notify(c *condition, all bool) {
	n, signals := len(c.sleepers), c.signals()
	if n == 0 {
		return
	}
	beyond := n - 1
	if all {
		beyond = signals
	}
	if beyond < n && m.wants(SleepToNotify) {
		for i := range c.sleepers {
			m.match.Sleepers = append(m.match.Sleepers, c.sleepers[i].set)
		}
		m.match.Beyond = beyond
	}
	if all || signals < n {
		c.sent = append(c.sent, notification{m.now, all, m.set()})
	}
}

// signals counts the signals that have not been matched with a wake.
func (c *condition) signals() int {
	n := 0
	for i := range c.sent {
		if !c.sent[i].all {
			n++
		}
	}
	return n
}

// wake draws the edges from the notifications since the wait, of which the oldest is used
// up if it is a signal.
func (m *Matcher) wake(c *condition, e *event.Event) {
	at := slices.IndexFunc(c.sleepers, func(s sleeper) bool { return s.thread == e.Thread })
	if at < 0 {
		return
	}
	since := c.sleepers[at].since
	m.release(&c.sleepers[at].set)
	c.sleepers = slices.Delete(c.sleepers, at, at+1)
	if e.Flags&event.TimedOut == 0 {
		m.notified(c, since)
	}
	// Notifications that are older than every sleeper explain no wake any more.
	for len(c.sent) > 0 && (len(c.sleepers) == 0 || c.sent[0].at < c.sleepers[0].since) {
		m.forget(c, 0)
	}
}

func (m *Matcher) notified(c *condition, since uint64) {
	first := slices.IndexFunc(c.sent, func(n notification) bool { return n.at >= since })
	if first < 0 {
		return
	}
	m.edge(c.sent[first].set, NotifyToWake)
	for _, n := range c.sent[first+1:] {
		m.edge(n.set, LaterNotifyToWake)
	}
	if !c.sent[first].all {
		m.forget(c, first)
	}
}

func (m *Matcher) forget(c *condition, i int) {
	m.release(&c.sent[i].set)
	c.sent = slices.Delete(c.sent, i, i+1)
}
