package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/tracepredict/tracepredict/scripts/figures"
)

// Limits of a formula that is evaluated in the kernel, relative to user space.
const (
	maxKernelEvents = 0.1
	maxKernelCPU    = 0.8 // of the program and the tool together
)

// formulaSteps is the number of calls of the program under the formula; each makes two accesses that are monitored.
const formulaSteps = 100_000

// kernelForm is what a formula costs where it is evaluated: in user space and in the kernel.
type kernelForm struct{ user, kernel formCost }

// formCost has the events of a run, and the seconds of processor time of each run, of the program and the tool together.
type formCost struct {
	events float64
	cpu    []float64
}

// measureForms runs the program under either monitor in each round; which comes first alternates.
func measureForms(c *config) (f kernelForm, err error) {
	program := filepath.Join(c.dir, "steps")
	if err := compileAs(program, "cmd/tracepredict/e2e/testdata/steps.c"); err != nil {
		return f, err
	}
	steps := strconv.Itoa(int(formulaSteps * c.scale))
	for round := range c.rounds {
		order := []string{"user", "kernel"}
		if round%2 == 1 {
			order = []string{"kernel", "user"}
		}
		for _, monitor := range order {
			to := &f.user
			if monitor == "kernel" {
				to = &f.kernel
			}
			if err := to.run(c, monitor, program, steps); err != nil {
				return f, err
			}
		}
	}
	return f, nil
}

// run observes one run under a monitor.
func (f *formCost) run(c *config, monitor, program, steps string) error {
	v := traced(c, monitor, 1, 1, program, "--check", "atomicity=step", "--watch", "here", "--watch", "there", "--fail-on", "never", "--monitor="+monitor)
	cmd := exec.Command(v.command[0], append(v.command[1:], steps)...)
	if log, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, log)
	}
	used, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return fmt.Errorf("%s: its processor time is not known", cmd)
	}
	var s sample
	if err := s.readReport(v.report); err != nil {
		return err
	}
	seconds := float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9 // the kernel adds those of awaited children
	f.events, f.cpu = s.events, append(f.cpu, seconds)
	fmt.Fprintf(os.Stderr, "formula in %s: %.0f events, %.2f s of CPU\n", monitor, s.events, seconds)
	return nil
}

func (f *kernelForm) requirements() []requirement {
	events := requirement{
		text:  fmt.Sprintf("%d steps of two monitored accesses each, a formula evaluated in the kernel: events, relative to user space", formulaSteps),
		limit: fmt.Sprintf("at most %.1f", maxKernelEvents), measured: "not measured",
	}
	cpu := requirement{text: "processor time of program and tool together there, likewise", limit: fmt.Sprintf("at most %.1f", maxKernelCPU), measured: "not measured"}
	if len(f.user.cpu) > 0 && len(f.kernel.cpu) > 0 {
		events.measured, events.met = fmt.Sprintf("%.0f of %.0f", f.kernel.events, f.user.events), f.kernel.events <= maxKernelEvents*f.user.events
		user, kernel := figures.Median(f.user.cpu), figures.Median(f.kernel.cpu)
		cpu.measured, cpu.met = fmt.Sprintf("%.2f: %.2f s and %.2f s", kernel/user, user, kernel), kernel <= maxKernelCPU*user
	}
	return []requirement{events, cpu}
}

func (f *kernelForm) render(b *strings.Builder) {
	if len(f.user.cpu) == 0 {
		return
	}
	b.WriteString("\nWith `--monitor=kernel` the accesses that only a formula needs are no records (`cmd/tracepredict/e2e/testdata/steps.c`). The probes at them are the same, " +
		"and cost most of the time: each traps, and where the kernel cannot emulate the instruction, it is stepped.\n")
}
