// Package release holds the tools that make packages, pinned in a module of their own: what they depend on is no part
// of what is released.
package release
