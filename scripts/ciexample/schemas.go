package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bazelbuild/buildtools/build"
	"github.com/santhosh-tekuri/jsonschema/v6"
	yaml3 "go.yaml.in/yaml/v3"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// schemas are those that GitHub's and GitLab's files have in editors, with the licences of their collections.
//
//go:embed schemas
var schemas embed.FS

// checkSchemas checks what a runner of GitHub, GitLab or Kubernetes reads.
func checkSchemas(p *place) error {
	return errors.Join(
		valid(p.path("ci", "github", "action.yml"), "github-actions.json"),
		valid(p.path("ci", "github", "workflow.yml"), "github-workflows.json"),
		valid(p.path("ci", "gitlab", "tracepredict.yml"), "gitlab-ci.json"),
		valid(p.path("ci", "gitlab", "example.gitlab-ci.yml"), "gitlab-ci.json"),
		validPod(p.path("ci", "kubernetes", "pod.yaml")),
	)
}

// valid returns an error if a YAML file does not fit a schema.
func valid(file, schema string) error {
	text, err := schemas.ReadFile("schemas/" + schema)
	if err != nil {
		return err
	}
	content, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("%s: %w", schema, err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(schema, content); err != nil {
		return fmt.Errorf("%s: %w", schema, err)
	}
	compiled, err := c.Compile(schema)
	if err != nil {
		return fmt.Errorf("%s: %w", schema, err)
	}
	source, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var tree any // YAML 1.2, as the runners read it: "on" is a word in it
	if err := yaml3.Unmarshal(source, &tree); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	plain, err := json.Marshal(unhidden(tree))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(plain))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if err := compiled.Validate(instance); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// unhidden returns a file of GitLab with its templates as jobs: the schema permits anything in a job whose name begins
// with a dot.
func unhidden(tree any) any {
	jobs, ok := tree.(map[string]any)
	if !ok {
		return tree
	}
	out := map[string]any{}
	for name, job := range jobs {
		out[strings.TrimPrefix(name, ".")] = job
	}
	return out
}

// validPod returns an error if a file is no pod, or has a field that pods do not have.
func validPod(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var pod core.Pod
	if err := yaml.UnmarshalStrict(text, &pod); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if pod.Kind != "Pod" || pod.APIVersion != "v1" || len(pod.Spec.Containers) != 1 {
		return fmt.Errorf("%s: it is no pod of one container", file)
	}
	return nil
}

// checkBazel checks that Bazel's files are read, and formatted as its tools format them.
func checkBazel(p *place) error {
	var all []error
	for name, parse := range map[string]func(string, []byte) (*build.File, error){"BUILD.bazel": build.ParseBuild, "MODULE.bazel": build.ParseModule} {
		file := p.path("ci", "example", name)
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		parsed, err := parse(filepath.Base(file), text)
		if err != nil {
			all = append(all, err)
		} else if !bytes.Equal(build.Format(parsed), text) {
			all = append(all, fmt.Errorf("%s: not formatted; buildifier would write:\n%s", file, build.Format(parsed)))
		}
	}
	return errors.Join(all...)
}
