package main

import (
	"testing"
	"time"
)

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"30": 30 * time.Second, "0.5": 500 * time.Millisecond, "0": 0, "30s": 30 * time.Second, "5m": 5 * time.Minute, "1m30s": 90 * time.Second, "-1s": -time.Second,
	} {
		if got, err := parseDuration(text); err != nil || got != want {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", ".", "soon", "1e3", "0x5", "30 s", "99999999999999", "inf"} {
		if got, err := parseDuration(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestSecondsAlone: each flag that takes a time takes a number of seconds.
func TestSecondsAlone(t *testing.T) {
	for _, c := range (&app{}).rootCommand().Commands() {
		for _, name := range []string{"duration", "settle", "confirm-time"} {
			f := c.Flags().Lookup(name)
			if f == nil {
				continue
			}
			if err := f.Value.Set("90"); err != nil || f.Value.String() != "1m30s" {
				t.Errorf("%s --%s 90: %v, %v", c.Name(), name, f.Value, err)
			}
		}
	}
	if limit, auto, err := parseAnalysisTime("90"); limit != 90*time.Second || auto || err != nil {
		t.Errorf("--analysis-time 90: %v, %v, %v", limit, auto, err)
	}
}
