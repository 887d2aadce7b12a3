package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// povray is the Boost program: its threads, locks and conditions are those of boost::thread.
type povray struct {
	height int
	first  []byte // the image of the first run
}

const povrayScene = `camera { location <0, 1, -5> look_at 0 }
light_source { <5, 5, -5> rgb 1 }
sphere { 0, 1 texture { pigment { rgb <1, 0, 0> } finish { phong 1 reflection 0.3 } } }
plane { y, -1 pigment { checker rgb 0, rgb 1 } }
`

func (v *povray) name() string { return "povray" }

func (v *povray) load() string {
	return fmt.Sprintf("Boost: two threads render a scene of %d by %d", 4*v.height/3, v.height)
}

func (v *povray) prepare(_ context.Context, e *env) error {
	v.height = e.times(900, 30)
	return os.WriteFile(filepath.Join(e.dir, "scene.pov"), []byte(povrayScene), 0o644)
}

func (v *povray) start(e *env, dir string) (*command, error) {
	return &command{args: []string{"/usr/bin/povray", "+I" + filepath.Join(e.dir, "scene.pov"), fmt.Sprintf("+W%d", 4*v.height/3), fmt.Sprintf("+H%d", v.height),
		"+WT2", "-D", "+O" + filepath.Join(dir, "image.png")}, bad: []string{"Fatal error"}}, nil
}

// ready returns when its log says that it reads the scene.
func (v *povray) ready(ctx context.Context, p *process) error {
	return p.poll(ctx, func() error {
		text, err := os.ReadFile(p.log)
		if err == nil && !bytes.Contains(text, []byte("[Parsing...]")) {
			return errUnread
		}
		return err
	})
}

func (v *povray) work(ctx context.Context, p *process) error { return p.ended(ctx) }

func (v *povray) check(_ context.Context, p *process) error {
	image, err := os.ReadFile(filepath.Join(p.dir, "image.png"))
	if err != nil {
		return err
	}
	// The file says when it was made.
	if i := bytes.Index(image, []byte("IDAT")); i > 0 {
		image = image[i:]
	}
	if v.first == nil {
		v.first = image
	}
	if !bytes.Equal(image, v.first) {
		return errors.New("the image differs from that of the run before")
	}
	return nil
}
