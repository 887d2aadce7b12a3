package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// progress reports how far the comparison is, and how long the rest may take. Looking at
// a program and a round of times are both a run under each tool, so until rounds have
// been timed one stands for the other.
type progress struct {
	mu            sync.Mutex // guards all below
	out           io.Writer
	looks, rounds pace
	jobs          int
}

// pace is what is known of steps that all do the same.
type pace struct {
	steps, done int
	asked       int           // of those done: these took time
	took        time.Duration // these
}

func newProgress(out io.Writer, looks, rounds, jobs int) *progress {
	return &progress{out: out, looks: pace{steps: looks}, rounds: pace{steps: rounds}, jobs: jobs}
}

// looked tells of a program; asked: tools were run for it.
func (p *progress) looked(name string, asked bool, took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.looks.step(asked, took)
	p.say("program", p.looks, name)
}

// timed tells of a round of times.
func (p *progress) timed(name string, took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rounds.step(true, took)
	p.say("timed round", p.rounds, name)
}

func (p *progress) say(what string, of pace, name string) {
	fmt.Fprintf(p.out, "compare: %s %d of %d, about %v to go: %s\n", what, of.done, of.steps, p.left().Round(time.Second), name)
}

func (c *pace) step(asked bool, took time.Duration) {
	c.done++
	if asked {
		c.asked++
		c.took += took
	}
}

// left estimates the time to the end.
func (p *progress) left() time.Duration {
	look, round := p.looks.mean(), p.rounds.mean()
	if p.rounds.asked == 0 {
		round = look
	}
	return look*time.Duration(p.looks.steps-p.looks.done)/time.Duration(p.jobs) + round*time.Duration(p.rounds.steps-p.rounds.done)
}

func (c *pace) mean() time.Duration {
	return c.took / time.Duration(max(1, c.asked))
}
