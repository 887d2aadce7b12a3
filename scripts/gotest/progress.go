package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// progress counts the tests of a run, subtests left out.
type progress struct {
	ended, failed int
	running       []test // by when they began
	begun         time.Time
	partial       []byte // the beginning of a line whose end is not written yet
}

// add takes what was appended to the file of events.
func (p *progress) add(text []byte) {
	p.partial = append(p.partial, text...)
	for {
		line, rest, found := strings.Cut(string(p.partial), "\n")
		if !found {
			return
		}
		p.partial = []byte(rest)
		var e event
		if json.Unmarshal([]byte(line), &e) == nil && e.Test != "" && !strings.Contains(e.Test, "/") {
			p.event(e)
		}
	}
}

func (p *progress) event(e event) {
	key := test{e.Package, e.Test}
	switch e.Action {
	case "run", "cont":
		p.leave(key)
		p.running = append(p.running, key)
	case "pause":
		p.leave(key)
	case "pass", "skip", "fail":
		p.leave(key)
		p.ended++
		if e.Action == "fail" {
			p.failed++
		}
	}
}

func (p *progress) leave(key test) {
	for i, t := range p.running {
		if t == key {
			p.running = append(p.running[:i], p.running[i+1:]...)
			return
		}
	}
}

// line returns what is shown: how long it has taken, counts, and the test that has run
// the longest.
func (p *progress) line(now time.Time) string {
	s := fmt.Sprintf("%4.0f s: %d tests", now.Sub(p.begun).Seconds(), p.ended)
	if p.failed > 0 {
		s += fmt.Sprintf(", %d failed", p.failed)
	}
	if len(p.running) > 0 {
		s += ", now " + p.running[0].String()
	}
	const width = 79
	if len(s) > width {
		s = s[:width]
	}
	return s
}

// showProgress copies what gotestsum prints, line by line, with the progress below it,
// until gotestsum has ended.
func showProgress(out io.Writer, printed io.Reader, events string) {
	var mu sync.Mutex // guards what is written to out
	done := make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		p := &progress{begun: time.Now()}
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		var f *os.File
		for {
			select {
			case <-done:
				return
			case now := <-tick.C:
				if f == nil {
					f, _ = os.Open(events) // it is there once the first package is built
				}
				if f != nil {
					text, _ := io.ReadAll(f) // what cannot be read now is read at the next tick
					p.add(text)
				}
				mu.Lock()
				fmt.Fprintf(out, "\r\x1b[K%s", p.line(now))
				mu.Unlock()
			}
		}
	})
	in := bufio.NewReader(printed)
	for {
		line, err := in.ReadString('\n')
		mu.Lock()
		fmt.Fprintf(out, "\r\x1b[K%s", line)
		mu.Unlock()
		if err != nil {
			break
		}
	}
	close(done)
	ended.Wait()
	fmt.Fprint(out, "\r\x1b[K")
}
