package attach

import (
	"os"
	"runtime"
	"strconv"
	"strings"
)

// onlineCPUs returns the number of CPUs that run programs. Those that this process may not use count too.
func onlineCPUs() int {
	text, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return runtime.NumCPU()
	}
	return max(countCPUs(strings.TrimSpace(string(text))), runtime.NumCPU())
}

// countCPUs returns the number of CPUs in a list such as "0-3,6"; 0 if it is not understood.
func countCPUs(list string) (n int) {
	for _, item := range strings.Split(list, ",") {
		first, last, isRange := strings.Cut(item, "-")
		if !isRange {
			last = first
		}
		from, err1 := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if err1 != nil || err2 != nil || to < from {
			return 0
		}
		n += to - from + 1
	}
	return n
}
