// Command sarifreader compares a SARIF file with what a reader of SARIF made of it: every member must be there, with its
// value. It then says what the reader's validator found. Status 1: something differs, or is an error.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: sarifreader FILE READ VALIDATED")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "sarifreader:", err)
		os.Exit(1)
	}
}

func run(written, read, validated string) error {
	want, err := load(written)
	if err != nil {
		return err
	}
	got, err := load(read)
	if err != nil {
		return err
	}
	c := comparison{}
	c.compare("", want, got)
	errs, err := problems(validated)
	if err != nil {
		return err
	}
	fmt.Printf("%s: %d values were read, %d differ; the validator finds %d errors\n", written, c.values, len(c.differ), len(errs))
	for _, text := range append(c.differ, errs...) {
		fmt.Println(" ", text)
	}
	if len(c.differ)+len(errs) > 0 {
		return fmt.Errorf("%s is not read as it was written", written)
	}
	return nil
}

func load(name string) (v any, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), &v); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return v, nil
}

// comparison collects what differs.
type comparison struct {
	values int
	differ []string
}

// compare compares what was written with what was read, which may have more members.
func (c *comparison) compare(path string, want, got any) {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			c.differ = append(c.differ, path+" is no object")
			return
		}
		for name, v := range w {
			if x, has := g[name]; has {
				c.compare(path+"."+name, v, x)
			} else {
				c.differ = append(c.differ, path+"."+name+" is missing")
			}
		}
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			c.differ = append(c.differ, fmt.Sprintf("%s has %d elements, not %d", path, len(g), len(w)))
			return
		}
		for i := range w {
			c.compare(fmt.Sprintf("%s[%d]", path, i), w[i], g[i])
		}
	default:
		if c.values++; want != got {
			c.differ = append(c.differ, fmt.Sprintf("%s is %v, not %v", path, got, want))
		}
	}
}

// problems returns what a validator's report has of level error.
func problems(name string) (out []string, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var log struct {
		Runs []struct {
			Tool struct {
				Driver struct {
					Rules []struct {
						ID                   string
						DefaultConfiguration struct{ Level string }
						MessageStrings       map[string]struct{ Text string }
					}
				}
			}
			Results []struct {
				RuleID  string
				Level   string
				Message struct {
					ID        string
					Text      string
					Arguments []string
				}
			}
		}
	}
	if err := json.Unmarshal(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), &log); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	for _, r := range log.Runs {
		for _, x := range r.Results {
			level, message := x.Level, x.Message.Text
			for _, rule := range r.Tool.Driver.Rules {
				if rule.ID == x.RuleID && level == "" {
					level = rule.DefaultConfiguration.Level
				}
				if rule.ID == x.RuleID && message == "" {
					message = rule.MessageStrings[x.Message.ID].Text
				}
			}
			if text := fmt.Sprintf("%s: %s %q", x.RuleID, message, x.Message.Arguments); level == "error" && !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	return out, nil
}
