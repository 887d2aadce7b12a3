package eventtest

import (
	"math/rand/v2"

	"pgregory.net/rapid"
)

// Choices makes the choices of a random run. It returns a number from 0 to n-1; what names
// the choice in rapid's output.
type Choices func(n int, what string) int

// Drawn draws each choice separately, so that rapid can shrink the run of a failing
// test.
func Drawn(rt *rapid.T) Choices {
	return func(n int, what string) int { return rapid.IntRange(0, n-1).Draw(rt, what) }
}

// Seeded makes pseudo-random choices from a seed.
func Seeded(seed uint64) Choices {
	r := rand.New(rand.NewPCG(seed, 0))
	return func(n int, _ string) int { return r.IntN(n) }
}

// DrawnOrSeeded is Drawn, so that failures shrink, or Seeded, so that long runs are as
// varied as short ones.
func DrawnOrSeeded(rt *rapid.T) Choices {
	if rapid.Bool().Draw(rt, "one by one") {
		return Drawn(rt)
	}
	return Seeded(rapid.Uint64().Draw(rt, "seed"))
}

// Between chooses a number from low to high, both included.
func (c Choices) Between(low, high int, what string) int { return low + c(high-low+1, what) }

// Bool chooses true or false.
func (c Choices) Bool(what string) bool { return c(2, what) == 1 }

// OneOf chooses one of s, which is not empty.
func OneOf[T any](c Choices, s []T, what string) T { return s[c(len(s), what)] }

// FiveTimes returns the property five times over, each time with new draws. It is for tests that
// also want their draws to show something rare: with -short, rapid checks a property only 20 times.
func FiveTimes(property func(*rapid.T)) func(*rapid.T) {
	return func(t *rapid.T) {
		for range 5 {
			property(t)
		}
	}
}
