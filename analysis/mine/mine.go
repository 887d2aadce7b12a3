// Package mine learns automata of protocols from the sequences of calls on objects, one
// sequence an object. That is the second stage of PRETEX (Joshi and Sen, "Predictive Typestate
// Checking of Multithreaded Java Programs", ASE 2008, section III-C). The sequences become a prefix
// tree with frequencies. States of the tree with like futures are merged, by sk-strings (Raman and
// Patrick, "The sk-strings method for inferring PFSA", 1997) or by k-tails (Biermann and Feldman,
// "On the synthesis of finite-state machines from samples of their behavior", 1972). The result,
// which may be nondeterministic, is determinised and minimised. All these automata accept the
// training sequences. The package knows no events, no names of functions and no specification.
//
// A k-string of a state is a sequence of k calls that can follow, or a shorter one that can be
// followed by the end. Its probability is the product of those of the arcs that it takes. The top
// strings of a state are the most probable ones, as few as reach s percent together. What states
// are equivalent, a Rule says of their strings and top strings.
//
// The text leaves open what follows; the readings are ours:
//   - The end of a sequence is one of the choices of a state, by its frequency, so that the
//     probabilities of a state's k-strings add up to 1. With Options.IgnoreEnds its arcs alone
//     are: then the end is certain where it is possible, and sums may exceed 1.
//   - Strings of equal probability are in the order of their symbols' numbers. Probabilities are
//     equal if they differ by less than 1e-12, as they are computed in floating point.
//   - States have the numbers in which the tree made them. Merging goes in rounds. A round
//     computes the strings of all states. Then it takes the states by number: one that is equivalent
//     to a state kept in this round merges into the smallest such, and any other is kept. The
//     round that merges nothing is the last one.
//   - The rules And, Or and Strict, and the name LAX for Equal, are recalled from the method
//     cited and were not compared with its text.
//
// Rounds take the place of merging the first equivalent pair in number order and computing all
// again, for which large trees have too many states. By the rule Equal, both make the same merges
// if K is 1, or if S is 100 and ends count. Otherwise a merge may change the strings of states that
// lead to it, and then the results often differ: a pair that was equivalent when its round began
// is merged in that round, come what may.
//
// A round takes time that is nearly linear in the k-strings of all states, and memory that is
// linear. The first one leaves few states to the others, unless k is large. All inputs tried took at
// most six rounds; a bound is not known. A million calls take seconds, and less than 300 MB with
// the tree.
package mine

import "fmt"

// Rule is the condition under which two states are equivalent, and are merged.
type Rule uint8

// The rules, from the strictest to the most lenient.
const (
	Strict Rule = iota + 1 // the same top strings in the same order of probability
	Equal                  // the same set of top strings, the rule of PRETEX; LAX in the method cited
	And                    // each one's top strings are strings of the other
	Or                     // the top strings of one are strings of the other
)

var ruleNames = [...]string{Strict: "strict", Equal: "equal", And: "and", Or: "or"}

// String returns the name of the rule: strict, equal, and, or.
func (r Rule) String() string {
	if r.known() {
		return ruleNames[r]
	}
	return fmt.Sprintf("rule %d", uint8(r))
}

func (r Rule) known() bool { return r >= Strict && r <= Or }

// ParseRule returns the rule of that name. The name lax is another one of Equal.
func ParseRule(name string) (Rule, error) {
	if name == "lax" {
		return Equal, nil
	}
	for r := Strict; r <= Or; r++ {
		if r.String() == name {
			return r, nil
		}
	}
	return 0, fmt.Errorf("there is no rule %q for equivalent states: use strict, equal (or lax), and, or", name)
}

// Options say which states sk-strings merges.
type Options struct {
	K    int  // length of the strings, 1 to 100; 1 or 2 are usual
	S    int  // what the top strings reach together, in percent, 1 to 100
	Rule Rule // which states are equivalent
	// IgnoreEnds computes the probabilities of a state's arcs among its arcs alone. The default
	// counts the end of a sequence as one more choice.
	IgnoreEnds bool
}

// maxK bounds the length of strings: longer ones tell no more states apart in practice, and cost
// time for each call.
const maxK = 100

func checkK(k int) error {
	if k < 1 || k > maxK {
		return fmt.Errorf("k, the length of the compared sequences of calls, is %d: use 1 to %d, such as 2", k, maxK)
	}
	return nil
}

func (o Options) check() error {
	if err := checkK(o.K); err != nil {
		return err
	}
	if o.S < 1 || o.S > 100 {
		return fmt.Errorf("s, the share of the most probable sequences, is %d percent: use 1 to 100, such as 50", o.S)
	}
	if !o.Rule.known() {
		return fmt.Errorf("%v for equivalent states is not known: use Strict, Equal, And or Or", o.Rule)
	}
	return nil
}

// SKStrings returns the automaton that the tree becomes when its equivalent states are merged. It
// may be nondeterministic. The error says which option is wrong and what would be right, or that
// k-strings are too many, which a smaller k avoids. The tree stays as it is.
func SKStrings(t *Tree, o Options) (*Automaton, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	g, err := skStrings(t, o, mostStrings(t.States()), nil)
	if err != nil {
		return nil, err
	}
	return g.automaton(), nil
}

// round is what one round of merging knows: its automaton, the strings, and which state each
// state merges into.
type round struct {
	graph   *graph
	strings *stringTable
	tops    *tops
	into    []int32
}

// skStrings merges until nothing is equivalent. It calls watch, if not nil, for each round, the
// last one included. An automaton may have as many strings as there is room for.
func skStrings(t *Tree, o Options, room int, watch func(*round)) (*graph, error) {
	g := treeGraph(t)
	for {
		table, err := g.kStrings(o, room, watch != nil)
		if err != nil {
			return nil, err
		}
		r := &round{graph: g, strings: table, tops: table.top(o.S)}
		r.into = r.tops.group(table, o.Rule)
		if watch != nil {
			watch(r)
		}
		merged := g.merge(r.into)
		if len(merged.ends) == len(g.ends) {
			return g, nil
		}
		g = merged
	}
}

// KTails returns the automaton that the tree becomes when all states with the same k-tails are
// merged: the same sequences of at most k calls lead from them to an end. States from which none
// does are all merged, as the definition has it; where sequences are long and k is small, that
// is most of the tree. SKStrings with S 100 and the rule Equal compares all that can follow. The error
// says that k is not within 1 to 100. The tree stays as it is.
func KTails(t *Tree, k int) (*Automaton, error) {
	if err := checkK(k); err != nil {
		return nil, err
	}
	g := treeGraph(t)
	return g.merge(g.tails(k)).automaton(), nil
}
