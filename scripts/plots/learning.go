package main

import (
	"fmt"
	"image/color"
	"math/rand/v2"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/tracepredict/tracepredict/analysis/mine"
)

// Protocols whose automaton is known: by state, where each call leads. A sequence ends where no call leads on.
var protocols = map[string]map[int]map[mine.Symbol]int{
	"socket":    {0: {0: 1}, 1: {1: 2}, 2: {2: 2, 3: 2, 4: 3}, 3: {}},
	"file":      {0: {0: 1}, 1: {1: 2, 2: 3, 5: 4}, 2: {1: 2, 3: 1, 5: 4}, 3: {2: 3, 3: 1, 5: 4}, 4: {}},
	"lock":      {0: {0: 1}, 1: {1: 2, 4: 3}, 2: {2: 2, 3: 1}, 3: {}},
	"handshake": {0: {0: 1}, 1: {1: 2, 2: 2}, 2: {3: 3, 4: 4}, 3: {3: 3, 5: 5, 4: 4}, 4: {}, 5: {4: 4}},
}

const (
	trained   = 60  // sequences that a protocol is learned from
	tested    = 500 // sequences that what was learned is judged by
	longest   = 60  // calls of a sequence
	repeats   = 20  // of each measurement, with other sequences
	learnedBy = 4   // the longest k
)

// learning is how well protocols are learned.
type learning struct {
	way               string // sk-strings with s per cent, or k-tails
	k                 int
	recall, precision float64
}

// walk returns a random sequence of a protocol, in which each call that is allowed is as likely.
func walk(r *rand.Rand, p map[int]map[mine.Symbol]int) (calls []mine.Symbol) {
	for s := 0; len(p[s]) > 0 && len(calls) < longest; {
		n := r.IntN(len(p[s]))
		for c := mine.Symbol(0); ; c++ {
			to, ok := p[s][c]
			if !ok {
				continue
			}
			if n == 0 {
				calls, s = append(calls, c), to
				break
			}
			n--
		}
	}
	return calls
}

// allows reports whether a protocol allows a sequence of calls, whether it may end then or not.
func allows(p map[int]map[mine.Symbol]int, calls []mine.Symbol) bool {
	s := 0
	for _, c := range calls {
		to, ok := p[s][c]
		if !ok {
			return false
		}
		s = to
	}
	return true
}

// asProtocol returns a deterministic automaton as a protocol.
func asProtocol(a *mine.Automaton) map[int]map[mine.Symbol]int {
	p := map[int]map[mine.Symbol]int{}
	for i := range a.States {
		p[i] = map[mine.Symbol]int{}
		for _, e := range a.States[i].Edges {
			p[i][e.Symbol] = e.To
		}
	}
	return p
}

// shareAllowed returns which share of random sequences of one protocol another one allows.
func shareAllowed(r *rand.Rand, of, by map[int]map[mine.Symbol]int) float64 {
	n := 0
	for range tested {
		if allows(by, walk(r, of)) {
			n++
		}
	}
	return float64(n) / tested
}

// learners are the ways to learn from a tree, by name, in the order of the plot.
var learners = []struct {
	name  string
	learn func(t *mine.Tree, k int) (*mine.Automaton, error)
}{
	{"sk-strings, s = 50", func(t *mine.Tree, k int) (*mine.Automaton, error) {
		return mine.SKStrings(t, mine.Options{K: k, S: 50, Rule: mine.Equal})
	}},
	{"sk-strings, s = 100", func(t *mine.Tree, k int) (*mine.Automaton, error) {
		return mine.SKStrings(t, mine.Options{K: k, S: 100, Rule: mine.Equal})
	}},
	{"k-tails", mine.KTails},
}

// measureLearning learns each protocol from random sequences. Recall is the share of other sequences of the protocol that
// what was learned allows; precision the share of sequences of what was learned that the protocol allows.
func measureLearning(seed uint64) (out []learning, err error) {
	for _, l := range learners {
		for k := 1; k <= learnedBy; k++ {
			x := learning{way: l.name, k: k}
			n := 0
			for i, name := range []string{"socket", "file", "lock", "handshake"} {
				p := protocols[name]
				for round := range repeats {
					r := rand.New(rand.NewPCG(seed, uint64(i*repeats+round)))
					t := mine.NewTree()
					for range trained {
						if err := t.Add(walk(r, p)); err != nil {
							return nil, err
						}
					}
					a, err := l.learn(t, k)
					if err == nil {
						a, err = a.Minimal()
					}
					if err != nil {
						return nil, fmt.Errorf("learn the protocol %s by %s: %w", name, l.name, err)
					}
					learned := asProtocol(a)
					x.recall += shareAllowed(r, p, learned)
					x.precision += shareAllowed(r, learned, p)
					n++
				}
			}
			x.recall, x.precision = x.recall/float64(n), x.precision/float64(n)
			out = append(out, x)
		}
	}
	return out, nil
}

// drawLearning draws recall and precision over k.
func drawLearning(points []learning) (*plot.Plot, error) {
	p := newPlot(fmt.Sprintf("Protocols learned from %d sequences (means of four protocols)", trained), "k", "share")
	p.Y.Max, p.X.Min = 1.05, 1
	p.Legend.Left, p.Legend.Top = false, false
	colours := []color.Color{blue, orange, grey}
	for i, l := range learners {
		var recalls, precisions plotter.XYs
		for _, x := range points {
			if x.way == l.name {
				recalls = append(recalls, plotter.XY{X: float64(x.k), Y: x.recall})
				precisions = append(precisions, plotter.XY{X: float64(x.k), Y: x.precision})
			}
		}
		if err := curve(p, l.name+": recall", recalls, colours[i], false); err != nil {
			return nil, err
		}
		if err := curve(p, l.name+": precision", precisions, colours[i], true); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func learningTable(points []learning) [][]string {
	rows := [][]string{{"way", "k", "recall", "precision"}}
	for _, x := range points {
		rows = append(rows, []string{x.way, strconv.Itoa(x.k), fmt.Sprintf("%.4f", x.recall), fmt.Sprintf("%.4f", x.precision)})
	}
	return rows
}
