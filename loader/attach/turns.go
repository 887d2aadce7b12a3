package attach

import (
	"io"
	"sync"
)

// turns lets links be closed a few at a time, and none while probes are put in. The kernel puts in and removes the
// breakpoints of a machine one after the other, in the order in which they are asked for: a program that waits for its
// probes would wait for all those that many ended programs had. The zero value is ready.
type turns struct {
	mu        sync.Mutex // guards the fields below
	changed   *sync.Cond // of mu; nil until somebody waits
	attaching int
	closing   int
	together  bool // links are not closed in turn any more
}

// maxClosing bounds the links that are closed at a time: some, since each waits for a grace period of the kernel.
const maxClosing = 4

// attach lets no close begin until the function that it returns is called.
func (t *turns) attach() (end func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.attaching++
	return func() { t.end(&t.attaching) }
}

// close closes a link when it is its turn.
func (t *turns) close(l io.Closer) error {
	t.begin()
	defer t.end(&t.closing)
	return l.Close()
}

// begin waits until a link may be closed.
func (t *turns) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.changed == nil {
		t.changed = sync.NewCond(&t.mu)
	}
	for !t.together && (t.attaching > 0 || t.closing >= maxClosing) {
		t.changed.Wait()
	}
	t.closing++
}

func (t *turns) end(n *int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	*n--
	if t.changed != nil {
		t.changed.Broadcast()
	}
}

// CloseTogether ends the turns: no more probes are put in, and all links are closed at a time, as in CloseAll.
func (t *Tracer) CloseTogether() {
	t.turns.mu.Lock()
	defer t.turns.mu.Unlock()
	t.turns.together = true
	if t.turns.changed != nil {
		t.turns.changed.Broadcast()
	}
}

// Attaching says that probes are being put in, until the function that it returns is called: until then CloseInTurn
// begins to close no link.
func (t *Tracer) Attaching() (end func()) { return t.turns.attach() }

// CloseInTurn closes links that nobody waits for: a few at a time, of all goroutines together, and none while probes
// are put in.
func CloseInTurn[L io.Closer](t *Tracer, links []L) error {
	var closing Closing
	for _, l := range links {
		closing.Close(closer(func() error { return t.turns.close(l) }))
	}
	return closing.Wait()
}

// closer is a function as an io.Closer.
type closer func() error

// Close calls it.
func (c closer) Close() error { return c() }
