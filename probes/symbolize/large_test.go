package symbolize

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/probes/elf"
)

// The program has 100 MB with debug information: 700 units of 100 functions, into which more calls
// are inlined. To compile so much would take an hour, so one unit is compiled and linked again and
// again; all its names are local.
const (
	largeUnits     = 700
	largeFunctions = 100
	largeBytes     = 100_000_000
)

func buildLarge(b *testing.B) string {
	testtool.Need(b, "gcc", "objcopy")
	dir := b.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	run := func(name string, args ...string) {
		if msg, err := exec.Command(name, args...).CombinedOutput(); err != nil {
			b.Fatalf("%s: %v\n%s", name, err, msg)
		}
	}
	var unit strings.Builder
	unit.WriteString("#include <pthread.h>\n#include <stdio.h>\n#include <sys/socket.h>\n")
	for i := range 40 {
		fmt.Fprintf(&unit, "struct s%d { int a[8]; long b; int c; double d[%d]; };\n", i, i+1)
	}
	for i := range largeFunctions {
		fmt.Fprintf(&unit, "static inline int in%d(struct s%d *p, int n) { int t = 0; for (int k = 0; k < n; k++) t += p->a[k %% 8] * %d; if (t > %d) p->b += t; return t + p->c; }\n", i, i%40, i, i)
		fmt.Fprintf(&unit, "int fn%d(struct s%d *p, int n) { int x = in%d(p, n); struct s%d q = *p; q.b += x; return x + in%d(&q, n + 1) + in%d(p, x); }\n", i, i%40, i, i%40, i, i)
	}
	for name, text := range map[string]string{"unit.c": unit.String(), "main.c": "int main(void) { return 0; }\n"} {
		if err := os.WriteFile(at(name), []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	run("gcc", "-g", "-O2", "-c", "-o", at("unit.o"), at("unit.c"))
	run("objcopy", "-w", "-L", "*", at("unit.o"))
	args := []string{"-o", at("large"), at("main.c")}
	for i := range largeUnits {
		copied := at(fmt.Sprintf("unit%d.o", i))
		if err := os.Link(at("unit.o"), copied); err != nil {
			b.Fatal(err)
		}
		args = append(args, copied)
	}
	run("gcc", args...)
	return at("large")
}

// BenchmarkChains symbolizes 1,000 distinct call stacks of 20 return addresses each, from all over
// a large program, starting with the file unread.
func BenchmarkChains(b *testing.B) {
	path := buildLarge(b)
	st, err := os.Stat(path)
	if err != nil || st.Size() < largeBytes {
		b.Fatalf("the program has %d bytes, %d wanted: %v", st.Size(), largeBytes, err)
	}
	f, err := elf.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	functions := f.Functions()
	f.Close()
	most, inlined := 0.0, 0
	for b.Loop() {
		resetPeak()
		inlined = nameChains(b, path, functions)
		most = max(most, peak(b))
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/run")
	b.ReportMetric(most/1e6, "peak-MB")
	b.ReportMetric(float64(inlined), "inlined")
}

func nameChains(b *testing.B, path string, functions []elf.Range) (inlined int) {
	f, err := elf.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	t := New(f)
	random := uint64(1)
	for range 1000 {
		var pcs []uint64
		for range 20 {
			random = random*6364136223846793005 + 1442695040888963407
			fn := functions[int(random>>33)%len(functions)]
			pcs = append(pcs, fn.Lo+1+(random>>20)%(fn.Hi-fn.Lo-1))
		}
		for _, fr := range stack(t, pcs) {
			if fr.Inlined {
				inlined++
			}
		}
	}
	if problem(t) != nil || inlined < 1000 {
		b.Fatalf("%d inlined frames: %v", inlined, problem(t))
	}
	return inlined
}

// resetPeak resets the kernel's record of the peak resident memory (proc(5), clear_refs).
func resetPeak() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

func peak(b *testing.B) float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	if err != nil {
		b.Fatal(err)
	}
	return kb * 1024
}
