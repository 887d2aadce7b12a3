package eventtest

import (
	"math/rand/v2"

	"pgregory.net/rapid"
)

// Choices makes the choices of a random run: a number from 0 to n-1, and what it is
// chosen for.
type Choices func(n int, what string) int

// Drawn makes each choice by itself, so that a failing test can make the run smaller.
func Drawn(rt *rapid.T) Choices {
	return func(n int, what string) int { return rapid.IntRange(0, n-1).Draw(rt, what) }
}

// Seeded makes the choices that belong to a number.
func Seeded(seed uint64) Choices {
	r := rand.New(rand.NewPCG(seed, 0))
	return func(n int, _ string) int { return r.IntN(n) }
}

// DrawnOrSeeded makes either each choice by itself, so that failures shrink, or all by
// one number, so that long runs are as varied as short ones.
func DrawnOrSeeded(rt *rapid.T) Choices {
	if rapid.Bool().Draw(rt, "one by one") {
		return Drawn(rt)
	}
	return Seeded(rapid.Uint64().Draw(rt, "seed"))
}

// Between chooses a number, low and high included.
func (c Choices) Between(low, high int, what string) int { return low + c(high-low+1, what) }

// Yes chooses whether.
func (c Choices) Yes(what string) bool { return c(2, what) == 1 }

// OneOf chooses one of s, which is not empty.
func OneOf[T any](c Choices, s []T, what string) T { return s[c(len(s), what)] }
