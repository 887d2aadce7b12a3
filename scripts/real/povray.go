package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
	return nil
}

func (v *povray) scene() []byte {
	return []byte(povrayScene + strings.Repeat("// It is read in two parts.\n", 2*pipeSize/28))
}

func (v *povray) start(_ *env, dir string) (*command, error) {
	c := &command{args: []string{"/usr/bin/povray", "+I-", fmt.Sprintf("+W%d", 4*v.height/3), fmt.Sprintf("+H%d", v.height), "+WT2", "-D", "+O" + filepath.Join(dir, "image.png")}}
	return c, c.pipe()
}

func (v *povray) ready(ctx context.Context, p *process) error { return p.reads(ctx, v.scene()) }

func (v *povray) work(ctx context.Context, p *process) error { return p.feed(ctx, v.scene()) }

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
