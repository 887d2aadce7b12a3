package order

import (
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
)

// condition holds the waits that have not ended and the notifications that may still explain a
// wake.
type condition struct {
	sleepers      []sleeper      // oldest first
	notifications []notification // oldest first
}

// sleeper is a wait that has not ended.
type sleeper struct {
	thread event.ThreadID
	since  uint64 // Matcher.now at the wait
	set    Ref    // the wait
}

// notification is a signal or a broadcast.
type notification struct {
	at  uint64 // Matcher.now at the notification
	all bool   // it is a broadcast
	set Ref    // the notification
}

// wait records a wait.
func (m *Matcher) wait(c *condition, thread event.ThreadID) {
	c.sleepers = append(c.sleepers, sleeper{thread, m.now, m.set()})
}

// notify draws the edges from the sleepers' waits to a notification, and records it. Which of the
// waits it ends is not known, so the edges lead from events before these waits. A signal comes
// after the events that the clocks of all the waits include; for a single sleeper this is exact.
// A broadcast ends all waits but those that earlier signals may have ended: it comes after the
// events that more clocks include than there are such signals. The notification is kept as long
// as a thread sleeps that it may have woken. A signal beyond the number of sleepers wakes none,
// and is not kept.
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
		c.notifications = append(c.notifications, notification{m.now, all, m.set()})
	}
}

// signals returns the number of signals that have not been matched with a wake.
func (c *condition) signals() int {
	n := 0
	for i := range c.notifications {
		if !c.notifications[i].all {
			n++
		}
	}
	return n
}

// wake draws the edges from the notifications since the wait, unless it timed out, and ends the
// wait.
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
	// A notification that is older than every sleeper's wait explains no later wake.
	for len(c.notifications) > 0 && (len(c.sleepers) == 0 || c.notifications[0].at < c.sleepers[0].since) {
		m.removeNotification(c, 0)
	}
}

// notified draws the edges from the notifications since a wait to its wake. It removes the
// oldest of them if that is a signal, which wakes only one thread.
func (m *Matcher) notified(c *condition, since uint64) {
	first := slices.IndexFunc(c.notifications, func(n notification) bool { return n.at >= since })
	if first < 0 {
		return
	}
	m.edge(c.notifications[first].set, NotifyToWake)
	for _, n := range c.notifications[first+1:] {
		m.edge(n.set, LaterNotifyToWake)
	}
	if !c.notifications[first].all {
		m.removeNotification(c, first)
	}
}

// removeNotification removes a notification.
func (m *Matcher) removeNotification(c *condition, i int) {
	m.release(&c.notifications[i].set)
	c.notifications = slices.Delete(c.notifications, i, i+1)
}
