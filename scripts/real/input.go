package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"

	"golang.org/x/sys/unix"
)

// pipe makes the pipe that a program reads its input from. Its capacity is one
// page, so that what was written beyond it has been read.
func (c *command) pipe() error {
	read, write, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make a pipe: %w", err)
	}
	c.stdin, c.input = read, write
	if _, err := unix.FcntlInt(write.Fd(), unix.F_SETPIPE_SZ, pipeSize); err != nil {
		return fmt.Errorf("set the size of a pipe: %w", err)
	}
	// Fd left it blocking: an end that the program closes still ends a write.
	return nil
}

const pipeSize = 4096

// reads returns when the program reads its input, the first page of which it
// then has: the loader has ended, and main runs.
func (p *process) reads(ctx context.Context, input []byte) error {
	written := make(chan error, 1)
	go func() {
		_, err := p.input.Write(input[:pipeSize+1])
		written <- err
	}()
	return p.poll(ctx, func() error {
		select {
		case err := <-written:
			if err != nil {
				return fmt.Errorf("write its input: %w", err)
			}
			return nil
		default:
			return errUnread
		}
	})
}

// feed returns the program the rest of its input, and waits for its end.
func (p *process) feed(ctx context.Context, input []byte) error {
	// A larger pipe from here on: the program shall not wait for us.
	if _, err := unix.FcntlInt(p.input.Fd(), unix.F_SETPIPE_SZ, 1<<20); err != nil {
		return fmt.Errorf("set the size of a pipe: %w", err)
	}
	_, err := p.input.Write(input[pipeSize+1:])
	if closing := p.input.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("write its input: %w", err)
	}
	return p.ended(ctx)
}

var errUnread = fmt.Errorf("it has not read its input")

// noise returns n bytes that are the same for the same seed.
func noise(seed uint64, n int) []byte {
	var key [32]byte
	key[0], key[1] = byte(seed), byte(seed>>8)
	b := make([]byte, n)
	_, _ = rand.NewChaCha8(key).Read(b) // it never fails
	return b
}

// prose returns n bytes that compress about as well as text does, always the
// same.
func prose(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	words := make([]string, 2000)
	for i := range words {
		word := make([]byte, 2+r.IntN(9))
		for j := range word {
			word[j] = byte('a' + r.IntN(26))
		}
		words[i] = string(word)
	}
	b := make([]byte, 0, n+16)
	for len(b) < n {
		b = append(append(b, words[r.IntN(len(words))]...), ' ')
	}
	return b[:n]
}
