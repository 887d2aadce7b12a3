package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/internal/testtool"
)

// dataProgram returns the source of a program with data between its functions, as GHC, OCaml
// and assembly code put it there: functions that end with a jump to a place that they are given,
// then data within their extents or between them, which decode as instructions. It sums the data
// up while two threads run, so that a changed byte shows, and runs the code that lies behind them.
func dataProgram(random *rand.Rand, functions int) string {
	// Instructions that access memory: add %al,(%rax); mov %rax,(%rdi); lock incl (%rdx); movaps, rep movsb,
	// a load of thread-local memory, a store to the program's own data.
	codes := []string{"0,0", "0x48,0x89,0x07", "0xf0,0xff,0x02", "0x0f,0x29,0x07", "0xf3,0xa4", "0x64,0x8b,0x04,0x25,0,0,0,0", "0x89,0x05,0,0x10,0,0", "0xc3", "0xeb,0xfe", "0x90"}
	var b strings.Builder
	b.WriteString("#include <pthread.h>\n#include <stdio.h>\n__asm__(\".text\\n\"\n")
	for i := range functions {
		fmt.Fprintf(&b, "\".globl f%d\\n.type f%d,@function\\nf%d: lea 1(%%rdi),%%rax\\njmp *%%rsi\\n\"\n", i, i, i)
		inside := random.IntN(2) == 0
		if !inside {
			fmt.Fprintf(&b, "\".size f%d,.-f%d\\n\"\n", i, i)
		}
		fmt.Fprintf(&b, "\".globl d%d\\nd%d:\\n\"\n", i, i)
		for range random.IntN(40) + 4 {
			if random.IntN(3) > 0 {
				fmt.Fprintf(&b, "\".byte %s\\n\"\n", codes[random.IntN(len(codes))])
			} else {
				fmt.Fprintf(&b, "\".byte %d\\n\"\n", random.IntN(256))
			}
		}
		fmt.Fprintf(&b, "\".globl e%d\\ne%d: ret\\n\"\n", i, i) // where f's caller has it jump
		if inside {
			fmt.Fprintf(&b, "\".size f%d,.-f%d\\n\"\n", i, i)
		}
	}
	b.WriteString("\"\\n\");\n")
	for i := range functions {
		fmt.Fprintf(&b, "long f%d(long, const void *);\nextern const unsigned char d%d[], e%d[];\n", i, i, i)
	}
	b.WriteString("static long total, *where = &total;\nstatic pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\nstatic long sum(void)\n{\n\tlong s = 0;\n\n")
	for i := range functions {
		fmt.Fprintf(&b, "\tfor (const unsigned char *p = d%d; p < e%d; p++)\n\t\ts = s * 31 + *p;\n\ts = f%d(s, e%d);\n", i, i, i, i)
	}
	b.WriteString(`	return s;
}
static void *run(void *unused)
{
	long s = sum();

	pthread_mutex_lock(&lock);
	*where += s;
	pthread_mutex_unlock(&lock);
	return unused;
}
int main(void)
{
	pthread_t t[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, run, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	printf("%ld\n", total);
	return 0;
}
`)
	return b.String()
}

// TestDataBetweenFunctions checks that no probe is put into data that lie between functions: a program
// that reads them prints what it prints plain.
func TestDataBetweenFunctions(t *testing.T) {
	needBPF(t)
	t.Parallel()
	programs := 2
	if testtool.All() {
		programs = 20
	}
	for i := range programs {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			dir := t.TempDir()
			source, program := filepath.Join(dir, "data.c"), filepath.Join(dir, "data")
			if err := os.WriteFile(source, []byte(dataProgram(rand.New(rand.NewPCG(uint64(i), 0)), 60)), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := compile("gcc", source, program, []string{"-O1", "-pthread", []string{"-no-pie", "-pie"}[i%2]}); err != nil {
				t.Fatal(err)
			}
			plain := startChild(t, childOptions{}, program)
			plain.want(0)
			for _, watch := range []string{"auto", "off"} {
				c := startTool(t, childOptions{}, "exec", "--watch-shared="+watch, "--", program)
				if c.want(0); c.out.String() != plain.out.String() {
					t.Errorf("--watch-shared=%s: it prints %q, plain %q", watch, c.out.String(), plain.out.String())
				}
			}
		})
	}
}
