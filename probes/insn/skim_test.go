package insn

import (
	"math/rand/v2"
	"testing"
)

// checkSkim compares a Step with the result of Decode.
func checkSkim(t *testing.T, arch Arch, code []byte, addr uint64) {
	t.Helper()
	in, err := Decode(arch, code, addr)
	s, ok := Skim(arch, code, addr)
	if ok != (err == nil) {
		t.Fatalf("% x: skimmed %t, decoded %v", code[:min(len(code), 15)], ok, err)
	}
	if !ok {
		return
	}
	if in.Kind == Nop || in.Kind == Push {
		in.Kind = Plain
	}
	if s.Len != in.Len || s.Kind != in.Kind || s.Target != in.Target {
		t.Fatalf("% x: skimmed %+v, decoded %+v", code[:in.Len], s, in)
	}
	if branches := in.Kind == Jump || in.Kind == CondJump || in.Kind == Call; branches && !MayBranch(arch, code) {
		t.Fatalf("% x: not known to branch", code[:in.Len])
	}
	if in.Locked && !s.MayLock {
		t.Fatalf("% x: not known to lock", code[:in.Len])
	}
}

// TestSkimAgrees compares Skim with Decode for every opcode after every prefix, and for real code.
func TestSkimAgrees(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	prefixes := []string{"", "\x66", "\xf0", "\xf2", "\xf3", "\x67", "\x48", "\x66\x48", "\x48\x66", "\x2e", "\x3e", "\x64", "\xf0\x49", "\x41", "\xf3\x4c", "\x66\x66\x2e"}
	for _, p := range prefixes {
		for _, escape := range []string{"", "\x0f", "\x0f\x38", "\x0f\x3a", "\xc5", "\xc4", "\x62", "\x8f"} {
			for op := range 256 {
				for range 24 {
					code := append([]byte(p+escape), byte(op), byte(r.Uint32()))
					for range r.IntN(12) {
						code = append(code, byte(r.Uint32()))
					}
					checkSkim(t, AMD64, code, 0x1000)
				}
			}
		}
	}
	for _, lib := range libraries(t) {
		im := openImage(t, lib)
		for _, s := range im.load(t) {
			for at := 0; at < min(len(s.data), 1<<15); at++ {
				checkSkim(t, AMD64, s.data[at:min(len(s.data), at+20)], s.addr+uint64(at))
			}
		}
	}
}

// BenchmarkSkim measures Skim and Decode.
func BenchmarkSkim(b *testing.B) {
	data := openImage(b, libraries(b)[0]).load(b)[3].data
	walk := func(step func(at int) int) func(*testing.B) {
		return func(b *testing.B) {
			n := 0
			for b.Loop() {
				for at := 0; at < len(data); n++ {
					at += step(at)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/instruction")
		}
	}
	b.Run("skim", walk(func(at int) int {
		s, _ := Skim(AMD64, data[at:], uint64(at))
		return max(s.Len, 1)
	}))
	b.Run("decode", walk(func(at int) int {
		in, _ := Decode(AMD64, data[at:], uint64(at))
		return max(in.Len, 1)
	}))
}
