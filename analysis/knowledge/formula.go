package knowledge

import "math/bits"

// MaxBound is the largest number of threads that the quantifiers of a formula bind.
const MaxBound = 4

// Formula is a formula of MtTL. Its threads are numbered: first the declared ones, then those that
// quantifiers bind, each with a number of its own.
type Formula struct {
	Name, Message string
	Beyond        []string // what its verdict depends on besides causality, in words; for messages
	Variables     []string // the names of the shared variables that it mentions
	Locals        int      // number of local variables of a thread
	Declared      int      // number of declared threads
	Bound         []int    // by bound thread, from number Declared on: its type
	Types         int      // number of types of threads
	Tops          []Top
	Bodies        int // number of bodies, by Body.ID
}

// Top is a formula @i F, for each assignment of living threads to the numbers in Bound.
type Top struct {
	Bound  []int    // numbers of bound threads
	Differ [][2]int // pairs of numbers of threads that must not be the same
	Body   *Body
}

// Body is an expression or a formula that is evaluated in the states of one thread.
type Body struct {
	ID     int // index of its code in Options.Codes
	Thread int // number of the thread
	Inputs []Input
}

// Code computes the value of a body from those of its inputs. It returns false if there is none, as
// at a division by zero; the value is then 0.
type Code interface {
	Eval(inputs []uint64) (uint64, bool)
}

// InputKind is the kind of an input.
type InputKind uint8

// The kinds of input.
const (
	Variable     InputKind = iota // of a shared variable, in the predicted state of the thread
	Local                         // of a local variable of the thread
	Thread                        // the thread's ID
	Happened                      // whether the event that led to the state is a declared one
	Remote                        // X in the latest known state of X.Thread
	Prev                          // X in the state before, in the first state X itself
	StrongPrev                    // X in the state before, in the first state false
	WeakPrev                      // X in the state before, in the first state true
	Once                          // X in some state up to this one
	Historically                  // X in all states up to this one
	Since                         // Y in some state up to this one, and X in all after it
	WeakSince                     // Since or Historically
	Began                         // X now, and not in the state before; never in the first state
	Ended                         // X in the state before, and not now
	Interval                      // X in some state up to this one, and Y in none from then on
	WeakInterval                  // Interval, or Y in no state up to this one
	ForAll                        // X for all living threads of a type
	Exists                        // X for some living thread of a type
)

// Past returns whether an operator that looks at earlier states holds, and what it remembers for the next one, by its
// operands and what it has remembered; fresh: no state came before.
func (k InputKind) Past(x, y, before, fresh bool) (now, keep bool) {
	switch k {
	case Prev:
		now, keep = before && !fresh || x && fresh, x
	case StrongPrev:
		now, keep = before && !fresh, x
	case WeakPrev:
		now, keep = before || fresh, x
	case Once:
		now = x || before && !fresh
		keep = now
	case Historically:
		now = x && (before || fresh)
		keep = now
	case Since:
		now = y || x && before && !fresh
		keep = now
	case WeakSince:
		now = y || x && (before || fresh)
		keep = now
	case Began:
		now, keep = x && !before && !fresh, x
	case Ended:
		now, keep = !x && before && !fresh, x
	case Interval:
		now = !y && (x || before && !fresh)
		keep = now
	case WeakInterval:
		now = !y && (x || before || fresh)
		keep = now
	}
	return now, keep
}

// Input is a value that a body computes with.
type Input struct {
	Kind   InputKind
	Index  int      // of the variable, local, declared event, or number of the bound thread
	Differ [][2]int // of ForAll and Exists: pairs of numbers of threads that must not be the same
	X, Y   *Body
}

// parts returns the bodies that are evaluated in the same state.
func (in *Input) parts() []*Body {
	switch {
	case in.Kind <= Remote:
		return nil
	case in.Y != nil:
		return []*Body{in.X, in.Y}
	}
	return []*Body{in.X}
}

// set is a set of numbers of threads.
type set uint64

func (s set) has(n int) bool { return s>>n&1 != 0 }
func (s set) size() int      { return bits.OnesCount64(uint64(s)) }

// free returns the threads that a body names and does not bind itself, the thread of its states
// among them.
func (b *Body) free() set {
	s := set(1) << b.Thread
	for i := range b.Inputs {
		in := &b.Inputs[i]
		for _, x := range []*Body{in.X, in.Y} {
			if x == nil {
				continue
			}
			inner := x.free()
			if in.Kind == ForAll || in.Kind == Exists {
				for _, pair := range in.Differ {
					inner |= 1<<pair[0] | 1<<pair[1]
				}
				inner &^= 1 << in.Index
			}
			s |= inner
		}
	}
	return s
}
